/* session.c - encoding and decoding agree with the definition, and no bit depends on threads,
   instruction set, batch, or the number of tokens per call. */
#include "generate/small_session.h"

#include "oracle/transformer.h"
#include "skips.h"

static const int source_lengths[] = {5, 1, 12, 0, 3}, target_lengths[] = {7, 12, 1, 4, 0};
enum { BATCH = 5 };

struct pair {
    struct small_batch source, target;
};

static void fill(struct pair *p, const rapt_config *c, uint64_t seed)
{
    small_fill(&p->source, small_source_ids(c), source_lengths, BATCH, seed);
    small_fill(&p->target, c->target_vocab ? c->target_vocab : 1, target_lengths, BATCH, seed + 9);
}

static void near(const float *got, const double *wanted, int n)
{
    double max = 0;
    for (int i = 0; i < n; i++) max = fmax(max, fabs(wanted[i]));
    for (int i = 0; i < n; i++)
        if (!(fabs((double)got[i] - wanted[i]) <= 1e-5 * (1 + max)))
            fail_msg("element %d of %d: got %.9g, wanted %.9g", i, n, (double)got[i], wanted[i]);
}

static void compare_alignments(rapt_session *session, const rapt_config *c, int b,
                               const double *cross)
{
    int T = target_lengths[b], S = source_lengths[b], at = 0, total = 0;
    for (int i = 0; i < BATCH; i++) {
        if (i < b) at += target_lengths[i] * source_lengths[i];
        total += target_lengths[i] * source_lengths[i];
    }
    float *weights = malloc(sizeof *weights * (size_t)total);
    double *mean = calloc((size_t)(T * S) + 1, sizeof *mean);
    int count = c->decoder_layers * c->heads;
    for (int i = 0; i < count; i++) {
        const double *wanted = cross + i * T * S;
        assert_int_equal(rapt_session_alignment(session, i / c->heads, i % c->heads, weights, NULL),
                         RAPT_OK);
        near(weights + at, wanted, T * S);
        for (int j = 0; j < T * S; j++) mean[j] += wanted[j] / count;
    }
    assert_int_equal(rapt_session_alignment(session, -1, -1, weights, NULL), RAPT_OK);
    near(weights + at, mean, T * S);
    for (int t = 0; t < T && S && !c->differential && !c->talking_heads; t++) {
        double sum = 0;
        for (int s = 0; s < S; s++) sum += (double)weights[at + t * S + s];
        assert_true(fabs(sum - 1) < 1e-6);
    }
    free(weights);
    free(mean);
}

static struct oracle_sentence sentence(const rapt_tokens *t, int b)
{
    return (struct oracle_sentence){.number = b,
                                    .first = t->starts[b],
                                    .count = t->starts[b + 1] - t->starts[b],
                                    .ids = t->ids + t->starts[b]};
}

static void test_definition(void **state)
{
    (void)state;
    for (int i = 0; i < COUNT(small_configs); i++) {
        const rapt_config *c = &small_configs[i];
        rapt_model *model = small_model(c, (uint64_t)i + 20);
        struct oracle_model *oracle = oracle_model_read(model);
        rapt_session *session = session_of(model, &roomy, 2);
        struct pair p;
        const float *memory = NULL, *logits = NULL;
        fill(&p, c, (uint64_t)i);
        const rapt_tokens source = small_source(c, &p.source.tokens);
        assert_int_equal(rapt_encode(session, &source, &memory, NULL), RAPT_OK);
        if (c->kind != RAPT_KIND_ENCODER_ONLY)
            assert_int_equal(rapt_decode(session, &p.target.tokens, &logits, NULL), RAPT_OK);
        for (int b = 0; b < BATCH; b++) {
            struct oracle_sentence s = sentence(&p.source.tokens, b),
                                   t = sentence(&p.target.tokens, b);
            double *states = calloc((size_t)(s.count * c->width) + 1, sizeof *states);
            double *wanted = calloc((size_t)(t.count * c->target_vocab) + 1, sizeof *wanted);
            double *cross = calloc((size_t)(c->decoder_layers * c->heads * s.count * t.count) + 1,
                                   sizeof *cross);
            bool reads = c->kind != RAPT_KIND_DECODER_ONLY;
            if (reads) oracle_encode(oracle, NULL, &s, states);
            if (reads) near(memory + s.first * c->width, states, s.count * c->width);
            if (logits) {
                bool both = c->kind == RAPT_KIND_ENCODER_DECODER;
                oracle_decode(oracle, NULL, both ? &s : NULL, states, &t, wanted,
                              both ? cross : NULL);
                near(logits + t.first * c->target_vocab, wanted, t.count * c->target_vocab);
                if (both) compare_alignments(session, c, b, cross);
            }
            free(states);
            free(wanted);
            free(cross);
        }
        oracle_model_free(oracle);
        rapt_session_free(session);
        rapt_model_free(model);
    }
}

