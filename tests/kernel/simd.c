/* simd.c - exp, log and tanh of the vector words against the C library in double, over a sample of
   all floats. Plain C words here: without fma where the compiler has none, so a little less
   precise than the bounds in simd_math.h; tests/kernel/table.c ties the machines together. */
#include "kernel/trial.h"

#define RAPT_SIMD_HEADER "simd_scalar.h"
#include "kernel/simd.h"

enum { STRIDE = 5003 }; /* a prime: every 5003rd of all floats */

static float float_of(uint32_t bits)
{
    float x;

    memcpy(&x, &bits, sizeof x);
    return x;
}

/* The greatest error in ulp over the sample; where one is not finite, both must be the same. */
static double worst_error(vf (*f)(vf), double (*definition)(double))
{
    double worst = 0;

    for (uint64_t u = 0; u < (uint64_t)1 << 32; u += (uint64_t)STRIDE * LANES) {
        float x[LANES], y[LANES];
        for (unsigned i = 0; i < LANES; i++) x[i] = float_of((uint32_t)(u + STRIDE * i));
        vf_store(y, f(vf_load(x)));
        for (int i = 0; i < LANES; i++) {
            double want = definition((double)x[i]);
            if (isfinite((float)want) && isfinite(y[i]))
                worst = fmax(worst, fabs((double)y[i] - want) / ulp(want));
            else
                close_to((double)y[i], (double)(float)want, 0);
        }
    }
    return worst;
}

#ifdef __FP_FAST_FMAF
static const double EXP_ERROR = 0.90, EXP2_ERROR = 2.1, LOG_ERROR = 0.88, TANH_ERROR = 0.96;
#else
static const double EXP_ERROR = 1.1, EXP2_ERROR = 2.2, LOG_ERROR = 1.1, TANH_ERROR = 1.5;
#endif

static void exponential(void **state)
{
    (void)state;
    close_to(worst_error(vf_exp, exp), 0, EXP_ERROR);
}

/* Defined to 128. */
static vf power_of_two(vf x)
{
    return vf_exp2(vf_min(vf_splat(128), x));
}

static double power_of_two_wanted(double x)
{
    return exp2(x > 128 ? 128 : x);
}

static void power(void **state)
{
    (void)state;
    close_to(worst_error(power_of_two, power_of_two_wanted), 0, EXP2_ERROR);
}

static void logarithm(void **state)
{
    (void)state;
    close_to(worst_error(vf_log, log), 0, LOG_ERROR);
}

static void hyperbolic_tangent(void **state)
{
    (void)state;
    close_to(worst_error(vf_tanh, tanh), 0, TANH_ERROR);
}

static void at_the_ends(void **state)
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
        cmocka_unit_test(exponential), cmocka_unit_test(power),
        cmocka_unit_test(logarithm),   cmocka_unit_test(hyperbolic_tangent),
        cmocka_unit_test(at_the_ends), cmocka_unit_test(rounding),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
