/* encoders.c - models with an encoder, and what they make of tokens and vectors. */
#include "models.h"

/* ---- sources: models with an encoder chosen by the input, and their sources: ragged batches of
   tokens or of vectors, which may have any alignment of floats. ---- */

enum { SOURCES = 8 };

struct source {
    int batch, starts[SOURCES + 1];
    size_t width, shift,
        size; /* width: of a vector, or 0 for tokens; shift: floats before x; size: floats in x */
    float *x; /* vectors */
    int32_t *ids; /* tokens */
    rapt_tokens tokens;
};

/* Creates a model. Returns NULL if its configuration was refused with a reason. */
static rapt_model *take_reader(struct feed *in, rapt_config *c, bool vectors, int positions)
{
    rapt_model *model = NULL;
    rapt_message why = {""};
    *c = take_config(in);
    c->positions = positions;
    if (c->kind == RAPT_KIND_DECODER_ONLY) c->kind = RAPT_KIND_ENCODER_ONLY, c->encoder_layers = 1;
    if (c->kind == RAPT_KIND_ENCODER_ONLY) c->decoder_layers = 0;
    c->source_vocab = vectors                  ? 0
                      : c->tie == RAPT_TIE_ALL ? c->target_vocab
                                               : 3 + take_below(in, 9);
    c->source_width = vectors ? 1 + take_below(in, 20) : 0;
    if (c->kind == RAPT_KIND_ENCODER_ONLY) c->pooling = (rapt_pooling)take_below(in, 3);
    rapt_status status = rapt_model_create(&model, c, take_byte(in), NULL, &why);
    require(status == RAPT_OK || (status == RAPT_BAD_ARGUMENT && why.text[0]), "a reason");
    require((status == RAPT_OK) == (model != NULL), "a model, or a status");
    if (model) small_shake(model, take_byte(in), take_flag(in) ? 1.5f : 0.3f);
    return model;
}

/* Chooses at most `batch` sequences of at most `longest` rows. */
static void take_source(struct feed *in, struct source *s, const rapt_config *c, int batch,
                        int longest)
{
    uint64_t seed = take_byte(in);
    *s = (struct source){.batch = 1 + take_below(in, batch)};
    if (!take_flag(in)) s->batch = batch;
    s->shift = (size_t)take_below(in, 16);
    for (int b = 0; b < s->batch; b++)
        s->starts[b + 1] = s->starts[b] + take_below(in, longest + 1);
    size_t rows = (size_t)s->starts[s->batch];
    s->width = (size_t)c->source_width, s->size = rows * s->width;
    if (s->width) {
        s->x = array_uniform(s->size, s->shift, seed);
        s->tokens = (rapt_tokens){.batch = s->batch, .vectors = s->x, .starts = s->starts};
        return;
    }
    s->ids = malloc(rows * sizeof *s->ids + 1);
    require(s->ids != NULL, "memory for the test itself");
    for (size_t i = 0; i < rows; i++)
        s->ids[i] = (int32_t)(input_random(&seed) % (uint64_t)c->source_vocab);
    s->tokens = (rapt_tokens){.batch = s->batch, .ids = s->ids, .starts = s->starts};
}

static void drop_source(struct source *s)
{
    array_free_shifted(s->x, s->size, s->shift);
    free(s->ids);
}

/* Returns sequence b as a batch of its own. */
static rapt_tokens source_one(const struct source *s, int b, int starts[2])
{
    starts[0] = 0, starts[1] = s->starts[b + 1] - s->starts[b];
    if (s->width)
        return (rapt_tokens){
            .batch = 1, .vectors = s->x + (size_t)s->starts[b] * s->width, .starts = starts};
    return (rapt_tokens){.batch = 1, .ids = s->ids + s->starts[b], .starts = starts};
}

/* Returns sequence b in the form that the definition takes. */
static struct oracle_sentence source_sentence(const struct source *s, int b)
{
    int first = s->starts[b];
    return (struct oracle_sentence){.number = b,
                                    .first = first,
                                    .count = s->starts[b + 1] - first,
                                    .ids = s->width ? NULL : s->ids + first,
                                    .vectors = s->tokens.vectors};
}

/* Tells whether the outputs are smooth. With only two columns, a norm keeps hardly more than their
   order. */
static bool smooth_config(const rapt_config *c)
{
    return c->width > 3 && !hard_or_drawn(c->self_normalizer) &&
           !hard_or_drawn(c->cross_normalizer) && c->self_locality != RAPT_LOCALITY_LOCAL_P &&
           c->cross_locality != RAPT_LOCALITY_LOCAL_P;
}

