/* three_problems.h - the parts of lesson three_problems. */
#ifndef LESSONS_THREE_PROBLEMS_H
#define LESSONS_THREE_PROBLEMS_H

#include "study.h"

/* Models: each cell with one vector, then each with attention; attention only; a GRU that reads its
   one vector at each step. */
enum { ATTENDING = CELLS, ALONE = 2 * CELLS, MODELS, EACH = MODELS };

/* ---- three_problems.c: gradients ---- */
/* Measured in sentences of WORDS words, at DISTANCES distances that are STRIDE steps apart. */
enum { WORDS = 24, DISTANCES = 11, STRIDE = 4, SENTENCES = 3 };
void measure_distances(struct study *study, int model, double mean[DISTANCES]);
/* Shows the distances of the trained models beside those before any training. */
void show_gradients(struct page *page, struct study *study, double before[MODELS][DISTANCES]);

/* ---- longer.c ---- */
void show_longer(struct page *page, const struct lesson_options *options);

/* ---- three_problems.c: alignment; needs the trained models ---- */
void show_alignment(struct page *page, struct study *study);

#endif
