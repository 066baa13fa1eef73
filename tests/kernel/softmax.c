/* softmax.c - scores of keys and what is made of them. */
#include "kernel/trial.h"

/* ---- additive: a query against keys through a hidden layer, and its gradients, against the
   definition in double. ---- */

enum { WIDTH = 75, PANELS = 3, KEYS = PANELS * LANES, ALL = WIDTH * KEYS };

static float q[WIDTH], v[WIDTH], keys[ALL], hidden[ALL], additive_x[KEYS], dx[KEYS];
static float dq[WIDTH], dv[WIDTH], dkeys[ALL];

static size_t at_additive(int n, int s, int width)
{
    return (size_t)((s / LANES * width + n) * LANES + s % LANES);
}

static void prepare(uint64_t seed)
{
    fill(q, WIDTH, -1, 1, seed);
    fill(v, WIDTH, -1, 1, seed + 1);
    fill(keys, ALL, -2, 2, seed + 2);
    fill(dx, KEYS, -1, 1, seed + 3);
    fill(dq, WIDTH, -1, 1, seed + 4);
    fill(dv, WIDTH, -1, 1, seed + 5);
    fill(dkeys, ALL, -1, 1, seed + 6);
}

static void check_gradients(const struct kernels *k, const struct additive *a)
{
    float dq0[WIDTH], dv0[WIDTH], dkeys0[ALL];
    const struct additive_gradients d = {dq, dv, dkeys, a->width * LANES, LANES};
    memcpy(dq0, dq, sizeof dq), memcpy(dv0, dv, sizeof dv), memcpy(dkeys0, dkeys, sizeof dkeys);
    k->additive_row_backward(a, dx, &d);
    for (int n = 0; n < a->width; n++) {
        double query = (double)dq0[n], vector = (double)dv0[n];
        for (int s = 0; s < a->panels * LANES; s++) {
            double h = tanh((double)q[n] + (double)keys[at_additive(n, s, a->width)]);
            double g = (double)dx[s] * (double)v[n] * (1 - h * h);
            size_t i = at_additive(n, s, a->width);
            if (dx[s] == 0) g = h = 0;
            query += g, vector += (double)dx[s] * h;
            close_to((double)dkeys[i], (double)dkeys0[i] + g, 1e-6);
        }
        close_to((double)dq[n], query, 1e-5);
        close_to((double)dv[n], vector, 1e-5);
    }
}

static void by_definition(void **state)
{
    static const int widths[] = {1, 2, 7, 31, 32, 33, 64, WIDTH};
    const struct kernels *k;

    (void)state;
    for (int isa = 0; (k = kernels_at(&isa)) != NULL;)
        for (int i = 0; i < 8; i++)
            for (int panels = 0; panels <= PANELS; panels++) {
                struct additive a = {widths[i], panels, q, v, keys, NULL};
                float kept[KEYS];
                prepare((uint64_t)(i + panels));
                k->additive_row(&a, additive_x);
                a.hidden = hidden;
                k->additive_row(&a, kept);
                assert_true(same_bits(additive_x, kept, (size_t)(panels * LANES)));
                for (int s = 0; s < panels * LANES; s++) {
                    double want = 0;
                    for (int n = 0; n < a.width; n++)
                        want += (double)v[n] *
                                tanh((double)q[n] + (double)keys[at_additive(n, s, a.width)]);
                    close_to((double)additive_x[s], want, 4e-6);
                }
                check_gradients(k, &a);
            }
}

/* If dx is 0 nothing is added, whatever the key holds. */
static void hidden_keys(void **state)
{
    const struct kernels *k;

    (void)state;
    for (int isa = 0; (k = kernels_at(&isa)) != NULL;) {
        struct additive a = {WIDTH, PANELS, q, v, keys, hidden};
        prepare(3);
        for (int n = 0; n < WIDTH; n++) keys[at_additive(n, 5, WIDTH)] = n % 2 ? NAN : INFINITY;
        dx[5] = 0;
        k->additive_row(&a, additive_x);
        check_gradients(k, &a);
    }
}

