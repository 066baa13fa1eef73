/* pooling.c - outputs of encoders of tokens or vectors. Embeddings must be the first row or the
   mean of the rows that rapt_encode gives; logits must be those of the definition (definition.h).
   The bits must be the same sequence by sequence, in other groups and with two threads. What a
   model cannot compute must be refused. */
#include "sources.h"

enum { POSITIONS = 40, TOKENS = SOURCES * POSITIONS };

struct subject {
    rapt_config config;
    rapt_model *model;
    struct source source;
    size_t width, classes;
};

static rapt_session *open_session(const struct subject *s, int threads, int tokens)
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
static float *answer(rapt_session *session, const struct subject *s, const rapt_tokens *source,
                     int pooling)
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
static void check_embedding(const struct subject *s, const float *states, const float *pooled,
                            rapt_pooling pooling)
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

static void check_logits(const struct subject *s, const float *logits)
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
static void check_alone(const struct subject *s, int threads, int pooling, const float *all)
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

static void check(const struct subject *s, struct feed *in)
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
        if (got) check_alone(s, threads, pooling, got);
        free(got);
    }
    free(states);
    rapt_session_free(session);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    struct feed in = {bytes, size};
    struct subject s = {0};
    bool vectors = take_flag(&in);
    s.model = take_reader(&in, &s.config, vectors, POSITIONS);
    if (!s.model) return 0;
    s.width = (size_t)s.config.width, s.classes = (size_t)s.config.target_vocab;
    take_source(&in, &s.source, &s.config, SOURCES, take_flag(&in) ? 6 : POSITIONS);
    check(&s, &in);
    drop_source(&s.source);
    rapt_model_free(s.model);
    return 0;
}
