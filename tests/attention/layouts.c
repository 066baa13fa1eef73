/* layouts.c - the layouts of rapt_attention_init and its variants hold the same problem: outputs
   and gradients have, row by row, the bits of the contiguous one, and sizes that are too large are
   refused. The layout of learned arrays has the shapes that learned.def documents, and one block
   suffices. */
#include "trial.h"

enum { B = 2, H = 4, T = 5, S = 7, W = 3, CAPACITY = 2048 };

static uint64_t drawn;

static float some_float(void)
{
    drawn = drawn * 6364136223846793005u + 1442695040888963407u;
    return (float)((double)(drawn >> 40) * 0x1p-23 - 1);
}

/* Inputs q, k, v, dout; results out and the gradients of q, k, v; each laid out by its stride. */
struct arrays {
    float q[CAPACITY], k[CAPACITY], v[CAPACITY], dout[CAPACITY], out[CAPACITY], dq[CAPACITY],
        dk[CAPACITY], dv[CAPACITY];
};

static float *at(float *x, const rapt_stride *s, const int *starts, int b, int h, int r)
{
    if (starts) return x + h * s->head + (starts[b] + r) * s->row;
    return x + b * s->batch + h * s->head + r * s->row;
}

static int count_of(const int *starts, int all, int b)
{
    return starts ? starts[b + 1] - starts[b] : all;
}

/* Copies every row of an array from one problem's layout to another's; or compares them. */
static void rows(float *from, const rapt_stride *a, const int *a_starts, float *to,
                 const rapt_stride *b, const int *b_starts, int heads, int all, bool compare)
{
    for (int i = 0; i < B; i++)
        for (int h = 0; h < heads; h++)
            for (int r = 0; r < count_of(b_starts, all, i); r++) {
                float *x = at(from, a, a_starts, i, h, r), *y = at(to, b, b_starts, i, h, r);
                if (compare)
                    assert_memory_equal(x, y, W * sizeof *x);
                else
                    memcpy(y, x, W * sizeof *x);
            }
}

static void compute(const rapt_attention *a, struct arrays *x)
{
    float lse[B * H * (T + S)];
    const rapt_attention_saved saved = {.size = sizeof saved, .lse = lse};
    const rapt_gradients d = {.size = sizeof d, .q = x->dq, .k = x->dk, .v = x->dv};
    rapt_message why = {""};
    if (rapt_attention_check(a, &why)) fail_msg("%s", why.text);
    void *workspace = aligned_alloc(64, (rapt_attention_workspace(a) + 63) / 64 * 64);
    assert_int_equal(rapt_attention_forward(a, x->q, x->k, x->v, x->out, &saved, workspace, &why),
                     RAPT_OK);
    assert_int_equal(rapt_attention_backward(a, x->q, x->k, x->v, x->out, &saved, x->dout, NULL, &d,
                                             workspace, &why),
                     RAPT_OK);
    free(workspace);
}

/* Compares another layout with `plain`, the same problem, whose arrays are random. */
static void judge(rapt_attention plain, rapt_attention other)
{
    static struct arrays x, y;
    int G = other.key_heads ? other.key_heads : H, queries = plain.queries, keys = plain.keys;
    memset(&x, 0, sizeof x), memset(&y, 0, sizeof y);
    float *const in[] = {x.q, x.k, x.v, x.dout}, *const to[] = {y.q, y.k, y.v, y.dout};
    for (int i = 0; i < 4; i++)
        for (int j = 0; j < CAPACITY; j++) in[i][j] = some_float();
    plain.key_heads = other.key_heads;
    plain.k = plain.v = (rapt_stride){(ptrdiff_t)G * keys * W, keys * W, W};
    plain.mask.key_counts = NULL;
    const rapt_stride *a[] = {&plain.q, &plain.k, &plain.v, &plain.out};
    const rapt_stride *b[] = {&other.q, &other.k, &other.v, &other.out};
    const int *q_starts = other.query_starts, *k_starts = other.key_starts;
    for (int i = 0; i < 4; i++) {
        bool of_queries = i % 3 == 0;
        rows(in[i], a[i], NULL, to[i], b[i], of_queries ? q_starts : k_starts, of_queries ? H : G,
             of_queries ? queries : keys, false);
    }
    int key_counts[B];
    for (int i = 0; i < B; i++) key_counts[i] = count_of(k_starts, keys, i);
    plain.mask.key_counts = key_counts;
    /* rows of the full problem that the ragged one lacks contribute nothing to keys */
    for (int i = 0; i < B; i++)
        for (int h = 0; h < H; h++)
            for (int r = count_of(q_starts, queries, i); r < queries; r++)
                memset(at(x.dout, &plain.out, NULL, i, h, r), 0, W * sizeof(float));
    compute(&plain, &x);
    compute(&other, &y);
    rows(x.out, &plain.out, NULL, y.out, &other.out, q_starts, H, queries, true);
    rows(x.dq, &plain.q, NULL, y.dq, &other.q, q_starts, H, queries, true);
    rows(x.dk, &plain.k, NULL, y.dk, &other.k, k_starts, G, keys, true);
    rows(x.dv, &plain.v, NULL, y.dv, &other.v, k_starts, G, keys, true);
}

