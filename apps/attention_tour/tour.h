/* tour.h - interface header of attention_tour: a sentence, every variant of attention, numeric
   claims about them, text and SVG output. */
#ifndef ATTENTION_TOUR_H
#define ATTENTION_TOUR_H

#include "kit/heatmap.h"
#include "kit/program.h"
#include "kit/svg.h"
#include <rapt/rapt.h>

enum { WORDS = 10, KINDS = 8, WAVES = 4, WIDTH = KINDS + 2 * WAVES, HIDDEN = 2 * WIDTH + 1 };

/* ---- sentence.c: embeddings and parameters of a sentence ---- */
struct sentence {
    rapt_text words[WORDS];
    float query[WORDS * WIDTH]; /* what a word seeks, and at which position */
    float key[WORDS * WIDTH];   /* what a word is, and its position */
    float value[WORDS * 2];     /* points of the plane, so that outputs can be drawn */
    /* Parameters of scores and localities, see rapt_learned. */
    float general[WIDTH * WIDTH], query_weight[HIDDEN * WIDTH], key_weight[HIDDEN * WIDTH];
    float hidden_bias[HIDDEN], hidden_vector[HIDDEN], inverse_temperature[1],
        position[WORDS * WIDTH];
    float filter[3], feature_weight[HIDDEN], center_weight[WIDTH], center_vector[1];
};
void sentence_make(struct sentence *sentence);

/* ---- attend.c: the sentence attends to itself ---- */
struct variant {
    rapt_score score;
    rapt_locality locality;
    rapt_normalizer normalizer;
};
/* for (struct variant v = {0}; variant_is(v); v = variant_after(v)) visits all. */
bool variant_is(struct variant variant);
struct variant variant_after(struct variant variant);
struct result {
    rapt_attention problem;
    int chosen[WORDS];
    float weights[WORDS * WORDS], out[WORDS * 2], lse[WORDS];
};
bool is_hard(rapt_normalizer normalizer); /* one-hot weights? */
/* Sets up the problem of a result; a caller may set its mask. */
void problem_make(struct result *result, const struct sentence *sentence, struct variant variant,
                  uint64_t seed);
/* Computes output and weights. query, key, value: as those of a sentence. */
void attend(struct result *result, const float *query, const float *key, const float *value);
/* Gradients of `result`, which attend has filled, for dout [WORDS][2]; zeroed first. reward
   [WORDS]: of sampled keys. */
struct tour_gradients {
    float query[WORDS * WIDTH], key[WORDS * WIDTH], learned[2 * HIDDEN * WIDTH];
};
void gradients_of(struct tour_gradients *gradients, struct result *result,
                  const struct sentence *sentence, const float *dout, const float *reward);

/* ---- claims.c, claims_hard.c, claims_masks.c ---- */
struct claim {
    const char *name, *statement, *measure;
    double figure,
        bound;    /* the worst over all variants; the claim holds if it is at most the bound, or */
    bool above;   /* at least */
    int variants; /* how many were checked */
};
enum { CLAIMS = 14 };
bool claim_holds(const struct claim *claim);
void claim_worse(struct claim *claim, double figure); /* one more variant */
void claims_find(struct claim claims[CLAIMS], const struct sentence *sentence, uint64_t seed);
int claims_soft(struct claim *claims, const struct sentence *sentence, uint64_t seed);
int claims_hard(struct claim *claims, const struct sentence *sentence, uint64_t seed);
int claims_masks(struct claim *claims, const struct sentence *sentence, uint64_t seed);
/* All queries, that of `word` interpolated towards that of `other` by 0 <= fraction <= 1. */
void query_between(float *query, const struct sentence *sentence, int word, int other,
                   float fraction);

/* ---- terminal.c, page.c ---- */
struct choice { /* what to show; -1: all */
    int score, locality, normalizer;
};
bool is_selected(struct choice only, struct variant variant);
void terminal_show(const struct sentence *sentence, struct choice choice, uint64_t seed);
void terminal_claims(const struct claim claims[CLAIMS]);
int page_draw(const char *path, const struct sentence *sentence, uint64_t seed);

#endif
