/* activation.c - activations and their slopes against their definitions in double, for floats of
   every size: within 4 ulp, or 1e-7 where the function is near zero. */
#include "kernel/trial.h"

enum { N = 1024 };

static double phi(double x)
{
    return 0.5 * erfc(-x / sqrt(2));
} /* normal distribution */

static double inner(double x) /* of the tanh of gelu_tanh */
{
    return sqrt(2 / acos(-1)) * (x + 0.044715 * x * x * x);
}

static double value(enum activation kind, double x)
{
    if (kind == ACTIVATION_RELU) return x > 0 ? x : 0;
    if (kind == ACTIVATION_GELU_TANH) return x / (1 + exp(-2 * inner(x)));
    if (kind == ACTIVATION_SIGMOID) return 1 / (1 + exp(-x));
    return kind == ACTIVATION_GELU ? x * phi(x) : x / (1 + exp(-x));
}

static double slope(enum activation kind, double x)
{
    double s = 1 / (1 + exp(-x));

    if (kind == ACTIVATION_RELU) return x > 0;
    if (kind == ACTIVATION_GELU) return phi(x) + x * exp(-x * x / 2) / sqrt(2 * acos(-1));
    if (kind == ACTIVATION_GELU_TANH) {
        const double u = inner(x), steep = sqrt(2 / acos(-1)) * (1 + 3 * 0.044715 * x * x);
        s = 1 / (1 + exp(-2 * u));
        return x < -100 ? 0 : s * (1 + x / (1 + exp(2 * u)) * 2 * steep);
    }
    if (kind == ACTIVATION_SIGMOID) return s / (1 + exp(x));
    return s * (1 + x / (1 + exp(x)));
}

static void check(const struct kernels *k, enum activation kind, const float *x)
{
    float y[N], dy[N], dx[N];

    for (int i = 0; i < N; i++) dy[i] = i % 2 ? 1 : -2;
    k->activate(kind, x, y, N);
    k->activate_backward(kind, x, dy, dx, N);
    for (int i = 0; i < N; i++) {
        double v = value(kind, (double)x[i]), s = (double)dy[i] * slope(kind, (double)x[i]);
        close_to((double)y[i], v, fmax(4 * ulp(v), 1e-7));
        close_to((double)dx[i], s, fmax(4 * ulp(s), 2e-7));
    }
}

static void everywhere(void **state)
{
    static const double widths[] = {1e-38, 1e-3, 1, 4, 15, 120, 1e4, 1e20};
    float x[N];
    const struct kernels *k;

    (void)state;
    for (int isa = 0; (k = kernels_at(&isa)) != NULL;)
        for (enum activation kind = ACTIVATION_RELU; kind <= ACTIVATION_SIGMOID; kind++)
            for (size_t j = 0; j < sizeof widths / sizeof *widths; j++) {
                fill(x, N, -widths[j], widths[j], j);
                check(k, kind, x);
            }
}

/* Small values keep their relative precision as long as e^(-x^2/2) or e^x is a normal number. */
static void left_tail(void **state)
{
    float x[N], y[N];
    const struct kernels *k;

    (void)state;
    for (int isa = 0; (k = kernels_at(&isa)) != NULL;)
        for (enum activation kind = ACTIVATION_GELU; kind <= ACTIVATION_SILU; kind++) {
            if (!is_exact(k)) continue; /* without fma the square has only one part */
            fill(x, N, kind == ACTIVATION_GELU ? -13 : -86, 0, 9);
            k->activate(kind, x, y, N);
            for (int i = 0; i < N; i++) {
                double v = value(kind, (double)x[i]);
                close_to((double)y[i], v, 8 * ulp(v));
            }
        }
}

static void at_the_ends(void **state)
{
    const struct kernels *k;

    (void)state;
    for (int isa = 0; (k = kernels_at(&isa)) != NULL;)
        for (enum activation kind = ACTIVATION_RELU; kind <= ACTIVATION_GELU_TANH; kind++) {
            float x[5] = {NAN, INFINITY, -INFINITY, 0, -0.0f}, dy[5] = {1, 1, 1, 1, 1}, y[5], dx[5];
            k->activate(kind, x, y, 5);
            k->activate_backward(kind, x, dy, dx, 5);
            assert_true(isnan(y[0]));
            assert_true(y[1] == INFINITY && dx[1] == 1);
            assert_true(y[2] == 0 && dx[2] == 0);
            assert_true(y[3] == 0 && y[4] == 0);
            if (kind != ACTIVATION_RELU)
                assert_true(dx[3] == 0.5f && dx[4] == 0.5f && isnan(dx[0]));
        }
}

static void ends_of_sigmoids(void **state)
{
    const struct kernels *k;

    (void)state;
    for (int isa = 0; (k = kernels_at(&isa)) != NULL;) {
        float x[4] = {NAN, INFINITY, -INFINITY, -0.0f}, dy[4] = {1, 1, 1, 1}, y[4], dx[4];
        k->activate(ACTIVATION_SIGMOID, x, y, 4);
        k->activate_backward(ACTIVATION_SIGMOID, x, dy, dx, 4);
        assert_true(isnan(y[0]) && y[1] == 1 && y[2] == 0 && y[3] == 0.5f);
        assert_true(isnan(dx[0]) && dx[1] == 0 && dx[2] == 0 && dx[3] == 0.25f);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(everywhere),
        cmocka_unit_test(left_tail),
        cmocka_unit_test(at_the_ends),
        cmocka_unit_test(ends_of_sigmoids),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
