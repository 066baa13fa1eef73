/* learner.c - trains a small model of the library, and asks it for losses, classes and generated
   targets. All calls use one thread, since models are trained in parallel threads. */
#include "learner.h"
#include <stdlib.h>
#include <string.h>

void learner_check(rapt_status status, const rapt_message *why)
{
    if (status != RAPT_OK) exit(failed("%s", *why->text ? why->text : rapt_status_text(status)));
}

rapt_config learner_config(rapt_kind kind, int width, int heads, int layers, int positions)
{
    return (rapt_config){.size = sizeof(rapt_config),
                         .kind = kind,
                         .positions = positions,
                         .width = width,
                         .heads = heads,
                         .ffn_width = 2 * width,
                         .encoder_layers = kind == RAPT_KIND_DECODER_ONLY ? 0 : layers,
                         .decoder_layers = kind == RAPT_KIND_ENCODER_ONLY ? 0 : layers,
                         .norm_order = RAPT_NORM_ORDER_PRE};
}

void learner_session(struct learner *l)
{
    const struct learner_setup *setup = &l->setup;
    const rapt_config *config = &setup->config;
    const rapt_limits use = {.size = sizeof use,
                             .batch = setup->batch,
                             .source_tokens = setup->batch * setup->source_rows,
                             .target_length = setup->target_ids,
                             .target_tokens = setup->batch * setup->target_ids,
                             .threads = 1,
                             .alignments = config->decoder_layers > 0 && config->encoder_layers > 0,
                             .self_weights = 1};
    rapt_message why = {""};
    learner_check(rapt_session_create(&l->session, l->model, &use, NULL, &why), &why);
}

void learner_create(struct learner *l, const struct learner_setup *setup)
{
    const int batch = setup->batch, rows = batch * setup->source_rows;
    const int targets = batch * setup->target_ids;
    rapt_message why = {""};
    rapt_train_options options;
    rapt_train_options_default(&options, sizeof options);
    options.rate = setup->rate, options.warmup = 1 + setup->steps / 10;
    options.schedule = RAPT_SCHEDULE_LINEAR, options.steps = setup->steps + 1;
    if (setup->steps == 0) options.schedule = RAPT_SCHEDULE_CONSTANT;
    options.clip_norm = 1, options.label_smoothing = 0, options.dropout = 0;
    options.seed = setup->seed;
    const rapt_train_limits space = {.size = sizeof space,
                                     .batch = batch,
                                     .source_tokens = rows,
                                     .target_tokens = targets,
                                     .threads = 1};
    *l = (struct learner){.setup = *setup};
    learner_check(rapt_model_create(&l->model, &setup->config, setup->seed, NULL, &why), &why);
    learner_check(rapt_trainer_create(&l->trainer, l->model, &options, &space, NULL, &why), &why);
    learner_session(l);
    l->ids = xcalloc((size_t)rows + 1, sizeof *l->ids);
    l->vectors =
        xcalloc((size_t)rows + 1, ((size_t)setup->config.source_width + 1) * sizeof(float));
    l->targets = xcalloc((size_t)targets + 1, sizeof *l->targets);
    l->source_starts = xcalloc((size_t)batch + 1, sizeof(int));
    l->target_starts = xcalloc((size_t)batch + 1, sizeof(int));
}

void learner_free(struct learner *l)
{
    rapt_session_free(l->session), rapt_trainer_free(l->trainer), rapt_model_free(l->model);
    free(l->ids), free(l->vectors), free(l->targets);
    free(l->source_starts), free(l->target_starts);
}

void learner_clear(struct learner *l)
{
    l->sequences = l->source_starts[1] = l->target_starts[1] = 0;
}

void learner_id(struct learner *l, int id)
{
    l->ids[l->source_starts[l->sequences + 1]++] = id;
}

float *learner_vector(struct learner *l)
{
    const size_t width = (size_t)l->setup.config.source_width;
    float *vector = l->vectors + (size_t)l->source_starts[l->sequences + 1]++ * width;
    memset(vector, 0, width * sizeof *vector);
    return vector;
}