/* ---- equal bits ---- */

static const int larger_source[] = {70, 3, 33, 17, 1, 16}, larger_target[] = {60, 80, 1, 20, 33, 2};

struct result {
    float *memory, *logits, *weights;
    size_t memory_size, logits_size, weights_size; /* bytes */
};

static struct result run_all(const rapt_model *model, const rapt_limits *limits, int threads,
                             const rapt_tokens *source, const rapt_tokens *target)
{
    rapt_config c = *rapt_model_config(model);
    rapt_session *session = session_of(model, limits, threads);
    const float *memory, *logits;
    struct result r = {0};
    size_t cells = 0;
    for (int b = 0; b < source->batch; b++)
        cells += (size_t)(source->starts[b + 1] - source->starts[b]) *
                 (size_t)(target->starts[b + 1] - target->starts[b]);
    assert_int_equal(rapt_encode(session, source, &memory, NULL), RAPT_OK);
    assert_int_equal(rapt_decode(session, target, &logits, NULL), RAPT_OK);
    r.weights_size = cells * sizeof(float);
    r.weights = malloc(r.weights_size + 1);
    assert_int_equal(rapt_session_alignment(session, -1, -1, r.weights, NULL), RAPT_OK);
    r.memory_size = (size_t)source->starts[source->batch] * (size_t)c.width * sizeof(float);
    r.logits_size = (size_t)target->starts[target->batch] * (size_t)c.target_vocab * sizeof(float);
    r.memory = small_copy(memory, r.memory_size);
    r.logits = small_copy(logits, r.logits_size);
    rapt_session_free(session);
    return r;
}

static void free_result(struct result *r)
{
    free(r->memory);
    free(r->logits);
    free(r->weights);
}

static void assert_same(const struct result *a, const struct result *b)
{
    assert_int_equal(a->logits_size, b->logits_size);
    assert_memory_equal(a->memory, b->memory, a->memory_size);
    assert_memory_equal(a->logits, b->logits, a->logits_size);
    assert_memory_equal(a->weights, b->weights, a->weights_size);
}

static void test_threads_and_machines(void **state)
{
    (void)state;
    static const int threads[] = {1, 2, 3, 7};
    rapt_isa sets[EQUAL_SETS + 1], best = rapt_isa_used();
    int count = equal_sets("generate/session, instruction sets", sets);
    rapt_model *model = small_model(&larger, 3);
    struct small_batch source, target;
    struct result first = {0};
    small_fill(&source, 70, larger_source, LARGER_BATCH, 1);
    small_fill(&target, 90, larger_target, LARGER_BATCH, 2);
    sets[count++] = RAPT_ISA_SCALAR; /* may lack fma: compared only with itself */
    for (int s = 0; s < count; s++) {
        assert_int_equal(rapt_isa_use(sets[s]), RAPT_OK);
        if (s == count - 1) free_result(&first), first = (struct result){0};
        for (int t = 0; t < COUNT(threads); t++) {
            struct result r =
                run_all(model, &larger_limits, threads[t], &source.tokens, &target.tokens);
            if (!first.logits) {
                first = r;
                continue;
            }
            assert_same(&first, &r);
            free_result(&r);
        }
    }
    free_result(&first);
    assert_int_equal(rapt_isa_use(best), RAPT_OK);
    rapt_model_free(model);
}

/* By itself, in a session that fits exactly, a sentence has the bits that it has in a batch. */
static void test_alone(void **state)
{
    (void)state;
    rapt_model *model = small_model(&larger, 4);
    struct small_batch source, target;
    small_fill(&source, 70, larger_source, LARGER_BATCH, 5);
    small_fill(&target, 90, larger_target, LARGER_BATCH, 6);
    struct result all = run_all(model, &larger_limits, 2, &source.tokens, &target.tokens);
    size_t row = (size_t)larger.target_vocab, cell = 0;
    for (int b = 0; b < LARGER_BATCH; b++) {
        int s[2], t[2];
        rapt_tokens one = small_one(&source.tokens, b, s), to = small_one(&target.tokens, b, t);
        rapt_limits limits = {.size = sizeof limits,
                              .batch = 1,
                              .source_tokens = s[1],
                              .target_length = t[1],
                              .target_tokens = t[1]};
        struct result r = run_all(model, &limits, 1, &one, &to);
        assert_memory_equal(r.memory, all.memory + (size_t)source.starts[b] * 36, r.memory_size);
        assert_memory_equal(r.logits, all.logits + (size_t)target.starts[b] * row, r.logits_size);
        assert_memory_equal(r.weights, all.weights + cell, r.weights_size);
        cell += r.weights_size / sizeof(float);
        free_result(&r);
    }
    free_result(&all);
    rapt_model_free(model);
}

