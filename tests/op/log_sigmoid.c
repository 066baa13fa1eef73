/* log_sigmoid.c - tests logarithms of gates against their definition in double and its difference
   quotients, with the same bits for any number of threads and every instruction set. */
#include "op/helpers.h"

struct problem {
    size_t n;
    float *z, *dy;
    float *result; /* y and dz */
};

static void run_log_sigmoid(const struct exec_context *exec, void *argument)
{
    const struct problem *p = argument;
    float *dz = p->result + p->n;
    rapt__log_sigmoid_forward(exec, p->z, p->n, p->result);
    rapt__copy(exec, p->dy, p->n, dz);
    rapt__log_sigmoid_backward(exec, p->z, dz, p->n, dz); /* in place */
}

static double objective(const void *argument)
{
    return -log1p(exp(-*(const double *)argument));
}

static void gates(void **state)
{
    (void)state;
    static const size_t counts[] = {0, 1, 16, 1003};
    for (int i = 0; i < COUNT(counts); i++) {
        struct problem p = {.n = counts[i], .result = floats(2 * counts[i])};
        p.z = random_floats(p.n, 1), p.dy = random_floats(p.n, 2);
        for (size_t j = 0; j < p.n; j++) p.z[j] *= 8;
        assert_same_bits(run_log_sigmoid, &p, p.result, 2 * p.n);
        for (size_t j = 0; j < p.n; j++) {
            double z = (double)p.z[j];
            assert_near((double)p.result[j], objective(&z), 1);
            assert_near((double)p.result[p.n + j], (double)p.dy[j] * slope(objective, &z, &z), 8);
        }
        free(p.z), free(p.dy), free(p.result);
    }
}

/* Gates that are open or closed as far as floats can tell have finite logarithms. */
static void extremes(void **state)
{
    (void)state;
    float z[] = {100, 3e38f, -100, -3e38f, 0}, dy[] = {1, 1, 1, 1, 1};
    const float wanted[] = {0, 0, -100, -3e38f, -0x1.62e43p-1f}, slopes[] = {0, 0, 1, 1, 0.5f};
    struct problem p = {.n = COUNT(z), .z = z, .dy = dy, .result = floats(2 * COUNT(z))};
    assert_same_bits(run_log_sigmoid, &p, p.result, 2 * p.n);
    for (size_t j = 0; j < p.n; j++) {
        assert_near((double)p.result[j], (double)wanted[j], 1);
        assert_true(fabsf(p.result[p.n + j] - slopes[j]) <= 1e-40f);
    }
    free(p.result);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(gates), cmocka_unit_test(extremes)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
