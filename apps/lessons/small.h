/* small.h - a learner that is an encoder-decoder for pairs of token ids. It is trained on pairs
   that a function draws, and then asked for translations and attention weights. */
#ifndef LESSONS_SMALL_H
#define LESSONS_SMALL_H

#include "learner.h"

enum {
    SMALL_TOKENS = 40, /* of a sentence with its end */
    SMALL_BATCH = 32,  /* sentences per training step */
    SMALL_MOST = 12    /* words that a reader of a page may write */
};
struct ids {
    int count;
    int32_t at[SMALL_TOKENS];
};
struct ids_pair {
    struct ids source, target; /* without begin and end */
};
/* Draws a pair. Ids below RAPT_TOKEN_SPECIALS are not words. */
typedef void small_draw_fn(struct random *random, struct ids_pair *pair, const void *user);

/* kind and positions of config are set here. */
void small_create(struct learner *learner, const rapt_config *config, uint64_t seed);
/* Trains on pairs drawn from `random`; the learning rate rises, stays and falls. losses: [steps]
   mean negative log-likelihood per token of each step, or NULL. */
void small_train(struct learner *learner, int steps, float rate, small_draw_fn *draw,
                 const void *user, struct random random, double *losses);
/* Translates count <= SMALL_BATCH pairs greedily. */
void small_translate(struct learner *learner, const struct ids_pair *pairs, int count,
                     struct ids *out);
/* Draws `count` pairs; returns the share that is translated exactly. */
double small_exact(struct learner *learner, int count, small_draw_fn *draw, const void *user,
                   struct random random);
/* Attention weights of a layer and head (-1 means the mean) for a given target. Encoder: [source +
   end][source + end]; decoder: [begin + target][begin + target]; cross: [begin + target][source +
   end]. The row of a decoder's token is that of the step that reads it and predicts the next
   one. */
void small_weights(struct learner *learner, const struct ids_pair *pair, rapt_weights which,
                   int layer, int head, float *weights);

/* Logits [begin + target][target vocabulary] for a given target. */
void small_logits(struct learner *learner, const struct ids_pair *pair, float *logits);

/* Attaches the model to the last map, so that readers of the page can run it. The map
   must show the mean cross-attention of the last layer for this pair. word returns the name of an
   id, and reads whether it is a word of the source. */
void small_play(struct learner *learner, struct page *page, const struct ids_pair *pair,
                const char *(*word)(int32_t id), bool (*reads)(int32_t id));

#endif