/* Gradients of keys may be in plain rows. */
static void other_strides(void **state)
{
    const struct kernels *k;

    (void)state;
    for (int isa = 0; (k = kernels_at(&isa)) != NULL;) {
        static float rows[ALL], panels[ALL];
        const struct additive a = {WIDTH, PANELS, q, v, keys, hidden};
        prepare(4);
        k->additive_row(&a, additive_x);
        memset(rows, 0, sizeof rows), memset(panels, 0, sizeof panels);
        k->additive_row_backward(
            &a, dx, &(struct additive_gradients){dq, dv, panels, WIDTH * LANES, LANES});
        k->additive_row_backward(&a, dx, &(struct additive_gradients){dq, dv, rows, LANES, KEYS});
        for (int n = 0; n < WIDTH; n++)
            for (int s = 0; s < KEYS; s++)
                assert_true(rows[n * KEYS + s] == panels[at_additive(n, s, WIDTH)]);
    }
}

/* ---- softmax: exponentials, logarithms, losses and the top k of rows against their definitions.
   ---- */

static const double EPSILON = 0x1p-23;

enum { LONG = 32768 };

static float softmax_x[LONG], y[LONG];

static double max_of(const float *row, int n)
{
    double max = -INFINITY;

    for (int i = 0; i < n; i++) max = fmax(max, (double)row[i]);
    return max;
}

static double sum_of(const float *row, int n)
{
    double max = max_of(row, n), sum = 0;

    for (int i = 0; i < n; i++) sum += exp((double)row[i] - max);
    return sum;
}

static const int lengths[] = {1, 2, 15, 16, 17, 100, 513, 4000, LONG};
enum { LENGTHS = sizeof lengths / sizeof *lengths };

static void exponentials(void **state)
{
    const struct kernels *k;

    (void)state;
    for (int isa = 0; (k = kernels_at(&isa)) != NULL;)
        for (int j = 0; j < LENGTHS; j++) {
            int n = lengths[j];
            float max, sum;
            fill(softmax_x, (size_t)n, -20, 20, (uint64_t)j);
            memcpy(y, softmax_x, sizeof softmax_x);
            k->softmax_row(y, n, &max, &sum);
            assert_true((double)max == max_of(softmax_x, n));
            close_to((double)sum, sum_of(softmax_x, n), 4 * EPSILON * sum_of(softmax_x, n));
            for (int i = 0; i < n; i++) {
                double d = (double)softmax_x[i] - (double)max, want = exp(d);
                close_to((double)y[i], want, slack(k) * (1 + fabs(d) / 2) * EPSILON * want);
            }
        }
}

/* e^x by itself: the maximum is 0, so the differences are exact. The error is below 1 ulp, also for
   denormal results. */
static void exponential(void **state)
{
    const struct kernels *k;

    (void)state;
    for (int isa = 0; (k = kernels_at(&isa)) != NULL;)
        for (int part = 0; part < 20; part++) {
            float max, sum;
            fill(softmax_x, LONG, part < 10 ? -110 : -1, 0, (uint64_t)part);
            softmax_x[0] = 0, softmax_x[1] = -INFINITY, softmax_x[2] = -104, softmax_x[3] = -0.0f;
            memcpy(y, softmax_x, sizeof softmax_x);
            k->softmax_row(y, LONG, &max, &sum);
            assert_true(y[0] == 1 && y[1] == 0 && y[2] == 0 && y[3] == 1);
            for (int i = 0; i < LONG; i++) {
                double want = exp((double)softmax_x[i]);
                close_to((double)y[i], want, (is_exact(k) ? 1 : 2) * ulp(want));
            }
        }
}

static void empty_rows(void **state)
{
    const struct kernels *k;

    (void)state;
    for (int isa = 0; (k = kernels_at(&isa)) != NULL;)
        for (int n = 0; n < 40; n++) {
            float row[40], max, sum;
            for (int i = 0; i < n; i++) row[i] = -INFINITY;
            assert_true(k->log_sum_row(row, n) == -INFINITY);
            k->softmax_row(row, n, &max, &sum);
            assert_true(max == -INFINITY && sum == 0);
            for (int i = 0; i < n; i++) assert_true(row[i] == 0);
        }
}

static void not_numbers(void **state)
{
    const struct kernels *k;

    (void)state;
    for (int isa = 0; (k = kernels_at(&isa)) != NULL;)
        for (int at = 0; at < 40; at++) {
            float row[40], max, sum;
            fill(row, 40, -1, 1, 5);
            row[at] = NAN;
            assert_true(isnan(k->log_sum_row(row, 40)));
            k->softmax_row(row, 40, &max, &sum);
            assert_true(isnan(sum));
        }
}

static void log_sums(void **state)
{
    const struct kernels *k;

    (void)state;
    for (int isa = 0; (k = kernels_at(&isa)) != NULL;)
        for (int j = 0; j < LENGTHS; j++) {
            int n = lengths[j];
            fill(softmax_x, (size_t)n, -3, 12, (uint64_t)j);
            double want = max_of(softmax_x, n) + log(sum_of(softmax_x, n));
            close_to((double)k->log_sum_row(softmax_x, n), want,
                     slack(k) * 2 * EPSILON * (1 + fabs(want)));
        }
}

