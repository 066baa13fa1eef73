/* vectors.c - models whose source is the caller's vectors, at any alignment. The encoder's rows and
   the logits must agree with the definition (definition.h). The bits must be the same sequence by
   sequence, with two threads, and next to a sequence that contains NaN. Gradients must be finite,
   repeatable, and agree with the slope of the definition's loss. NULL vectors and rows that exceed
   the limits must be refused. */
#include "sources.h"

struct subject {
    rapt_config config;
    rapt_model *model;
    struct source source;
    struct small_batch target;
    size_t width, vocab;
};

/* Encodes and returns a copy of the encoder's rows. */
static float *encode(rapt_session *session, const struct subject *s, const rapt_tokens *source)
{
    const float *out = NULL;
    rapt_message why = {""};
    require(rapt_encode(session, source, &out, &why) == RAPT_OK, why.text);
    return exact_copy(out, (size_t)source->starts[source->batch] * s->width * sizeof *out);
}

static void check_alone(const struct subject *s, int threads, const float *states)
{
    rapt_session *session = model_session(s->model, threads, 0);
    for (int b = 0; b < s->source.batch; b++) {
        int starts[2];
        const rapt_tokens one = source_one(&s->source, b, starts);
        float *got = encode(session, s, &one);
        require(array_same(got, states + (size_t)s->source.starts[b] * s->width,
                           (size_t)starts[1] * s->width),
                "a sequence by itself");
        free(got);
    }
    rapt_session_free(session);
}

/* Vectors of any bits are accepted. Those of one sequence must not change the rows of another. */
static void check_not_finite(const struct subject *s, rapt_session *session, const float *states,
                             int which)
{
    const struct source *o = &s->source;
    float *x = exact_copy(o->x, o->size * sizeof *x);
    for (size_t i = 0; which < o->batch && i < o->size; i++) {
        int row = (int)(i / o->width);
        if (row >= o->starts[which] && row < o->starts[which + 1]) x[i] = i % 3 ? NAN : -INFINITY;
    }
    const rapt_tokens tokens = (rapt_tokens){.batch = o->batch, .vectors = x, .starts = o->starts};
    float *got = encode(session, s, &tokens);
    for (int b = 0; b < o->batch; b++) {
        size_t at = (size_t)o->starts[b] * s->width;
        size_t count = (size_t)o->starts[b + 1] * s->width - at;
        require(b == which || array_same(got + at, states + at, count), "beside a sequence of NaN");
    }
    free(got);
    free(x);
}

static void check_definition(const struct subject *s, rapt_session *session, const float *states)
{
    const float *logits = NULL;
    bool decodes = s->config.kind == RAPT_KIND_ENCODER_DECODER;
    if (decodes)
        require(rapt_decode(session, &s->target.tokens, &logits, NULL) == RAPT_OK, "decoding");
    for (int b = 0; b < s->source.batch; b++) {
        const struct oracle_sentence source = source_sentence(&s->source, b);
        size_t first = (size_t)s->target.starts[b];
        const struct oracle_sentence target = {.number = b,
                                               .first = (int)first,
                                               .count = s->target.starts[b + 1] - (int)first,
                                               .ids = s->target.ids + first};
        const struct definition_outputs got = {
            states + (size_t)source.first * s->width, logits ? logits + first * s->vocab : NULL,
            (size_t)source.count * s->width, (size_t)target.count * s->vocab};
        definition_check(s->model, &source, logits ? &target : NULL, &got);
    }
}

/* ---- refusals ---- */

static void check_refused(rapt_session *session, const rapt_tokens *source)
{
    rapt_message why = {""};
    const float *out = NULL;
    require(rapt_encode(session, source, &out, &why) == RAPT_BAD_ARGUMENT && why.text[0],
            "refused, with a reason");
    require(out == NULL, "nothing is given");
}

static void check_refusals(const struct subject *s, rapt_session *session, struct feed *in)
{
    const struct source *o = &s->source;
    const int values[] = {-1, INT32_MIN, MODEL_BATCH * MODEL_POSITIONS + 1, INT32_MAX};
    int starts[SOURCES + 1];
    memcpy(starts, o->starts, sizeof starts);
    starts[take_flag(in) ? o->batch : take_below(in, o->batch + 1)] = values[take_below(in, 4)];
    const rapt_tokens bad = (rapt_tokens){.batch = o->batch, .vectors = o->x, .starts = starts},
                      none = (rapt_tokens){.batch = o->batch, .starts = o->starts},
                      more = (rapt_tokens){
                          .batch = MODEL_BATCH + 1, .vectors = o->x, .starts = o->starts};
    check_refused(session, &bad), check_refused(session, &more);
    if (o->size) check_refused(session, &none);
}

/* ---- training ---- */

