/* dropout.c - the elements dropped are those that rapt__philox gives, in the requested share. */
#include "kernel/trial.h"

static bool is_dropped(const struct dropout *d, uint64_t row, int column)
{
    uint32_t bits[4];

    rapt__philox(d->key, (uint64_t)(column / 64 * 16 + column % 16), row, bits);
    return bits[column / 16 % 4] < d->below;
}

static void as_philox_says(void **state)
{
    enum { N = 300 };
    static const uint64_t rows[] = {0, 1, 77, 5000000000u, UINT64_MAX};
    struct dropout d = {0xfedcba9876543210u, 0x60000000u, 1.6f};
    float x[N], from[N], y[N], sum[N];
    const struct kernels *k;

    (void)state;
    fill(x, N, -1, 1, 1);
    fill(from, N, -1, 1, 2);
    x[7] = NAN;
    for (int isa = 0; (k = kernels_at(&isa)) != NULL;)
        for (size_t j = 0; j < sizeof rows / sizeof *rows; j++) {
            k->dropout_row(&d, rows[j], x, NULL, y, N);
            memcpy(sum, from, sizeof from);
            k->dropout_row(&d, rows[j], x, sum, sum, N);
            for (int i = 0; i < N; i++) {
                bool gone = is_dropped(&d, rows[j], i);
                double kept = gone ? 0 : (double)x[i] * 1.6f;
                close_to((double)y[i], kept, ulp(kept));
                close_to((double)sum[i], (double)from[i] + kept, 0x1p-22);
                if (gone) assert_true(y[i] == 0 && sum[i] == from[i]);
            }
        }
}

static void as_many_as_asked(void **state)
{
    enum { N = 1000, ROWS = 200 };
    struct dropout d = {3, 0x1999999au, 1 / 0.9f}; /* a tenth */
    float x[N], y[N];
    const struct kernels *k;

    (void)state;
    for (int i = 0; i < N; i++) x[i] = 1;
    for (int isa = 0; (k = kernels_at(&isa)) != NULL;) {
        int gone = 0;
        for (uint64_t r = 0; r < ROWS; r++) {
            k->dropout_row(&d, r, x, NULL, y, N);
            for (int i = 0; i < N; i++) gone += y[i] == 0;
        }
        close_to(gone, 0.1 * N * ROWS, 5 * sqrt(0.09 * N * ROWS)); /* five standard deviations */
    }
}

static void none_if_none(void **state)
{
    enum { N = 70 };
    struct dropout d = {3, 0, 1};
    float x[N], y[N];
    const struct kernels *k;

    (void)state;
    fill(x, N, -1, 1, 1);
    for (int isa = 0; (k = kernels_at(&isa)) != NULL;) {
        k->dropout_row(&d, 5, x, NULL, y, N);
        assert_memory_equal(x, y, sizeof x);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(as_philox_says),
        cmocka_unit_test(as_many_as_asked),
        cmocka_unit_test(none_if_none),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