/* ---- pooling: outputs of encoders of tokens or vectors. Embeddings must be the first row or the
   mean of the rows that rapt_encode gives; logits must be those of the definition (models.h).
   The bits must be the same sequence by sequence, in other groups and with two threads. What a
   model cannot compute must be refused. ---- */

enum { POSITIONS = 40, TOKENS = SOURCES * POSITIONS };

struct pooling_subject {
    rapt_config config;
    rapt_model *model;
    struct source source;
    size_t width, classes;
};

static rapt_session *open_session(const struct pooling_subject *s, int threads, int tokens)
{
    const rapt_limits limits = {.size = sizeof limits,
                                .batch = SOURCES,
                                .source_tokens = tokens,
                                .target_length = 1,
                                .target_tokens = SOURCES,
                                .threads = threads};
    rapt_session *session = NULL;
    rapt_message why = {""};
    require(rapt_session_create(&session, s->model, &limits, NULL, &why) == RAPT_OK, why.text);
    return session;
}

/* Returns a copy of the output, or NULL if the call was refused with a reason. */
static float *answer(rapt_session *session, const struct pooling_subject *s,
                     const rapt_tokens *source, int pooling)
{
    const float *out = NULL;
    rapt_message why = {""};
    rapt_status status = pooling < 0
                             ? rapt_classify(session, source, &out, &why)
                             : rapt_embed(session, source, (rapt_pooling)pooling, &out, &why);
    require(status == RAPT_OK ? !why.text[0] : why.text[0] != 0, "a reason, or none");
    require(status == RAPT_OK || status == RAPT_BAD_ARGUMENT, "a status");
    bool each = pooling < 0 && s->config.pooling == RAPT_POOLING_NONE;
    size_t rows = (size_t)(each ? source->starts[source->batch] : source->batch);
    size_t count = rows * (pooling < 0 ? s->classes : s->width);
    if (status) return NULL;
    require(array_finite(out, count), "an answer is finite");
    return exact_copy(out, count * sizeof *out);
}

/* Compares embeddings with the encoder's rows. */
static void check_embedding(const struct pooling_subject *s, const float *states,
                            const float *pooled, rapt_pooling pooling)
{
    for (int b = 0; b < s->source.batch; b++)
        for (size_t j = 0; j < s->width; j++) {
            int first = s->source.starts[b], rows = s->source.starts[b + 1] - first;
            const float *x = states + (size_t)first * s->width + j;
            double sum = 0, size = 0;
            float got = pooled[(size_t)b * s->width + j];
            for (size_t r = 0; r < (size_t)rows; r++) {
                sum += (double)x[r * s->width];
                size += fabs((double)x[r * s->width]);
            }
            if (rows == 0)
                require(got == 0, "of no rows");
            else if (pooling == RAPT_POOLING_FIRST)
                require(array_same(&got, x, 1), "the first row");
            else
                require(fabs(got - sum / rows) <= 1e-5 * (size / rows) + 1e-30, "the mean");
        }
}

static void check_logits(const struct pooling_subject *s, const float *logits)
{
    bool pools = s->config.pooling != RAPT_POOLING_NONE;
    for (int b = 0; b < s->source.batch; b++) {
        const struct oracle_sentence one = source_sentence(&s->source, b);
        const struct definition_outputs got = {
            .logits = logits + (size_t)(pools ? b : one.first) * s->classes,
            .logits_n = (size_t)(pools ? 1 : one.count) * s->classes};
        definition_check(s->model, &one, NULL, &got);
    }
}

/* Computes each sequence separately, with another number of threads, and compares the bits. */
static void check_alone_pooling(const struct pooling_subject *s, int threads, int pooling,
                                const float *all)
{
    rapt_session *session = open_session(s, threads, POSITIONS);
    bool each = pooling < 0 && s->config.pooling == RAPT_POOLING_NONE;
    size_t width = pooling < 0 ? s->classes : s->width;
    for (int b = 0; b < s->source.batch; b++) {
        int starts[2];
        const rapt_tokens one = source_one(&s->source, b, starts);
        float *got = answer(session, s, &one, pooling);
        require(got && array_same(got, all + (size_t)(each ? s->source.starts[b] : b) * width,
                                  (size_t)(each ? starts[1] : 1) * width),
                "a sequence by itself");
        free(got);
    }
    rapt_session_free(session);
}

