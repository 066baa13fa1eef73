/* hidden.c - for every score and locality, keys hidden from all queries and fully masked queries
   may hold NaN: no result or gradient, also of learned arrays, differs by a bit from that with
   zeros in their place. Also: the workspace of a kind of problem suffices for each such problem. */
#include "trial.h"

#include "attention/attention.h"
#include "roundings.h"

static void set_row(float *x, const rapt_stride *s, const int *starts, int b, int h, int row,
                    int width, float value)
{
    ptrdiff_t at = starts ? (starts[b] + row) * s->row : b * s->batch + row * s->row;
    for (int i = 0; i < width; i++) x[at + h * s->head + i] = value;
}

static bool key_is_hidden(const struct trial *x, int b, int s)
{
    for (int h = 0; h < x->a.heads; h++)
        for (int t = 0; t < oracle_queries(&x->a, b); t++)
            if (oracle_sees(&x->a, b, h, t, s)) return false;
    return true;
}

static bool query_is_fully_masked(const struct trial *x, int b, int h, int t)
{
    for (int s = 0; s < oracle_keys(&x->a, b); s++)
        if (oracle_sees(&x->a, b, h, t, s)) return false;
    return true;
}

/* Overwrites hidden rows and returns their number. */
static int hide(struct trial *x, float value)
{
    const rapt_attention *a = &x->a;
    int key_heads = a->key_heads ? a->key_heads : a->heads, hidden = 0;
    int query_width = a->query_width ? a->query_width : a->key_width;
    for (int b = 0; b < a->batch; b++) {
        for (int s = 0; s < oracle_keys(a, b); s++)
            for (int g = 0; g < key_heads && key_is_hidden(x, b, s); g++, hidden++) {
                set_row(x->k, &a->k, a->key_starts, b, g, s, a->key_width, value);
                set_row(x->v, &a->v, a->key_starts, b, g, s, a->value_width, value);
            }
        for (int t = 0; t < oracle_queries(a, b); t++)
            for (int h = 0; h < a->heads; h++)
                if (query_is_fully_masked(x, b, h, t)) {
                    set_row(x->q, &a->q, a->query_starts, b, h, t, query_width, value);
                    hidden++;
                }
    }
    return hidden;
}

static float *keep(const float *x, size_t n)
{
    float *y = zeros(n);
    if (n) memcpy(y, x, n * sizeof *y);
    return y;
}

static void compare(float *was, const float *is, size_t n, const char *what, const struct choice *c)
{
    for (size_t i = 0; i < n; i++)
        if (!(was[i] == is[i]))
            fail_msg("%s[%zu] of %s: %.9g, then %.9g: %s", what, i, rapt_score_name(c->score),
                     (double)was[i], (double)is[i], choice_text(c));
    free(was);
}

static int try_hidden(const struct choice *c, uint64_t seed)
{
    struct trial x = make_trial(c, seed);
    float *learned_was[LEARNED];
    hide(&x, 0);
    run_forward(&x), run_backward(&x);
    float *out = keep(x.out, x.no), *dq = keep(x.dq, x.nq), *dk = keep(x.dk, x.nk);
    float *dv = keep(x.dv, x.nv);
    for (int i = 0; i < LEARNED; i++) learned_was[i] = keep(x.dlearned[i], x.nlearned[i]);
    int hidden = hide(&x, NAN);
    run_forward(&x), run_backward(&x);
    compare(out, x.out, x.no, "out", c), compare(dq, x.dq, x.nq, "dq", c);
    compare(dk, x.dk, x.nk, "dk", c), compare(dv, x.dv, x.nv, "dv", c);
    for (int i = 0; i < LEARNED; i++)
        compare(learned_was[i], x.dlearned[i], x.nlearned[i], "learned", c);
    drop_trial(&x);
    return hidden;
}

static void what_is_hidden_is_not_touched(void **state)
{
    (void)state;
    int hidden = 0;
    for (int score = 0; score < RAPT_SCORE_COUNT; score++)
        for (int locality = 0; locality < RAPT_LOCALITY_COUNT; locality++)
            for (int kind = 0; kind < 8; kind++) {
                const struct choice c = {.batch = 3,
                                         .heads = 2,
                                         .key_heads = kind & 1,
                                         .queries = 9,
                                         .keys = 21,
                                         .key_width = 6,
                                         .value_width = 5,
                                         .ragged = kind & 2,
                                         .counts = true,
                                         .causal_alignment = RAPT_CAUSAL_ALIGNMENT_LOWER_RIGHT,
                                         .allowed = kind & 4 ? SHARED : NONE,
                                         .score = (rapt_score)score,
                                         .locality = (rapt_locality)locality,
                                         .radius = 7.5f,
                                         .learned = true};
                hidden += try_hidden(&c, (uint64_t)(100 * score + 10 * locality + kind));
            }
    assert_true(hidden > 500);
}

