/* architecture.h - pictures of architecture: each model of the lessons with the numbers of one step
   of a translation. */
#ifndef LESSONS_ARCHITECTURE_H
#define LESSONS_ARCHITECTURE_H

#include "lesson.h"

enum { ARCHITECTURES = 8, DRAWN_WORDS = 8 };
enum encoding { ENCODED_BY_CHAIN, ENCODED_AGAIN, NOT_ENCODED, ENCODED_BY_ATTENTION };
struct architecture {
    const char *file, *title, *formula; /* "simple"; NULL: not a model of such a name */
    enum encoding encoding;
    bool by_state;  /* c enters as the first state, not at each step */
    bool after;     /* c enters the output, beside the new state */
    bool projected; /* W^q, W^k, W^v */
    bool attends;   /* weights: of attention; else influences of words through the one vector */
    int sources, step, targets;
    char source[DRAWN_WORDS][16], target[DRAWN_WORDS][16]; /* words; up to the one written */
    float weights[DRAWN_WORDS], scores[DRAWN_WORDS];       /* [sources] of the step */
    bool scored;
    int seen;                /* ENCODED_BY_ATTENTION: the source word with the largest weight */
    float self[DRAWN_WORDS]; /* its own weights on the source words */
    float past[DRAWN_WORDS]; /* [targets] of the decoder, on (begin) and what it has written */
};
/* Trains all models and takes the second word of "cats do not like dogs". */
void architectures_make(struct architecture list[ARCHITECTURES],
                        const struct lesson_options *options);
enum { ARCHITECTURE_WIDTH = 480, ARCHITECTURE_HEIGHT = 400 };
void architecture_draw(struct svg *svg, const void *architecture); /* without the title */
/* FILE.svg of each in the folder. */
int architectures_write(const char *folder, const struct lesson_options *options);

#endif
