/* row.c - sums and scaled sums of rows against their definitions in double, and whether rows are
   finite. */
#include "kernel/trial.h"

#include <float.h>

static const double EPSILON = 0x1p-23;

static void sums(void **state)
{
    static const int lengths[] = {0, 1, 15, 16, 17, 64, 100, 1000, 4096, 50000, 1000000};
    float *x = calloc(1000000, sizeof *x), *y = calloc(1000000, sizeof *y);
    const struct kernels *k;

    (void)state;
    fill(x, 1000000, -1, 3, 1);
    fill(y, 1000000, -2, 1, 2);
    for (int isa = 0; (k = kernels_at(&isa)) != NULL;)
        for (size_t j = 0; j < sizeof lengths / sizeof *lengths; j++) {
            int n = lengths[j];
            double dot = 0, absolute = 0, square = 0;
            for (int i = 0; i < n; i++) {
                dot += (double)x[i] * (double)y[i];
                absolute += fabs((double)x[i] * (double)y[i]);
                square += (double)x[i] * (double)x[i];
            }
            close_to((double)k->dot(x, y, n), dot, 4 * EPSILON * absolute);
            close_to((double)k->square_sum(x, (size_t)n), square, 4 * EPSILON * square);
        }
    free(x);
    free(y);
}

static void each_float(void **state)
{
    enum { N = 77 };
    float x[N], y[N], sum[N];
    const struct kernels *k;

    (void)state;
    fill(x, N, -1, 1, 1);
    fill(y, N, -1, 1, 2);
    for (int isa = 0; (k = kernels_at(&isa)) != NULL;) {
        memcpy(sum, y, sizeof y);
        k->add(sum, x, N);
        for (int i = 0; i < N; i++) {
            assert_true(sum[i] == x[i] + y[i]);
        }
    }
}

/* The error of a column's sum does not grow with the number of rows. */
static void columns(void **state)
{
    enum { ROWS = 20000, N = 83, LD = 90 };
    float *x = calloc(ROWS * LD, sizeof *x), y[N];
    const struct kernels *k;

    (void)state;
    fill(x, ROWS * LD, -0.1, 1, 3);
    for (int isa = 0; (k = kernels_at(&isa)) != NULL;) {
        fill(y, N, -1, 1, 4);
        k->column_sum(y, x, LD, ROWS, N);
        for (int j = 0; j < N; j++) {
            float first[N];
            double sum = 0;
            for (int r = 0; r < ROWS; r++) sum += (double)x[r * LD + j];
            fill(first, N, -1, 1, 4);
            close_to((double)y[j], sum + (double)first[j], 4 * EPSILON * fabs(sum));
        }
    }
    free(x);
}

/* Makes each float of N in rows LD apart not finite in turn; what is between the rows does not
   count. */
static void finite_rows(void **state)
{
    enum { ROWS = 7, N = 37, LD = 41 };
    static const float wrong[] = {INFINITY, -INFINITY, NAN};
    static const int widths[] = {0, 1, 16, 31, 32, N};
    float x[ROWS * LD];
    const struct kernels *k;

    (void)state;
    fill(x, ROWS * LD, -1, 1, 1);
    x[1] = FLT_MAX, x[2] = -FLT_MAX;
    for (int isa = 0; (k = kernels_at(&isa)) != NULL;)
        for (int rows = 0; rows <= ROWS; rows++)
            for (int i = 0; i < 3 * ROWS * LD; i++) {
                int at = i / 3;
                float before = x[at];
                x[at] = wrong[i % 3];
                for (size_t w = 0; w < sizeof widths / sizeof *widths; w++) {
                    bool inside = at / LD < rows && at % LD < widths[w];
                    assert_int_equal(k->rows_finite(x, LD, rows, widths[w]), !inside);
                }
                x[at] = before;
            }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sums),
        cmocka_unit_test(each_float),
        cmocka_unit_test(columns),
        cmocka_unit_test(finite_rows),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
