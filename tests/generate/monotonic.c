/* monotonic.c - monotonic attention to sources that the encoder reads in several groups: hard stops
   have the same bits for any division of targets into calls, batch, number of threads and
   instruction set, and agree with the definition; heads never go back, and weights are those of the
   kind. Models that were trained with noise also predict well with hard stops. */
#include "model/small.h"

#include "oracle/transformer.h"
#include "skips.h"

enum { POSITIONS = 140, LONG = 60, BATCH = 5, ROWS = 400 };
static const int lengths[BATCH] = {LONG, 3, 40, 5, 20}, sources[BATCH] = {120, 3, 110, 0, 40};

static rapt_config config_of(rapt_cross_monotonic kind)
{
    return (rapt_config){.size = sizeof(rapt_config),
                         .source_vocab = 30,
                         .target_vocab = 20,
                         .positions = POSITIONS,
                         .width = 24,
                         .heads = 4,
                         .key_heads = 2,
                         .ffn_width = 12,
                         .encoder_layers = 1,
                         .decoder_layers = 2,
                         .norm_order = RAPT_NORM_ORDER_PRE,
                         .monotonic = kind,
                         .monotonic_chunk = kind == RAPT_CROSS_MONOTONIC_CHUNK ? 5 : 0};
}

/* Calls `judge` with a model of every kind. */
static void for_each_kind(void (*judge)(const rapt_model *model))
{
    for (int kind = RAPT_CROSS_MONOTONIC_HARD; kind <= RAPT_CROSS_MONOTONIC_LOOKBACK; kind++) {
        const rapt_config c = config_of((rapt_cross_monotonic)kind);
        rapt_model *model = small_model(&c, (uint64_t)(7 + kind));
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
                          .source_tokens = ROWS,
                          .target_length = POSITIONS,
                          .target_tokens = ROWS,
                          .threads = threads};
    if (rapt_session_create(&session, model, &limits, NULL, &why)) fail_msg("%s", why.text);
    return session;
}

struct pair {
    struct small_batch source, target;
};

static void fill(struct pair *p, const rapt_config *c)
{
    small_fill(&p->source, c->source_vocab, sources, BATCH, 1);
    small_fill(&p->target, c->target_vocab, lengths, BATCH, 2);
}

/* ---- bits ---- */

/* Returns the logits of the targets, decoded in pieces of at most `piece` tokens. The caller frees
   them. */
