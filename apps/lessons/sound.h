/* sound.h - a synthetic sound: frames in which each letter lasts for a random time. */
#ifndef LESSONS_SOUND_H
#define LESSONS_SOUND_H

#include "kit/random.h"

enum {
    LETTERS = 8,
    BANDS = 12,   /* frequency bands of a frame */
    SHORTEST = 2, /* frames per letter */
    LONGEST = 4,
    STACK = 3, /* frames per row of the encoder, on average one letter */
    MAX = 13,  /* letters per word */
    FRAMES = MAX * LONGEST,
    ROWS = (FRAMES + STACK - 1) / STACK
};
struct sound {
    int count, letter[MAX];
    int frames, of[FRAMES]; /* of: the index of the letter that a frame belongs to */
    float band[FRAMES][BANDS];
};

/* Draws a word of range[0] to range[1] letters and its frames. */
void sound_draw(struct sound *sound, struct random *random, const int range[2]);
int sound_rows(const struct sound *sound); /* rows of the encoder */

#endif
