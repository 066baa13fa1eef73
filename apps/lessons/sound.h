/* sound.h - a synthetic sound: frames in which each letter lasts for a random time. */
#ifndef LESSONS_SOUND_H
#define LESSONS_SOUND_H

#include "kit/random.h"

enum {
    LETTERS = 8,
    BANDS = 12,   /* of the spectrum of a frame */
    SHORTEST = 2, /* frames of a letter */
    LONGEST = 4,
    STACK = 3, /* frames of a row of the encoder, on average one letter */
    MAX = 13,  /* letters of a word */
    FRAMES = MAX * LONGEST,
    ROWS = (FRAMES + STACK - 1) / STACK
};
struct sound {
    int count, letter[MAX];
    int frames, of[FRAMES]; /* of: the letter that a frame belongs to, by its index */
    float band[FRAMES][BANDS];
};

/* Draws a word of range[0] .. range[1] letters, and speaks it. */
void sound_draw(struct sound *sound, struct random *random, const int range[2]);
int sound_rows(const struct sound *sound); /* of the encoder */

#endif
