/* transformer.c - the model without recurrence: rapt's Transformer (Vaswani et al. 2017), trained
   and used through the public interface. Its sinusoidal positions do not generalize: sentences
   longer than those in training have positions that it has never seen. */
#include "recurrent.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

struct transformer {
    const struct language *language;
    struct transformer_config config;
    rapt_model *model;
    rapt_trainer *trainer;
    rapt_session *session;
    int32_t *source, *target; /* of a batch, one sequence after another */
    int *source_starts, *target_starts;
};

static void transformer_check(rapt_status status, const rapt_message *why)
{
    if (status != RAPT_OK) exit(failed("%s", *why->text ? why->text : rapt_status_text(status)));
}

struct transformer *transformer_create(const struct transformer_config *c,
                                       const struct language *language)
{
    struct transformer *m = xcalloc(1, sizeof *m);
    const int positions = c->words + 2, tokens = c->batch * positions;
    rapt_message why = {""};
    rapt_config config = {.size = sizeof(rapt_config),
                          .kind = RAPT_KIND_ENCODER_DECODER,
                          .source_vocab = language->source.count + (c->probed ? positions : 0),
                          .target_vocab = language->target.count,
                          .positions = positions,
                          .width = c->width,
                          .heads = 4,
                          .ffn_width = 2 * c->width,
                          .encoder_layers = c->layers,
                          .decoder_layers = c->layers,
                          .norm_order = RAPT_NORM_ORDER_PRE,
                          .position = c->position,
                          .rotary = c->rotary,
                          .relative_bias = c->relative,
                          .self_locality =
                              c->window > 0 ? RAPT_LOCALITY_LOCAL_M : RAPT_LOCALITY_GLOBAL,
                          .self_radius = c->window,
                          .cross_score = c->cross};
    rapt_train_options options;
    rapt_train_options_default(&options, sizeof options);
    options.schedule = RAPT_SCHEDULE_CONSTANT; /* each step passes its own rate */
    options.warmup = 1;
    options.clip_norm = 1;
    options.label_smoothing = options.dropout = 0;
    options.attention_dropout = options.ffn_dropout = options.weight_decay = 0;
    rapt_train_limits capacity = {sizeof capacity, c->batch, tokens, tokens, .threads = 1};
    rapt_limits use = {.size = sizeof use,
                       .batch = c->batch,
                       .source_tokens = tokens,
                       .target_length = positions,
                       .target_tokens = positions,
                       .threads = 1};
    m->language = language;
    m->config = *c;
    transformer_check(rapt_model_create(&m->model, &config, c->seed, NULL, &why), &why);
    transformer_check(rapt_trainer_create(&m->trainer, m->model, &options, &capacity, NULL, &why),
                      &why);
    transformer_check(rapt_session_create(&m->session, m->model, &use, NULL, &why), &why);
    m->source = xcalloc((size_t)tokens, sizeof *m->source);
    m->target = xcalloc((size_t)tokens, sizeof *m->target);
    m->source_starts = xcalloc((size_t)c->batch + 1, sizeof(int));
    m->target_starts = xcalloc((size_t)c->batch + 1, sizeof(int));
    return m;
}

void transformer_free(struct transformer *m)
{
    if (m == NULL) return;
    rapt_session_free(m->session);
    rapt_trainer_free(m->trainer);
    rapt_model_free(m->model);
    free(m->source);
    free(m->target);
    free(m->source_starts);
    free(m->target_starts);
    free(m);
}

size_t transformer_parameters(const struct transformer *m)
{
    size_t probes = m->config.probed ? (size_t)(m->config.words + 2) * (size_t)m->config.width : 0;
    return rapt_model_parameters(m->model) - probes;
}

/* Fills in a batch. A source is its words and the end; a target is begin, its words and the end. */
static void transformer_fill(struct transformer *m, const struct sentence *sentences, int count)
{
    int s = 0, t = 0;
    for (int b = 0; b < count; b++) {
        const struct words *source = &sentences[b].source, *target = &sentences[b].target;
        m->target[t++] = RAPT_TOKEN_BEGIN;
        for (int i = 0; i < source->count; i++) m->source[s++] = source->tokens[i];
        for (int i = 0; i < target->count; i++) m->target[t++] = target->tokens[i];
        m->source[s++] = m->target[t++] = RAPT_TOKEN_END;
        m->source_starts[b + 1] = s;
        m->target_starts[b + 1] = t;
    }
}

double transformer_step(struct transformer *m, const struct sentence *sentences, int count,
                        float rate)
{
    rapt_report report = {.size = sizeof report};
    rapt_message why = {""};
    transformer_fill(m, sentences, count);
    rapt_tokens source = {.batch = count, .ids = m->source, .starts = m->source_starts};
    rapt_tokens target = {.batch = count, .ids = m->target, .starts = m->target_starts};
    rapt_trainer_set_rate(m->trainer, rate);
    transformer_check(rapt_train_gradient(m->trainer, &source, &target, &report, &why), &why);
    transformer_check(rapt_train_step(m->trainer, &report, &why), &why);
    return report.likelihood / (double)report.tokens;
}

/* Reads the cross-attention weights of the last layer, averaged over the heads, after a
   translation. */
static void read_weights(struct transformer *m, const struct sentence *sentence,
                         const struct words *out, float *weights)
{
    rapt_message why = {""};
    int starts[2] = {0, out->count + 1};
    transformer_fill(m, sentence, 1);
    for (int i = 0; i < out->count; i++) m->target[i + 1] = out->tokens[i];
    rapt_tokens source = {.batch = 1, .ids = m->source, .starts = m->source_starts},
                target = {.batch = 1, .ids = m->target, .starts = starts};
    transformer_check(rapt_encode(m->session, &source, NULL, &why), &why);
    transformer_check(rapt_decode(m->session, &target, NULL, &why), &why);
    transformer_check(rapt_session_alignment(m->session, m->config.layers - 1, -1, weights, &why),
                      &why);
}

