/* norm.c - layer normalization against its definition in double, also far from zero. */
#include "kernel/trial.h"

static const double EPSILON = 0x1p-23;

enum { N = 515, ROWS = 300 };

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
    float x[N] = {0}, gain[N] = {0}, bias[N] = {0}, y[N], got_mean, got_inverse;
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
    static const int lengths[] = {1, 2, 15, 16, 17, 64, N};
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
    float x[N], gain[N], dy[N], from[N], dx[N], added[N];
    const struct kernels *k;

    (void)state;
    fill(x, N, -3, 5, 1);
    fill(gain, N, -1, 1, 2);
    fill(dy, N, -1, 1, 3);
    fill(from, N, -1, 1, 4);
    for (int isa = 0; (k = kernels_at(&isa)) != NULL;)
        for (int n = 1; n <= N; n = n * 2 + 1) {
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

static void columns(void **state)
{
    enum { LD = N + 5 };
    float *x = calloc(ROWS * LD, sizeof *x), *dy = calloc(ROWS * LD, sizeof *dy);
    float mean[ROWS], inverse[ROWS], dgain[N], dbias[N];
    const struct kernels *k;

    (void)state;
    fill(x, ROWS * LD, -1, 4, 1);
    fill(dy, ROWS * LD, -1, 2, 2);
    fill(mean, ROWS, -1, 1, 3);
    fill(inverse, ROWS, 0.5, 2, 4);
    for (int isa = 0; (k = kernels_at(&isa)) != NULL;) {
        for (int j = 0; j < N; j++) dgain[j] = 1, dbias[j] = -1;
        k->norm_columns(x, dy, LD, mean, inverse, ROWS, N, dgain, dbias);
        for (int j = 0; j < N; j++) {
            double gain = 1, bias = -1, size = 1;
            for (int r = 0; r < ROWS; r++) {
                double d = (double)dy[r * LD + j];
                double term = d * ((double)x[r * LD + j] - (double)mean[r]) * (double)inverse[r];
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
        cmocka_unit_test(forward_all),
        cmocka_unit_test(backward),
        cmocka_unit_test(columns),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
