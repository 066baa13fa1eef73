/* distances.c - distance vectors in long sequences, whose keys take several blocks or several
   parts, match the definition; shared vectors; buckets of distances; and what a problem with them
   refuses. Short sequences of every kind are in tests/attention/product.c. */
#include "../oracle/attention_axes.h"
#include "judge.h"

static const struct choice basic = {.batch = 1,
                                    .heads = 1,
                                    .queries = 70,
                                    .keys = 300,
                                    .key_width = 5,
                                    .value_width = 3,
                                    .causal_alignment = RAPT_CAUSAL_ALIGNMENT_LOWER_RIGHT,
                                    .distances = DISTANCE_KEYS | DISTANCE_QUERIES,
                                    .near_before = 150,
                                    .near_after = 37};

static void long_sequences(void **state)
{
    (void)state;
    static const rapt_normalizer normalizers[] = {RAPT_NORMALIZER_SOFTMAX, RAPT_NORMALIZER_SIGMOID,
                                                  RAPT_NORMALIZER_ENTMAX_1_5};
    for (int n = 0; n < 13; n++) {
        struct choice c = basic;
        struct judge j;
        bool bucketed = n / 6 == 1, longest = n == 12;
        c.normalizer = normalizers[n / 2 % 3], c.causal = n % 2;
        if (bucketed) c.near_buckets = 16, c.near_distance = 90;
        if (n % 6 || longest) c.distances |= DISTANCE_VALUES | CONTENT_BIAS;
        if (!bucketed && n % 2) c.near_before = 9, c.near_after = 0;
        if (longest) c.keys = 4200;
        for (uint64_t seed = 1;; seed++) {
            struct trial x = make_trial(&c, seed);
            x.a.threads = 1 + n % 2;
            run_forward(&x);
            run_backward(&x);
            bool decided = make_judge(&j, &x, choice_text(&c));
            if (decided) judge_forward(&j), judge_weights(&j), judge_backward(&j, 1, 1);
            drop_judge(&j);
            drop_trial(&x);
            if (decided) break;
            assert_true(seed < 20);
        }
    }
}

/* Vectors that all heads share are the same as equal vectors for each. */
static void shared_vectors(void **state)
{
    (void)state;
    enum { HEADS = 2, N = 8, WIDTH = 4 };
    struct choice c = basic;
    c.heads = HEADS, c.key_width = WIDTH, c.queries = 20, c.keys = 33;
    c.near_before = 5, c.near_after = 2, c.distances |= DISTANCES_SHARED;
    struct trial x = make_trial(&c, 3);
    run_forward(&x);
    float *was = zeros(x.no), more[2][N * HEADS * WIDTH];
    memcpy(was, x.out, x.no * sizeof *was);
    for (int i = 0; i < 2; i++)
        for (int n = 0; n < N * HEADS * WIDTH; n++)
            more[i][n] = x.learned[DISTANCES + i][n / HEADS / WIDTH * WIDTH + n % WIDTH];
    x.a.distances.shared = 0, x.a.distances.keys = more[0], x.a.distances.queries = more[1];
    run_forward(&x);
    assert_true(same_bits(was, x.out, x.no));
    free(was);
    drop_trial(&x);
}

/* ---- buckets ---- */

static void log_buckets(void **state)
{
    (void)state;
    static const struct {
        int buckets, distance;
    } shapes[] = {{4, 3},   {4, 1000}, {6, 12},    {6, 48},     {32, 17},   {32, 127},
                  {33, 40}, {64, 200}, {256, 511}, {256, 8191}, {48, 65535}};
    enum { LONGEST = 3000 };
    static int to[2 * LONGEST + 1];
    for (size_t n = 0; n < sizeof shapes / sizeof *shapes; n++) {
        int buckets = shapes[n].buckets, far = shapes[n].distance, before = LONGEST, after = 700;
        int first = oracle_log_bucket(before, buckets, far);
        int count = rapt_distance_buckets(before, after, buckets, far, to);
        if (buckets % 2) assert_int_equal(count, 0);
        if (buckets % 2) continue;
        assert_int_equal(count, first + 1 + oracle_log_bucket(after, buckets, far));
        for (int d = -before; d <= after; d++)
            assert_int_equal(to[before + d], first + oracle_log_bucket(d, buckets, far));
        if (far > LONGEST) continue;
        assert_int_equal(rapt_distance_buckets(far, far, buckets, far, to), 2 * buckets - 1);
        assert_int_equal(to[0], 0);
        assert_int_equal(to[2 * far], 2 * buckets - 2);
    }
}