void transformer_translate(struct transformer *m, const struct sentence *sentences, int count,
                           struct words *out, const struct seen *seen)
{
    const size_t columns = (size_t)sentences[0].source.count + 1;
    rapt_message why = {""};
    rapt_generate_options options;
    rapt_generate_options_default(&options, sizeof options, RAPT_TOKEN_BEGIN, RAPT_TOKEN_END);
    options.max_length = 2 * (int)columns;
    int32_t *ids = xcalloc((size_t)count * 2 * columns, sizeof *ids);
    int counts[MAX_BATCH];
    transformer_fill(m, sentences, count);
    rapt_tokens source = {.batch = count, .ids = m->source, .starts = m->source_starts};
    const rapt_generate_outputs found = {.size = sizeof found, .ids = ids, .counts = counts};
    transformer_check(rapt_generate(m->session, &source, &options, &found, &why), &why);
    for (int b = 0; b < count; b++) {
        out[b].count = counts[b];
        for (int i = 0; i < counts[b]; i++)
            out[b].tokens[i] = ids[(size_t)b * 2 * columns + (size_t)i];
        if (seen != NULL)
            read_weights(m, &sentences[b], &out[b],
                         seen->weights + (size_t)(b * MAX_TARGET) * columns);
    }
    free(ids);
}

/* Gives every source word a token of its own after the vocabulary, with a copy of its row, so that
   the gradients of these rows are those of single words. */
static void probe_source(struct transformer *m, const struct sentence *sentence, int table)
{
    const int width = m->config.width, first = m->language->source.count;
    const rapt_tensor tensor = rapt_model_tensor(m->model, table);
    float *rows = xcalloc((size_t)tensor.rows * (size_t)width, sizeof *rows);
    rapt_message why = {""};
    transformer_check(rapt_model_read(m->model, table, rows, &why), &why);
    transformer_fill(m, sentence, 1);
    for (int s = 0; s <= sentence->source.count; s++) {
        memcpy(rows + (first + s) * width, rows + m->source[s] * width,
               (size_t)width * sizeof *rows);
        m->source[s] = first + s;
    }
    transformer_check(rapt_model_write(m->model, table, rows, &why), &why);
    free(rows);
}

/* Computes the gradient of the table for the summed loss of the first `steps` steps. */
static void table_gradient(struct transformer *m, int steps, int table, float *gradient)
{
    size_t count;
    long long *tokens;
    rapt_report report = {.size = sizeof report};
    rapt_message why = {""};
    float *block = rapt_trainer_gradients(m->trainer, &count, &tokens);
    const rapt_tensor tensor = rapt_model_tensor(m->model, table);
    memset(gradient, 0, (size_t)tensor.rows * (size_t)tensor.columns * sizeof *gradient);
    if (steps == 0) return;
    int starts[2] = {0, steps + 1};
    rapt_tokens source = {.batch = 1, .ids = m->source, .starts = m->source_starts},
                target = {.batch = 1, .ids = m->target, .starts = starts};
    transformer_check(rapt_train_gradient(m->trainer, &source, &target, &report, &why), &why);
    transformer_check(rapt_trainer_read_gradient(m->trainer, table, gradient, &why), &why);
    memset(block, 0, count * sizeof *block);
    *tokens = 0;
}

/* Returns |d loss / d logits| of a step. */
static double loss_slope(struct transformer *m, int step)
{
    const int words = m->language->target.count;
    const float *logits;
    float slope[sizeof m->language->target.words / sizeof *m->language->target.words];
    rapt_message why = {""};
    int starts[2] = {0, step + 1};
    rapt_tokens source = {.batch = 1, .ids = m->source, .starts = m->source_starts},
                target = {.batch = 1, .ids = m->target, .starts = starts};
    transformer_check(rapt_encode(m->session, &source, NULL, &why), &why);
    transformer_check(rapt_decode(m->session, &target, &logits, &why), &why);
    cross_entropy(1, words, logits + step * words, (const int *)&m->target[step + 1], slope, NULL);
    double sum = 0;
    for (int i = 0; i < words; i++) sum += (double)slope[i] * (double)slope[i];
    return sqrt(sum);
}

void transformer_influence(struct transformer *m, const struct sentence *sentence, int step,
                           float *norms)
{
    const int width = m->config.width, length = sentence->source.count + 1;
    const int table = rapt_model_find(m->model, "encoder.embedding.weight");
    const int first = m->language->source.count;
    const size_t floats = (size_t)rapt_model_tensor(m->model, table).rows * (size_t)width;
    float *after = xcalloc(2 * floats, sizeof *after), *before = after + floats;
    memset(norms, 0, (size_t)length * sizeof *norms);
    if (step <= sentence->target.count) {
        probe_source(m, sentence, table);
        table_gradient(m, step + 1, table, after);
        table_gradient(m, step, table, before);
        /* a word is its row times the square root of the width */
        const double scale = loss_slope(m, step) * sqrt(width);
        for (int s = 0; s < length; s++) {
            double sum = 0;
            for (int i = (first + s) * width; i < (first + s + 1) * width; i++)
                sum += pow((double)after[i] - (double)before[i], 2);
            norms[s] = (float)(sqrt(sum) / scale);
        }
    }
    free(after);
}
