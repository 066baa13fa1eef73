/* linear_attention.c - decoders with linear attention on targets of several chunks: steps, which
   sessions take, have the same bits for any division into calls, batch, number of threads and
   instruction set; they agree with the chunks of a trainer and with the definition; and a session's
   memory does not depend on the length of its targets. */
#include "model/small.h"

#include "oracle/transformer.h"
#include "skips.h"

enum { POSITIONS = 200, LONG = 170, BATCH = 3 };
static const int lengths[BATCH] = {LONG, 3, 130}, sources[BATCH] = {4, 6, 1};

static const rapt_config shapes[] = {
    {.size = sizeof(rapt_config),
     .kind = RAPT_KIND_DECODER_ONLY,
     .target_vocab = 20,
     .positions = POSITIONS,
     .width = 20,
     .heads = 4,
     .key_heads = 2,
     .ffn_width = 12,
     .decoder_layers = 2,
     .norm_order = RAPT_NORM_ORDER_PRE,
     .position = RAPT_POSITION_NONE},
    {.size = sizeof(rapt_config),
     .source_vocab = 9,
     .target_vocab = 20,
     .positions = POSITIONS,
     .width = 34,
     .heads = 2,
     .encoder_layers = 1,
     .decoder_layers = 1,
     .output_gate = RAPT_OUTPUT_GATE_HEAD},
};

/* Calls `judge` with models of every shape and kind. */
static void for_each_model(void (*judge)(const rapt_model *model))
{
    for (int i = 0; i < COUNT(shapes); i++)
        for (int kind = RAPT_RECURRENCE_LINEAR; kind <= RAPT_RECURRENCE_GATED_DELTA; kind++) {
            rapt_config c = shapes[i];
            c.decoder_recurrence = (rapt_recurrence)kind;
            rapt_model *model = small_model(&c, (uint64_t)(7 * i + kind));
            judge(model);
            rapt_model_free(model);
        }
}

static rapt_session *session_for(const rapt_model *model, int batch, int threads)
{
    rapt_session *session = NULL;
    rapt_message why = {""};
    rapt_limits limits = {.size = sizeof limits,
                          .batch = batch,
                          .source_tokens = 20,
                          .target_length = POSITIONS,
                          .target_tokens = batch * POSITIONS,
                          .threads = threads};
    if (rapt_session_create(&session, model, &limits, NULL, &why)) fail_msg("%s", why.text);
    return session;
}

struct pair {
    struct small_batch source, target;
    rapt_tokens read; /* the source as the model expects it */
};

static void fill(struct pair *p, const rapt_model *model)
{
    const rapt_config *c = rapt_model_config(model);
    small_fill(&p->source, small_source_ids(c), sources, BATCH, 1);
    small_fill(&p->target, c->target_vocab, lengths, BATCH, 2);
    p->read = small_source(c, &p->source.tokens);
}

/* Returns the logits of the targets, decoded in pieces of at most `piece` tokens. The caller frees
   them. */
static float *decode(const rapt_model *model, const struct pair *p, int threads, int piece)
{
    const size_t row = (size_t)rapt_model_config(model)->target_vocab;
    rapt_session *session = session_for(model, BATCH, threads);
    float *all = malloc(sizeof *all * row * (size_t)p->target.starts[BATCH]);
    assert_int_equal(rapt_encode(session, &p->read, NULL, NULL), RAPT_OK);
    for (int at = 0; at < LONG; at += piece) {
        int32_t ids[SMALL_TOKENS];
        int starts[BATCH + 1] = {0};
        const float *logits;
        for (int b = 0; b < BATCH; b++) {
            int left = lengths[b] - at, n = left < 0 ? 0 : left < piece ? left : piece;
            starts[b + 1] = starts[b] + n;
            if (n)
                memcpy(ids + starts[b], p->target.ids + p->target.starts[b] + at,
                       sizeof *ids * (size_t)n);
        }
        const rapt_tokens fed = {.batch = BATCH, .ids = ids, .starts = starts};
        assert_int_equal(rapt_decode(session, &fed, &logits, NULL), RAPT_OK);
        for (int b = 0; b < BATCH; b++)
            if (starts[b + 1] > starts[b])
                memcpy(all + (size_t)(p->target.starts[b] + at) * row,
                       logits + (size_t)starts[b] * row,
                       sizeof *all * row * (size_t)(starts[b + 1] - starts[b]));
    }
    rapt_session_free(session);
    return all;
}