static void test_same_problem(void **state)
{
    (void)state;
    static const int query_starts[] = {0, T, T + 2}, key_starts[] = {0, 3, 3 + S};
    rapt_attention plain, other;
    assert_int_equal(rapt_attention_init(&plain, sizeof plain, B, H, T, S, W), RAPT_OK);
    assert_int_equal(rapt_attention_init_rows(&other, sizeof other, B, H, T, S, W), RAPT_OK);
    judge(plain, other);
    assert_int_equal(
        rapt_attention_init_ragged(&other, sizeof other, B, H, query_starts, key_starts, W),
        RAPT_OK);
    assert_true(other.queries == T && other.keys == S);
    judge(plain, other);
    assert_int_equal(rapt_attention_init(&plain, sizeof plain, B, H, T, T, W), RAPT_OK);
    assert_int_equal(rapt_attention_init_ragged(&other, sizeof other, B, H, query_starts, NULL, W),
                     RAPT_OK);
    assert_true(other.key_starts == query_starts && other.keys == T);
    judge(plain, other);
}

/* One array holds q, k and v, in the rows that the header draws. */
static void test_packed(void **state)
{
    (void)state;
    for (int key_heads = 0; key_heads <= 2; key_heads++) {
        rapt_attention a, apart;
        int G = key_heads ? key_heads : H, row = (H + 2 * G) * W;
        float x[B * T * (3 * H) * W], dx[B * T * (3 * H) * W] = {0};
        static struct arrays y;
        memset(&y, 0, sizeof y);
        for (int i = 0; i < B * T * row; i++) x[i] = some_float();
        assert_int_equal(rapt_attention_init_packed(&a, sizeof a, B, H, key_heads, T, W), RAPT_OK);
        assert_int_equal(rapt_attention_init_rows(&apart, sizeof apart, B, H, T, T, W), RAPT_OK);
        apart.key_heads = key_heads;
        apart.k = apart.v = (rapt_stride){(ptrdiff_t)T * G * W, W, G * W};
        for (int r = 0; r < B * T; r++) {
            memcpy(y.q + r * H * W, x + r * row, H * W * sizeof *x);
            memcpy(y.k + r * G * W, x + r * row + H * W, (size_t)(G * W) * sizeof *x);
            memcpy(y.v + r * G * W, x + r * row + (H + G) * W, (size_t)(G * W) * sizeof *x);
        }
        for (int i = 0; i < B * T * H * W; i++) y.dout[i] = some_float();
        compute(&apart, &y);
        float out[B * T * H * W], lse[B * H * T];
        const float *q = x, *k = x + H * W, *v = x + (H + G) * W;
        const rapt_attention_saved saved = {.size = sizeof saved, .lse = lse};
        const rapt_gradients d = {
            .size = sizeof d, .q = dx, .k = dx + H * W, .v = dx + (H + G) * W};
        void *workspace = aligned_alloc(64, (rapt_attention_workspace(&a) + 63) / 64 * 64);
        assert_int_equal(rapt_attention_forward(&a, q, k, v, out, &saved, workspace, NULL),
                         RAPT_OK);
        assert_int_equal(
            rapt_attention_backward(&a, q, k, v, out, &saved, y.dout, NULL, &d, workspace, NULL),
            RAPT_OK);
        free(workspace);
        assert_memory_equal(out, y.out, sizeof out);
        for (int r = 0; r < B * T; r++) {
            assert_memory_equal(dx + r * row, y.dq + r * H * W, H * W * sizeof *x);
            assert_memory_equal(dx + r * row + H * W, y.dk + r * G * W,
                                (size_t)(G * W) * sizeof *x);
            assert_memory_equal(dx + r * row + (H + G) * W, y.dv + r * G * W,
                                (size_t)(G * W) * sizeof *x);
        }
    }
}

