/* training.c - kernels that only training needs: Adam's step, dropout and noise. */
#include "kernel/trial.h"

/* ---- adam: one step of Adam, and many, against the definition in double. ---- */

enum { ADAM_N = 203 };

struct moments {
    double p, m, v;
};

static void step(const struct adam *a, struct moments *x, double g)
{
    g *= (double)a->gradient_scale;
    x->m = (double)a->beta1 * x->m + (1 - (double)a->beta1) * g;
    x->v = (double)a->beta2 * x->v + (1 - (double)a->beta2) * g * g;
    double change = (double)a->rate * (double)a->correct1 * x->m /
                    (sqrt((double)a->correct2 * x->v) + (double)a->epsilon);
    x->p = x->p - (double)a->decay * x->p - change;
}

static void one_step(void **state)
{
    static const struct adam steps[] = {
        {1e-3f, 0.9f, 0.98f, 1e-9f, 10, 50, 0, 1},
        {0.1f, 0.9f, 0.999f, 1e-8f, 1.2f, 3, 1e-3f, 0.03f},
        {0, 0.9f, 0.999f, 1e-8f, 1, 1, 0, 1},
        {1e-2f, 0, 0, 1e-8f, 1, 1, 0, 1},
    };
    const struct kernels *k;

    (void)state;
    for (int isa = 0; (k = kernels_at(&isa)) != NULL;)
        for (int j = 0; j < 4; j++) {
            float p[ADAM_N], g[ADAM_N], m[ADAM_N], v[ADAM_N], old[3][ADAM_N];
            fill(p, ADAM_N, -1, 1, 1), fill(g, ADAM_N, -1, 1, 2), fill(m, ADAM_N, -1, 1, 3),
                fill(v, ADAM_N, 0, 1, 4);
            memcpy(old[0], p, sizeof p), memcpy(old[1], m, sizeof m), memcpy(old[2], v, sizeof v);
            k->adam_span(steps + j, p, g, m, v, ADAM_N);
            for (int i = 0; i < ADAM_N; i++) {
                struct moments x = {(double)old[0][i], (double)old[1][i], (double)old[2][i]};
                step(steps + j, &x, (double)g[i]);
                /* in ulp of the greatest term, since terms of different sign may cancel */
                double change = fabs(x.p - (double)old[0][i]);
                close_to((double)m[i], x.m, 2 * ulp(fmax(fabs((double)old[1][i]), fabs(x.m))));
                close_to((double)v[i], x.v, 2 * ulp(x.v));
                close_to((double)p[i], x.p,
                         ulp(x.p) + 4 * ulp(change) + ulp((double)old[1][i]) * change);
            }
        }
}

/* After ten thousand steps the error is at most 1e-5 of the sum of all changes. */
static void many_steps(void **state)
{
    const struct kernels *k;

    (void)state;
    for (int isa = 0; (k = kernels_at(&isa)) != NULL;) {
        float p[ADAM_N], g[ADAM_N], m[ADAM_N] = {0}, v[ADAM_N] = {0};
        struct moments x[ADAM_N] = {{0, 0, 0}};
        double moved[ADAM_N] = {0};
        fill(p, ADAM_N, -1, 1, 1);
        for (int i = 0; i < ADAM_N; i++) x[i].p = (double)p[i];
        for (int t = 1; t <= 10000; t++) {
            struct adam a = {1e-3f, 0.9f, 0.98f, 1e-9f, 0, 0, 1e-6f, 0.5f};
            a.correct1 = (float)(1 / (1 - pow((double)a.beta1, t)));
            a.correct2 = (float)(1 / (1 - pow((double)a.beta2, t)));
            fill(g, ADAM_N, -1, 1.2, (uint64_t)(t + 10));
            k->adam_span(&a, p, g, m, v, ADAM_N);
            for (int i = 0; i < ADAM_N; i++) {
                double before = x[i].p;
                step(&a, x + i, (double)g[i]);
                moved[i] += fabs(x[i].p - before);
            }
        }
        for (int i = 0; i < ADAM_N; i++) close_to((double)p[i], x[i].p, 1e-5 * (1 + moved[i]));
    }
}

/* ---- dropout: the elements dropped are those that rapt__philox gives, in the requested share.
   ---- */

static bool is_dropped(const struct dropout *d, uint64_t row, int column)
{
    uint32_t bits[4];

    rapt__philox(d->key, (uint64_t)(column / 64 * 16 + column % 16), row, bits);
    return bits[column / 16 % 4] < d->below;
}

