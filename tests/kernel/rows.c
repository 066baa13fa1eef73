/* rows.c - sums over rows: scaled, weighted and normalized. */
#include "kernel/trial.h"

#include <float.h>

/* ---- sums: sums and scaled sums of rows against their definitions in double, and whether rows are
   finite. ---- */

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
    enum { SUMS_N = 77 };
    float x[SUMS_N], y[SUMS_N], sum[SUMS_N];
    const struct kernels *k;

    (void)state;
    fill(x, SUMS_N, -1, 1, 1);
    fill(y, SUMS_N, -1, 1, 2);
    for (int isa = 0; (k = kernels_at(&isa)) != NULL;) {
        memcpy(sum, y, sizeof y);
        k->add(sum, x, SUMS_N);
        for (int i = 0; i < SUMS_N; i++) {
            assert_true(sum[i] == x[i] + y[i]);
        }
    }
}

/* The error of a column's sum does not grow with the number of rows. */
static void sums_columns(void **state)
{
    enum { SUMS_ROWS = 20000, SUMS_N = 83, SUMS_LD = 90 };
    float *x = calloc(SUMS_ROWS * SUMS_LD, sizeof *x), y[SUMS_N];
    const struct kernels *k;

    (void)state;
    fill(x, SUMS_ROWS * SUMS_LD, -0.1, 1, 3);
    for (int isa = 0; (k = kernels_at(&isa)) != NULL;) {
        fill(y, SUMS_N, -1, 1, 4);
        k->column_sum(y, x, SUMS_LD, SUMS_ROWS, SUMS_N);
        for (int j = 0; j < SUMS_N; j++) {
            float first[SUMS_N];
            double sum = 0;
            for (int r = 0; r < SUMS_ROWS; r++) sum += (double)x[r * SUMS_LD + j];
            fill(first, SUMS_N, -1, 1, 4);
            close_to((double)y[j], sum + (double)first[j], 4 * EPSILON * fabs(sum));
        }
    }
    free(x);
}

/* Makes each float of N in rows LD apart not finite in turn; what is between the rows does not
   count. */
static void finite_rows(void **state)
{
    enum { SUMS_ROWS = 7, SUMS_N = 37, SUMS_LD = 41 };
    static const float wrong[] = {INFINITY, -INFINITY, NAN};
    static const int widths[] = {0, 1, 16, 31, 32, SUMS_N};
    float x[SUMS_ROWS * SUMS_LD];
    const struct kernels *k;

    (void)state;
    fill(x, SUMS_ROWS * SUMS_LD, -1, 1, 1);
    x[1] = FLT_MAX, x[2] = -FLT_MAX;
    for (int isa = 0; (k = kernels_at(&isa)) != NULL;)
        for (int rows = 0; rows <= SUMS_ROWS; rows++)
            for (int i = 0; i < 3 * SUMS_ROWS * SUMS_LD; i++) {
                int at = i / 3;
                float before = x[at];
                x[at] = wrong[i % 3];
                for (size_t w = 0; w < sizeof widths / sizeof *widths; w++) {
                    bool inside = at / SUMS_LD < rows && at % SUMS_LD < widths[w];
                    assert_int_equal(k->rows_finite(x, SUMS_LD, rows, widths[w]), !inside);
                }
                x[at] = before;
            }
}

/* ---- gemv: weighted sums of rows and their gradient against the definition; rows of weight 0 may
   hold anything. ---- */

enum { GEMV_ROWS = 9, WIDEST = 150, GEMV_LD = WIDEST + 3 };

static float gemv_w[GEMV_ROWS], gemv_x[GEMV_ROWS * GEMV_LD], gemv_y[GEMV_ROWS * GEMV_LD],
    start[GEMV_ROWS * GEMV_LD];

static void prepare(int width)
{
    fill(gemv_w, GEMV_ROWS, -1, 1, (uint64_t)width);
    fill(gemv_x, GEMV_ROWS * GEMV_LD, -1, 1, 1);
    fill(start, GEMV_ROWS * GEMV_LD, -1, 1, 2);
    gemv_w[4] = 0, gemv_w[7] = -0.0f;
    memcpy(gemv_y, start, sizeof gemv_y);
}

