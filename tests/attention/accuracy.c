/* accuracy.c - never worse than three loops in float, on average far better; and the algebra of
   attention: linear in v, deaf to the order of keys and to a constant added to all scores. */
#include "trial.h"

/* The same in float: one score after the other, exp, one sum, one quotient. */
static void naive(const struct trial *x, float *out)
{
    const rapt_attention *a = &x->a;
    float *p = zeros((size_t)a->keys), scale = 1 / sqrtf((float)a->key_width);
    for (int t = 0; t < a->queries; t++) {
        float most = -INFINITY, sum = 0;
        for (int s = 0; s < a->keys; s++) {
            float dot = 0;
            for (int i = 0; i < a->key_width; i++)
                dot += x->q[t * a->q.row + i] * x->k[s * a->k.row + i];
            p[s] = dot * scale;
            most = fmaxf(most, p[s]);
        }
        for (int s = 0; s < a->keys; s++) sum += p[s] = expf(p[s] - most);
        for (int i = 0; i < a->value_width; i++) {
            float o = 0;
            for (int s = 0; s < a->keys; s++) o += p[s] / sum * x->v[s * a->v.row + i];
            out[t * a->out.row + i] = o;
        }
    }
    free(p);
}

/* Error of the whole, relative to the whole; *most: the greatest, relative to the greatest. */
static double error_of(const struct trial *x, const float *out, const double *wanted, double *most)
{
    double sum = 0, all = 0, size = 0, far = 0;
    for (size_t i = 0; i < x->no; i++) {
        double e = fabs((double)out[i] - wanted[i]);
        sum += e * e, all += wanted[i] * wanted[i];
        far = fmax(far, e), size = fmax(size, fabs(wanted[i]));
    }
    *most = far / size;
    return sqrt(sum / all);
}

static void against_naive(void **state)
{
    (void)state;
    const int shapes[][3] = {{64, 64, 64}, {64, 512, 64},  {64, 1024, 128}, {64, 2048, 64},
                             {64, 267, 8}, {16, 8192, 64}, {33, 129, 16}};
    double product = 1;
    int cases = 0, worse = 0;
    for (int i = 0; i < 7; i++)
        for (int loud = 1; loud <= 8; loud += 7, cases++) {
            const struct choice c = {.batch = 1,
                                     .heads = 1,
                                     .queries = shapes[i][0],
                                     .keys = shapes[i][1],
                                     .key_width = shapes[i][2],
                                     .value_width = shapes[i][2],
                                     .loud = (float)loud};
            struct trial x = make_trial(&c, (uint64_t)i);
            double *q = doubles(x.q, x.nq), *k = doubles(x.k, x.nk), *v = doubles(x.v, x.nv);
            double *wanted = calloc(x.no, sizeof *wanted);
            const struct oracle_inputs in = {q, k, v, NULL};
            float *out = zeros(x.no);
            oracle_attention(&x.a, &in, NULL, wanted, NULL);
            naive(&x, out);
            run_forward(&x);
            double far, naive_far;
            double ours = error_of(&x, x.out, wanted, &far);
            double theirs = error_of(&x, out, wanted, &naive_far);
            print_message("%dx%d loud %d: %.2f eps, greatest %.2f; naive %.2f, %.2f\n", c.keys,
                          c.key_width, loud, ours * 0x1p23, far * 0x1p23, theirs * 0x1p23,
                          naive_far * 0x1p23);
            worse += ours > theirs || far > (loud == 1 ? 8 : 16) * 0x1p-23;
            product *= ours / theirs;
            free(q), free(k), free(v), free(wanted), free(out);
            drop_trial(&x);
        }
    print_message("mean %.2f\n", pow(product, 1.0 / cases));
    assert_int_equal(worse, 0);
    assert_true(pow(product, 1.0 / cases) <= 0.6);
}

