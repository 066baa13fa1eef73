/* cosine.c - the cosine score of queries and keys shorter than 1e-8, the smallest norm that divides
   them: gradients against the definition, written out for one query and two keys. */
#include <rapt/rapt.h>

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

enum { WIDTH = 4, KEYS = 2 };
static const double MIN = 1e-8;

static double product(const float *x, const float *y)
{
    double sum = 0;
    for (int i = 0; i < WIDTH; i++) sum += (double)x[i] * (double)y[i];
    return sum;
}

static double norm_of(const float *x)
{
    return fmax(sqrt(product(x, x)), MIN);
}

/* Computes dq of the score u(q) . u(k) for ds = 1; u of a short row is q / 1e-8. */
static void slope(const float *q, const float *k, double dq[WIDTH])
{
    double m = norm_of(q), n = norm_of(k), along = m > MIN ? product(q, k) / (m * m) : 0;
    for (int i = 0; i < WIDTH; i++) dq[i] = ((double)k[i] - along * (double)q[i]) / (m * n);
}

static void judge(const float *q, const float k[KEYS][WIDTH])
{
    static const float v[KEYS][WIDTH] = {{1, 2, 3, 4}, {-2, 1, 0, 3}}, dout[WIDTH] = {1, -1, 2, 1};
    _Alignas(64) static unsigned char workspace[1 << 20];
    float out[WIDTH], lse[1], dq[WIDTH] = {0}, dk[KEYS][WIDTH] = {{0}}, dv[KEYS][WIDTH] = {{0}};
    double p[KEYS], mean = 0, want_q[WIDTH] = {0}, one[WIDTH];
    rapt_attention a;
    rapt_attention_saved saved = {.size = sizeof saved, .lse = lse};
    const rapt_gradients d = {.size = sizeof d, .q = dq, .k = dk[0], .v = dv[0]};
    assert_int_equal(rapt_attention_init(&a, sizeof a, 1, 1, 1, KEYS, WIDTH), RAPT_OK);
    a.score = RAPT_SCORE_COSINE, a.threads = 1;
    assert_true(rapt_attention_workspace(&a) <= sizeof workspace);
    assert_int_equal(rapt_attention_forward(&a, q, k[0], v[0], out, &saved, workspace, NULL),
                     RAPT_OK);
    assert_int_equal(
        rapt_attention_backward(&a, q, k[0], v[0], out, &saved, dout, NULL, &d, workspace, NULL),
        RAPT_OK);
    for (int s = 0; s < KEYS; s++) p[s] = exp(product(q, k[s]) / (norm_of(q) * norm_of(k[s])));
    for (int s = 0; s < KEYS; s++) mean += p[s] / (p[0] + p[1]) * product(dout, v[s]);
    for (int s = 0; s < KEYS; s++) {
        double ds = p[s] / (p[0] + p[1]) * (product(dout, v[s]) - mean);
        slope(q, k[s], one);
        for (int i = 0; i < WIDTH; i++) want_q[i] += ds * one[i];
        slope(k[s], q, one);
        for (int i = 0; i < WIDTH; i++)
            assert_true(fabs((double)dk[s][i] - ds * one[i]) <= 2e-6 * (1 + fabs(ds * one[i])));
    }
    for (int i = 0; i < WIDTH; i++)
        assert_true(fabs((double)dq[i] - want_q[i]) <= 2e-6 * (1 + fabs(want_q[i])));
}

static void test_short_rows(void **state)
{
    (void)state;
    static const float usual[WIDTH] = {1, 0.5f, -2, 0.25f}, zero[WIDTH] = {0},
                       tiny[WIDTH] = {3e-9f, 0, -2e-9f, 1e-9f};
    static const float keys[KEYS][WIDTH] = {{0.5f, 1, 0.25f, -1}, {1, -1, 2, 0.5f}},
                       none[KEYS][WIDTH] = {{0.5f, 1, 0.25f, -1}, {0}},
                       few[KEYS][WIDTH] = {{2e-9f, 1e-9f, 0, -1e-9f}, {1, -1, 2, 0.5f}};
    const float *const queries[] = {usual, zero, tiny};
    for (int i = 0; i < 3; i++)
        judge(queries[i], keys), judge(queries[i], none), judge(queries[i], few);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_short_rows)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
