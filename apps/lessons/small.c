/* small.c - pairs of token ids in, a trained encoder-decoder, its translations and weights out,
   through the public API. */
#include "small.h"
#include "kit/layers.h"
#include "kit/program.h"
#include <stdlib.h>
#include <string.h>

static void check(rapt_status status, const rapt_message *why)
{
    if (status != RAPT_OK) exit(failed("%s", *why->text ? why->text : rapt_status_text(status)));
}

enum { TOKENS = SMALL_BATCH * (SMALL_TOKENS + 1) };

void small_session(struct small *small)
{
    const rapt_limits limits = {.size = sizeof limits,
                                .batch = SMALL_BATCH,
                                .source_tokens = TOKENS,
                                .target_length = SMALL_TOKENS + 1,
                                .target_tokens = TOKENS,
                                .threads = 1, /* so small a model gains nothing by more */
                                .self_weights = 1};
    rapt_message why = {""};
    check(rapt_session_create(&small->session, small->model, &limits, NULL, &why), &why);
}

void small_create(struct small *small, const rapt_config *config, float rate, uint64_t seed)
{
    rapt_config own = *config;
    rapt_train_options options;
    rapt_message why = {""};
    own.size = sizeof own;
    own.kind = RAPT_KIND_ENCODER_DECODER;
    own.positions = SMALL_TOKENS + 1;
    rapt_train_options_default(&options, sizeof options);
    options.schedule = RAPT_SCHEDULE_CONSTANT;
    options.warmup = 1;
    options.rate = rate;
    options.clip_norm = 1;
    options.label_smoothing = options.dropout = 0;
    options.seed = seed;
    const rapt_train_limits capacity = {.size = sizeof capacity,
                                        .batch = SMALL_BATCH,
                                        .source_tokens = TOKENS,
                                        .target_tokens = TOKENS,
                                        .threads = 1};
    *small = (struct small){.source = xcalloc(TOKENS, sizeof(int32_t)),
                            .target = xcalloc(TOKENS, sizeof(int32_t)),
                            .source_starts = xcalloc(SMALL_BATCH + 1, sizeof(int)),
                            .target_starts = xcalloc(SMALL_BATCH + 1, sizeof(int))};
    check(rapt_model_create(&small->model, &own, seed, NULL, &why), &why);
    check(rapt_trainer_create(&small->trainer, small->model, &options, &capacity, NULL, &why),
          &why);
    small_session(small);
}

void small_free(struct small *small)
{
    rapt_session_free(small->session);
    rapt_trainer_free(small->trainer);
    rapt_model_free(small->model);
    free(small->source);
    free(small->target);
    free(small->source_starts);
    free(small->target_starts);
}

/* Source: words, end. Target: begin, words, and with `ends` the end. */
static void fill(struct small *small, const struct ids_pair *pairs, int count, bool ends)
{
    int s = 0, t = 0;
    for (int b = 0; b < count; b++) {
        const struct ids *source = &pairs[b].source, *target = &pairs[b].target;
        memcpy(small->source + s, source->at, (size_t)source->count * sizeof(int32_t));
        s += source->count;
        small->source[s++] = RAPT_TOKEN_END;
        small->target[t++] = RAPT_TOKEN_BEGIN;
        memcpy(small->target + t, target->at, (size_t)target->count * sizeof(int32_t));
        t += target->count;
        if (ends) small->target[t++] = RAPT_TOKEN_END;
        small->source_starts[b + 1] = s;
        small->target_starts[b + 1] = t;
    }
}

double small_train(struct small *small, int steps, float rate, small_draw_fn *draw,
                   const void *user, struct random random)
{
    struct ids_pair pairs[SMALL_BATCH];
    double sum = 0;
    long long tokens = 0;
    for (int step = 0; step < steps; step++) {
        rapt_report report = {.size = sizeof report};
        rapt_message why = {""};
        for (int b = 0; b < SMALL_BATCH; b++) draw(&random, &pairs[b], user);
        fill(small, pairs, SMALL_BATCH, true);
        const rapt_tokens source = {SMALL_BATCH, small->source, small->source_starts};
        const rapt_tokens target = {SMALL_BATCH, small->target, small->target_starts};
        rapt_trainer_set_rate(small->trainer, rate * schedule_factor(step, steps, 20, 0.01F));
        check(rapt_train_gradient(small->trainer, &source, &target, &report, &why), &why);
        check(rapt_train_step(small->trainer, &report, &why), &why);
        if (step < steps - steps / 10) continue;
        sum += report.likelihood;
        tokens += report.tokens;
    }
    return sum / (double)tokens;
}

void small_translate(struct small *small, const struct ids_pair *pairs, int count, struct ids *out)
{
    rapt_generate_options options;
    rapt_message why = {""};
    int counts[SMALL_BATCH];
    int32_t *ids = xcalloc(SMALL_BATCH * SMALL_TOKENS, sizeof *ids);
    rapt_generate_options_default(&options, sizeof options, RAPT_TOKEN_BEGIN, RAPT_TOKEN_END);
    options.max_length = SMALL_TOKENS;
    fill(small, pairs, count, false);
    const rapt_tokens source = {count, small->source, small->source_starts};
    const rapt_generate_outputs found = {.size = sizeof found, .ids = ids, .counts = counts};
    check(rapt_generate(small->session, &source, &options, &found, &why), &why);
    for (int b = 0; b < count; b++) {
        out[b].count = counts[b];
        memcpy(out[b].at, ids + b * SMALL_TOKENS, (size_t)counts[b] * sizeof *ids);
    }
    free(ids);
}

double small_exact(struct small *small, int count, small_draw_fn *draw, const void *user,
                   struct random random)
{
    struct ids_pair pairs[SMALL_BATCH];
    struct ids out[SMALL_BATCH];
    int exact = 0;
    for (int done = 0; done < count; done += SMALL_BATCH) {
        int rows = count - done < SMALL_BATCH ? count - done : SMALL_BATCH;
        for (int b = 0; b < rows; b++) draw(&random, &pairs[b], user);
        small_translate(small, pairs, rows, out);
        for (int b = 0; b < rows; b++)
            exact += out[b].count == pairs[b].target.count &&
                     memcmp(out[b].at, pairs[b].target.at,
                            (size_t)out[b].count * sizeof *out[b].at) == 0;
    }
    return (double)exact / count;
}

/* Gives the target to the decoder; the answers of the last call of it. */
static const float *decode(struct small *small, const struct ids_pair *pair)
{
    const float *logits = NULL;
    rapt_message why = {""};
    fill(small, pair, 1, false);
    const rapt_tokens source = {1, small->source, small->source_starts};
    const rapt_tokens target = {1, small->target, small->target_starts};
    check(rapt_encode(small->session, &source, NULL, &why), &why);
    check(rapt_decode(small->session, &target, &logits, &why), &why);
    return logits;
}

void small_logits(struct small *small, const struct ids_pair *pair, float *logits)
{
    const size_t row = (size_t)rapt_model_config(small->model)->target_vocab;
    memcpy(logits, decode(small, pair), ((size_t)pair->target.count + 1) * row * sizeof *logits);
}

void small_weights(struct small *small, const struct ids_pair *pair, rapt_weights which, int layer,
                   int head, float *weights)
{
    rapt_message why = {""};
    decode(small, pair);
    check(rapt_session_weights(small->session, which, layer, head, weights, &why), &why);
}