static struct trial plain(uint64_t seed)
{
    const struct choice c = {
        .batch = 1, .heads = 1, .queries = 40, .keys = 200, .key_width = 16, .value_width = 24};
    return make_trial(&c, seed);
}

static void assert_near(const float *x, const float *y, size_t n, double allowed)
{
    for (size_t i = 0; i < n; i++)
        if (!(fabs((double)x[i] - (double)y[i]) <= allowed))
            fail_msg("[%zu]: %.9g and %.9g", i, (double)x[i], (double)y[i]);
}

static void linear_in_v(void **state)
{
    (void)state;
    struct trial x = plain(1), y = plain(1);
    for (size_t i = 0; i < y.nv; i++) y.v[i] = 4 * x.v[i];
    run_forward(&x);
    run_forward(&y);
    for (size_t i = 0; i < x.no; i++) assert_true(y.out[i] == 4 * x.out[i]);
    for (size_t i = 0; i < y.nv; i++) y.v[i] = 1;
    run_forward(&y);
    for (int t = 0; t < 40; t++)
        for (int i = 0; i < 24; i++)
            assert_true(fabsf(y.out[t * y.a.out.row + i] - 1) <= 4 * 0x1p-23f);
    drop_trial(&x);
    drop_trial(&y);
}

static void order_of_keys(void **state)
{
    (void)state;
    struct trial x = plain(2), y = plain(2);
    for (int s = 0; s < 200; s++) {
        int to = s * 77 % 200;
        memcpy(y.k + to * y.a.k.row, x.k + s * x.a.k.row, 16 * sizeof(float));
        memcpy(y.v + to * y.a.v.row, x.v + s * x.a.v.row, 24 * sizeof(float));
    }
    run_forward(&x);
    run_forward(&y);
    assert_near(x.out, y.out, x.no, 16 * 0x1p-23);
    assert_near(x.lse, y.lse, x.nlse, 16 * 0x1p-23);
    drop_trial(&x);
    drop_trial(&y);
}

static void shifted_scores(void **state)
{
    (void)state;
    const struct choice c = {.batch = 1,
                             .heads = 2,
                             .queries = 40,
                             .keys = 200,
                             .key_width = 16,
                             .value_width = 24,
                             .bias = SHARED | PER_ROW};
    struct trial x = make_trial(&c, 3), y = make_trial(&c, 3);
    for (size_t i = 0; i < y.nbias; i++) y.bias[i] += 16;
    run_forward(&x);
    run_forward(&y);
    assert_near(x.out, y.out, x.no, 64 * 0x1p-23);
    for (size_t i = 0; i < x.nlse; i++)
        assert_true(fabsf(y.lse[i] - 16 - x.lse[i]) <= 64 * 0x1p-23f);
    drop_trial(&x);
    drop_trial(&y);
}

/* Dropped weights: about the share that was asked for, others scaled so that the mean stays. */
static void share_of_dropped(void **state)
{
    (void)state;
    const struct choice c = {.batch = 4,
                             .heads = 4,
                             .queries = 64,
                             .keys = 256,
                             .key_width = 1,
                             .value_width = 1,
                             .dropout = 0.25f,
                             .loud = 1e-20f};
    struct trial x = make_trial(&c, 4);
    double mean = 0;
    for (size_t i = 0; i < x.nv; i++) x.v[i] = 1;
    run_forward(&x);
    for (int b = 0; b < 4; b++)
        for (int h = 0; h < 4; h++)
            for (int t = 0; t < 64; t++)
                mean +=
                    (double)x.out[b * x.a.out.batch + h * x.a.out.head + t * x.a.out.row] / 1024;
    assert_true(fabs(mean - 1) < 0.006); /* five deviations of 262,144 draws */
    assert_true(mean != 1);
    drop_trial(&x);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(against_naive),    cmocka_unit_test(linear_in_v),
        cmocka_unit_test(order_of_keys),    cmocka_unit_test(shifted_scores),
        cmocka_unit_test(share_of_dropped),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