static void weighted_sums(void **state)
{
    const struct kernels *k;

    (void)state;
    for (int isa = 0; (k = kernels_at(&isa)) != NULL;)
        for (int width = 0; width <= WIDEST; width++) {
            prepare(width);
            for (int j = 0; j < GEMV_LD; j++)
                gemv_x[4 * GEMV_LD + j] = NAN, gemv_x[7 * GEMV_LD + j] = INFINITY;
            k->gemv(gemv_w, GEMV_ROWS, gemv_x, GEMV_LD, width, gemv_y);
            for (int j = 0; j < GEMV_LD; j++) {
                double want = (double)start[j];
                for (int s = 0; s < GEMV_ROWS && j < width; s++)
                    if (gemv_w[s] != 0) want += (double)gemv_w[s] * (double)gemv_x[s * GEMV_LD + j];
                close_to((double)gemv_y[j], want, j < width ? 1e-6 : 0);
            }
        }
}

static void spread(void **state)
{
    const struct kernels *k;

    (void)state;
    for (int isa = 0; (k = kernels_at(&isa)) != NULL;)
        for (int width = 0; width <= WIDEST; width++) {
            prepare(width);
            for (int j = 0; j < GEMV_LD; j++)
                gemv_y[4 * GEMV_LD + j] = start[4 * GEMV_LD + j] = INFINITY;
            k->rank1_update(gemv_w, GEMV_ROWS, gemv_x, width, gemv_y, GEMV_LD);
            for (int i = 0; i < GEMV_ROWS * GEMV_LD; i++) {
                double add = i % GEMV_LD < width
                                 ? (double)gemv_w[i / GEMV_LD] * (double)gemv_x[i % GEMV_LD]
                                 : 0;
                close_to((double)gemv_y[i], (double)start[i] + add, i % GEMV_LD < width ? 1e-6 : 0);
            }
        }
}

/* ---- norm: layer normalization against its definition in double, also far from zero. ---- */

enum { NORM_N = 515, NORM_ROWS = 300 };

struct moments {
    double mean, inverse;
};

static struct moments moments_of(const float *x, int n, double epsilon)
{
    struct moments m = {0, 0};
    double variance = 0;

    for (int i = 0; i < n; i++) m.mean += (double)x[i] / n;
    for (int i = 0; i < n; i++) variance += pow((double)x[i] - m.mean, 2) / n;
    m.inverse = 1 / sqrt(variance + epsilon);
    return m;
}

static void forward(const struct kernels *k, int n, double mean, double width)
{
    float x[NORM_N] = {0}, gain[NORM_N] = {0}, bias[NORM_N] = {0}, y[NORM_N], got_mean, got_inverse;
    double max = 0;

    fill(x, (size_t)n, mean - width, mean + width, 1);
    fill(gain, (size_t)n, 0.5, 1.5, 2);
    fill(bias, (size_t)n, -0.5, 0.5, 3);
    k->norm_row(x, gain, bias, 1e-5f, n, y, &got_mean, &got_inverse);
    struct moments m = moments_of(x, n, (double)1e-5f);
    close_to((double)got_mean, m.mean, EPSILON * (fabs(m.mean) + 1 / m.inverse));
    double limit = EPSILON * (1 + fabs(m.mean) * m.inverse);
    close_to((double)got_inverse, m.inverse, 2 * limit * m.inverse);
    for (int i = 0; i < n; i++)
        max = fmax(max, fabs((double)x[i] - m.mean) * m.inverse * (double)gain[i] +
                            fabs((double)bias[i]));
    for (int i = 0; i < n; i++) {
        double want = ((double)x[i] - m.mean) * m.inverse * (double)gain[i] + (double)bias[i];
        close_to((double)y[i], want, 4 * limit * max);
    }
}