/* Tests the same for each normalizer if the host has set another rounding mode and instruction set:
   e^-infinity must be 0, not the smallest float, which times NaN is NaN. Runs on one thread, as
   others have a mode of their own. Fully masked rows are not changed. */
static void try_mode(int mode, const struct choice *c, uint64_t seed)
{
    struct trial x = make_trial(c, seed);
    x.a.threads = 1;
    assert_int_equal(fesetround(mode), 0);
    hide(&x, 0);
    run_forward(&x), run_backward(&x);
    float *out = keep(x.out, x.no), *dq = keep(x.dq, x.nq), *dk = keep(x.dk, x.nk);
    float *dv = keep(x.dv, x.nv), *lse = keep(x.lse, x.nlse);
    hide(&x, NAN);
    run_forward(&x), run_backward(&x);
    fesetround(FE_TONEAREST);
    compare(out, x.out, x.no, "out", c), compare(dq, x.dq, x.nq, "dq", c);
    compare(dk, x.dk, x.nk, "dk", c), compare(dv, x.dv, x.nv, "dv", c);
    compare(lse, x.lse, x.nlse, "lse", c);
    for (int h = 0, n = 0; h < c->heads; h++)
        for (int b = 0; b < c->batch; b++)
            for (int t = 0; t < oracle_queries(&x.a, b); t++, n++)
                if (query_is_fully_masked(&x, b, h, t)) assert_true(x.lse[n] == -INFINITY);
    drop_trial(&x);
}

static void rounding_does_not_reveal(void **state)
{
    (void)state;
    static const rapt_isa sets[] = {RAPT_ISA_SCALAR, RAPT_ISA_AVX2, RAPT_ISA_AVX512, RAPT_ISA_NEON};
    rapt_isa used = rapt_isa_used();
    int tried = 0;
    for (int n = 0; n < 4 * ROUNDING_MODES * RAPT_SCORE_COUNT * RAPT_NORMALIZER_COUNT; n++) {
        int normalizer = n / 4 / ROUNDING_MODES % RAPT_NORMALIZER_COUNT;
        rapt_score score = (rapt_score)(n / 4 / ROUNDING_MODES / RAPT_NORMALIZER_COUNT);
        const struct choice c = {.batch = 3,
                                 .heads = 2,
                                 .queries = 9,
                                 .keys = 37,
                                 .key_width = 6,
                                 .value_width = n / 4 % 2 ? 5 : 16,
                                 .ragged = n % 3 == 0,
                                 .counts = true,
                                 .causal_alignment = RAPT_CAUSAL_ALIGNMENT_LOWER_RIGHT,
                                 .causal = n % 5 == 0,
                                 .forget = n % 10 == 0,
                                 .distances = n % 3 == 1 ? n % 64 : NONE,
                                 .near_before = 11,
                                 .near_after = 2,
                                 .talking = n % 3 == 2 && score != RAPT_SCORE_LOCATION_AWARE &&
                                                    score != RAPT_SCORE_COVERAGE
                                                ? TALKING
                                                : 0,
                                 .allowed = n % 2 ? SHARED : SHARED | PER_ROW,
                                 .score = score,
                                 .locality =
                                     n % 7 == 0 ? RAPT_LOCALITY_LOCAL_P : RAPT_LOCALITY_GLOBAL,
                                 .normalizer = (rapt_normalizer)normalizer,
                                 .radius = 7.5f,
                                 .rewards = true,
                                 .learned = true};
        if (rapt_isa_use(sets[n % 4]) != RAPT_OK) continue;
        try_mode(rounding_modes[n / 4 % ROUNDING_MODES], &c, (uint64_t)n);
        tried++;
    }
    assert_true(tried >= ROUNDING_MODES * RAPT_SCORE_COUNT * RAPT_NORMALIZER_COUNT);
    rapt_isa_use(used);
}