static void dropout_as_philox_says(void **state)
{
    enum { DROPOUT_N = 300 };
    static const uint64_t rows[] = {0, 1, 77, 5000000000u, UINT64_MAX};
    struct dropout d = {0xfedcba9876543210u, 0x60000000u, 1.6f};
    float x[DROPOUT_N], from[DROPOUT_N], y[DROPOUT_N], sum[DROPOUT_N];
    const struct kernels *k;

    (void)state;
    fill(x, DROPOUT_N, -1, 1, 1);
    fill(from, DROPOUT_N, -1, 1, 2);
    x[7] = NAN;
    for (int isa = 0; (k = kernels_at(&isa)) != NULL;)
        for (size_t j = 0; j < sizeof rows / sizeof *rows; j++) {
            k->dropout_row(&d, rows[j], x, NULL, y, DROPOUT_N);
            memcpy(sum, from, sizeof from);
            k->dropout_row(&d, rows[j], x, sum, sum, DROPOUT_N);
            for (int i = 0; i < DROPOUT_N; i++) {
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
    enum { DROPOUT_N = 1000, ROWS = 200 };
    struct dropout d = {3, 0x1999999au, 1 / 0.9f}; /* a tenth */
    float x[DROPOUT_N], y[DROPOUT_N];
    const struct kernels *k;

    (void)state;
    for (int i = 0; i < DROPOUT_N; i++) x[i] = 1;
    for (int isa = 0; (k = kernels_at(&isa)) != NULL;) {
        int gone = 0;
        for (uint64_t r = 0; r < ROWS; r++) {
            k->dropout_row(&d, r, x, NULL, y, DROPOUT_N);
            for (int i = 0; i < DROPOUT_N; i++) gone += y[i] == 0;
        }
        close_to(gone, 0.1 * DROPOUT_N * ROWS,
                 5 * sqrt(0.09 * DROPOUT_N * ROWS)); /* five standard deviations */
    }
}

static void none_if_none(void **state)
{
    enum { DROPOUT_N = 70 };
    struct dropout d = {3, 0, 1};
    float x[DROPOUT_N], y[DROPOUT_N];
    const struct kernels *k;

    (void)state;
    fill(x, DROPOUT_N, -1, 1, 1);
    for (int isa = 0; (k = kernels_at(&isa)) != NULL;) {
        k->dropout_row(&d, 5, x, NULL, y, DROPOUT_N);
        assert_memory_equal(x, y, sizeof x);
    }
}

/* ---- random: Gumbel noise is made from the words of rapt__philox and is distributed as it should
   be. ---- */

static double noise_of(uint64_t key, uint64_t row, int column)
{
    uint32_t bits[4];

    rapt__philox(key, (uint64_t)column / 4, row, bits);
    return -log(-log((bits[column % 4] / 512 + 0.5) / 8388608));
}

static void random_as_philox_says(void **state)
{
    enum { RANDOM_N = 150 };
    static const uint64_t rows[] = {0, 1, 77, 5000000000u, UINT64_MAX};
    static const int firsts[] = {0, 4, 16, 2147483000};
    const uint64_t key = 0xfedcba9876543210u;
    float x[RANDOM_N], y[RANDOM_N + 1];
    const struct kernels *k;

    (void)state;
    fill(x, RANDOM_N, -1, 1, 1);
    x[7] = -INFINITY;
    x[8] = NAN;
    for (int isa = 0; (k = kernels_at(&isa)) != NULL;)
        for (size_t j = 0; j < sizeof rows / sizeof *rows; j++)
            for (size_t f = 0; f < sizeof firsts / sizeof *firsts; f++) {
                int n = RANDOM_N - (int)(7 * f);
                for (int i = 0; i <= RANDOM_N; i++) y[i] = 5;
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
    enum { RANDOM_N = 1 << 16 };
    static float x[RANDOM_N];
    double sum = 0, squares = 0, variance = 1.6449340668;
    const struct kernels *k;

    (void)state;
    for (int isa = 0; (k = kernels_at(&isa)) != NULL; sum = squares = 0) {
        memset(x, 0, sizeof x);
        k->gumbel_row(3, 9, 0, x, x, RANDOM_N);
        for (int i = 0; i < RANDOM_N; i++) sum += (double)x[i];
        for (int i = 0; i < RANDOM_N; i++)
            squares += ((double)x[i] - sum / RANDOM_N) * ((double)x[i] - sum / RANDOM_N);
        close_to(sum / RANDOM_N, 0.5772156649, 5 * sqrt(variance / RANDOM_N));
        close_to(squares / RANDOM_N, variance,
                 5 * sqrt(4.4 / RANDOM_N) * variance); /* kurtosis 5.4 */
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_step),
        cmocka_unit_test(many_steps),
        cmocka_unit_test(dropout_as_philox_says),
        cmocka_unit_test(as_many_as_asked),
        cmocka_unit_test(none_if_none),
        cmocka_unit_test(random_as_philox_says),
        cmocka_unit_test(as_gumbel_says),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