static void bad_buckets(void **state)
{
    (void)state;
    static const int bad[][4] = {{-1, 5, 4, 5},        {5, -1, 4, 5}, {65536, 0, 4, 5},
                                 {40000, 25536, 4, 5}, {5, 5, 2, 5},  {5, 5, 5, 9},
                                 {5, 5, 8, 4},         {5, 5, -4, 5}};
    int to[11] = {7};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        assert_int_equal(rapt_distance_buckets(bad[i][0], bad[i][1], bad[i][2], bad[i][3], to), 0);
    assert_int_equal(to[0], 7);
    assert_int_equal(rapt_distance_buckets(5, 5, 4, 5, NULL), 0);
}

/* Distances in buckets are the same as equal distance vectors within each bucket. */
static void equal_vectors(void **state)
{
    (void)state;
    enum { WIDTH = 4, N = 24 };
    struct choice c = basic;
    c.key_width = WIDTH, c.near_before = 14, c.near_after = 9;
    c.near_buckets = 8, c.near_distance = 11;
    struct trial x = make_trial(&c, 3);
    run_forward(&x);
    float *was = zeros(x.no), more[2][N * WIDTH];
    memcpy(was, x.out, x.no * sizeof *was);
    for (int i = 0; i < 2; i++)
        for (int n = 0; n < N * WIDTH; n++)
            more[i][n] = x.learned[DISTANCES + i][x.near[n / WIDTH] * WIDTH + n % WIDTH];
    x.a.distances.buckets = NULL, x.a.distances.bucket_count = 0;
    x.a.distances.keys = more[0], x.a.distances.queries = more[1];
    run_forward(&x);
    assert_true(same_bits(was, x.out, x.no));
    free(was);
    drop_trial(&x);
}

static void refuse(const rapt_attention *a, const char *text)
{
    rapt_message why = {""};
    assert_int_equal(rapt_attention_check(a, &why), RAPT_BAD_ARGUMENT);
    if (!strstr(why.text, text)) fail_msg("%s does not say %s", why.text, text);
}

static void refused(void **state)
{
    (void)state;
    struct trial x = make_trial(&basic, 1);
    rapt_attention bad = x.a;
    bad.mask.causal_alignment = RAPT_CAUSAL_ALIGNMENT_NONE;
    refuse(&bad, "mask.causal_alignment is not set, but distances.keys needs it");
    bad = x.a, bad.score = RAPT_SCORE_COSINE;
    refuse(&bad, "distances.keys needs a score that is a dot product of q and k; score is cosine");
    bad = x.a, bad.relative.rotary = RAPT_ROTARY_PAIRS, bad.relative.rotary_width = 2;
    refuse(&bad, "relative.rotary and distances.keys exclude each other");
    bad = x.a, bad.distances.before = -1;
    refuse(&bad, "distances.before is -1");
    bad = x.a, bad.distances.after = 65536 - bad.distances.before;
    refuse(&bad, "distances.after");
    bad = x.a, bad.distances.position_bias = bad.distances.keys, bad.distances.keys = NULL;
    refuse(&bad, "distances.keys is NULL, but distances.position_bias needs it");
    int buckets[188] = {0};
    bad = x.a, bad.distances.bucket_count = 3;
    refuse(&bad, "distances.bucket_count is 3; it must be 0 if distances.buckets is NULL");
    bad.distances.buckets = buckets, bad.distances.bucket_count = 189;
    refuse(&bad, "distances.bucket_count is 189");
    bad.distances.bucket_count = 0;
    refuse(&bad, "distances.bucket_count is 0");
    bad.distances.bucket_count = 3, buckets[187] = 3;
    refuse(&bad, "distances.buckets[187] is 3");
    buckets[187] = -1;
    refuse(&bad, "distances.buckets[187] is -1");
    bad = x.a, bad.distances.reserved[1] = 1;
    refuse(&bad, "distances.reserved");
    rapt_message why;
    float some[1];
    const rapt_gradients d = {.size = sizeof d, .distances.values = some};
    void *workspace = make_workspace(&x.a);
    run_forward(&x);
    assert_int_equal(rapt_attention_backward(&x.a, x.q, x.k, x.v, x.out, &x.saved, x.dout, NULL, &d,
                                             workspace, &why),
                     RAPT_BAD_ARGUMENT);
    assert_non_null(strstr(why.text, "gradient of distances.values"));
    drop_workspace(&x.a, workspace);
    drop_trial(&x);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(long_sequences), cmocka_unit_test(shared_vectors),
        cmocka_unit_test(log_buckets),    cmocka_unit_test(bad_buckets),
        cmocka_unit_test(equal_vectors),  cmocka_unit_test(refused)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
