/* elementary.c - exp, log and tanh of rows against the C library in double. */
#include "kernel/trial.h"

enum { N = 4099 };

static void check(const struct kernels *k, void (*row)(float *, size_t), double (*f)(double),
                  double low, double high)
{
    static float x[N], y[N];
    fill(x, N, low, high, 7);
    memcpy(y, x, sizeof x);
    row(y, N - 1);
    assert_true(y[N - 1] == x[N - 1]);
    for (int i = 0; i < N - 1; i++) {
        double want = f((double)x[i]);
        close_to((double)y[i], want, slack(k) * ulp(want));
    }
}

static void by_definition(void **state)
{
    const struct kernels *k;

    (void)state;
    for (int isa = 0; (k = kernels_at(&isa)) != NULL;) {
        check(k, k->exp_row, exp, -80, 80);
        check(k, k->log_row, log, 1e-6, 3e6);
        check(k, k->tanh_row, tanh, -12, 12);
    }
}

static void at_the_ends(void **state)
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(by_definition),
        cmocka_unit_test(at_the_ends),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