/* Judges sparsemax (power 1) or 1.5-entmax (power 2) in y of the scores in x: a threshold explains
   all of them, and they sum to 1. */
static void check_simplex(const struct kernels *k, int n, int power)
{
    double max = max_of(softmax_x, n), low = -1, high = 0, sum = 0, error = slack(k) * 16 * EPSILON;
    for (int i = 0; i < 60; i++) {
        double tau = (low + high) / 2;
        sum = 0;
        for (int j = 0; j < n; j++)
            sum += pow(fmax(0, ((double)softmax_x[j] - max) / power - tau), power);
        *(sum < 1 ? &high : &low) = tau;
    }
    for (int j = 0; j < n; j++)
        close_to((double)y[j], pow(fmax(0, ((double)softmax_x[j] - max) / power - low), power),
                 error);
}

static void simplex_rows(void **state)
{
    const struct kernels *k;

    (void)state;
    for (int isa = 0; (k = kernels_at(&isa)) != NULL;)
        for (int j = 0; j < 4 * LENGTHS; j++) {
            int n = lengths[j / 4], power = 1 + j % 2;
            fill(softmax_x, (size_t)n, j / 2 % 2 ? -0.01f : -5, j / 2 % 2 ? 0.01f : 5, (uint64_t)j);
            if (n > 2) softmax_x[1] = -INFINITY;
            memcpy(y, softmax_x, sizeof softmax_x);
            assert_true(k->simplex_row(y, n, power));
            check_simplex(k, n, power);
        }
}

/* Judges entmax in y of the scores in x, by the threshold found in double precision. It is sought
   as 1 - t, and powers are exp(log1p(...) / order), so that small orders lose no digits. */
static void check_entmax(const struct kernels *k, int n, float order)
{
    double max = max_of(softmax_x, n), low = 0, high = 1, error = slack(k) * 24 * EPSILON;
    for (int i = 0; i < 200; i++) {
        double t = (low + high) / 2, sum = 0;
        for (int j = 0; j < n; j++) {
            double below = fmax(-1, (double)order * ((double)softmax_x[j] - max) - t);
            sum += exp(log1p(below) / (double)order);
        }
        *(sum > 1 ? &low : &high) = t;
    }
    for (int j = 0; j < n; j++) {
        double below = fmax(-1, (double)order * ((double)softmax_x[j] - max) - low);
        close_to((double)y[j], exp(log1p(below) / (double)order), error);
    }
}

static void entmax_rows(void **state)
{
    static const float orders[] = {1, 0x1.fffffep-1f, 0.9f, 0.5f, 0.3f, 0.01f, 0x1p-10f, 0x1p-20f};
    static const float spreads[] = {0.01f, 1, 5, 300};
    const struct kernels *k;
    (void)state;
    for (int isa = 0; (k = kernels_at(&isa)) != NULL;)
        for (int j = 0; j < LENGTHS - 1; j++)
            for (int i = 0; i < 8 * 4; i++) {
                int n = lengths[j];
                fill(softmax_x, (size_t)n, -spreads[i % 4], spreads[i % 4], (uint64_t)j);
                if (n > 2) softmax_x[1] = -INFINITY;
                if (n > 16) softmax_x[5] = softmax_x[6] = spreads[i % 4]; /* two maxima */
                assert_true(k->entmax_row(softmax_x, y, n, orders[i / 4]));
                check_entmax(k, n, orders[i / 4]);
            }
}

/* Judges the gradients of the scores, in y, and of alpha (Correia, Niculae and Martins 2019). */
static void check_entmax_gradients(const struct kernels *k, const float *z, const float *dz, int n,
                                   double order, double dalpha)
{
    double all = 0, g_sum = 0, g_dz = 0, z_dz = 0, e_sum = 0, e_dz = 0, error = slack(k) * EPSILON;
    for (int i = 0; i < n; i++) all += (double)z[i];
    for (int i = 0; i < n; i++) {
        const double p = (double)z[i] / all, d = (double)dz[i], e = p > 0 ? p * log(p) : 0;
        const double g = p > 0 ? pow(p, 1 - order) : 0;
        g_sum += g, g_dz += g * d, z_dz += p * d, e_sum += e, e_dz += e * d;
    }
    const double mean = g_dz / g_sum;
    for (int i = 0; i < n; i++)
        close_to((double)y[i], z[i] > 0 ? pow(z[i] / all, 1 - order) * (dz[i] - mean) : 0,
                 64 * error);
    close_to(dalpha, (z_dz - mean) / (order * order) - (e_dz - mean * e_sum) / order, 640 * error);
}