static void check_pooling(const struct pooling_subject *s, struct feed *in)
{
    int threads = 1 + (take_byte(in) % 16 == 1);
    rapt_session *session = open_session(s, 1, TOKENS);
    const rapt_tokens *source = &s->source.tokens;
    const float *out = NULL;
    rapt_message why = {""};
    require(rapt_encode(session, source, &out, &why) == RAPT_OK, why.text);
    float *states =
        exact_copy(out, (size_t)s->source.starts[s->source.batch] * s->width * sizeof *out);
    for (int pooling = -1; pooling <= RAPT_POOLING_MEAN + 1; pooling++) {
        float *got = answer(session, s, source, pooling);
        bool wanted = pooling < 0 ? s->config.kind == RAPT_KIND_ENCODER_ONLY
                                  : pooling == RAPT_POOLING_FIRST || pooling == RAPT_POOLING_MEAN;
        require((got != NULL) == wanted, "what there is an answer to");
        if (got && pooling > 0) check_embedding(s, states, got, (rapt_pooling)pooling);
        if (got && pooling < 0 && smooth_config(&s->config)) check_logits(s, got);
        if (got) check_alone_pooling(s, threads, pooling, got);
        free(got);
    }
    free(states);
    rapt_session_free(session);
}

int fuzz_pooling(const uint8_t *bytes, size_t size)
{
    struct feed in = {bytes, size};
    struct pooling_subject s = {0};
    bool vectors = take_flag(&in);
    s.model = take_reader(&in, &s.config, vectors, POSITIONS);
    if (!s.model) return 0;
    s.width = (size_t)s.config.width, s.classes = (size_t)s.config.target_vocab;
    take_source(&in, &s.source, &s.config, SOURCES, take_flag(&in) ? 6 : POSITIONS);
    check_pooling(&s, &in);
    drop_source(&s.source);
    rapt_model_free(s.model);
    return 0;
}

/* ---- vectors: models whose source is the caller's vectors, at any alignment. The encoder's rows
   and the logits must agree with the definition (models.h). The bits must be the same sequence
   by sequence, with two threads, and next to a sequence that contains NaN. Gradients must be
   finite, repeatable, and agree with the slope of the definition's loss. NULL vectors and rows that
   exceed the limits must be refused. ---- */

struct vectors_subject {
    rapt_config config;
    rapt_model *model;
    struct source source;
    struct small_batch target;
    size_t width, vocab;
};

/* Encodes and returns a copy of the encoder's rows. */
static float *encode(rapt_session *session, const struct vectors_subject *s,
                     const rapt_tokens *source)
{
    const float *out = NULL;
    rapt_message why = {""};
    require(rapt_encode(session, source, &out, &why) == RAPT_OK, why.text);
    return exact_copy(out, (size_t)source->starts[source->batch] * s->width * sizeof *out);
}

static void check_alone_vectors(const struct vectors_subject *s, int threads, const float *states)
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
static void check_not_finite(const struct vectors_subject *s, rapt_session *session,
                             const float *states, int which)
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

static void check_definition(const struct vectors_subject *s, rapt_session *session,
                             const float *states)
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

static void check_refusals(const struct vectors_subject *s, rapt_session *session, struct feed *in)
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

static void take_labels(struct vectors_subject *s, struct feed *in)
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
static bool without_rows(const struct vectors_subject *s)
{
    bool any = false;
    for (int b = 0; b < s->source.batch; b++)
        any = any || s->source.starts[b + 1] == s->source.starts[b];
    return any;
}

/* Returns the gradients of all parameters, or NULL if they were refused: not finite, or a sequence
   has no rows. */
static float *gradients(const struct vectors_subject *s, const rapt_train_options *o, int threads)
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
static bool smooth_loss(const struct vectors_subject *s)
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

static void check_training(const struct vectors_subject *s, struct feed *in)
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

static void check_vectors(struct vectors_subject *s, struct feed *in)
{
    rapt_session *session = model_session(s->model, 1, 0);
    int which = take_below(in, MODEL_BATCH);
    float *states = encode(session, s, &s->source.tokens);
    require(array_finite(states, (size_t)s->source.starts[s->source.batch] * s->width),
            "rows are finite");
    if (smooth_config(&s->config)) check_definition(s, session, states);
    check_alone_vectors(s, 1 + (take_byte(in) % 16 == 1), states);
    check_not_finite(s, session, states, which);
    check_refusals(s, session, in);
    if (s->target.starts[s->source.batch] > 0) check_training(s, in);
    free(states);
    rapt_session_free(session);
}

int fuzz_vectors(const uint8_t *bytes, size_t size)
{
    static struct vectors_subject s;
    struct feed in = {bytes, size};
    s.model = take_reader(&in, &s.config, true, MODEL_POSITIONS);
    if (!s.model) return 0;
    s.width = (size_t)s.config.width, s.vocab = (size_t)s.config.target_vocab;
    take_source(&in, &s.source, &s.config, MODEL_BATCH, MODEL_POSITIONS);
    take_labels(&s, &in);
    check_vectors(&s, &in);
    drop_source(&s.source);
    rapt_model_free(s.model);
    return 0;
}
