/* forward.c - out and lse against the definition in double, over shapes, masks and layouts. */
#include "judge.h"

static void judge(const struct trial *x, const char *text)
{
    struct judge j;
    assert_true(make_judge(&j, x, text));
    judge_forward(&j);
    drop_judge(&j);
}

static void try_choice(const struct choice *c, uint64_t seed)
{
    struct trial x = make_trial(c, seed);
    run_forward(&x);
    judge(&x, choice_text(c));
    drop_trial(&x);
}

static void shapes(void **state)
{
    (void)state;
    const int lengths[] = {0, 1, 2, 13, 15, 16, 17, 57, 127, 130, 300};
    const int widths[] = {1, 3, 16, 31, 64, 70, 128};
    enum { LENGTHS = sizeof lengths / sizeof *lengths, WIDTHS = sizeof widths / sizeof *widths };
    uint64_t seed = 1;
    for (int t = 0; t < LENGTHS; t++)
        for (int s = 0; s < LENGTHS; s++, seed++) {
            const struct choice c = {.batch = 2,
                                     .heads = 2,
                                     .queries = lengths[t],
                                     .keys = lengths[s],
                                     .key_width = widths[seed % WIDTHS],
                                     .value_width = widths[seed / 2 % WIDTHS]};
            try_choice(&c, seed);
        }
}

static void widths(void **state)
{
    (void)state;
    for (int k = 1; k <= 72; k++) {
        const struct choice c = {.batch = 1,
                                 .heads = 1,
                                 .queries = 5,
                                 .keys = 19,
                                 .key_width = k,
                                 .value_width = 73 - k};
        try_choice(&c, (uint64_t)k);
    }
}

/* Every kind of mask and combinations of them, ragged or not, with grouped heads and dropout. */
static void masks(void **state)
{
    (void)state;
    uint64_t seed = 0;
    for (int causal_alignment = 0; causal_alignment <= RAPT_CAUSAL_ALIGNMENT_LOWER_RIGHT;
         causal_alignment++)
        for (int kinds = 0; kinds < 64; kinds++) {
            bool placed = causal_alignment != RAPT_CAUSAL_ALIGNMENT_NONE;
            if (!placed && kinds & 3) continue;
            const struct choice c = {.batch = 3,
                                     .heads = 4,
                                     .key_heads = kinds & 32 ? 2 : 0,
                                     .queries = 3 + (int)(seed * 7 % 60),
                                     .keys = 5 + (int)(seed * 29 % 150),
                                     .key_width = 9,
                                     .value_width = 20,
                                     .causal_alignment = (rapt_causal_alignment)causal_alignment,
                                     .causal = kinds & 1,
                                     .window = kinds & 2,
                                     .before = 4 + (int)(seed % 30),
                                     .after = 3,
                                     .counts = kinds & 4,
                                     .allowed = kinds & 8 ? 8 + (int)(seed % 8) : NONE,
                                     .bias = kinds & 16 ? 8 + (int)(seed / 3 % 8) : NONE,
                                     .ragged = kinds & 32,
                                     .dropout = seed % 3 == 0 ? 0.25f : 0};
            try_choice(&c, ++seed);
        }
}

/* Each dimension of mask and bias is its own or shared. */
static void broadcasts(void **state)
{
    (void)state;
    for (int own = 0; own < 64; own++) {
        const struct choice c = {.batch = 2,
                                 .heads = 3,
                                 .queries = 18,
                                 .keys = 35,
                                 .key_width = 8,
                                 .value_width = 8,
                                 .allowed = SHARED | own % 8,
                                 .bias = SHARED | own / 8};
        try_choice(&c, (uint64_t)own);
    }
}

static void scores(void **state)
{
    (void)state;
    const float scales[] = {0, 1, 0.3f, -0.5f, 4};
    for (int score = 0; score < RAPT_SCORE_COUNT; score++)
        for (int i = 0; i < 5; i++)
            for (int bias = 0; bias < 2; bias++) {
                const struct choice c = {.batch = 1,
                                         .heads = 2,
                                         .queries = 30,
                                         .keys = 140,
                                         .key_width = 24,
                                         .value_width = 16,
                                         .score = (rapt_score)score,
                                         .learned = true,
                                         .scale = scales[i],
                                         .bias = bias ? SHARED : NONE};
                try_choice(&c, (uint64_t)(score * 10 + i));
            }
    assert_string_equal(rapt_score_name(RAPT_SCORE_SCALED_DOT), "scaled-dot");
    assert_string_equal(rapt_score_name(RAPT_SCORE_DOT), "dot");
    assert_null(rapt_score_name(RAPT_SCORE_COUNT));
}

