/* elementary.c - elementary functions of rows, and the vector operations that they are made of. */
#include "kernel/trial.h"

/* ---- elementary: exp, log and tanh of rows against the C library in double. ---- */

enum { ELEMENTARY_N = 4099 };

static void check_elementary(const struct kernels *k, void (*row)(float *, size_t),
                             double (*f)(double), double low, double high)
{
    static float x[ELEMENTARY_N], y[ELEMENTARY_N];
    fill(x, ELEMENTARY_N, low, high, 7);
    memcpy(y, x, sizeof x);
    row(y, ELEMENTARY_N - 1);
    assert_true(y[ELEMENTARY_N - 1] == x[ELEMENTARY_N - 1]);
    for (int i = 0; i < ELEMENTARY_N - 1; i++) {
        double want = f((double)x[i]);
        close_to((double)y[i], want, slack(k) * ulp(want));
    }
}

static void by_definition(void **state)
{
    const struct kernels *k;

    (void)state;
    for (int isa = 0; (k = kernels_at(&isa)) != NULL;) {
        check_elementary(k, k->exp_row, exp, -80, 80);
        check_elementary(k, k->log_row, log, 1e-6, 3e6);
        check_elementary(k, k->tanh_row, tanh, -12, 12);
    }
}

static void elementary_at_the_ends(void **state)
{
    const struct kernels *k;

    (void)state;
    for (int isa = 0; (k = kernels_at(&isa)) != NULL;) {
        float x[3] = {-INFINITY, INFINITY, NAN}, y[3] = {0, INFINITY, -1};
        k->exp_row(x, 3);
        assert_true(x[0] == 0 && x[1] == INFINITY && isnan(x[2]));
        k->log_row(y, 3);
        assert_true(y[0] == -INFINITY && y[1] == INFINITY && isnan(y[2]));
        x[0] = -INFINITY;
        k->tanh_row(x, 3);
        assert_true(x[0] == -1 && x[1] == 1 && isnan(x[2]));
    }
}

/* ---- activation: activations and their slopes against their definitions in double, for floats of
   every size: within 4 ulp, or 1e-7 where the function is near zero. ---- */

enum { ACTIVATION_N = 1024 };

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

static void check_activation(const struct kernels *k, enum activation kind, const float *x)
{
    float y[ACTIVATION_N], dy[ACTIVATION_N], dx[ACTIVATION_N];

    for (int i = 0; i < ACTIVATION_N; i++) dy[i] = i % 2 ? 1 : -2;
    k->activate(kind, x, y, ACTIVATION_N);
    k->activate_backward(kind, x, dy, dx, ACTIVATION_N);
    for (int i = 0; i < ACTIVATION_N; i++) {
        double v = value(kind, (double)x[i]), s = (double)dy[i] * slope(kind, (double)x[i]);
        close_to((double)y[i], v, fmax(4 * ulp(v), 1e-7));
        close_to((double)dx[i], s, fmax(4 * ulp(s), 2e-7));
    }
}

static void everywhere(void **state)
{
    static const double widths[] = {1e-38, 1e-3, 1, 4, 15, 120, 1e4, 1e20};
    float x[ACTIVATION_N];
    const struct kernels *k;

    (void)state;
    for (int isa = 0; (k = kernels_at(&isa)) != NULL;)
        for (enum activation kind = ACTIVATION_RELU; kind <= ACTIVATION_SIGMOID; kind++)
            for (size_t j = 0; j < sizeof widths / sizeof *widths; j++) {
                fill(x, ACTIVATION_N, -widths[j], widths[j], j);
                check_activation(k, kind, x);
            }
}