/* Returns the bytes of memory that a longer target needs, per token and layer. */
static double bytes_per_token(const rapt_config *c)
{
    enum { SHORT = 256, MORE = 4096 };
    rapt_model *model = small_model(c, 1);
    rapt_limits limits = {
        .size = sizeof limits, .batch = 1, .target_length = SHORT, .target_tokens = 1};
    size_t before = rapt_session_bytes(model, &limits);
    limits.target_length += MORE;
    size_t after = rapt_session_bytes(model, &limits);
    rapt_model_free(model);
    return (double)(after - before) / MORE / c->decoder_layers;
}

/* With latent rows, the cache holds c and the rotated part of a key for each token: 32 + 8 floats
   here, and 2 * 4 * 16 without. */
static void test_latent_memory(void **state)
{
    (void)state;
    rapt_config c = {.size = sizeof c,
                     .kind = RAPT_KIND_DECODER_ONLY,
                     .target_vocab = 5,
                     .positions = 8192,
                     .width = 4,
                     .heads = 4,
                     .head_width = 16,
                     .decoder_layers = 8,
                     .rotary = RAPT_ROTARY_PAIRS,
                     .rotary_width = 8};
    double plain = bytes_per_token(&c);
    c.latent_width = 32;
    double latent = bytes_per_token(&c);
    print_message("bytes of memory per token and layer: %g, latent rows %g\n", plain, latent);
    assert_true(fabs(plain - latent - 4 * (2 * 4 * 16 - (32 + 8))) < 1);
    assert_true(latent < 1.05 * 4 * (32 + 8));
}

/* Gives n tokens in one call, or in pieces of uneven length. */
static void test_one_by_one(void **state)
{
    (void)state;
    for (int i = -1; i < COUNT(small_configs); i++) {
        const rapt_config *c = i < 0 ? &larger : &small_configs[i];
        if (c->kind == RAPT_KIND_ENCODER_ONLY) continue;
        rapt_model *model = small_model(c, 30);
        rapt_limits limits = {.size = sizeof limits,
                              .batch = 2,
                              .source_tokens = 24,
                              .target_length = c->positions,
                              .target_tokens = 2 * c->positions};
        rapt_session *session = session_of(model, &limits, 2);
        int n = c->positions, lengths[] = {n, n - 1}, sources[] = {6, 9};
        size_t row = (size_t)c->target_vocab;
        struct small_batch source, target;
        const float *logits;
        small_fill(&source, small_source_ids(c), sources, 2, 3);
        small_fill(&target, c->target_vocab, lengths, 2, 4);
        const rapt_tokens read = small_source(c, &source.tokens);
        assert_int_equal(rapt_encode(session, &read, NULL, NULL), RAPT_OK);
        assert_int_equal(rapt_decode(session, &target.tokens, &logits, NULL), RAPT_OK);
        float *whole = small_copy(logits, sizeof(float) * row * (size_t)(2 * n - 1));
        for (int piece = 1; piece < 6; piece += 2) {
            int at[2] = {0, 0};
            assert_int_equal(rapt_encode(session, &read, NULL, NULL), RAPT_OK);
            for (int step = 0; at[0] < n || at[1] < n - 1; step++) {
                int32_t ids[16];
                int callback[2], starts[3] = {0};
                for (int b = 0; b < 2; b++) { /* they take turns, so that the pasts differ */
                    int left = lengths[b] - at[b];
                    callback[b] = (step + b) % 3 == 0 && left > 1 ? 0 : left < piece ? left : piece;
                    starts[b + 1] = starts[b] + callback[b];
                    memcpy(ids + starts[b], target.ids + target.starts[b] + at[b],
                           sizeof *ids * (size_t)callback[b]);
                }
                rapt_tokens fed = {.batch = 2, .ids = ids, .starts = starts};
                assert_int_equal(rapt_decode(session, &fed, &logits, NULL), RAPT_OK);
                for (int b = 0; b < 2; at[b] += callback[b], b++)
                    assert_memory_equal(logits + (size_t)starts[b] * row,
                                        whole + (size_t)(target.starts[b] + at[b]) * row,
                                        sizeof(float) * row * (size_t)callback[b]);
            }
        }
        free(whole);
        rapt_session_free(session);
        rapt_model_free(model);
    }
}

/* ---- reordering ---- */

