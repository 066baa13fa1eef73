/* simd.c - the vector operations in plain C at the limits of their domains, and rounding. Their
   precision is measured by ulp.c. */
#include "kernel/trial.h"

#define RAPT_SIMD_HEADER "simd_scalar.h"
#include "kernel/simd.h"

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
        cmocka_unit_test(at_the_ends),
        cmocka_unit_test(rounding),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
