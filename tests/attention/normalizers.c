/* normalizers.c - normalizers that learn a number for each head, sinks and biases of sigmoids: long
   and short sequences by the definition, with the same bits for any number of threads, every
   instruction set and either kind of statistics; numbers of any size; a sink is the same as one
   more key with the value 0; fully masked rows; missing arrays. Also normalizers that give exact
   zeros: long rows, scores of any size, and scores that are not numbers. */
#include "judge.h"
#include "skips.h"

static const struct {
    rapt_normalizer normalizer;
    int array;
} learners[] = {{RAPT_NORMALIZER_SINK_SOFTMAX, RAPT_ATTENTION_PARAMETER_SINK},
                {RAPT_NORMALIZER_SIGMOID, RAPT_ATTENTION_PARAMETER_SIGMOID_BIAS}};
enum { LEARNERS = sizeof learners / sizeof *learners };

static const struct choice choices[] = {
    /* head by head, and with fewer queries in tiles */
    {.queries = 40, .keys = 90, .key_width = 24, .value_width = 20},
    {.queries = 5, .keys = 90, .key_width = 24, .value_width = 20},
    /* several blocks of keys */
    {.queries = 70, .keys = 150, .key_width = 24, .value_width = 33},
    {.queries = 70,
     .keys = 150,
     .key_width = 16,
     .value_width = 16,
     .ragged = true,
     .causal = true,
     .window = true,
     .before = 90,
     .after = 0,
     .dropout = 0.2f},
    {.queries = 30, .keys = 50, .key_width = 16, .value_width = 16, .scale = -0.4f, .cap = 1.5f},
    {.queries = 60,
     .keys = 140,
     .key_width = 9,
     .value_width = 7,
     .allowed = SHARED | PER_ROW,
     .bias = SHARED | PER_HEAD | PER_ROW,
     .slopes = true,
     .dropout = 0.1f},
    /* so many keys that they are packed part by part */
    {.queries = 20, .keys = 4300, .key_width = 8, .value_width = 8},
};
enum { CHOICES = sizeof choices / sizeof *choices, CASES = LEARNERS * CHOICES };

static struct choice choice_of(int i)
{
    struct choice c = choices[i % CHOICES];
    c.batch = c.keys > 1000 ? 1 : 2, c.heads = 4, c.key_heads = 2;
    c.normalizer = learners[i / CHOICES].normalizer, c.learned = true;
    c.causal_alignment = RAPT_CAUSAL_ALIGNMENT_LOWER_RIGHT;
    return c;
}

/* Makes a trial that wants only gradients of what the problem reads. */
static struct trial make_one(int i, const struct choice *c)
{
    struct trial x = make_trial(c, (uint64_t)i);
    for (int k = RELATIVE_LEARNED; k < LEARNED; k++) {
        if (k == RELATIVE_LEARNED + learners[i / CHOICES].array) continue;
        free(x.dlearned[k]), x.dlearned[k] = NULL;
    }
    return x;
}

static void by_definition(void **state)
{
    (void)state;
    for (int i = 0; i < CASES; i++) {
        const struct choice c = choice_of(i);
        struct trial x = make_one(i, &c);
        struct judge j;
        run_forward(&x);
        run_backward(&x);
        assert_true(make_judge(&j, &x, choice_text(&c)));
        judge_forward(&j);
        judge_weights(&j);
        judge_backward(&j, 1, c.keys > 1000 ? 0 : 2);
        drop_judge(&j);
        drop_trial(&x);
    }
}

static void same_bits_everywhere(void **state)
{
    (void)state;
    for (int i = 0; i < CASES; i++) {
        const struct choice c = choice_of(i);
        struct trial x = make_one(i, &c);
        float *statistics = zeros(2 * x.nlse);
        assert_same_results(&x, choice_text(&c), statistics);
        free(statistics);
        drop_trial(&x);
    }
}

static void set_numbers(struct trial *x, int array, float number)
{
    float *to = x->learned[RELATIVE_LEARNED + array];
    for (int h = 0; h < x->a.heads; h++) to[h] = number;
}

/* A sink far above all scores takes all the weight, and one far below them takes none. A sigmoid
   far above or below 0 is 1 or 0. Either way, nothing passes a gradient to queries if no weight
   depends on them. */
static void try_size(int i, float number)
{
    const struct choice c = choice_of(i);
    struct trial x = make_one(i, &c);
    int array = learners[i / CHOICES].array;
    bool sinks = c.normalizer == RAPT_NORMALIZER_SINK_SOFTMAX, large = fabsf(number) > 200;
    set_numbers(&x, array, number);
    run_forward(&x);
    run_backward(&x);
    struct judge j;
    make_judge(&j, &x, choice_text(&c));
    j.magnitude = fmin(j.magnitude, 1000);
    for (size_t n = 0; n < x.nlse; n++) j.r.size[n] = fmin(j.r.size[n], 1000);
    if (!sinks || number <= 200) judge_forward(&j);
    for (size_t n = 0; n < x.no && sinks && number > 200; n++) assert_true(x.out[n] == 0);
    for (size_t n = 0; n < x.nq; n++) assert_true(isfinite(x.dq[n]));
    for (size_t n = 0; n < x.nq && large && !(sinks && number < 0); n++) assert_true(x.dq[n] == 0);
    for (int h = 0; h < c.heads && large; h++)
        assert_true(x.dlearned[RELATIVE_LEARNED + array][h] == 0);
    drop_judge(&j);
    drop_trial(&x);
}

