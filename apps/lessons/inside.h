/* inside.h - one sentence and its translation in the small Transformer of the lesson block. */
#ifndef LESSONS_INSIDE_H
#define LESSONS_INSIDE_H

#include "chase.h"
#include "lesson.h"

enum { HEADS = 4, ENCODER_LAYERS = 2, DECODER_LAYERS = 3, ROWS = SMALL_TOKENS + 1 };
struct view {
    struct page *page;
    struct learner *small;
    const struct ids_pair *pair;
    const char *source[ROWS], *target[ROWS]; /* words and (end); (begin) and words */
    const char *written[ROWS];               /* words and (end) of the translation */
    int sources, targets;
    float weights[ROWS * ROWS];
};
/* stream.c: compares what the heads of a layer read. */
void show_head_distances(struct page *page, struct learner *small, uint64_t seed);
void show_stream(
    struct view *view); /* stream.c: shows what the model would write after each layer */

#endif
