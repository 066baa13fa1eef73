/* session.c - sessions of models of any small configuration. A batch must give the bits of its
   sentences by themselves, all tokens at once those of one at a time, reordered targets those of
   their parents, and two threads those of one. Logits and encoder outputs must agree with the
   definition (definition.h). */
#include "definition.h"

struct subject {
    rapt_config config;
    rapt_model *model;
    int batch, threads; /* threads: of the sessions that check single sentences */
    struct small_batch source, target;
};

static bool reads(const struct subject *s)
{
    return s->config.encoder_layers > 0;
}

static const float *encode(rapt_session *session, const struct subject *s,
                           const rapt_tokens *source)
{
    const float *out = NULL;
    rapt_message why = {""};
    rapt_tokens none = {.batch = source->batch};
    require(rapt_encode(session, reads(s) ? source : &none, &out, &why) == RAPT_OK, why.text);
    return out;
}

/* Decodes and returns a copy of the logits. */
static float *decode(rapt_session *session, const struct subject *s, const rapt_tokens *target)
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
static void check_alone(const struct subject *s, int i, const float *states, const float *logits)
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
static void check_reorder(const struct subject *s, const float *logits)
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

static void check_definition(const struct subject *s, int i, const float *states,
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

static void check(const struct subject *s)
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
    static struct subject s;
    s.model = take_model(&in, &s.config);
    s.batch = 1 + take_below(&in, MODEL_BATCH), s.threads = 1 + (take_byte(&in) % 16 == 1);
    take_batch(&in, &s.source, s.config.source_vocab, s.batch, 0, 0);
    take_batch(&in, &s.target, s.config.target_vocab, s.batch, 0, 0);
    if (s.model) check(&s);
    rapt_model_free(s.model);
    return 0;
}
