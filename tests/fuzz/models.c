/* models.c - sessions and trainers of models of any small configuration, compared with the
   definition (models.h). */
#include "models.h"

/* ---- session: a batch must give the bits of its sentences by themselves, all tokens at once those
   of one at a time, reordered targets those of their parents, and two threads those of one. Logits
   and encoder outputs must agree with the definition. ---- */

struct session_subject {
    rapt_config config;
    rapt_model *model;
    int batch, threads; /* threads: of the sessions that check_session single sentences */
    struct small_batch source, target;
};

static bool reads(const struct session_subject *s)
{
    return s->config.encoder_layers > 0;
}

static const float *encode(rapt_session *session, const struct session_subject *s,
                           const rapt_tokens *source)
{
    const float *out = NULL;
    rapt_message why = {""};
    rapt_tokens none = {.batch = source->batch};
    require(rapt_encode(session, reads(s) ? source : &none, &out, &why) == RAPT_OK, why.text);
    return out;
}

/* Decodes and returns a copy of the logits. */
static float *decode(rapt_session *session, const struct session_subject *s,
                     const rapt_tokens *target)
{
    const float *logits = NULL;
    rapt_message why = {""};
    require(rapt_decode(session, target, &logits, &why) == RAPT_OK, why.text);
    size_t n = (size_t)target->starts[target->batch] * (size_t)s->config.target_vocab;
    return exact_copy(logits, n * sizeof *logits);
}

static void same(const float *a, const float *b, size_t n, const char *what)
{
    require(n == 0 || memcmp(a, b, n * sizeof *a) == 0, what);
}

/* Computes sequence i by itself, one token at a time, and compares. */
static void check_alone(const struct session_subject *s, int i, const float *states,
                        const float *logits)
{
    rapt_session *session = model_session(s->model, s->threads, 1);
    int one[2], step[2] = {0, 1};
    rapt_tokens source = small_one(&s->source.tokens, i, one);
    size_t width = (size_t)s->config.width, vocab = (size_t)s->config.target_vocab;
    const float *out = encode(session, s, &source);
    if (reads(s))
        same(out, states + (size_t)s->source.starts[i] * width, (size_t)one[1] * width,
             "a sentence by itself");
    for (int t = s->target.starts[i]; logits && t < s->target.starts[i + 1]; t++) {
        rapt_tokens token = {.batch = 1, .ids = s->target.ids + t, .starts = step};
        float *row = decode(session, s, &token);
        same(row, logits + (size_t)t * vocab, vocab, "one token at a time");
        free(row);
    }
    rapt_session_free(session);
}

/* Decodes two targets for the first source. The second, still empty, becomes a copy of the
   first. */
static void check_reorder(const struct session_subject *s, const float *logits)
{
    struct small_batch two;
    const int n = s->target.starts[1], lengths[2] = {n - 1, 0}, parents[2] = {0, 0};
    int starts[3] = {0, 1, 2}, one[2];
    size_t vocab = (size_t)s->config.target_vocab;
    if (n < 2) return;
    rapt_session *session = model_session(s->model, 1, 2);
    rapt_tokens source = small_one(&s->source.tokens, 0, one);
    small_fill(&two, s->config.target_vocab, lengths, 2, 1);
    memcpy(two.ids, s->target.ids, (size_t)(n - 1) * sizeof *two.ids);
    encode(session, s, &source);
    free(decode(session, s, &two.tokens));
    require(rapt_session_reorder(session, parents, NULL) == RAPT_OK, "reordering");
    const int32_t last[2] = {s->target.ids[n - 1], s->target.ids[n - 1]};
    const rapt_tokens next = {.batch = 2, .ids = last, .starts = starts};
    float *rows = decode(session, s, &next);
    for (size_t i = 0; i < 2; i++)
        same(rows + i * vocab, logits + (size_t)(n - 1) * vocab, vocab, "a reordered target");
    free(rows);
    rapt_session_free(session);
}

