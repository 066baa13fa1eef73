/* random.c - Gumbel noise is made from the words of rapt__philox and is distributed as it should
   be. */
#include "kernel/trial.h"

static double noise_of(uint64_t key, uint64_t row, int column)
{
    uint32_t bits[4];

    rapt__philox(key, (uint64_t)column / 4, row, bits);
    return -log(-log((bits[column % 4] / 512 + 0.5) / 8388608));
}

static void as_philox_says(void **state)
{
    enum { N = 150 };
    static const uint64_t rows[] = {0, 1, 77, 5000000000u, UINT64_MAX};
    static const int firsts[] = {0, 4, 16, 2147483000};
    const uint64_t key = 0xfedcba9876543210u;
    float x[N], y[N + 1];
    const struct kernels *k;

    (void)state;
    fill(x, N, -1, 1, 1);
    x[7] = -INFINITY;
    x[8] = NAN;
    for (int isa = 0; (k = kernels_at(&isa)) != NULL;)
        for (size_t j = 0; j < sizeof rows / sizeof *rows; j++)
            for (size_t f = 0; f < sizeof firsts / sizeof *firsts; f++) {
                int n = N - (int)(7 * f);
                for (int i = 0; i <= N; i++) y[i] = 5;
                k->gumbel_row(key, rows[j], firsts[f], x, y, n);
                for (int i = 0; i < n; i++) {
                    double g = noise_of(key, rows[j], firsts[f] + i);
                    if (i != 7 && i != 8) close_to((double)y[i], (double)x[i] + g, 0x1p-20);
                }
                assert_true(y[7] == -INFINITY && isnan(y[8]) && y[n] == 5);
            }
}

/* The mean is Euler's constant and the variance pi^2 / 6, each within five standard deviations. */
static void as_gumbel_says(void **state)
{
    enum { N = 1 << 16 };
    static float x[N];
    double sum = 0, squares = 0, variance = 1.6449340668;
    const struct kernels *k;

    (void)state;
    for (int isa = 0; (k = kernels_at(&isa)) != NULL; sum = squares = 0) {
        memset(x, 0, sizeof x);
        k->gumbel_row(3, 9, 0, x, x, N);
        for (int i = 0; i < N; i++) sum += (double)x[i];
        for (int i = 0; i < N; i++) squares += ((double)x[i] - sum / N) * ((double)x[i] - sum / N);
        close_to(sum / N, 0.5772156649, 5 * sqrt(variance / N));
        close_to(squares / N, variance, 5 * sqrt(4.4 / N) * variance); /* kurtosis 5.4 */
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(as_philox_says),
        cmocka_unit_test(as_gumbel_says),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