static void judge_bits(const rapt_model *model)
{
    static const int pieces[] = {1, 7, 64, LONG};
    const size_t row = (size_t)rapt_model_config(model)->target_vocab;
    rapt_isa sets[EQUAL_SETS], best = rapt_isa_used();
    int count = equal_sets("generate/linear_attention, instruction sets", sets);
    struct pair p;
    fill(&p, model);
    float *whole = decode(model, &p, 2, LONG);
    size_t bytes = sizeof *whole * row * (size_t)p.target.starts[BATCH];
    for (int i = 0; i < COUNT(pieces) * count; i++) {
        assert_int_equal(rapt_isa_use(sets[i / COUNT(pieces)]), RAPT_OK);
        float *again = decode(model, &p, 1 + i % 3, pieces[i % COUNT(pieces)]);
        assert_memory_equal(again, whole, bytes);
        free(again);
    }
    assert_int_equal(rapt_isa_use(best), RAPT_OK);
    rapt_session *session = session_for(model, 1, 1);
    for (int b = 0; b < BATCH; b++) { /* by itself */
        const float *logits;
        int s[2], t[2];
        const rapt_tokens source = small_one(&p.source.tokens, b, s),
                          target = small_one(&p.target.tokens, b, t);
        const rapt_tokens read = small_source(rapt_model_config(model), &source);
        assert_int_equal(rapt_encode(session, &read, NULL, NULL), RAPT_OK);
        assert_int_equal(rapt_decode(session, &target, &logits, NULL), RAPT_OK);
        assert_memory_equal(logits, whole + (size_t)p.target.starts[b] * row,
                            sizeof *logits * row * (size_t)lengths[b]);
    }
    rapt_session_free(session);
    free(whole);
}

static void test_bits(void **state)
{
    (void)state;
    for_each_model(judge_bits);
}

/* ---- steps, chunks and the definition ---- */

static void judge_definition(const rapt_model *model)
{
    const rapt_config *c = rapt_model_config(model);
    const int N = c->target_vocab;
    struct oracle_model *oracle = oracle_model_read(model);
    struct pair p;
    fill(&p, model);
    float *logits = decode(model, &p, 2, LONG);
    for (int b = 0; b < BATCH; b++) {
        const struct oracle_sentence s = {b, p.source.starts[b], sources[b],
                                          p.source.ids + p.source.starts[b], NULL};
        const struct oracle_sentence t = {b, p.target.starts[b], lengths[b],
                                          p.target.ids + p.target.starts[b], NULL};
        const bool both = c->kind == RAPT_KIND_ENCODER_DECODER;
        double *states = calloc((size_t)(sources[b] * c->width), sizeof *states);
        double *wanted = calloc((size_t)(lengths[b] * N), sizeof *wanted), max = 1;
        if (both) oracle_encode(oracle, NULL, &s, states);
        oracle_decode(oracle, NULL, both ? &s : NULL, states, &t, wanted, NULL);
        for (int i = 0; i < lengths[b] * N; i++) max = fmax(max, fabs(wanted[i]));
        for (int i = 0; i < lengths[b] * N; i++) {
            double got = (double)logits[t.first * N + i];
            if (!(fabs(got - wanted[i]) <= 2e-5 * max))
                fail_msg("kind %d: logit %d: got %.9g, wanted %.9g", (int)c->decoder_recurrence, i,
                         got, wanted[i]);
        }
        free(states);
        free(wanted);
    }
    free(logits);
    oracle_model_free(oracle);
}

static void test_definition(void **state)
{
    (void)state;
    for_each_model(judge_definition);
}