static void entmax_gradients(void **state)
{
    static const float orders[] = {1, 0.9f, 0.5f, 0.3f, 0.01f, 0x1p-10f};
    static float z[LONG], dz[LONG], roots[LONG], curves[LONG];
    const struct kernels *k;
    (void)state;
    for (int isa = 0; (k = kernels_at(&isa)) != NULL;)
        for (int i = 0; i < (LENGTHS - 1) * 6; i++) {
            const int n = lengths[i / 6];
            fill(softmax_x, (size_t)n, -1, i % 2 ? 5 : 1, (uint64_t)i);
            if (n > 2) softmax_x[1] = -INFINITY;
            assert_true(k->entmax_row(softmax_x, z, n, orders[i % 6]));
            fill(dz, (size_t)n, -1, 1, (uint64_t)i), memcpy(y, dz, (size_t)n * sizeof *y);
            const float dalpha = k->entmax_row_backward(z, y, n, orders[i % 6], roots, curves);
            check_entmax_gradients(k, z, dz, n, (double)orders[i % 6], (double)dalpha);
        }
}

/* Sets p to sparsemax (form 0), 1.5-entmax (1) or entmax (2) of the scores. */
static bool row_of(const struct kernels *k, int form, const float *scores, float *p, int n)
{
    if (form == 2) return k->entmax_row(scores, p, n, 0.7f);
    memcpy(p, scores, (size_t)n * sizeof *p);
    return k->simplex_row(p, n, form + 1);
}

static void simplex_limits(void **state)
{
    const struct kernels *k;

    (void)state;
    for (int isa = 0; (k = kernels_at(&isa)) != NULL;)
        for (int n = 0; n < 40; n++)
            for (int form = 0; form < 3; form++) {
                float row[40], p[40];
                for (int i = 0; i < n; i++) row[i] = -INFINITY;
                assert_false(row_of(k, form, row, p, n));
                for (int i = 0; i < n; i++) assert_true(p[i] == 0);
                for (int i = 0; i < n; i++) row[i] = i % 2 ? NAN : -INFINITY;
                assert_true(row_of(k, form, row, p, n) == (n > 1));
                for (int i = 0; i < n; i++) assert_true(i % 2 ? isnan(p[i]) : p[i] == 0);
                for (int i = 0; i < n; i++) row[i] = i % 2 ? 1 : -INFINITY;
                if (n > 1) row[1] = INFINITY, row_of(k, form, row, p, n);
                for (int i = 0; i < n && n > 1; i++) assert_true(i % 2 ? isnan(p[i]) : p[i] == 0);
            }
}

static void check_loss(const struct kernels *k, int n, int label, float smoothing)
{
    const float scale = 0.125f;
    struct loss_sums sums;
    double max = max_of(softmax_x, n), sum = sum_of(softmax_x, n), log_sum = max + log(sum),
           mean = 0;
    int best = 0;

    for (int i = n - 1; i >= 0; i--)
        if ((double)softmax_x[i] == max) best = i;
    for (int i = 0; i < n; i++) mean += (log_sum - (double)softmax_x[i]) / n;
    memcpy(y, softmax_x, (size_t)n * sizeof *y);
    k->loss_row(y, n, label, smoothing, scale, &sums);

    double s = (double)smoothing, likelihood = log_sum - (double)softmax_x[label];
    double loss = (1 - s) * likelihood + s * mean, error = slack(k) * 4 * EPSILON;
    assert_int_equal(sums.best, best);
    close_to((double)sums.likelihood, likelihood, error * fmax(likelihood, 1e-30));
    close_to((double)sums.loss, loss, error * fmax(loss, 1e-30));
    for (int i = 0; i < n; i++) {
        double p = exp((double)softmax_x[i] - log_sum), want = p - (i == label ? 1 - s : 0) - s / n;
        double size = p * (1 + fabs((double)softmax_x[i] - max) / 2) + (i == label);
        close_to((double)y[i], want * (double)scale, error * (size + s / n) * (double)scale);
    }
}

