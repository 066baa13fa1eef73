/* trainer.c - training steps of models with options chosen by the input, good and bad. Bad options
   must be refused with a reason. A step must succeed, or be refused because a number is not finite
   and change nothing. Parameters must stay finite. Two trainers, now and then with one and two
   threads, must stay identical. Gradients must agree with the slope of the definition's loss along
   a direction (definition.h). */
#include "definition.h"

struct subject {
    rapt_config config;
    rapt_train_options options;
    struct small_batch source, target;
    int batch, threads; /* threads: of the second trainer */
};

static void take_options(struct feed *in, rapt_train_options *o)
{
    static const float values[] = {0, 0.1f, 0.5f, 1, 1e-6f, 1e30f, 3e38f, -1, NAN, INFINITY};
    int range = take_flag(in) ? 10 : 3;
    rapt_train_options_default(o, sizeof *o);
    o->rate = values[1 + take_below(in, range - 1)];
    o->warmup = take_below(in, 4), o->steps = take_below(in, 6) + 4;
    o->schedule = (rapt_schedule)take_below(in, 3);
    if (take_flag(in)) o->epsilon = values[take_below(in, range)];
    if (take_flag(in)) o->weight_decay = values[take_below(in, range)];
    if (take_flag(in)) o->clip_norm = values[take_below(in, range)];
    if (take_flag(in)) o->beta1 = values[take_below(in, range)];
    if (take_flag(in)) o->beta2 = values[take_below(in, range)];
    o->label_smoothing = take_flag(in) ? values[take_below(in, range)] : 0.1f;
    o->dropout = take_flag(in) ? values[take_below(in, range)] : 0;
    o->attention_dropout = take_flag(in) ? 0.3f : 0, o->ffn_dropout = take_flag(in) ? 0.2f : 0;
    o->seed = take_byte(in);
}

static rapt_trainer *open_trainer(const struct subject *s, rapt_model *model, int threads)
{
    const rapt_train_limits limits = {.size = sizeof limits,
                                      .batch = MODEL_BATCH,
                                      .source_tokens = MODEL_BATCH * MODEL_POSITIONS,
                                      .target_tokens = MODEL_BATCH * MODEL_POSITIONS,
                                      .threads = threads};
    rapt_trainer *trainer = NULL;
    rapt_message why = {""};
    rapt_status status = rapt_trainer_create(&trainer, model, &s->options, &limits, NULL, &why);
    require(status == RAPT_OK || (status == RAPT_BAD_ARGUMENT && why.text[0]), "a reason");
    return trainer;
}

/* Takes one step. *before receives the parameters before it; the caller frees them. */
static rapt_status step(const struct subject *s, rapt_model *model, rapt_trainer *trainer)
{
    rapt_report report = {.size = sizeof report, .loss = -7};
    rapt_message why = {""};
    size_t n = rapt_model_parameters(model);
    float *before = small_parameters(model);
    rapt_status status =
        rapt_train_gradient(trainer, &s->source.tokens, &s->target.tokens, &report, &why);
    require(status == RAPT_OK || status == RAPT_NOT_FINITE, why.text);
    require(status != RAPT_OK || (isfinite(report.loss) && report.loss >= 0), "a loss");
    if (status == RAPT_OK) status = rapt_train_step(trainer, &report, &why);
    require(status == RAPT_OK ? !why.text[0] : why.text[0] != 0, "a reason, or none");
    float *after = small_parameters(model);
    require(status == RAPT_OK || memcmp(before, after, n * sizeof *after) == 0, "no change");
    for (size_t i = 0; i < n; i++) require(isfinite(after[i]), "parameters stay finite");
    free(before);
    free(after);
    return status;
}

static void check_slope(const struct subject *s, rapt_model *model)
{
    const struct definition_batch batch = {&s->source.tokens, &s->target.tokens,
                                           (double)s->options.label_smoothing, s->options.seed + 1};
    rapt_trainer *trainer = open_trainer(s, model, 1);
    float *all = malloc(rapt_model_parameters(model) * sizeof *all), *next = all;
    require(all && rapt_train_gradient(trainer, batch.source, batch.target, NULL, NULL) == RAPT_OK,
            "a gradient");
    for (int i = 0; i < rapt_model_tensors(model); i++, next += small_size(model, i - 1))
        require(rapt_trainer_read_gradient(trainer, i, next, NULL) == RAPT_OK, "a gradient");
    definition_check_slope(model, &batch, all);
    rapt_trainer_free(trainer);
    free(all);
}

/* Tells whether the loss is a smooth function of the parameters near here. */
static bool smooth(const struct subject *s)
{
    const rapt_config *c = &s->config;
    return !hard_or_drawn(c->self_normalizer) && !hard_or_drawn(c->cross_normalizer) &&
           c->self_normalizer == RAPT_NORMALIZER_SOFTMAX &&
           c->cross_normalizer == RAPT_NORMALIZER_SOFTMAX &&
           c->self_locality != RAPT_LOCALITY_LOCAL_P &&
           c->cross_locality != RAPT_LOCALITY_LOCAL_P &&
           (c->ffn_width == 0 || c->activation != RAPT_ACTIVATION_RELU) && c->width >= 4;
}

/* Tells whether all parameters are moderate. With large ones the rounding of a score decides which
   key gets all the weight. */
static bool moderate(const rapt_model *model)
{
    float *all = small_parameters(model);
    bool good = true;
    for (size_t i = 0; i < rapt_model_parameters(model); i++) good = good && fabsf(all[i]) < 4;
    free(all);
    return good;
}

static void check(const struct subject *s, rapt_model *model, rapt_model *other, bool thorough)
{
    rapt_trainer *a = open_trainer(s, model, 1), *b = open_trainer(s, other, s->threads);
    require((a == NULL) == (b == NULL), "both trainers, or none");
    for (int n = 0; a && n < 3; n++) {
        rapt_status status = step(s, model, a);
        require(step(s, other, b) == status, "the same status");
        small_same_models(model, other);
    }
    rapt_trainer_free(a);
    rapt_trainer_free(b);
    bool plain =
        s->options.dropout == 0 && s->options.attention_dropout == 0 && s->options.ffn_dropout == 0;
    if (a && thorough && plain && smooth(s) && moderate(model)) check_slope(s, model);
}

int fuzz_trainer(const uint8_t *bytes, size_t size)
{
    static struct subject s;
    struct feed in = {bytes, size}, again = in;
    rapt_model *model = take_model(&in, &s.config), *other = take_model(&again, &s.config);
    s.batch = 1 + take_below(&in, MODEL_BATCH), s.threads = 1 + (take_byte(&in) % 16 == 1);
    bool labels = s.config.kind == RAPT_KIND_ENCODER_ONLY, thorough = take_flag(&in);
    take_batch(&in, &s.source, s.config.source_vocab, s.batch, 1, 0);
    take_batch(&in, &s.target, s.config.target_vocab, s.batch, 2, 0);
    if (labels) memcpy(s.target.starts, s.source.starts, sizeof s.source.starts);
    for (int i = 0; labels && i < s.source.starts[s.batch]; i++)
        s.target.ids[i] = i % 5 - 1 < s.config.target_vocab ? i % 5 - 1 : 0; /* -1: no label */
    take_options(&in, &s.options);
    if (model) check(&s, model, other, thorough);
    rapt_model_free(model);
    rapt_model_free(other);
    return 0;
}