void learner_target(struct learner *l, int id)
{
    l->targets[l->target_starts[l->sequences + 1]++] = id;
}

void learner_end(struct learner *l)
{
    const int b = ++l->sequences;
    if (b == l->setup.batch) return;
    l->source_starts[b + 1] = l->source_starts[b];
    l->target_starts[b + 1] = l->target_starts[b];
}

rapt_tokens learner_sources(const struct learner *l)
{
    if (l->setup.config.kind == RAPT_KIND_DECODER_ONLY) return (rapt_tokens){.batch = l->sequences};
    if (l->setup.config.source_width > 0)
        return (rapt_tokens){
            .batch = l->sequences, .vectors = l->vectors, .starts = l->source_starts};
    return (rapt_tokens){.batch = l->sequences, .ids = l->ids, .starts = l->source_starts};
}

rapt_tokens learner_targets(const struct learner *l)
{
    return (rapt_tokens){.batch = l->sequences, .ids = l->targets, .starts = l->target_starts};
}

double learner_step(struct learner *l)
{
    const rapt_tokens source = learner_sources(l), target = learner_targets(l);
    rapt_report report = {.size = sizeof report};
    rapt_message why = {""};
    learner_check(rapt_train_gradient(l->trainer, &source, &target, &report, &why), &why);
    learner_check(rapt_train_step(l->trainer, NULL, &why), &why);
    learner_clear(l);
    training_progress("", ++l->steps, l->setup.steps);
    return report.loss / (double)report.tokens;
}

rapt_report learner_evaluate(struct learner *l)
{
    const rapt_tokens source = learner_sources(l), target = learner_targets(l);
    rapt_report report = {.size = sizeof report};
    rapt_message why = {""};
    learner_check(rapt_train_evaluate(l->trainer, &source, &target, &report, &why), &why);
    return report;
}

const float *learner_classify(struct learner *l)
{
    const rapt_tokens source = learner_sources(l);
    const float *logits = NULL;
    rapt_message why = {""};
    learner_check(rapt_classify(l->session, &source, &logits, &why), &why);
    return logits;
}

void learner_search(struct learner *l, const struct learner_search *how, int32_t *out, int *counts,
                    float *alignments)
{
    const rapt_tokens source = learner_sources(l);
    const rapt_generate_outputs outputs = {
        .size = sizeof outputs, .ids = out, .counts = counts, .alignments = alignments};
    rapt_generate_options search;
    rapt_message why = {""};
    rapt_generate_options_default(&search, sizeof search, how->begin, how->end);
    search.prefix = how->prefix;
    search.temperature = how->temperature;
    search.seed = how->seed;
    learner_check(rapt_generate(l->session, &source, &search, &outputs, &why), &why);
}

void learner_generate(struct learner *l, int begin, int end, const rapt_tokens *prefix,
                      int32_t *out, int *counts, float *alignments)
{
    const struct learner_search greedy = {.begin = begin, .end = end, .prefix = prefix};
    learner_search(l, &greedy, out, counts, alignments);
}

const float *learner_decode(struct learner *l)
{
    const rapt_tokens source = learner_sources(l), target = learner_targets(l);
    const float *logits = NULL;
    rapt_message why = {""};
    learner_check(rapt_encode(l->session, &source, NULL, &why), &why);
    learner_check(rapt_decode(l->session, &target, &logits, &why), &why);
    return logits;
}

void learner_weights(struct learner *l, rapt_weights which, int layer, int head, float *weights)
{
    rapt_message why = {""};
    learner_check(rapt_session_weights(l->session, which, layer, head, weights, &why), &why);
}

bool learner_claim(struct learner *l, struct page *page, const char *statement,
                   learner_measure_fn *measure, const void *user, enum page_relation relation,
                   double bound)
{
    struct learner untrained;
    learner_create(&untrained, &l->setup);
    const double control = measure(&untrained, user);
    learner_free(&untrained);
    return page_claim_learned(page, statement, measure(l, user), control, relation, bound);
}
