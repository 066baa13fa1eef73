/* three_problems.h - the parts of lesson 7 over one study: gradients by distance, and alignment. */
#ifndef LESSONS_THREE_PROBLEMS_H
#define LESSONS_THREE_PROBLEMS_H

#include "study.h"

/* Models: of each cell with one vector, then with attention; attention only; a GRU that is given
   its one vector at each step. */
enum { ATTENDING = CELLS, ALONE = 2 * CELLS, MODELS, EACH = MODELS };

/* ---- vanishing.c ---- */
/* DISTANCES points, every STRIDE steps, in sentences of WORDS words. */
enum { WORDS = 24, DISTANCES = 11, STRIDE = 4, SENTENCES = 3 };
void measure_distances(struct study *study, int model, double mean[DISTANCES]);
/* means: [MODELS], each measured before any training. */
void show_gradients(struct page *page, const struct study *study, double means[MODELS][DISTANCES]);

/* ---- longer.c ---- */
void show_longer(struct page *page, const struct lesson_options *options);

/* ---- alignment.c: of the trained models ---- */
void show_alignment(struct page *page, struct study *study);

#endif
