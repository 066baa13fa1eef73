/* model.c - a pre-norm Transformer of the library whose source is vectors: the encoder reads
   patches, the decoder words. It takes scenes and patches, and gives losses, captions and
   cross-attention weights. */
#include "caption.h"

#include <rapt/rapt.h>
#include <stdlib.h>
#include <string.h>

enum { WIDTH = 32, FFN = 64, BEGIN_AND_END = 2 };

struct captioner {
    rapt_model *model;
    rapt_trainer *trainer;
    rapt_session *session;
    int *source_starts, *target_starts, *step_starts; /* [batch + 1] */
    int32_t *target;                                  /* [batch][MAX_WORDS + 1] */
    float *weights;                                   /* [batch][PATCHES] of one step */
};

static void captioner_check(rapt_status status, const rapt_message *why)
{
    if (status != RAPT_OK) exit(failed("%s", *why->text ? why->text : rapt_status_text(status)));
}

static rapt_config config_of(rapt_normalizer normalizer)
{
    return (rapt_config){.size = sizeof(rapt_config),
                         .source_width = PATCH,
                         .target_vocab = WORDS,
                         .positions = PATCHES,
                         .width = WIDTH,
                         .heads = HEADS,
                         .ffn_width = FFN,
                         .encoder_layers = 2,
                         .decoder_layers = 1,
                         .norm_order = RAPT_NORM_ORDER_PRE,
                         .position = RAPT_POSITION_LEARNED,
                         .output_bias = 1,
                         .cross_normalizer = normalizer};
}

/* Hard attention learns with the options that apps/README.md compares in a table. */
static rapt_train_options options_of(rapt_normalizer normalizer, int steps)
{
    rapt_train_options o;
    rapt_train_options_default(&o, sizeof o);
    o.schedule = RAPT_SCHEDULE_CONSTANT, o.warmup = 0;
    o.clip_norm = 1, o.label_smoothing = 0, o.dropout = 0;
    if (normalizer == RAPT_NORMALIZER_SAMPLE) {
        o.baseline = RAPT_BASELINE_EXPECTED, o.expected_share = 0.75F;
        o.reward_decay = 1, o.reward_scale = 0.1F, o.reward_entropy = 0.01F;
    }
    if (normalizer == RAPT_NORMALIZER_ARGMAX) o.anneal = 10, o.anneal_steps = steps;
    return o;
}

static void make_model(struct captioner *m, rapt_normalizer normalizer, int steps, int batch,
                       uint64_t seed)
{
    rapt_message why = {""};
    const rapt_config config = config_of(normalizer);
    const rapt_train_options options = options_of(normalizer, steps);
    const rapt_train_limits capacity = {.size = sizeof capacity,
                                        .batch = batch,
                                        .source_tokens = batch * PATCHES,
                                        .target_tokens = batch * (MAX_WORDS + BEGIN_AND_END),
                                        .threads = 1};
    const rapt_limits use = {.size = sizeof use,
                             .batch = batch,
                             .source_tokens = batch * PATCHES,
                             .target_length = MAX_WORDS,
                             .threads = 1};
    captioner_check(rapt_model_create(&m->model, &config, seed, NULL, &why), &why);
    captioner_check(rapt_trainer_create(&m->trainer, m->model, &options, &capacity, NULL, &why),
                    &why);
    captioner_check(rapt_session_create(&m->session, m->model, &use, NULL, &why), &why);
}

struct captioner *captioner_create(rapt_normalizer normalizer, int steps, int batch, uint64_t seed)
{
    struct captioner *m = xcalloc(1, sizeof *m);
    const size_t count = (size_t)batch;
    make_model(m, normalizer, steps, batch, seed);
    m->source_starts = xcalloc(count + 1, sizeof *m->source_starts);
    m->target_starts = xcalloc(count + 1, sizeof *m->target_starts);
    m->step_starts = xcalloc(count + 1, sizeof *m->step_starts);
    m->target = xcalloc(count * (MAX_WORDS + BEGIN_AND_END), sizeof *m->target);
    m->weights = xcalloc(count * PATCHES, sizeof *m->weights);
    for (int b = 0; b <= batch; b++) m->source_starts[b] = b * PATCHES, m->step_starts[b] = b;
    return m;
}

void captioner_free(struct captioner *m)
{
    if (m == NULL) return;
    rapt_session_free(m->session);
    rapt_trainer_free(m->trainer);
    rapt_model_free(m->model);
    free(m->source_starts);
    free(m->target_starts);
    free(m->step_starts);
    free(m->target);
    free(m->weights);
    free(m);
}

size_t captioner_parameters(const struct captioner *m)
{
    return rapt_model_parameters(m->model);
}

double captioner_learn(struct captioner *m, const struct scene *scenes, const float *patches,
                       int count, float rate)
{
    rapt_report report = {.size = sizeof report};
    rapt_message why = {""};
    for (int b = 0, at = 0; b < count; b++) {
        m->target[at++] = BEGIN;
        for (int t = 0; t <= scenes[b].count; t++) m->target[at++] = scenes[b].words[t];
        m->target_starts[b + 1] = at;
    }
    const rapt_tokens source =
        (rapt_tokens){.batch = count, .vectors = patches, .starts = m->source_starts};
    const rapt_tokens target = {.batch = count, .ids = m->target, .starts = m->target_starts};
    rapt_trainer_set_rate(m->trainer, rate);
    captioner_check(rapt_train_gradient(m->trainer, &source, &target, &report, &why), &why);
    captioner_check(rapt_train_step(m->trainer, NULL, &why), &why);
    return report.loss / (double)report.tokens;
}

void captioner_describe(struct captioner *m, const float *patches, int count, int *out,
                        float *weights)
{
    rapt_message why = {""};
    const rapt_tokens source =
        (rapt_tokens){.batch = count, .vectors = patches, .starts = m->source_starts};
    const rapt_tokens inputs = {.batch = count, .ids = m->target, .starts = m->step_starts};
    const float *logits = NULL;
    captioner_check(rapt_encode(m->session, &source, NULL, &why), &why);
    for (int t = 0; t < MAX_WORDS; t++) {
        for (int b = 0; b < count; b++) m->target[b] = t > 0 ? out[b * MAX_WORDS + t - 1] : BEGIN;
        captioner_check(rapt_decode(m->session, &inputs, &logits, &why), &why);
        captioner_check(rapt_session_alignment(m->session, 0, -1, m->weights, &why), &why);
        for (int b = 0; b < count; b++) {
            const int i = b * MAX_WORDS + t, ended = t > 0 && out[i - 1] == END;
            out[i] = ended ? END : argmax(WORDS, logits + b * WORDS);
            if (weights != NULL)
                memcpy(weights + i * PATCHES, m->weights + b * PATCHES, PATCHES * sizeof *weights);
        }
    }
}