static void any_size(void **state)
{
    (void)state;
    static const float sizes[] = {-INFINITY, -1e30f, -1e7f, -200, -90,  -20,
                                  20,        90,     200,   1e7f, 1e30f};
    for (int i = 0; i < CASES; i++)
        for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++)
            if (choice_of(i).keys < 1000) try_size(i, sizes[s]);
}

/* Softmax over one more key, whose value is 0 and whose score is that of the sink by its bias. */
static void one_more_key(void **state)
{
    (void)state;
    enum { T = 20, S = 40, W = 16, MORE = S + 1 };
    static const float sink = 0.7f;
    float q[T * W], k[MORE * W] = {0}, v[MORE * W] = {0}, bias[MORE] = {0}, out[T * W],
                             other[T * W];
    uint64_t r = 3;
    for (int i = 0; i < T * W; i++) q[i] = draw_float(&r);
    for (int i = 0; i < S * W; i++) k[i] = draw_float(&r), v[i] = draw_float(&r);
    bias[S] = sink;
    rapt_attention a, b;
    rapt_attention_init(&a, sizeof a, 1, 1, T, S, W);
    rapt_attention_init(&b, sizeof b, 1, 1, T, MORE, W);
    a.normalizer = RAPT_NORMALIZER_SINK_SOFTMAX,
    a.parameters.array[RAPT_ATTENTION_PARAMETER_SINK] = &sink;
    b.mask.bias = bias;
    void *workspace = make_workspace(&a), *second = make_workspace(&b);
    assert_int_equal(rapt_attention_forward(&a, q, k, v, out, NULL, workspace, NULL), RAPT_OK);
    assert_int_equal(rapt_attention_forward(&b, q, k, v, other, NULL, second, NULL), RAPT_OK);
    for (int i = 0; i < T * W; i++)
        assert_true(within_roundings((double)out[i], (double)other[i], 16, 1));
    free(workspace), free(second);
}

/* Rows without a visible key are fully masked; the others are not. */
static void try_masked(const struct choice *c, int array)
{
    struct trial x = make_trial(c, 1);
    const rapt_stride *o = &x.a.out;
    int queries = c->queries;
    for (int h = 0; h < c->heads; h++) /* only masked rows have a gradient of out */
        for (int t = queries - 3; t < queries; t++)
            memset(x.dout + h * o->head + t * o->row, 0, 8 * sizeof(float));
    run_forward(&x);
    run_backward(&x);
    for (int h = 0; h < c->heads; h++) {
        for (int t = 0; t < queries; t++)
            assert_true((x.lse[h * queries + t] == -INFINITY) == (t < queries - 3));
        for (int t = 0; t < queries - 3; t++)
            for (int i = 0; i < 8; i++) assert_true(x.out[h * o->head + t * o->row + i] == 0);
        assert_true(x.dlearned[RELATIVE_LEARNED + array][h] == 0);
    }
    for (size_t i = 0; i < x.nq; i++) assert_true(x.dq[i] == 0);
    drop_trial(&x);
}

static void fully_masked(void **state)
{
    (void)state;
    for (int i = 0; i < 2 * LEARNERS; i++) { /* in tiles, and head by head */
        const struct choice c = {.batch = 1,
                                 .heads = 2,
                                 .queries = i % 2 ? 34 : 4,
                                 .keys = 3,
                                 .key_width = 8,
                                 .value_width = 8,
                                 .causal_alignment = RAPT_CAUSAL_ALIGNMENT_LOWER_RIGHT,
                                 .causal = true,
                                 .normalizer = learners[i / 2].normalizer,
                                 .learned = true};
        try_masked(&c, learners[i / 2].array);
    }
}

/* Without an array, every number is 0. */
static void no_array(void **state)
{
    (void)state;
    for (int i = 0; i < LEARNERS; i++) {
        const struct choice c = choice_of(i * CHOICES + 2);
        struct trial x = make_trial(&c, 1);
        size_t n, m;
        for (int k = 0; k < LEARNED; k++) free(x.dlearned[k]), x.dlearned[k] = NULL;
        set_numbers(&x, learners[i].array, 0);
        float *with = results(&x, &n);
        x.a.parameters.array[learners[i].array] = NULL;
        float *without = results(&x, &m);
        assert_true(n == m && same_bits(with, without, n));
        free(with), free(without);
        drop_trial(&x);
    }
}

/* ---- exact zeros ---- */

static const rapt_normalizer sparse[] = {RAPT_NORMALIZER_SPARSEMAX, RAPT_NORMALIZER_ENTMAX_1_5,
                                         RAPT_NORMALIZER_ENTMAX};
enum { SPARSE = sizeof sparse / sizeof *sparse, LONG = 700 };