/* All sequences, all heads, or both read the same keys: strides of 0. */
static void repeated_rows(void **state)
{
    (void)state;
    for (int i = 0; i < 8; i++) {
        const struct choice c = {
            .batch = 2, .heads = 3, .queries = 20, .keys = 33, .key_width = 10, .value_width = 12};
        struct trial x = make_trial(&c, (uint64_t)i);
        if (i & 1) x.a.k.batch = x.a.v.batch = 0;
        if (i & 2) x.a.k.head = x.a.v.head = 0;
        if (i & 4) x.a.q.row = 0;
        run_forward(&x);
        judge(&x, "repeated rows");
        drop_trial(&x);
    }
}

/* With weights beyond the range of float the largest decides and the others are 0; nothing
   overflows. */
static void extremes(void **state)
{
    (void)state;
    const float sizes[] = {1e4f, 1e10f, 1e18f, 1e-30f, 1e-40f};
    for (int i = 0; i < 5; i++) {
        const struct choice c = {.batch = 1,
                                 .heads = 1,
                                 .queries = 20,
                                 .keys = 150,
                                 .key_width = 1,
                                 .value_width = 4,
                                 .query_size = sizes[i]};
        struct trial x = make_trial(&c, 1);
        run_forward(&x);
        judge(&x, "extremes");
        drop_trial(&x);
    }
}

/* A cosine divides by lengths, but never by less than 1e-8. */
static void short_rows(void **state)
{
    (void)state;
    const struct choice c = {.batch = 1,
                             .heads = 1,
                             .queries = 6,
                             .keys = 9,
                             .key_width = 5,
                             .value_width = 3,
                             .score = RAPT_SCORE_COSINE,
                             .learned = true};
    const float times[] = {0, 1e-10f, 3e-9f, 1e-8f, 1, 1e12f};
    struct trial x = make_trial(&c, 5);
    for (int t = 0; t < c.queries; t++)
        for (int i = 0; i < c.key_width; i++) {
            x.q[t * x.a.q.row + i] *= times[t];
            x.k[t * x.a.k.row + i] *= times[c.queries - 1 - t];
        }
    run_forward(&x);
    judge(&x, "short rows");
    drop_trial(&x);
}

/* Of equal scores, the lowest visible key wins. */
static void ties(void **state)
{
    (void)state;
    const int counts[] = {70};
    for (int normalizer = RAPT_NORMALIZER_ARGMAX; normalizer <= RAPT_NORMALIZER_STRAIGHT_THROUGH;
         normalizer++) {
        if (normalizer == RAPT_NORMALIZER_SAMPLE) continue;
        const struct choice c = {.batch = 1,
                                 .heads = 1,
                                 .queries = 80,
                                 .keys = 90,
                                 .key_width = 3,
                                 .value_width = 2,
                                 .causal_alignment = RAPT_CAUSAL_ALIGNMENT_UPPER_LEFT,
                                 .window = true,
                                 .before = 20,
                                 .after = 2,
                                 .normalizer = (rapt_normalizer)normalizer};
        struct trial x = make_trial(&c, 6);
        x.a.mask.key_counts = counts;
        for (int s = 0; s < c.keys; s++)
            memcpy(x.k + s * x.a.k.row, x.k, (size_t)c.key_width * sizeof(float));
        run_forward(&x);
        for (int t = 0; t < c.queries; t++) assert_int_equal(x.chosen[t], t < 20 ? 0 : t - 20);
        drop_trial(&x);
    }
}

/* Keys are drawn as often as the softmax says. */
static void frequencies(void **state)
{
    (void)state;
    enum { QUERIES = 6000, KEYS = 5 };
    const struct choice c = {.batch = 1,
                             .heads = 1,
                             .queries = QUERIES,
                             .keys = KEYS,
                             .key_width = 3,
                             .value_width = 1,
                             .normalizer = RAPT_NORMALIZER_SAMPLE};
    struct trial x = make_trial(&c, 7);
    struct judge j;
    double count[KEYS] = {0};
    x.a.q.row = 0; /* all rows are the same query */
    run_forward(&x);
    for (int t = 0; t < QUERIES; t++) count[x.chosen[t]] += 1;
    struct trial soft = x;
    soft.a.normalizer = RAPT_NORMALIZER_SOFTMAX, soft.chosen = NULL;
    assert_true(make_judge(&j, &soft, "frequencies"));
    for (int s = 0; s < KEYS; s++) {
        double p = j.r.weights[s];
        assert_true(p > 0.01 && fabs(count[s] / QUERIES - p) < 5 * sqrt(p * (1 - p) / QUERIES));
    }
    drop_judge(&j);
    drop_trial(&x);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(shapes),   cmocka_unit_test(widths),
        cmocka_unit_test(masks),    cmocka_unit_test(broadcasts),
        cmocka_unit_test(scores),   cmocka_unit_test(repeated_rows),
        cmocka_unit_test(extremes), cmocka_unit_test(short_rows),
        cmocka_unit_test(ties),     cmocka_unit_test(frequencies),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
