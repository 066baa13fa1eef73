/* positions.c - rotary angles and distance vectors in longer sequences match the definition: angles
   give the same bits for any number of threads and every instruction set; the keys of distance
   vectors take several blocks or several parts. Also the angle of each pair, buckets of distances,
   and what problems with either refuse. Short sequences of every kind are in
   tests/attention/product.c. */
#include "judge.h"
#include "oracle/attention.h"
#include "skips.h"

/* ---- rotary angles ---- */

static const struct choice rotary_choices[] = {
    {.rotary = RAPT_ROTARY_PAIRS, .rotary_scaling = RAPT_ROTARY_SCALING_LINEAR, .rotary_factor = 3},
    {.rotary = RAPT_ROTARY_HALVES,
     .rotary_scaling = RAPT_ROTARY_SCALING_NTK,
     .rotary_factor = 2.5f,
     .rotary_width = 6},
    {.rotary = RAPT_ROTARY_HALVES, .rotary_scaling = RAPT_ROTARY_SCALING_YARN, .rotary_factor = 4},
    {.rotary = RAPT_ROTARY_PAIRS,
     .rotary_scaling = RAPT_ROTARY_SCALING_YARN,
     .rotary_factor = 16,
     .rotary_positions = 700, /* some pairs are kept, some mixed, some divided */
     .rotary_width = 8,
     .score = RAPT_SCORE_GENERAL,
     .query_width = 10},
    {.rotary = RAPT_ROTARY_HALVES,
     .rotary_scaling = RAPT_ROTARY_SCALING_YARN,
     .rotary_factor = 2,
     .rotary_magnitude = 0.75f,
     .score = RAPT_SCORE_LOCATION,
     .query_width = 14},
};
enum { ROTARY_CHOICES = sizeof rotary_choices / sizeof *rotary_choices };

static struct trial make_rotary(int i, struct choice *c)
{
    *c = rotary_choices[i];
    c->batch = 2, c->heads = 4, c->key_heads = 2, c->queries = 9, c->keys = 21, c->ragged = i % 2;
    c->key_width = 12, c->value_width = 5, c->learned = true;
    c->causal_alignment = RAPT_CAUSAL_ALIGNMENT_LOWER_RIGHT;
    struct trial x = make_trial(c, (uint64_t)i);
    for (int k = RELATIVE_LEARNED; k < LEARNED; k++) {
        int array = k - RELATIVE_LEARNED;
        bool read =
            (c->score == RAPT_SCORE_GENERAL && array == RAPT_ATTENTION_PARAMETER_QUERY_WEIGHT) ||
            (c->score == RAPT_SCORE_LOCATION && array == RAPT_ATTENTION_PARAMETER_POSITION);
        if (!read) free(x.dlearned[k]), x.dlearned[k] = NULL;
    }
    return x;
}

static void rotary_by_definition(void **state)
{
    (void)state;
    for (int i = 0; i < ROTARY_CHOICES; i++) {
        struct choice c;
        struct trial x = make_rotary(i, &c);
        struct judge j;
        run_forward(&x);
        run_backward(&x);
        assert_true(make_judge(&j, &x, choice_text(&c)));
        judge_forward(&j);
        judge_weights(&j);
        judge_backward(&j, 2, 4);
        drop_judge(&j);
        drop_trial(&x);
    }
}

static void rotary_same_bits(void **state)
{
    (void)state;
    for (int i = 0; i < ROTARY_CHOICES; i++) {
        struct choice c;
        struct trial x = make_rotary(i, &c);
        assert_same_results(&x, choice_text(&c), NULL);
        drop_trial(&x);
    }
}

/* ---- the angle of each pair ---- */

enum { ROTARY_WIDTH = 6, ROTARY_KEYS = 65 };

/* Returns the score of the key at position 0 minus that of the key at position `at`, for a query at
   position ROTARY_KEYS - 1. Query and keys are 1 in the first element of a pair, and 0 elsewhere.
 */
