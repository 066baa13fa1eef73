/* every_score.h - parts of lesson every_score: a step of simple attention, scores, projections. */
#ifndef EVERY_SCORE_H
#define EVERY_SCORE_H

#include "study.h"

/* Models: one for each score, one with projections, and the lecture's, which has the dot product
   and one cell for both languages. */
enum { PROJECTED = RAPT_SCORE_COUNT, ONE_CELL, BEFORE, SCORED_MODELS };

/* simple_attention.c: the first trains all models of the study and shows a step of ONE_CELL; the
   second shows projections. */
void show_simple(struct page *page, struct study *study, const struct sentence *sentence);
void show_parameterized(struct page *page, struct study *study, const struct sentence *sentence);
/* additive.c: the additive score as a sum of two products, and which state of the decoder asks. */
void show_additive(struct page *page, const struct study *study);

enum { STEP_WORDS = 6 }; /* including the end */
enum step_part { QUERY_PART, KEYS_PART, VALUES_PART, STEP_PARTS };
/* One step of a decoder with simple attention, and the part of it that is explained. */
struct step_figure {
    enum step_part part;
    int step; /* counts from 1 */
    const char *words[STEP_WORDS], *output;
    float scores[STEP_WORDS], weights[STEP_WORDS];
};
page_draw_fn step_figure_draw; /* user: struct step_figure */
enum { STEP_WIDTH = 460, STEP_HEIGHT = 250 };

#endif
