/* small.h - a learner that is an encoder-decoder on pairs of token ids: trained on pairs that a
   function draws, then asked for translations and attention weights. */
#ifndef LESSONS_SMALL_H
#define LESSONS_SMALL_H

#include "learner.h"

enum { SMALL_TOKENS = 40, SMALL_BATCH = 32 }; /* of a sentence with its end; of a training step */
struct ids {
    int count;
    int32_t at[SMALL_TOKENS];
};
struct ids_pair {
    struct ids source, target; /* without begin and end */
};
/* Ids below RAPT_TOKEN_SPECIALS stand for no word. */
typedef void small_draw_fn(struct random *random, struct ids_pair *pair, const void *user);

/* config: kind and positions are set here. */
void small_create(struct learner *learner, const rapt_config *config, uint64_t seed);
/* Pairs of `random`; the learning rate rises, stays, and falls. Returns the mean negative
   log-likelihood per token of the last tenth. */
double small_train(struct learner *learner, int steps, float rate, small_draw_fn *draw,
                   const void *user, struct random random);
/* Greedy translations of `count` <= SMALL_BATCH pairs. */
void small_translate(struct learner *learner, const struct ids_pair *pairs, int count,
                     struct ids *out);
/* Share of `count` drawn pairs whose translation is the target. */
double small_exact(struct learner *learner, int count, small_draw_fn *draw, const void *user,
                   struct random random);
/* Attention weights of a layer and head (-1: the mean) while the target is given: encoder
   [source + end][source + end], decoder [begin + target][begin + target], cross [begin + target][
   source + end]; the row of a decoder's token is that of the step that reads it, and predicts the
   next one. */
void small_weights(struct learner *learner, const struct ids_pair *pair, rapt_weights which,
                   int layer, int head, float *weights);

/* [begin + target][target vocabulary], while the target is given. */
void small_logits(struct learner *learner, const struct ids_pair *pair, float *logits);

#endif