static void losses(void **state)
{
    const struct kernels *k;

    (void)state;
    for (int isa = 0; (k = kernels_at(&isa)) != NULL;)
        for (int j = 0; j < LENGTHS; j++)
            for (int width = 1; width < 40; width *= 6) {
                int n = lengths[j];
                fill(softmax_x, (size_t)n, -width, width, (uint64_t)(j + width));
                softmax_x[n / 2] = softmax_x[n - 1]; /* a tie, possibly of the maximum */
                check_loss(k, n, n / 2, 0.1f);
                check_loss(k, n, n - 1, 0);
                softmax_x[n / 3] = (float)width + 3;
                check_loss(k, n, n / 3, 0.1f);
                check_loss(k, n, 0, 0.9f);
            }
}

static void check_best(const struct kernels *k, int n, int best)
{
    int index[64] = {0}, count;
    float value[64] = {0};
    bool used[600] = {false};

    count = k->top_row(softmax_x, n, best, index, value);
    for (int rank = 0; rank < best; rank++) {
        int want = -1;
        for (int i = 0; i < n; i++)
            if (!used[i] && softmax_x[i] > -INFINITY &&
                (want < 0 || softmax_x[i] > softmax_x[want]))
                want = i;
        if (want < 0) {
            assert_int_equal(count, rank);
            return;
        }
        assert_true(rank < count);
        assert_int_equal(index[rank], want);
        assert_true(value[rank] == softmax_x[want]);
        used[want] = true;
    }
    assert_int_equal(count, best);
}

static void best_of_rows(void **state)
{
    static const int sizes[] = {0, 1, 5, 16, 33, 100, 600}, bests[] = {0, 1, 2, 5, 17, 64};
    const struct kernels *k;

    (void)state;
    for (int isa = 0; (k = kernels_at(&isa)) != NULL;)
        for (int shape = 0; shape < 5; shape++)
            for (int i = 0; i < 7; i++)
                for (int j = 0; j < 6; j++) {
                    int n = sizes[i];
                    fill(softmax_x, (size_t)n, -5, 5, (uint64_t)(n + shape));
                    for (int e = 0; e < n; e++) {
                        if (shape == 1) softmax_x[e] = roundf(softmax_x[e]); /* many ties */
                        if (shape == 2) softmax_x[e] = (float)e;             /* rising */
                        if (shape == 3 && e % 3) softmax_x[e] = e % 2 ? NAN : -INFINITY;
                        if (shape == 4) softmax_x[e] = -INFINITY;
                    }
                    check_best(k, n, bests[j]);
                }
}

/* A row in pieces gives the result of the whole row. */
static void best_of_pieces(void **state)
{
    static const int splits[] = {0, 1, 16, 50, 299, 300}, bests[] = {0, 1, 2, 5, 64};
    const struct kernels *k;

    (void)state;
    for (int isa = 0; (k = kernels_at(&isa)) != NULL;)
        for (int shape = 0; shape < 4; shape++)
            for (int c = 0; c < 6; c++)
                for (int j = 0; j < 5; j++) {
                    int n = 300, split = splits[c], index[64] = {0}, want_index[64] = {0};
                    float value[64] = {0}, want[64] = {0};
                    fill(softmax_x, (size_t)n, -5, 5, (uint64_t)(7 * c + j));
                    for (int e = 0; e < n; e++) {
                        if (shape == 1) softmax_x[e] = roundf(softmax_x[e]);
                        if (shape == 2) softmax_x[e] = (float)e;
                        if (shape == 3 && e % 50) softmax_x[e] = e % 2 ? NAN : -INFINITY;
                    }
                    int all = k->top_row(softmax_x, n, bests[j], want_index, want);
                    int count = k->top_more(softmax_x, split, 0, bests[j], 0, index, value);
                    count = k->top_more(softmax_x + split, n - split, split, bests[j], count, index,
                                        value);
                    assert_int_equal(count, all);
                    assert_memory_equal(index, want_index, sizeof index);
                    assert_memory_equal(value, want, sizeof value);
                }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(by_definition),  cmocka_unit_test(hidden_keys),
        cmocka_unit_test(other_strides),  cmocka_unit_test(exponentials),
        cmocka_unit_test(exponential),    cmocka_unit_test(empty_rows),
        cmocka_unit_test(not_numbers),    cmocka_unit_test(simplex_rows),
        cmocka_unit_test(entmax_rows),    cmocka_unit_test(entmax_gradients),
        cmocka_unit_test(simplex_limits), cmocka_unit_test(log_sums),
        cmocka_unit_test(losses),         cmocka_unit_test(best_of_rows),
        cmocka_unit_test(best_of_pieces),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