static void judge_reorder(const rapt_config *config, bool bf16)
{
    enum { BEAMS = 3, STEPS = 5 };
    static const int parents[] = {2, 0, 0, 4, 4, 5}, wrong[] = {0, 1, 2, 3, 4, 2};
    rapt_model *model = small_model(config, 8);
    rapt_limits limits = {.size = sizeof limits,
                          .batch = 2,
                          .beams = BEAMS,
                          .source_tokens = 9,
                          .target_length = 40,
                          .target_tokens = 60,
                          .bf16_cache = bf16};
    rapt_session *moved = session_of(model, &limits, 3), *fresh = session_of(model, &limits, 1);
    int sources[] = {4, 5}, lengths[] = {17, 1, 18, 3, 16, 2}, others[6], starts[7];
    struct small_batch source, past, now;
    const float *got, *wanted;
    float weights[64], same[64], all[57 * 5];
    small_fill(&source, 70, sources, 2, 1);
    small_fill(&past, 90, lengths, 6, 2);
    int32_t ids[128];
    starts[0] = 0;
    for (int i = 0; i < 6; i++) {
        int n = others[i] = lengths[parents[i]];
        memcpy(ids + starts[i], past.ids + past.starts[parents[i]], sizeof *ids * (size_t)n);
        starts[i + 1] = starts[i] + n;
    }
    int next_lengths[] = {1, 2, 1, 0, 3, 1};
    small_fill(&now, 90, next_lengths, 6, 3);
    assert_int_equal(rapt_encode(moved, &source.tokens, NULL, NULL), RAPT_OK);
    assert_int_equal(rapt_decode(moved, &past.tokens, NULL, NULL), RAPT_OK);
    assert_int_equal(rapt_session_reorder(moved, wrong, NULL), RAPT_BAD_ARGUMENT);
    assert_int_equal(rapt_session_alignment(moved, 1, 2, all, NULL), RAPT_OK);
    assert_int_equal(rapt_session_reorder(moved, parents, NULL), RAPT_OK);
    rapt_message why = {""};
    assert_int_equal(rapt_session_alignment(moved, 1, 2, all, &why), RAPT_BAD_ARGUMENT);
    assert_non_null(strstr(why.text, "before rapt_session_reorder"));
    assert_int_equal(rapt_decode(moved, &now.tokens, &got, NULL), RAPT_OK);
    assert_int_equal(rapt_encode(fresh, &source.tokens, NULL, NULL), RAPT_OK);
    assert_true(starts[6] > limits.target_tokens);
    for (int half = 0; half < 2; half++) { /* more rows than the session takes at once */
        int part[7] = {0};
        for (int i = 0; i < 6; i++) part[i + 1] = part[i] + (i / 3 == half ? others[i] : 0);
        rapt_tokens one = {.batch = 6, .ids = ids + (half ? starts[3] : 0), .starts = part};
        assert_int_equal(rapt_decode(fresh, &one, NULL, NULL), RAPT_OK);
    }
    assert_int_equal(rapt_decode(fresh, &now.tokens, &wanted, NULL), RAPT_OK);
    assert_memory_equal(got, wanted, sizeof(float) * 90 * 8);
    assert_int_equal(rapt_session_alignment(moved, 1, 2, weights, NULL), RAPT_OK);
    assert_int_equal(rapt_session_alignment(fresh, 1, 2, same, NULL), RAPT_OK);
    assert_memory_equal(weights, same, sizeof(float) * (4 * 4 + 4 * 5));
    rapt_session_free(moved);
    rapt_session_free(fresh);
    rapt_model_free(model);
}

static void test_reorder(void **state)
{
    (void)state;
    rapt_config disentangled = larger;
    disentangled.relative_bias = RAPT_RELATIVE_BIAS_DEBERTA, disentangled.relative_distance = 3;
    judge_reorder(&disentangled, false);
    disentangled.relative_buckets = 4, disentangled.relative_distance = 6;
    judge_reorder(&disentangled, false);
    rapt_config forgetting = larger, latent = larger;
    forgetting.forget_gate = 1, latent.head_width = 16, latent.latent_width = 32;
    for (int bf16 = 0; bf16 < 2; bf16++) {
        judge_reorder(&forgetting, bf16);
        judge_reorder(&latent, bf16);
    }
    for (int kind = RAPT_RECURRENCE_NONE; kind <= RAPT_RECURRENCE_GATED_DELTA; kind++) {
        rapt_config config = larger;
        config.decoder_recurrence = (rapt_recurrence)kind;
        judge_reorder(&config, false);
    }
    for (int kind = RAPT_CROSS_MONOTONIC_HARD; kind <= RAPT_CROSS_MONOTONIC_LOOKBACK; kind++) {
        rapt_config config = larger;
        config.monotonic = (rapt_cross_monotonic)kind;
        judge_reorder(&config, false);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_definition),    cmocka_unit_test(test_threads_and_machines),
        cmocka_unit_test(test_alone),         cmocka_unit_test(test_one_by_one),
        cmocka_unit_test(test_latent_memory), cmocka_unit_test(test_reorder),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