static void forward_all(void **state)
{
    static const int lengths[] = {1, 2, 15, 16, 17, 64, NORM_N};
    const struct kernels *k;

    (void)state;
    for (int isa = 0; (k = kernels_at(&isa)) != NULL;)
        for (size_t j = 0; j < sizeof lengths / sizeof *lengths; j++) {
            forward(k, lengths[j], 0, 1);
            forward(k, lengths[j], 1e4, sqrt(3)); /* deviation 1 */
            forward(k, lengths[j], -3, 1e-3);
            forward(k, lengths[j], 5, 0); /* constant */
        }
}

static void backward(void **state)
{
    float x[NORM_N], gain[NORM_N], dy[NORM_N], from[NORM_N], dx[NORM_N], added[NORM_N];
    const struct kernels *k;

    (void)state;
    fill(x, NORM_N, -3, 5, 1);
    fill(gain, NORM_N, -1, 1, 2);
    fill(dy, NORM_N, -1, 1, 3);
    fill(from, NORM_N, -1, 1, 4);
    for (int isa = 0; (k = kernels_at(&isa)) != NULL;)
        for (int n = 1; n <= NORM_N; n = n * 2 + 1) {
            struct moments m = moments_of(x, n, 1e-3);
            float mean = (float)m.mean, inverse = (float)m.inverse;
            double sum = 0, with_xhat = 0;
            for (int i = 0; i < n; i++) {
                double g = (double)dy[i] * (double)gain[i] / n;
                sum += g;
                with_xhat += g * ((double)x[i] - (double)mean) * (double)inverse;
            }
            memcpy(added, from, sizeof from);
            k->norm_row_backward(x, gain, true, mean, inverse, dy, from, n, dx);
            k->norm_row_backward(x, gain, true, mean, inverse, dy, NULL, n, added);
            for (int i = 0; i < n; i++) {
                double xhat = ((double)x[i] - (double)mean) * (double)inverse;
                double g = (double)dy[i] * (double)gain[i];
                double want = (double)inverse * (g - sum - xhat * with_xhat);
                close_to((double)dx[i], (double)from[i] + want,
                         4 * EPSILON * (2 + 3 * (double)inverse));
            }
            assert_memory_equal(dx, added, (size_t)n * sizeof *dx);
        }
}

static void norm_columns(void **state)
{
    enum { NORM_LD = NORM_N + 5 };
    float *x = calloc(NORM_ROWS * NORM_LD, sizeof *x),
          *dy = calloc(NORM_ROWS * NORM_LD, sizeof *dy);
    float mean[NORM_ROWS], inverse[NORM_ROWS], dgain[NORM_N], dbias[NORM_N];
    const struct kernels *k;

    (void)state;
    fill(x, NORM_ROWS * NORM_LD, -1, 4, 1);
    fill(dy, NORM_ROWS * NORM_LD, -1, 2, 2);
    fill(mean, NORM_ROWS, -1, 1, 3);
    fill(inverse, NORM_ROWS, 0.5, 2, 4);
    for (int isa = 0; (k = kernels_at(&isa)) != NULL;) {
        for (int j = 0; j < NORM_N; j++) dgain[j] = 1, dbias[j] = -1;
        k->norm_columns(x, dy, NORM_LD, mean, inverse, NORM_ROWS, NORM_N, dgain, dbias);
        for (int j = 0; j < NORM_N; j++) {
            double gain = 1, bias = -1, size = 1;
            for (int r = 0; r < NORM_ROWS; r++) {
                double d = (double)dy[r * NORM_LD + j];
                double term =
                    d * ((double)x[r * NORM_LD + j] - (double)mean[r]) * (double)inverse[r];
                gain += term;
                bias += d;
                size += fabs(term) + fabs(d);
            }
            close_to((double)dgain[j], gain, 4 * EPSILON * size);
            close_to((double)dbias[j], bias, 4 * EPSILON * size);
        }
    }
    free(x);
    free(dy);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sums),          cmocka_unit_test(each_float),
        cmocka_unit_test(sums_columns),  cmocka_unit_test(finite_rows),
        cmocka_unit_test(weighted_sums), cmocka_unit_test(spread),
        cmocka_unit_test(forward_all),   cmocka_unit_test(backward),
        cmocka_unit_test(norm_columns),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