static double score_difference(const rapt_relative *relative, int pair, int at)
{
    rapt_attention a;
    float q[ROTARY_WIDTH] = {0}, k[ROTARY_KEYS * ROTARY_WIDTH] = {0},
          v[ROTARY_KEYS * ROTARY_WIDTH] = {0}, out[ROTARY_WIDTH], lse;
    float weights[ROTARY_KEYS];
    const rapt_attention_saved saved = {.size = sizeof saved, .lse = &lse};
    uint8_t allowed[ROTARY_KEYS] = {0};
    rapt_attention_init(&a, sizeof a, 1, 1, 1, ROTARY_KEYS, ROTARY_WIDTH);
    a.score = RAPT_SCORE_DOT, a.relative = *relative, a.mask.allowed = allowed;
    a.mask.causal_alignment = RAPT_CAUSAL_ALIGNMENT_LOWER_RIGHT;
    q[2 * pair] = 1;
    k[2 * pair] = k[at * ROTARY_WIDTH + 2 * pair] = 1;
    allowed[0] = allowed[at] = 1;
    void *workspace = make_workspace(&a);
    assert_int_equal(rapt_attention_forward(&a, q, k, v, out, &saved, workspace, NULL), RAPT_OK);
    assert_int_equal(rapt_attention_weights(&a, q, k, &saved, 0, 0, 0, 1, weights, workspace, NULL),
                     RAPT_OK);
    free(workspace);
    return log((double)weights[0] / (double)weights[at]);
}

/* Expects that a pair scores magnitude^2 cos(angle * distance). */
static void expect_angle(const rapt_relative *relative, int pair, double angle, double magnitude)
{
    for (int at = 1; at < ROTARY_KEYS; at += 21) {
        double wanted = magnitude * magnitude *
                        (cos(angle * (ROTARY_KEYS - 1)) - cos(angle * (ROTARY_KEYS - 1 - at)));
        double is = score_difference(relative, pair, at);
        if (!(fabs(is - wanted) < 2e-6))
            fail_msg("scaling %d, pair %d, key %d: %.9g, not %.9g", (int)relative->rotary_scaling,
                     pair, at, is, wanted);
    }
}

/* With base 64, the angles of the three pairs are 1, 1/4 and 1/16. Interpolation divides all of
   them by the factor. NTK keeps the first and divides the last by the factor. YaRN keeps those of
   pairs that turn 32 times and divides those of pairs that turn less than once. */
static void angles_per_pair(void **state)
{
    (void)state;
    rapt_relative r = {.rotary = RAPT_ROTARY_PAIRS, .rotary_base = 64, .rotary_factor = 2};
    for (int i = 0; i < 3; i++) expect_angle(&r, i, pow(0.25, i), 1);
    r.rotary_scaling = RAPT_ROTARY_SCALING_LINEAR;
    for (int i = 0; i < 3; i++) expect_angle(&r, i, pow(0.25, i) / 2, 1);
    r.rotary_scaling = RAPT_ROTARY_SCALING_NTK;
    expect_angle(&r, 0, 1, 1);
    expect_angle(&r, 2, 1. / 32, 1);
    r.rotary_scaling = RAPT_ROTARY_SCALING_YARN;
    r.rotary_positions = 100; /* turns: 15.9, 3.98 and 0.995 */
    double by = 1 + 0.1 * log(2), turns = 25 / (2 * acos(-1)), kept = (turns - 1) / 31;
    expect_angle(&r, 1, kept / 4 + (1 - kept) / 8, by);
    expect_angle(&r, 2, 1. / 32, by);
    r.rotary_magnitude = 1.5f;
    r.rotary_positions = 300; /* turns: 47.7 */
    expect_angle(&r, 0, 1, 1.5);
    r.rotary_factor = 0, r.rotary_magnitude = 0;
    for (int i = 0; i < 3; i++) expect_angle(&r, i, pow(0.25, i), 1);
}

static void refuse_rotary(const rapt_relative *relative, const char *wanted)
{
    rapt_attention a;
    rapt_message why = {""};
    rapt_attention_init(&a, sizeof a, 1, 1, 1, 2, ROTARY_WIDTH);
    a.relative = *relative, a.mask.causal_alignment = RAPT_CAUSAL_ALIGNMENT_UPPER_LEFT;
    assert_int_equal(rapt_attention_check(&a, &why), RAPT_BAD_ARGUMENT);
    if (!strstr(why.text, wanted)) fail_msg("\"%s\" without \"%s\"", why.text, wanted);
}