/* Returns the loss of target b: each token but the first is predicted from those before it. */
static double loss_of_steps(const struct pair *p, const float *logits, int N, int b)
{
    double loss = 0;
    for (int r = p->target.starts[b]; r + 1 < p->target.starts[b + 1]; r++) {
        double sum = 0;
        for (int i = 0; i < N; i++) sum += exp((double)logits[r * N + i]);
        loss += log(sum) - (double)logits[r * N + p->target.ids[r + 1]];
    }
    return loss;
}

static void judge_chunks(const rapt_model *given)
{
    rapt_model *model = NULL;
    rapt_trainer *trainer = NULL;
    rapt_train_options o;
    const rapt_train_limits limits = {
        .size = sizeof limits, .batch = BATCH, .source_tokens = 20, .target_tokens = 400};
    struct pair p;
    fill(&p, given);
    assert_int_equal(rapt_model_create(&model, rapt_model_config(given), 1, NULL, NULL), RAPT_OK);
    for (int i = 0; i < rapt_model_tensors(given); i++) {
        float *data = small_read(given, i);
        assert_int_equal(rapt_model_write(model, i, data, NULL), RAPT_OK);
        free(data);
    }
    rapt_train_options_default(&o, sizeof o);
    o.label_smoothing = 0;
    assert_int_equal(rapt_trainer_create(&trainer, model, &o, &limits, NULL, NULL), RAPT_OK);
    float *logits = decode(given, &p, 1, LONG);
    double loss = 0;
    int N = rapt_model_config(given)->target_vocab;
    for (int b = 0; b < BATCH; b++) loss += loss_of_steps(&p, logits, N, b);
    rapt_report report = {.size = sizeof report};
    const rapt_tokens source =
        p.read.starts ? p.read : (rapt_tokens){.batch = BATCH}; /* decoders have none */
    assert_int_equal(rapt_train_evaluate(trainer, &source, &p.target.tokens, &report, NULL),
                     RAPT_OK);
    if (!(fabs(report.loss - loss) <= 1e-6 * loss))
        fail_msg("chunks have the loss %.9g, steps %.9g", report.loss, loss);
    free(logits);
    rapt_trainer_free(trainer);
    rapt_model_free(model);
}

static void test_chunks(void **state)
{
    (void)state;
    for_each_model(judge_chunks);
}

/* ---- memory ---- */

/* Returns how many bytes more a session needs for targets of POSITIONS tokens than for 16. */
static size_t growth(const rapt_config *c)
{
    rapt_model *model;
    assert_int_equal(rapt_model_create(&model, c, 1, NULL, NULL), RAPT_OK);
    rapt_limits small = {.size = sizeof small,
                         .batch = 4,
                         .beams = 2,
                         .source_tokens = 20,
                         .target_length = 16,
                         .target_tokens = 8,
                         .threads = 2};
    rapt_limits large = small;
    large.target_length = POSITIONS;
    size_t grown = rapt_session_bytes(model, &large) - rapt_session_bytes(model, &small);
    rapt_model_free(model);
    return grown;
}

/* Only the tokens of a search take memory, as with an SSRU; with self-attention, keys and values
   would, too. */
static void judge_memory(const rapt_model *model)
{
    const rapt_config *c = rapt_model_config(model);
    rapt_config cells = *c, keys = *c;
    cells.decoder_recurrence = RAPT_RECURRENCE_SSRU;
    keys.decoder_recurrence = RAPT_RECURRENCE_NONE;
    size_t heads = (size_t)(c->key_heads ? c->key_heads : c->heads);
    size_t token = 2 * heads * (size_t)(c->width / c->heads) * (size_t)c->decoder_layers;
    size_t tokens = (size_t)(POSITIONS - 16) * 4 * 2;
    assert_int_equal(growth(c), growth(&cells));
    assert_true(growth(c) <= 32 * tokens);
    assert_true(growth(&keys) >= growth(c) + sizeof(float) * token * tokens);
}

static void test_memory(void **state)
{
    (void)state;
    for_each_model(judge_memory);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_bits),
        cmocka_unit_test(test_definition),
        cmocka_unit_test(test_chunks),
        cmocka_unit_test(test_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