/* Small values keep their relative precision as long as e^(-x^2/2) or e^x is a normal number. */
static void left_tail(void **state)
{
    float x[ACTIVATION_N], y[ACTIVATION_N];
    const struct kernels *k;

    (void)state;
    for (int isa = 0; (k = kernels_at(&isa)) != NULL;)
        for (enum activation kind = ACTIVATION_GELU; kind <= ACTIVATION_SILU; kind++) {
            if (!is_exact(k)) continue; /* without fma the square has only one part */
            fill(x, ACTIVATION_N, kind == ACTIVATION_GELU ? -13 : -86, 0, 9);
            k->activate(kind, x, y, ACTIVATION_N);
            for (int i = 0; i < ACTIVATION_N; i++) {
                double v = value(kind, (double)x[i]);
                close_to((double)y[i], v, 8 * ulp(v));
            }
        }
}

static void activation_at_the_ends(void **state)
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

/* ---- angle: sines and cosines of angles: on every instruction set those of rapt__sincos rounded
   to float, for every length of a row; nothing past the end of the row is written. ---- */

enum { ANGLE_N = 67 };

static void equal_to_one_by_one(void **state)
{
    const struct kernels *k;
    double frequencies[ANGLE_N];

    (void)state;
    for (int i = 0; i < ANGLE_N; i++) frequencies[i] = 1 / (1 + 100 * uniform(3, (size_t)i));
    for (int isa = 0; (k = kernels_at(&isa)) != NULL;)
        for (int n = 0; n < ANGLE_N; n++) {
            double position = (n % 2 ? -1 : 1) * floor(1e6 * uniform(4, (size_t)n));
            float sines[ANGLE_N + 1], cosines[ANGLE_N + 1];
            sines[n] = cosines[n] = 7;
            k->sine_cosine_row(position, frequencies, n, sines, cosines);
            for (int i = 0; i < n; i++) {
                double s, c;
                rapt__sincos(position * frequencies[i], &s, &c);
                assert_true(sines[i] == (float)s && cosines[i] == (float)c);
            }
            assert_true(sines[n] == 7 && cosines[n] == 7);
        }
}

/* ---- simd: the vector operations in plain C at the limits of their domains, and rounding. Their
   precision is measured by ulp.c. ---- */

#define RAPT_SIMD_HEADER "simd_scalar.h"
#include "kernel/simd.h"

static void simd_at_the_ends(void **state)
{
    float x[LANES] = {NAN, INFINITY, -INFINITY, 0, -0.0f, 88.73f, -103.98f, 1e-45f}, y[LANES];

    (void)state;
    vf_store(y, vf_exp(vf_load(x)));
    assert_true(isnan(y[0]) && y[1] == INFINITY && y[2] == 0 && y[3] == 1 && y[4] == 1);
    assert_true(y[5] == INFINITY && y[6] == 0 && y[7] == 1);
    vf_store(y, vf_log(vf_load(x)));
    assert_true(isnan(y[0]) && y[1] == INFINITY && isnan(y[2]) && y[3] == -INFINITY);
    assert_true(y[4] == -INFINITY && isnan(y[6]));
    vf_store(y, vf_tanh(vf_load(x)));
    assert_true(isnan(y[0]) && y[1] == 1 && y[2] == -1 && y[3] == 0 && signbit(y[4]));
    assert_true(y[7] == x[7]);
}

static void rounding(void **state)
{
    float x[LANES] = {0.5f, 1.5f, 2.5f, -0.5f, -1.5f, 8388607.5f, 1e30f, -0.2f, 0.49999997f},
          y[LANES];
    const float want[9] = {0, 2, 2, 0, -2, 8388608, 1e30f, 0, 0};

    (void)state;
    vf_store(y, vf_round(vf_load(x)));
    for (int i = 0; i < 9; i++) assert_true(y[i] == want[i] && !signbit(y[i]) == !signbit(x[i]));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(by_definition),
        cmocka_unit_test(elementary_at_the_ends),
        cmocka_unit_test(everywhere),
        cmocka_unit_test(left_tail),
        cmocka_unit_test(activation_at_the_ends),
        cmocka_unit_test(ends_of_sigmoids),
        cmocka_unit_test(equal_to_one_by_one),
        cmocka_unit_test(simd_at_the_ends),
        cmocka_unit_test(rounding),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