static void rotary_refused(void **state)
{
    (void)state;
    static const float factors[] = {0.5f, -1, NAN, INFINITY};
    const rapt_relative yarn = {.rotary = RAPT_ROTARY_PAIRS,
                                .rotary_scaling = RAPT_ROTARY_SCALING_YARN,
                                .rotary_positions = 9};
    rapt_relative r = yarn;
    for (int i = 0; i < 4; i++) r.rotary_factor = factors[i], refuse_rotary(&r, "rotary_factor");
    for (int i = 1; i < 4; i++) {
        r = yarn, r.rotary_magnitude = factors[i];
        refuse_rotary(&r, "rotary_magnitude");
    }
    r = yarn, r.rotary_positions = 0;
    refuse_rotary(&r, "rotary_positions");
    r = yarn, r.rotary_scaling = RAPT_ROTARY_SCALING_NTK, r.rotary_width = 2;
    refuse_rotary(&r, "rotary_width");
    r = yarn, r.rotary_scaling = (rapt_rotary_scaling)-1;
    refuse_rotary(&r, "rotary_scaling");
}

/* ---- distance vectors ---- */

static const struct choice distances_basic = {.batch = 1,
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
        struct choice c = distances_basic;
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
    struct choice c = distances_basic;
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
    struct choice c = distances_basic;
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

static void refuse_distances(const rapt_attention *a, const char *text)
{
    rapt_message why = {""};
    assert_int_equal(rapt_attention_check(a, &why), RAPT_BAD_ARGUMENT);
    if (!strstr(why.text, text)) fail_msg("%s does not say %s", why.text, text);
}

static void distances_refused(void **state)
{
    (void)state;
    struct trial x = make_trial(&distances_basic, 1);
    rapt_attention bad = x.a;
    bad.mask.causal_alignment = RAPT_CAUSAL_ALIGNMENT_NONE;
    refuse_distances(&bad, "mask.causal_alignment is not set, but distances.keys needs it");
    bad = x.a, bad.score = RAPT_SCORE_COSINE;
    refuse_distances(
        &bad, "distances.keys needs a score that is a dot product of q and k; score is cosine");
    bad = x.a, bad.relative.rotary = RAPT_ROTARY_PAIRS, bad.relative.rotary_width = 2;
    refuse_distances(&bad, "relative.rotary and distances.keys are mutually exclusive");
    bad = x.a, bad.distances.before = -1;
    refuse_distances(&bad, "distances.before is -1");
    bad = x.a, bad.distances.after = 65536 - bad.distances.before;
    refuse_distances(&bad, "distances.after");
    bad = x.a, bad.distances.position_bias = bad.distances.keys, bad.distances.keys = NULL;
    refuse_distances(&bad, "distances.keys is NULL, but distances.position_bias needs it");
    int buckets[188] = {0};
    bad = x.a, bad.distances.bucket_count = 3;
    refuse_distances(&bad,
                     "distances.bucket_count is 3; it must be 0 if distances.buckets is NULL");
    bad.distances.buckets = buckets, bad.distances.bucket_count = 189;
    refuse_distances(&bad, "distances.bucket_count is 189");
    bad.distances.bucket_count = 0;
    refuse_distances(&bad, "distances.bucket_count is 0");
    bad.distances.bucket_count = 3, buckets[187] = 3;
    refuse_distances(&bad, "distances.buckets[187] is 3");
    buckets[187] = -1;
    refuse_distances(&bad, "distances.buckets[187] is -1");
    bad = x.a, bad.distances.reserved[1] = 1;
    refuse_distances(&bad, "distances.reserved");
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
        cmocka_unit_test(rotary_by_definition), cmocka_unit_test(rotary_same_bits),
        cmocka_unit_test(angles_per_pair),      cmocka_unit_test(rotary_refused),
        cmocka_unit_test(long_sequences),       cmocka_unit_test(shared_vectors),
        cmocka_unit_test(log_buckets),          cmocka_unit_test(bad_buckets),
        cmocka_unit_test(equal_vectors),        cmocka_unit_test(distances_refused)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