static void take_labels(struct subject *s, struct feed *in)
{
    int lengths[SOURCES];
    bool labels = s->config.kind == RAPT_KIND_ENCODER_ONLY;
    for (int b = 0; b < s->source.batch; b++) {
        int rows = s->source.starts[b + 1] - s->source.starts[b];
        lengths[b] = !labels             ? 2 + take_below(in, MODEL_POSITIONS - 1)
                     : s->config.pooling ? 1
                                         : rows;
    }
    small_fill(&s->target, s->config.target_vocab, lengths, s->source.batch, take_byte(in));
}

/* Tells whether a sequence has no rows, which training refuses. */
static bool without_rows(const struct subject *s)
{
    bool any = false;
    for (int b = 0; b < s->source.batch; b++)
        any = any || s->source.starts[b + 1] == s->source.starts[b];
    return any;
}

/* Returns the gradients of all parameters, or NULL if they were refused: not finite, or a sequence
   has no rows. */
static float *gradients(const struct subject *s, const rapt_train_options *o, int threads)
{
    const rapt_train_limits limits = {.size = sizeof limits,
                                      .batch = MODEL_BATCH,
                                      .source_tokens = MODEL_BATCH * MODEL_POSITIONS,
                                      .target_tokens = MODEL_BATCH * (MODEL_POSITIONS + 1),
                                      .threads = threads};
    rapt_trainer *trainer = NULL;
    rapt_report report = {.size = sizeof report};
    rapt_message why = {""};
    require(rapt_trainer_create(&trainer, s->model, o, &limits, NULL, &why) == RAPT_OK, why.text);
    rapt_status status =
        rapt_train_gradient(trainer, &s->source.tokens, &s->target.tokens, &report, &why);
    require(status == RAPT_OK || why.text[0], "a reason");
    require(status == RAPT_OK || status == RAPT_NOT_FINITE || without_rows(s), why.text);
    size_t count = rapt_model_parameters(s->model), at = 0;
    float *all = malloc(count * sizeof *all);
    for (int i = 0; i < rapt_model_tensors(s->model) && !status; i++) {
        rapt_trainer_read_gradient(trainer, i, all + at, NULL);
        at += small_size(s->model, i);
    }
    rapt_trainer_free(trainer);
    require(status || (isfinite(report.loss) && array_finite(all, count)), "a finite gradient");
    if (!status) return all;
    free(all);
    return NULL;
}

/* Tells whether the loss is a smooth function of the parameters near here. */
static bool smooth_loss(const struct subject *s)
{
    const rapt_config *c = &s->config;
    float *all = small_parameters(s->model);
    bool good = smooth_config(c) && c->self_normalizer == RAPT_NORMALIZER_SOFTMAX &&
                c->cross_normalizer == RAPT_NORMALIZER_SOFTMAX && c->width >= 4 &&
                (c->ffn_width == 0 || c->activation != RAPT_ACTIVATION_RELU);
    for (size_t i = 0; i < rapt_model_parameters(s->model); i++) good = good && fabsf(all[i]) < 4;
    free(all);
    return good;
}

static void check_training(const struct subject *s, struct feed *in)
{
    rapt_train_options o;
    rapt_train_options_default(&o, sizeof o);
    o.dropout = take_flag(in) ? 0.3f : 0, o.seed = take_byte(in);
    float *one = gradients(s, &o, 1), *more = gradients(s, &o, 1 + (take_byte(in) % 16 == 1));
    require((one == NULL) == (more == NULL), "the same status");
    if (one) require(array_same(one, more, rapt_model_parameters(s->model)), "gradients once more");
    const struct definition_batch batch = {&s->source.tokens, &s->target.tokens,
                                           (double)o.label_smoothing, o.seed};
    if (one && o.dropout == 0 && smooth_loss(s)) definition_check_slope(s->model, &batch, one);
    free(one);
    free(more);
}

static void check(struct subject *s, struct feed *in)
{
    rapt_session *session = model_session(s->model, 1, 0);
    int which = take_below(in, MODEL_BATCH);
    float *states = encode(session, s, &s->source.tokens);
    require(array_finite(states, (size_t)s->source.starts[s->source.batch] * s->width),
            "rows are finite");
    if (smooth_config(&s->config)) check_definition(s, session, states);
    check_alone(s, 1 + (take_byte(in) % 16 == 1), states);
    check_not_finite(s, session, states, which);
    check_refusals(s, session, in);
    if (s->target.starts[s->source.batch] > 0) check_training(s, in);
    free(states);
    rapt_session_free(session);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    static struct subject s;
    struct feed in = {bytes, size};
    s.model = take_reader(&in, &s.config, true, MODEL_POSITIONS);
    if (!s.model) return 0;
    s.width = (size_t)s.config.width, s.vocab = (size_t)s.config.target_vocab;
    take_source(&in, &s.source, &s.config, MODEL_BATCH, MODEL_POSITIONS);
    take_labels(&s, &in);
    check(&s, &in);
    drop_source(&s.source);
    rapt_model_free(s.model);
    return 0;
}
