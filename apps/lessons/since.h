/* since.h - lesson since: small translators that differ in one change of attention each, trained on
   the same sentences with the same seed, and what each change does to one sentence. */
#ifndef LESSONS_SINCE_H
#define LESSONS_SINCE_H

#include "chase.h"
#include "lesson.h"

enum { SINCE_LATENT_WIDTH = 16 }; /* numbers of a latent row */
enum { SINCE_HEADS = 2, SINCE_WIDTH = 32, SINCE_ROWS = SMALL_TOKENS + 1, SINCE_TESTS = 96 };
enum since_variant {
    SINCE_2017,
    SINCE_SINK,
    SINCE_GATE,
    SINCE_DIFFERENCE,
    SINCE_SIGMOID,
    SINCE_SPARSEMAX,
    SINCE_ENTMAX,
    SINCE_NORMED,
    SINCE_FORGET,
    SINCE_ROTARY,
    SINCE_WINDOW,
    SINCE_LATENT,
    SINCE_VARIANTS
};
/* A translator and what training did to it. */
struct since_model {
    const struct since *since;
    struct learner small;
    double exact[2]; /* share of unseen sentences, without and with training */
};
struct since {
    struct page *page;
    const struct lesson_options *options;
    struct ids_pair pair; /* the sentence that is shown: "Tom does not chase Jerry in ..." */
    int steps;            /* of training */
    struct since_model models[SINCE_VARIANTS];
};
extern const char *const since_names[SINCE_VARIANTS];
extern const struct chase since_sentence; /* that is shown */
/* Returns a translator of one layer in each half, with the attention of 2017. */
rapt_config since_config(void);

/* ---- since.c: weights of a model, for the sentence shown and for unseen ones ---- */
/* One attention of a layer; all models have one layer in each half. */
struct since_head {
    rapt_weights which;
    int head;
};
extern const struct since_head since_cross; /* the mean of the heads of cross-attention */
/* Words of a sentence as rows or columns of a map. */
struct since_map {
    int rows, columns;
    const char *row[SINCE_ROWS], *column[SINCE_ROWS + 1];
    float weights[SINCE_ROWS * (SINCE_ROWS + 1)];
};
/* Reads the weights of a head for a sentence with its right translation. head -1: the mean. Rows
   of cross-attention and of the decoder are the words that are written. */
void since_weights(struct learner *small, const struct ids_pair *pair, struct since_head which,
                   struct since_map *map);
/* Appends a column with what the sum of a row lacks to 1. */
void since_add_rest(struct since_map *map, const char *name);
void since_show(struct page *page, enum page_detail detail, const char *title,
                const struct since_map *map);
/* Returns the mean of a measure of maps over 32 sentences that were kept out of training. */
typedef double since_map_fn(const struct since_map *map);
double since_mean(struct learner *small, struct since_head which, since_map_fn *measure);
/* Returns the head, of the two of each of the three attentions, whose mean measure is largest. */
struct since_head since_most(struct learner *small, since_map_fn *measure);
/* Measures of maps. */
since_map_fn since_unused; /* mean of 1 minus the sum of a row */
since_map_fn since_read;   /* mean number of weights of a row that are not 0 */
since_map_fn since_seen;   /* mean number of weights of a row that are at least 0.01 */
since_map_fn since_zeros;  /* number of weights that are exactly 0 */
since_map_fn since_apart;  /* largest minus smallest sum of a row */
since_map_fn since_least;  /* the smallest weight */
since_map_fn since_bits;   /* mean entropy of a row */
/* Returns the name of an attention: "cross-attention". */
const char *since_which(rapt_weights which);
/* Returns the share of unseen sentences that are translated exactly. */
double since_exact(struct learner *small);
/* Sets gates [count][heads] to those that words of the encoder or the decoder compute in
   self-attention, from their places in the sentence on. gate: "gate" or "forget". */
void since_gates(const struct learner *small, const char *half, const char *gate, int count,
                 const int32_t *ids, float *gates);
/* Multiplies a parameter. */
void since_scale(struct learner *small, const char *name, float factor);
/* Copies a parameter to a new array, which the caller frees. */
float *since_parameter(const struct learner *small, const char *name, rapt_tensor *tensor);
/* Gives a model the parameters of another one, which has the same. */
void since_copy(const struct learner *from, struct learner *to);

/* ---- the questions, in their order ---- */
void since_nowhere(struct since *since); /* where may weight go that nobody needs? */
void since_sums(struct since *since);    /* must weights be positive and sum to 1? */
void since_far(struct since *since);     /* how far may attention look? */
void since_cost(struct since *since);    /* what does it cost at length n? */

#endif