static void refused(const rapt_attention *a, const char *word)
{
    rapt_message why = {""};
    assert_int_equal(rapt_attention_check(a, &why), RAPT_BAD_ARGUMENT);
    if (!strstr(why.text, word)) fail_msg("\"%s\" does not name %s", why.text, word);
}

/* Numbers that are too large or negative never make a stride wrap: the check refuses them. */
static void test_too_large(void **state)
{
    (void)state;
    rapt_attention a;
    const int max = INT32_MAX;
    const int falling[] = {0, 5, 3}, far[] = {0, INT32_MIN, max};
    assert_int_equal(rapt_attention_init_rows(&a, sizeof a, max, max, max, max, 65536), RAPT_OK);
    assert_true(a.q.batch == PTRDIFF_MAX && a.q.row > 0 && a.k.batch == PTRDIFF_MAX);
    refused(&a, "queries");
    assert_int_equal(rapt_attention_init_rows(&a, sizeof a, 1 << 15, 1, 1 << 15, 1 << 15, 65536),
                     RAPT_OK);
    assert_int_equal(rapt_attention_check(&a, NULL), RAPT_OK);
    assert_int_equal(rapt_attention_init_rows(&a, sizeof a, -1, -2, -3, -4, -5), RAPT_OK);
    refused(&a, "batch");
    assert_int_equal(rapt_attention_init_packed(&a, sizeof a, max, max, max, max, max), RAPT_OK);
    assert_true(a.q.batch == PTRDIFF_MAX && a.q.row > 0);
    refused(&a, "key_width");
    assert_int_equal(rapt_attention_init_packed(&a, sizeof a, 1, 4, 3, 2, 8), RAPT_OK);
    refused(&a, "key_heads");
    assert_int_equal(rapt_attention_init_ragged(&a, sizeof a, 2, 4, falling, NULL, 8), RAPT_OK);
    refused(&a, "query_starts");
    assert_int_equal(rapt_attention_init_ragged(&a, sizeof a, 2, 4, far, NULL, 8), RAPT_OK);
    assert_int_equal(a.queries, max);
    refused(&a, "query_starts");
    assert_int_equal(rapt_attention_init_ragged(&a, sizeof a, -2, 4, falling, NULL, 8), RAPT_OK);
    refused(&a, "batch");
}

/* ---- learned arrays ---- */

/* Returns a problem of that score, locality and normalizer. */
static rapt_attention learner(int score, int locality, int normalizer)
{
    rapt_attention a;
    assert_int_equal(rapt_attention_init_rows(&a, sizeof a, B, H, T, S, W), RAPT_OK);
    a.score = (rapt_score)score, a.locality = (rapt_locality)locality, a.radius = 2;
    a.normalizer = (rapt_normalizer)normalizer;
    a.key_heads = 2, a.k = a.v = (rapt_stride){(ptrdiff_t)S * 2 * W, W, 2 * W};
    a.mask.causal_alignment = RAPT_CAUSAL_ALIGNMENT_UPPER_LEFT;
    a.parameters.hidden = 6, a.parameters.positions = S + 1, a.parameters.channels = 2;
    a.parameters.filter_width = 5, a.parameters.center_hidden = 7;
    return a;
}

/* Returns [rows][columns] as documented in learned.def, for the numbers above. */
static void shape_of(rapt_score score, int array, int shape[2])
{
    const int query_rows = score == RAPT_SCORE_GENERAL ? H * W : H * 6;
    const int all[RAPT_ATTENTION_PARAMETER_COUNT][2] = {
        {query_rows, W}, {2 * 6, W}, {H, 6}, {H, 6}, {1, H}, {2 * (S + 1), W}, {H * 2, 5},
        {H * 6, 2},      {H * 7, W}, {H, 7}, {1, H}, {1, H}, {1, H},           {H, 6}};
    shape[0] = all[array][0], shape[1] = all[array][1];
}

