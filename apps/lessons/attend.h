/* attend.h - attention by the library, for lessons: of a few queries to a few keys, and of a
   sentence whose vectors are made by hand. */
#ifndef LESSONS_ATTEND_H
#define LESSONS_ATTEND_H

#include <rapt/attention.h>
#include <stdbool.h>

/* Softmax attention with the score `scale` q . k (0: 1 / sqrt(width)). q [queries][width], k
   [keys][width], v [keys][value_width]; out [queries][value_width], weights [queries][keys], NULL
   if not wanted. Ends the program if the library refuses. */
struct attended {
    int queries, keys, width, value_width;
    float scale;
    const float *q, *k, *v;
};
void attend(const struct attended *a, float *out, float *weights);

/* ---- self-attention of a sentence whose vectors are made by hand ----
   It is computed with every score, locality and normalizer of the library. Two lessons check on it
   what holds for all of them. */
enum {
    BY_HAND_WORDS = 10,
    BY_HAND_KINDS = 8,
    BY_HAND_WIDTH = BY_HAND_KINDS + 8,
    BY_HAND_HIDDEN = 2 * BY_HAND_WIDTH + 2
};
struct by_hand {
    const char *words[BY_HAND_WORDS];
    float query[BY_HAND_WORDS * BY_HAND_WIDTH]; /* what a word looks for, and at which position */
    float key[BY_HAND_WORDS * BY_HAND_WIDTH];   /* what a word is, and its position */
    float value[BY_HAND_WORDS * 2];             /* points of the plane */
    /* Parameters of scores and localities, see rapt_attention_parameters. */
    float general[BY_HAND_WIDTH * BY_HAND_WIDTH], query_weight[BY_HAND_HIDDEN * BY_HAND_WIDTH],
        key_weight[BY_HAND_HIDDEN * BY_HAND_WIDTH];
    float hidden_bias[BY_HAND_HIDDEN], hidden_vector[BY_HAND_HIDDEN], inverse_temperature[1],
        position[BY_HAND_WORDS * BY_HAND_WIDTH];
    float filter[3], feature_weight[BY_HAND_HIDDEN], coverage_weight[BY_HAND_HIDDEN],
        center_weight[BY_HAND_WIDTH], center_vector[1];
};
void by_hand_make(struct by_hand *sentence);

struct variant {
    rapt_score score;
    rapt_locality locality;
    rapt_normalizer normalizer;
};
/* for (struct variant v = {0}; variant_is(v); v = variant_after(v)) visits all of them. */
bool variant_is(struct variant variant);
struct variant variant_after(struct variant variant);
bool variant_is_hard(rapt_normalizer normalizer); /* returns true if it selects a single key */

struct by_hand_result {
    rapt_attention problem;
    int chosen[BY_HAND_WORDS];
    float weights[BY_HAND_WORDS * BY_HAND_WORDS], out[BY_HAND_WORDS * 2], lse[BY_HAND_WORDS];
};
/* Describes the problem in result->problem; the caller may add a mask. seed: of random draws. */
void by_hand_problem(struct by_hand_result *result, const struct by_hand *sentence,
                     struct variant variant, uint64_t seed);
/* Computes outputs and weights for queries, keys and values laid out as those of a sentence. */
void by_hand_attend(struct by_hand_result *result, const float *query, const float *key,
                    const float *value);

#endif