static float *decode(const rapt_model *model, const struct pair *p, int threads, int piece)
{
    const size_t row = (size_t)rapt_model_config(model)->target_vocab;
    rapt_session *session = session_for(model, BATCH, threads);
    float *all = malloc(sizeof *all * row * (size_t)p->target.starts[BATCH]);
    assert_int_equal(rapt_encode(session, &p->source.tokens, NULL, NULL), RAPT_OK);
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

/* Every target by itself has the bits that it has in the batch. */
static void judge_alone(const rapt_model *model, const struct pair *p, const float *whole)
{
    const size_t row = (size_t)rapt_model_config(model)->target_vocab;
    rapt_session *session = session_for(model, 1, 1);
    for (int b = 0; b < BATCH; b++) {
        const float *logits;
        int s[2], t[2];
        const rapt_tokens source = small_one(&p->source.tokens, b, s),
                          target = small_one(&p->target.tokens, b, t);
        assert_int_equal(rapt_encode(session, &source, NULL, NULL), RAPT_OK);
        assert_int_equal(rapt_decode(session, &target, &logits, NULL), RAPT_OK);
        assert_memory_equal(logits, whole + (size_t)p->target.starts[b] * row,
                            sizeof *logits * row * (size_t)lengths[b]);
    }
    rapt_session_free(session);
}

static void judge_bits(const rapt_model *model)
{
    static const int pieces[] = {1, 7, LONG};
    rapt_isa sets[EQUAL_SETS], best = rapt_isa_used();
    int count = equal_sets("generate/monotonic, instruction sets", sets);
    struct pair p;
    fill(&p, rapt_model_config(model));
    float *whole = decode(model, &p, 2, LONG);
    size_t bytes = sizeof *whole * (size_t)rapt_model_config(model)->target_vocab *
                   (size_t)p.target.starts[BATCH];
    for (int i = 0; i < COUNT(pieces) * count; i++) {
        assert_int_equal(rapt_isa_use(sets[i / COUNT(pieces)]), RAPT_OK);
        float *again = decode(model, &p, 1 + i % 3, pieces[i % COUNT(pieces)]);
        assert_memory_equal(again, whole, bytes);
        free(again);
    }
    assert_int_equal(rapt_isa_use(best), RAPT_OK);
    judge_alone(model, &p, whole);
    free(whole);
}

static void test_bits(void **state)
{
    (void)state;
    for_each_kind(judge_bits);
}

/* ---- the definition ---- */

/* Weights sum to 1. Those of a head are of as many keys as its kind has, and the last of these keys
   never moves back. */
static void judge_weights(const rapt_config *c, const double *weights, int rows, int keys)
{
    for (int t = 0, before = 0; t < rows; t++) {
        int first = keys, last = 0;
        double sum = 0;
        for (int s = 0; s < keys; s++) {
            if (weights[t * keys + s] == 0) continue;
            first = s < first ? s : first, last = s;
            sum += weights[t * keys + s];
        }
        int limit = c->monotonic == RAPT_CROSS_MONOTONIC_HARD    ? 1
                    : c->monotonic == RAPT_CROSS_MONOTONIC_CHUNK ? c->monotonic_chunk
                                                                 : keys;
        assert_true(fabs(sum - 1) < 1e-6 && last >= before && last - first < limit);
        if (c->monotonic == RAPT_CROSS_MONOTONIC_LOOKBACK) assert_int_equal(first, 0);
        before = last;
    }
}

static void near(const char *what, const float *got, const double *wanted, int n)
{
    double max = 1;
    for (int i = 0; i < n; i++) max = fmax(max, fabs(wanted[i]));
    for (int i = 0; i < n; i++)
        if (!(fabs((double)got[i] - wanted[i]) <= 2e-5 * max))
            fail_msg("%s %d: got %.9g, wanted %.9g", what, i, (double)got[i], wanted[i]);
}

/* Compares the weights of all heads of sentence b: cross [layers][heads][rows][keys]. */
static void compare_weights(rapt_session *session, const rapt_config *c, int b, const double *cross)
{
    int at = 0, all = 0, size = lengths[b] * sources[b];
    for (int i = 0; i < BATCH; i++) all += lengths[i] * sources[i];
    for (int i = 0; i < b; i++) at += lengths[i] * sources[i];
    float *weights = malloc(sizeof *weights * (size_t)all);
    for (int i = 0; i < c->decoder_layers * c->heads; i++) {
        assert_int_equal(rapt_session_alignment(session, i / c->heads, i % c->heads, weights, NULL),
                         RAPT_OK);
        near("weight", weights + at, cross + i * size, size);
        if (sources[b]) judge_weights(c, cross + i * size, lengths[b], sources[b]);
    }
    free(weights);
}

static void judge_definition(const rapt_model *model)
{
    const rapt_config *c = rapt_model_config(model);
    struct oracle_model *oracle = oracle_model_read(model);
    rapt_session *session = session_for(model, BATCH, 2);
    struct pair p;
    const float *logits;
    fill(&p, c);
    assert_int_equal(rapt_encode(session, &p.source.tokens, NULL, NULL), RAPT_OK);
    assert_int_equal(rapt_decode(session, &p.target.tokens, &logits, NULL), RAPT_OK);
    for (int b = 0; b < BATCH; b++) {
        const struct oracle_sentence s = {b, p.source.starts[b], sources[b],
                                          p.source.ids + p.source.starts[b], NULL};
        const struct oracle_sentence t = {b, p.target.starts[b], lengths[b],
                                          p.target.ids + p.target.starts[b], NULL};
        double *states = calloc((size_t)(sources[b] * c->width) + 1, sizeof *states);
        double *wanted = calloc((size_t)(lengths[b] * c->target_vocab), sizeof *wanted);
        double *cross = calloc((size_t)(c->decoder_layers * c->heads * lengths[b] * sources[b]) + 1,
                               sizeof *cross);
        oracle_encode(oracle, NULL, &s, states);
        oracle_decode(oracle, NULL, &s, states, &t, wanted, cross);
        near("logit", logits + t.first * c->target_vocab, wanted, lengths[b] * c->target_vocab);
        compare_weights(session, c, b, cross);
        free(states);
        free(wanted);
        free(cross);
    }
    rapt_session_free(session);
    oracle_model_free(oracle);
}

static void test_definition(void **state)
{
    (void)state;
    for_each_kind(judge_definition);
}

/* ---- training ---- */

/* The task is to write every symbol of a source twice, 0 to SYMBOLS - 1. */
enum { SYMBOLS = 12, BEGIN = SYMBOLS, END, VOCAB, SENTENCES = 24, MAX = 10, STEPS = 300 };

static void draw(struct small_batch *source, struct small_batch *target, uint64_t seed)
{
    int counts[SENTENCES];
    for (int b = 0; b < SENTENCES; b++) counts[b] = 4 + (int)(small_random(seed, (uint64_t)b) % 6);
    small_fill(source, SYMBOLS, counts, SENTENCES, seed + 1);
    int n = target->starts[0] = 0;
    for (int b = 0; b < SENTENCES; b++) {
        target->ids[n++] = BEGIN;
        for (int i = 0; i < 2 * counts[b]; i++)
            target->ids[n++] = source->ids[source->starts[b] + i / 2];
        target->ids[n++] = END;
        target->starts[b + 1] = n;
    }
    target->tokens =
        (rapt_tokens){.batch = SENTENCES, .ids = target->ids, .starts = target->starts};
}

/* Returns the negative log-likelihood per token with hard stops. */
static double score(const rapt_model *model, const struct small_batch *source,
                    const struct small_batch *target)
{
    struct small_batch bare;
    int lengths_of[SENTENCES];
    double sums[SENTENCES], sum = 0;
    for (int b = 0; b < SENTENCES; b++)
        lengths_of[b] = target->starts[b + 1] - target->starts[b] - 2;
    small_fill(&bare, 1, lengths_of, SENTENCES, 0);
    for (int b = 0; b < SENTENCES; b++)
        memcpy(bare.ids + bare.starts[b], target->ids + target->starts[b] + 1,
               sizeof *bare.ids * (size_t)lengths_of[b]);
    rapt_session *session = session_for(model, SENTENCES, 2);
    rapt_message why = {""};
    if (rapt_score_targets(session, &source->tokens, &bare.tokens, BEGIN, END, NULL, sums, &why))
        fail_msg("%s", why.text);
    rapt_session_free(session);
    for (int b = 0; b < SENTENCES; b++) sum -= sums[b];
    return sum / (bare.starts[SENTENCES] + SENTENCES);
}

/* Trains; *expected receives the loss per token with expected values. Returns that with hard
   stops. */
static double learn(rapt_cross_monotonic kind, float noise, double *expected)
{
    rapt_config c = config_of(kind);
    c.source_vocab = c.target_vocab = VOCAB, c.width = 32, c.key_heads = 0, c.decoder_layers = 1;
    c.monotonic_chunk = kind == RAPT_CROSS_MONOTONIC_CHUNK ? 2 : 0;
    const rapt_train_limits limits = {.size = sizeof limits,
                                      .batch = SENTENCES,
                                      .source_tokens = SENTENCES * MAX,
                                      .target_tokens = SENTENCES * (2 * MAX + 2)};
    rapt_model *model = NULL;
    rapt_trainer *trainer = NULL;
    rapt_train_options o;
    rapt_report report = {.size = sizeof report};
    static struct small_batch source, target;
    rapt_train_options_default(&o, sizeof o);
    o.rate = 0.01f, o.warmup = 40, o.steps = STEPS, o.schedule = RAPT_SCHEDULE_LINEAR;
    o.dropout = 0, o.label_smoothing = 0, o.monotonic_noise = noise;
    assert_int_equal(rapt_model_create(&model, &c, 1, NULL, NULL), RAPT_OK);
    assert_int_equal(rapt_trainer_create(&trainer, model, &o, &limits, NULL, NULL), RAPT_OK);
    for (int i = 0; i < STEPS; i++) {
        draw(&source, &target, 100 + 3 * (uint64_t)i);
        assert_int_equal(rapt_train_gradient(trainer, &source.tokens, &target.tokens, NULL, NULL),
                         RAPT_OK);
        assert_int_equal(rapt_train_step(trainer, NULL, NULL), RAPT_OK);
    }
    draw(&source, &target, 7);
    assert_int_equal(rapt_train_evaluate(trainer, &source.tokens, &target.tokens, &report, NULL),
                     RAPT_OK);
    *expected = report.likelihood / (double)report.tokens;
    double hard = score(model, &source, &target);
    rapt_trainer_free(trainer);
    rapt_model_free(model);
    return hard;
}

static void test_learns(void **state)
{
    (void)state;
    for (int kind = RAPT_CROSS_MONOTONIC_HARD; kind <= RAPT_CROSS_MONOTONIC_LOOKBACK; kind++) {
        double noisy, quiet, hard = learn((rapt_cross_monotonic)kind, 1, &noisy),
                             without = learn((rapt_cross_monotonic)kind, 0, &quiet);
        print_message("%s: loss %.3f expected, %.3f with hard stops; without noise %.3f, %.3f\n",
                      rapt_monotonic_name((rapt_monotonic)(kind - 1)), noisy, hard, quiet, without);
        assert_true(hard < 0.6 && hard - noisy < 0.8 * (without - quiet));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_bits),
                                       cmocka_unit_test(test_definition),
                                       cmocka_unit_test(test_learns)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