/* The workspace of a kind is at least that of its problems, and is computed without rows. */
static void workspace_of_a_kind(void **state)
{
    (void)state;
    uint64_t r = 6;
    for (int i = 0; i < 300; i++) {
        struct choice c = {.batch = 1 + draw_below(&r, 5),
                           .heads = 2,
                           .queries = 1 + draw_below(&r, 90),
                           .keys = 1 + draw_below(&r, 90),
                           .key_width = 2 + 2 * draw_below(&r, 20),
                           .value_width = 1 + draw_below(&r, 40),
                           .ragged = draw_below(&r, 2),
                           .causal_alignment = RAPT_CAUSAL_ALIGNMENT_UPPER_LEFT,
                           .score = (rapt_score)draw_below(&r, RAPT_SCORE_COUNT),
                           .locality = (rapt_locality)draw_below(&r, RAPT_LOCALITY_COUNT),
                           .slopes = draw_below(&r, 2),
                           .causal = draw_below(&r, 2),
                           .forget = draw_below(&r, 2),
                           .distances = draw_below(&r, 64),
                           .near_after = draw_below(&r, 9),
                           .near_buckets = 4 * draw_below(&r, 2),
                           .near_distance = 6,
                           .radius = 3,
                           .learned = true};
        if (i % 3 == 0 && c.score != RAPT_SCORE_LOCATION_AWARE && c.score != RAPT_SCORE_COVERAGE)
            c.distances = 0, c.talking = draw_below(&r, 4);
        struct trial x = make_trial(&c, (uint64_t)i);
        size_t needs = rapt_attention_workspace(&x.a);
        int queries = rows_of(x.query_starts, c.batch, c.queries);
        int keys = rows_of(x.key_starts, c.batch, c.keys);
        rapt_attention spec = x.a;
        spec.query_starts = spec.key_starts = NULL;
        spec.batch = spec.queries = spec.keys = -7;
        if (rapt__attention_workspace_spec(&spec, c.batch, queries, keys, false) < needs)
            fail_msg("%s: workspace too small", choice_text(&c));
        drop_trial(&x);
    }
}

/* A visible score that is NaN makes weights NaN, but the weights and gradients of hidden keys stay
   0. */
static void nan_does_not_reveal(void **state)
{
    (void)state;
    enum { KEYS = 3, HIDDEN = 1 };
    static const uint8_t allowed[KEYS] = {1, 0, 1}, expected = 1;
    for (int kind = 0; kind < 2 * RAPT_NORMALIZER_COUNT; kind++) {
        rapt_attention a;
        rapt_attention_init(&a, sizeof a, 1, 1, 1, KEYS, 1);
        a.normalizer = (rapt_normalizer)(kind / 2), a.mask.allowed = allowed, a.threads = 1;
        bool sampled = a.normalizer == RAPT_NORMALIZER_SAMPLE;
        if (sampled && kind % 2) a.expected = &expected;
        float q = 1, k[KEYS] = {NAN, 2, 3}, v[KEYS] = {1, 2, 3}, out, dout = 1, reward = 1;
        float statistics[2], w[KEYS], dk[KEYS] = {0}, dv[KEYS] = {0};
        int chosen;
        const rapt_attention_saved saved = {
            .size = sizeof saved, .statistics = statistics, .chosen = &chosen};
        const rapt_reinforce r = {
            .size = sizeof r, .reward = &reward, .entropy = sampled && !(kind % 2) ? 0.5f : 0};
        const rapt_gradients d = {.size = sizeof d, .k = dk, .v = dv};
        void *memory = aligned_alloc(64, (rapt_attention_workspace(&a) + 63) / 64 * 64);
        assert_int_equal(rapt_attention_forward(&a, &q, k, v, &out, &saved, memory, NULL), RAPT_OK);
        assert_int_equal(rapt_attention_weights(&a, &q, k, &saved, 0, 0, 0, 1, w, memory, NULL),
                         RAPT_OK);
        assert_int_equal(rapt_attention_backward(&a, &q, k, v, &out, &saved, &dout,
                                                 sampled ? &r : NULL, &d, memory, NULL),
                         RAPT_OK);
        if (!(w[HIDDEN] == 0 && dk[HIDDEN] == 0 && dv[HIDDEN] == 0))
            fail_msg("%s %d: weight %g, dk %g, dv %g", rapt_normalizer_name(a.normalizer), kind % 2,
                     (double)w[HIDDEN], (double)dk[HIDDEN], (double)dv[HIDDEN]);
        free(memory);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_hidden_is_not_touched),
        cmocka_unit_test(rounding_does_not_reveal),
        cmocka_unit_test(workspace_of_a_kind),
        cmocka_unit_test(nan_does_not_reveal),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
