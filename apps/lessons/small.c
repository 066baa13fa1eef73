/* small.c - trains an encoder-decoder on pairs of token ids, and asks it for translations and
   attention weights. */
#include "small.h"
#include "kit/layers.h"
#include <stdlib.h>
#include <string.h>

void small_create(struct learner *l, const rapt_config *config, uint64_t seed)
{
    struct learner_setup setup = {.config = *config,
                                  .batch = SMALL_BATCH,
                                  .source_rows = SMALL_TOKENS + 1,
                                  .target_ids = SMALL_TOKENS + 1,
                                  .rate = 1e-3F, /* for the first step */
                                  .seed = seed};
    setup.config.size = sizeof setup.config;
    setup.config.kind = RAPT_KIND_ENCODER_DECODER;
    setup.config.positions = SMALL_TOKENS + 1;
    learner_create(l, &setup);
}

/* Adds a pair. Source: words, end. Target: begin, words, and with `ends` the end. */
static void small_put(struct learner *l, const struct ids_pair *pair, bool ends)
{
    for (int i = 0; i < pair->source.count; i++) learner_id(l, pair->source.at[i]);
    learner_id(l, RAPT_TOKEN_END);
    learner_target(l, RAPT_TOKEN_BEGIN);
    for (int i = 0; i < pair->target.count; i++) learner_target(l, pair->target.at[i]);
    if (ends) learner_target(l, RAPT_TOKEN_END);
    learner_end(l);
}

void small_train(struct learner *l, int steps, float rate, small_draw_fn *draw, const void *user,
                 struct random random, double *losses)
{
    struct ids_pair pair;
    l->setup.steps = steps;
    for (int step = 0; step < steps; step++) {
        for (int b = 0; b < SMALL_BATCH; b++) {
            draw(&random, &pair, user);
            small_put(l, &pair, true);
        }
        rapt_trainer_set_rate(l->trainer, rate * schedule_factor(step, steps, 20, 0.01F));
        const double loss = learner_step(l);
        if (losses != NULL) losses[step] = loss;
    }
}

void small_translate(struct learner *l, const struct ids_pair *pairs, int count, struct ids *out)
{
    int counts[SMALL_BATCH];
    int32_t *ids = xcalloc(SMALL_BATCH * (SMALL_TOKENS + 1), sizeof *ids);
    for (int b = 0; b < count; b++) small_put(l, &pairs[b], false);
    learner_generate(l, RAPT_TOKEN_BEGIN, RAPT_TOKEN_END, NULL, ids, counts, NULL);
    learner_clear(l);
    for (int b = 0; b < count; b++) {
        out[b].count = counts[b] < SMALL_TOKENS ? counts[b] : SMALL_TOKENS;
        memcpy(out[b].at, ids + b * (SMALL_TOKENS + 1), (size_t)out[b].count * sizeof *ids);
    }
    free(ids);
}

double small_exact(struct learner *l, int count, small_draw_fn *draw, const void *user,
                   struct random random)
{
    struct ids_pair pairs[SMALL_BATCH];
    struct ids out[SMALL_BATCH];
    int exact = 0;
    for (int done = 0; done < count; done += SMALL_BATCH) {
        int rows = count - done < SMALL_BATCH ? count - done : SMALL_BATCH;
        for (int b = 0; b < rows; b++) draw(&random, &pairs[b], user);
        small_translate(l, pairs, rows, out);
        for (int b = 0; b < rows; b++)
            exact += out[b].count == pairs[b].target.count &&
                     memcmp(out[b].at, pairs[b].target.at,
                            (size_t)out[b].count * sizeof *out[b].at) == 0;
    }
    return (double)exact / count;
}

/* Feeds the target to the decoder and returns the logits. */
static const float *small_decode(struct learner *l, const struct ids_pair *pair)
{
    small_put(l, pair, false);
    const float *logits = learner_decode(l);
    learner_clear(l);
    return logits;
}

void small_logits(struct learner *l, const struct ids_pair *pair, float *logits)
{
    const size_t row = (size_t)rapt_model_config(l->model)->target_vocab;
    memcpy(logits, small_decode(l, pair), ((size_t)pair->target.count + 1) * row * sizeof *logits);
}

void small_weights(struct learner *l, const struct ids_pair *pair, rapt_weights which, int layer,
                   int head, float *weights)
{
    small_decode(l, pair);
    learner_weights(l, which, layer, head, weights);
}