/* Returns the number of weights that are 0, after checking that the sum is 1. */
static int zero_weights(const float *weights)
{
    int none = 0;
    double sum = 0;
    for (int s = 0; s < LONG; s++) none += weights[s] == 0, sum += (double)weights[s];
    assert_true(within_roundings(sum, 1, 8, 1));
    return none;
}

/* Long rows of scores of about `size` have the weights of the definition, some of which are 0. */
static void try_long(rapt_normalizer normalizer, float size, uint64_t seed)
{
    const struct choice c = {.batch = 1,
                             .heads = 1,
                             .queries = 5,
                             .keys = LONG,
                             .key_width = 16,
                             .value_width = 3,
                             .query_size = size,
                             .normalizer = normalizer,
                             .learned = true};
    struct judge j;
    struct trial x = make_trial(&c, seed);
    float *weights = zeros((size_t)c.queries * LONG);
    run_forward(&x);
    make_judge(&j, &x, choice_text(&c));
    judge_forward(&j);
    judge_weights(&j);
    void *workspace = make_workspace(&x.a);
    assert_int_equal(rapt_attention_weights(&x.a, x.q, x.k, &x.saved, 0, 0, 0, c.queries, weights,
                                            workspace, NULL),
                     RAPT_OK);
    for (int t = 0; t < c.queries; t++) {
        int none = zero_weights(weights + t * LONG);
        assert_true(size < 10 || none > LONG / 2);
    }
    free(workspace), free(weights);
    drop_judge(&j);
    drop_trial(&x);
}

static void long_rows(void **state)
{
    (void)state;
    static const float sizes[] = {1e-6f, 0.01f, 1, 10, 1e4f, 1e15f};
    for (int i = 0; i < SPARSE; i++)
        for (int s = 0; s < 6; s++) try_long(sparse[i], sizes[s], (uint64_t)s);
}

/* Computes the weights of one query for the scores x. */
static void weights_of(rapt_normalizer normalizer, const float *order, const float x[3],
                       const uint8_t allowed[3], float weights[3])
{
    rapt_attention a;
    float lse, one = 1, out, v[3] = {0};
    const rapt_attention_saved saved = {.size = sizeof saved, .lse = &lse};
    rapt_attention_init(&a, sizeof a, 1, 1, 1, 3, 1);
    a.normalizer = normalizer, a.mask.allowed = allowed;
    a.parameters.array[RAPT_ATTENTION_PARAMETER_ENTMAX_ALPHA] = order;
    void *workspace = make_workspace(&a);
    assert_int_equal(rapt_attention_forward(&a, &one, x, v, &out, &saved, workspace, NULL),
                     RAPT_OK);
    assert_int_equal(
        rapt_attention_weights(&a, &one, x, &saved, 0, 0, 0, 1, weights, workspace, NULL), RAPT_OK);
    free(workspace);
}

/* If a visible score is NaN or +infinity, visible weights are NaN, and hidden ones are 0. */
static void not_numbers(void **state)
{
    (void)state;
    static const uint8_t allowed[] = {1, 0, 1};
    const float rows[][3] = {{NAN, 1, 2}, {2, 1, NAN}, {NAN, 1, NAN}, {INFINITY, 1, 2}};
    for (int i = 0; i < SPARSE; i++)
        for (int n = 0; n < 4; n++) {
            float w[3];
            weights_of(sparse[i], NULL, rows[n], allowed, w);
            assert_true(isnan(w[0]) && w[1] == 0 && isnan(w[2]));
        }
}

/* At the ends of its range, the learned order gives sparsemax and, nearly, softmax. */
static void any_order(void **state)
{
    (void)state;
    static const float x[] = {0.3f, 1, 0.6f}, low = -1e30f, high = 1e30f;
    static const uint8_t allowed[] = {1, 1, 1};
    float w[3], other[3];
    weights_of(RAPT_NORMALIZER_ENTMAX, &high, x, allowed, w);
    weights_of(RAPT_NORMALIZER_SPARSEMAX, NULL, x, allowed, other);
    for (int s = 0; s < 3; s++) assert_true(within_roundings((double)w[s], (double)other[s], 4, 1));
    weights_of(RAPT_NORMALIZER_ENTMAX, &low, x, allowed, w);
    weights_of(RAPT_NORMALIZER_SOFTMAX, NULL, x, allowed, other);
    for (int s = 0; s < 3; s++) assert_true(fabsf(w[s] - other[s]) < 1e-5f);
    weights_of(RAPT_NORMALIZER_ENTMAX, NULL, x, allowed, w);
    weights_of(RAPT_NORMALIZER_ENTMAX_1_5, NULL, x, allowed, other);
    for (int s = 0; s < 3; s++) assert_true(within_roundings((double)w[s], (double)other[s], 4, 1));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(by_definition), cmocka_unit_test(same_bits_everywhere),
        cmocka_unit_test(any_size),      cmocka_unit_test(one_more_key),
        cmocka_unit_test(fully_masked),  cmocka_unit_test(no_array),
        cmocka_unit_test(long_rows),     cmocka_unit_test(not_numbers),
        cmocka_unit_test(any_order),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
