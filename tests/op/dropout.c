/* dropout.c - elements are dropped by key, row and column, in the requested share, and the mean is
   preserved. */
#include "op/helpers.h"

struct problem {
    struct dropout d;
    int rows, width;
    float *x, *y;
};

static void run(const struct exec_context *exec, void *argument)
{
    const struct problem *p = argument;
    rapt__dropout_rows(exec, &p->d, p->x, p->rows, p->width, p->y);
}

static void run_in_place(const struct exec_context *exec, void *argument)
{
    const struct problem *p = argument;
    rapt__dropout_rows(exec, &p->d, p->y, p->rows, p->width, p->y);
}

static void elements_are_dropped_or_scaled(void **state)
{
    static const int widths[] = {1, 7, 17, 130};
    (void)state;
    for (int i = 0; i < COUNT(widths); i++) {
        struct problem p = {rapt__dropout(0.25f, 7), 113, widths[i], NULL, NULL};
        size_t n = (size_t)(p.rows * p.width), dropped = 0;
        p.x = random_floats(n, 1);
        p.y = floats(n);
        assert_same_bits(run, &p, p.y, n);
        for (size_t j = 0; j < n; j++) {
            dropped += p.y[j] == 0;
            if (p.y[j] != 0) assert_near((double)p.y[j], (double)p.x[j] / 0.75, 1);
        }
        /* four standard deviations of a binomial distribution */
        assert_true(fabs((double)dropped - 0.25 * (double)n) < 4 * sqrt(0.25 * 0.75 * (double)n));
        free(p.x);
        free(p.y);
    }
}

static void in_place_is_the_same(void **state)
{
    (void)state;
    struct problem p = {rapt__dropout(0.5f, 3), 15, 130, NULL, NULL};
    size_t n = 15 * 130;
    p.x = random_floats(n, 1);
    p.y = floats(n);
    float *apart = floats(n);
    run_exec(2, run, &p);
    memcpy(apart, p.y, n * sizeof(float));
    memcpy(p.y, p.x, n * sizeof(float));
    run_exec(2, run_in_place, &p);
    assert_memory_equal(p.y, apart, n * sizeof(float));
    free(apart);
    free(p.x);
    free(p.y);
}

static void keys_differ_and_zero_drops_nothing(void **state)
{
    (void)state;
    struct problem p = {rapt__dropout(0.5f, 3), 15, 130, NULL, NULL};
    size_t n = 15 * 130;
    p.x = random_floats(n, 1);
    p.y = floats(n);
    float *other = floats(n);
    run_exec(1, run, &p);
    memcpy(other, p.y, n * sizeof(float));
    p.d = rapt__dropout(0.5f, 4);
    run_exec(1, run, &p);
    assert_memory_not_equal(p.y, other, n * sizeof(float));
    p.d = rapt__dropout(0, 4);
    run_exec(1, run, &p);
    assert_memory_equal(p.y, p.x, n * sizeof(float));
    free(other);
    free(p.x);
    free(p.y);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(elements_are_dropped_or_scaled),
        cmocka_unit_test(in_place_is_the_same),
        cmocka_unit_test(keys_differ_and_zero_drops_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