static void try_learner(rapt_attention a, int seen[RAPT_ATTENTION_PARAMETER_COUNT])
{
    static struct arrays x;
    rapt_attention_parameters_layout layout = {.size = sizeof layout};
    rapt_message why = {""};
    size_t end = 0;
    if (rapt_attention_parameters_lay_out(&a, &layout, &why)) fail_msg("%s", why.text);
    float *block = calloc(layout.floats + 1, sizeof *block);
    for (int i = 0; i < RAPT_ATTENTION_PARAMETER_COUNT; i++) {
        if (!layout.rows[i]) continue;
        int shape[2];
        shape_of(a.score, i, shape);
        assert_true(layout.rows[i] == shape[0] && layout.columns[i] == shape[1]);
        assert_true(layout.offset[i] == end && end % 16 == 0);
        end += (size_t)(shape[0] * shape[1] + 15) / 16 * 16;
        a.parameters.array[i] = block + layout.offset[i];
        seen[i]++;
    }
    assert_true(layout.floats == end);
    for (int i = RAPT_ATTENTION_PARAMETER_COUNT; i < RAPT_ATTENTION_PARAMETER_CAPACITY; i++)
        assert_int_equal(layout.rows[i], 0);
    if (rapt_attention_check(&a, &why)) fail_msg("%s", why.text);
    for (int i = 0; i < CAPACITY; i++) x.q[i] = x.k[i] = x.v[i] = x.dout[i] = some_float();
    if (a.normalizer == RAPT_NORMALIZER_SOFTMAX) compute(&a, &x);
    free(block);
}

static void test_learned(void **state)
{
    (void)state;
    int seen[RAPT_ATTENTION_PARAMETER_COUNT] = {0};
    for (int s = 0; s < RAPT_SCORE_COUNT; s++)
        for (int l = 0; l < RAPT_LOCALITY_COUNT; l++)
            for (int n = 0; n < RAPT_NORMALIZER_COUNT; n++) try_learner(learner(s, l, n), seen);
    for (int i = 0; i < RAPT_ATTENTION_PARAMETER_COUNT; i++) assert_true(seen[i] > 0);
}

static void test_learned_refusals(void **state)
{
    (void)state;
    rapt_attention_parameters_layout layout = {.size = sizeof layout, .floats = 3};
    rapt_message why = {""};
    rapt_attention a = learner(RAPT_SCORE_ADDITIVE, RAPT_LOCALITY_GLOBAL, RAPT_NORMALIZER_SOFTMAX);
    a.normalizer = RAPT_NORMALIZER_COUNT;
    assert_int_equal(rapt_attention_parameters_lay_out(&a, &layout, &why), RAPT_BAD_ARGUMENT);
    assert_non_null(strstr(why.text, "normalizer"));
    a.normalizer = RAPT_NORMALIZER_SOFTMAX, a.parameters.hidden = 0;
    assert_int_equal(rapt_attention_parameters_lay_out(&a, &layout, &why), RAPT_BAD_ARGUMENT);
    assert_non_null(strstr(why.text, "parameters.hidden"));
    a.parameters.hidden = 65536, a.heads = a.key_heads = INT32_MAX;
    assert_int_equal(rapt_attention_parameters_lay_out(&a, &layout, &why), RAPT_BAD_ARGUMENT);
    assert_non_null(strstr(why.text, "query_weight"));
    assert_true(layout.floats == 3);
    layout.size = 0;
    assert_int_equal(rapt_attention_parameters_lay_out(&a, &layout, &why), RAPT_BAD_ARGUMENT);
    assert_non_null(strstr(why.text, "rapt_attention_parameters_layout"));
}

/* An array without rows, such as the positions of no keys, takes no space in a block and may be
   NULL. */
static void test_no_positions(void **state)
{
    (void)state;
    float q[T * W] = {0}, out[T * W];
    rapt_attention a;
    rapt_attention_parameters_layout l = {.size = sizeof l};
    rapt_attention_init(&a, sizeof a, 1, 1, T, 0, W);
    a.score = RAPT_SCORE_LOCATION;
    assert_int_equal(rapt_attention_parameters_lay_out(&a, &l, NULL), RAPT_OK);
    assert_int_equal(l.rows[RAPT_ATTENTION_PARAMETER_POSITION], 0);
    assert_int_equal(rapt_attention_check(&a, NULL), RAPT_OK);
    void *workspace = aligned_alloc(64, (rapt_attention_workspace(&a) + 63) / 64 * 64);
    assert_int_equal(rapt_attention_forward(&a, q, NULL, NULL, out, NULL, workspace, NULL),
                     RAPT_OK);
    for (int i = 0; i < T * W; i++) assert_true(out[i] == 0);
    a.keys = a.parameters.positions = 1;
    refused(&a, "parameters.array for position");
    free(workspace);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_same_problem),     cmocka_unit_test(test_packed),
        cmocka_unit_test(test_too_large),        cmocka_unit_test(test_learned),
        cmocka_unit_test(test_learned_refusals), cmocka_unit_test(test_no_positions),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
