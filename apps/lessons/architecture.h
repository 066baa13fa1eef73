/* architecture.h - pictures of the models of the lessons, with the numbers of one step of a
   translation. */
#ifndef LESSONS_ARCHITECTURE_H
#define LESSONS_ARCHITECTURE_H

#include "lesson.h"

enum { ARCHITECTURES = 8, DRAWN_WORDS = 8 };
enum encoding { ENCODED_BY_CHAIN, ENCODED_AGAIN, NOT_ENCODED, ENCODED_BY_ATTENTION };
struct architecture {
    const char *file, *title, *formula; /* name of the file: "simple" */
    enum encoding encoding;
    bool by_state;  /* c is the initial state instead of an input of each step */
    bool after;     /* c enters the output layer, beside the new state */
    bool projected; /* W^q, W^k, W^v */
    bool attends;   /* the weights are those of attention, not influences of words through the one
                       vector */
    int sources, step, targets;
    char source[DRAWN_WORDS][16],
        target[DRAWN_WORDS][16]; /* words, the target's up to the one that is written */
    float weights[DRAWN_WORDS], scores[DRAWN_WORDS]; /* [sources] at the step */
    bool scored;
    int seen;                /* ENCODED_BY_ATTENTION: the source word with the largest weight */
    float self[DRAWN_WORDS]; /* its self-attention weights on the source words */
    float past[DRAWN_WORDS]; /* [targets] weights of the decoder on (begin) and the words it has
                                written */
};
/* Trains all models and takes the second word of "cats do not like dogs". */
void architectures_make(struct architecture list[ARCHITECTURES],
                        const struct lesson_options *options);
enum { ARCHITECTURE_WIDTH = 480, ARCHITECTURE_HEIGHT = 400 };
void architecture_draw(struct svg *svg, const void *architecture); /* without the title */
/* Writes each picture as FILE.svg into the folder. */
int architectures_write(const char *folder, const struct lesson_options *options);

#endif