static void check_definition(const struct session_subject *s, int i, const float *states,
                             const float *logits)
{
    const int *starts = s->source.starts, *firsts = s->target.starts;
    size_t width = (size_t)s->config.width, vocab = (size_t)s->config.target_vocab;
    const struct oracle_sentence source = {.number = i,
                                           .first = starts[i],
                                           .count = starts[i + 1] - starts[i],
                                           .ids = s->source.ids + starts[i]};
    const struct oracle_sentence target = {.number = i,
                                           .first = firsts[i],
                                           .count = firsts[i + 1] - firsts[i],
                                           .ids = s->target.ids + firsts[i]};
    const struct definition_outputs got = {states ? states + (size_t)starts[i] * width : NULL,
                                           logits ? logits + (size_t)firsts[i] * vocab : NULL,
                                           (size_t)source.count * width,
                                           (size_t)target.count * vocab};
    definition_check(s->model, states ? &source : NULL, logits ? &target : NULL, &got);
}

static void check_session(const struct session_subject *s)
{
    rapt_session *session = model_session(s->model, 1, 1);
    size_t states_size = (size_t)s->source.starts[s->batch] * (size_t)s->config.width;
    const float *out = encode(session, s, &s->source.tokens);
    float *states = reads(s) ? exact_copy(out, states_size * sizeof *out) : NULL;
    float *logits = s->config.decoder_layers ? decode(session, s, &s->target.tokens) : NULL;
    bool smooth = !hard_or_drawn(s->config.self_normalizer) &&
                  !hard_or_drawn(s->config.cross_normalizer) &&
                  s->config.self_locality != RAPT_LOCALITY_LOCAL_P &&
                  s->config.cross_locality != RAPT_LOCALITY_LOCAL_P;
    for (int i = 0; i < s->batch; i++) check_alone(s, i, states, logits);
    if (logits && s->batch > 0) check_reorder(s, logits);
    for (int i = 0; smooth && i < s->batch; i++) check_definition(s, i, states, logits);
    free(states);
    free(logits);
    rapt_session_free(session);
}

int fuzz_session(const uint8_t *bytes, size_t size)
{
    struct feed in = {bytes, size};
    static struct session_subject s;
    s.model = take_model(&in, &s.config);
    s.batch = 1 + take_below(&in, MODEL_BATCH), s.threads = 1 + (take_byte(&in) % 16 == 1);
    take_batch(&in, &s.source, s.config.source_vocab, s.batch, 0, 0);
    take_batch(&in, &s.target, s.config.target_vocab, s.batch, 0, 0);
    if (s.model) check_session(&s);
    rapt_model_free(s.model);
    return 0;
}

/* ---- trainer: training steps with options chosen by the input, good and bad. Bad options must be
   refused with a reason. A step must succeed, or be refused because a number is not finite and
   change nothing. Parameters must stay finite. Two trainers, now and then with one and two threads,
   must stay identical. Gradients must agree with the slope of the definition's loss along a
   direction. ---- */

struct training {
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

static rapt_trainer *open_trainer(const struct training *s, rapt_model *model, int threads)
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

/* Takes one training_step. *before receives the parameters before it; the caller frees them. */
static rapt_status training_step(const struct training *s, rapt_model *model, rapt_trainer *trainer)
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

static void check_slope(const struct training *s, rapt_model *model)
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

/* Tells whether the loss is a smooth_loss function of the parameters near here. */
static bool smooth_loss(const struct training *s)
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

static void check_training(const struct training *s, rapt_model *model, rapt_model *other,
                           bool thorough)
{
    rapt_trainer *a = open_trainer(s, model, 1), *b = open_trainer(s, other, s->threads);
    require((a == NULL) == (b == NULL), "both trainers, or none");
    for (int n = 0; a && n < 3; n++) {
        rapt_status status = training_step(s, model, a);
        require(training_step(s, other, b) == status, "the same status");
        small_same_models(model, other);
    }
    rapt_trainer_free(a);
    rapt_trainer_free(b);
    bool plain =
        s->options.dropout == 0 && s->options.attention_dropout == 0 && s->options.ffn_dropout == 0;
    if (a && thorough && plain && smooth_loss(s) && moderate(model)) check_slope(s, model);
}

int fuzz_trainer(const uint8_t *bytes, size_t size)
{
    static struct training s;
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
    if (model) check_training(&s, model, other, thorough);
    rapt_model_free(model);
    rapt_model_free(other);
    return 0;
}
