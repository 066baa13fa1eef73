/* norm.c - residual sums, dropout and normalization. */
#include "op/helpers.h"
#include "oracle/op.h"

/* ---- norm: residual sum, dropout and normalization, against their definition and its slopes. ----
 */

static const float EPSILON = 1e-3f; /* large enough to make a difference */

struct norm_problem {
    struct norm n;
    struct dropout d;
    int rows, width;
    bool with_y, with_norm, with_from, in_place;
    bool by_root; /* normalize by the root mean square, without bias */
    float *x, *y, *gain, *bias, *dy, *from, *partial;
    float *result, *sum, *out, *mean, *inverse, *dx, *dgain, *dbias; /* back to back */
    size_t size;
};

static void without_bias(struct norm_problem *p)
{
    p->by_root = true;
    p->n.bias = NULL;
}

static struct norm_problem make(int rows, int width)
{
    struct norm_problem p = {.rows = rows, .width = width, .with_norm = true};
    size_t n = (size_t)(rows * width), w = (size_t)width;
    p.x = random_floats(n, 1);
    p.y = random_floats(n, 2);
    p.gain = random_floats(w, 3);
    p.bias = random_floats(w, 4);
    p.dy = random_floats(n, 5);
    p.from = random_floats(n, 6);
    p.partial = random_floats(rapt__norm_partial(rows, width), 7);
    p.n = (struct norm){p.gain, p.bias, width, EPSILON};
    p.size = 3 * n + 2 * (size_t)rows + 2 * w;
    p.result = floats(p.size);
    p.sum = p.result;
    p.out = p.sum + n;
    p.dx = p.out + n;
    p.mean = p.dx + n;
    p.inverse = p.mean + rows;
    p.dgain = p.inverse + rows;
    p.dbias = p.dgain + w;
    return p;
}

static void drop(struct norm_problem *p)
{
    free(p->x);
    free(p->y);
    free(p->gain);
    free(p->bias);
    free(p->dy);
    free(p->from);
    free(p->partial);
    free(p->result);
}

static void run_forward(const struct exec_context *exec, void *argument)
{
    const struct norm_problem *p = argument;
    struct norm_saved saved = {p->mean, p->inverse};
    rapt__residual_norm_forward(exec, p->with_norm ? &p->n : NULL, &p->d, p->x,
                                p->with_y ? p->y : NULL, p->rows, p->width, p->sum, p->out, &saved);
}

/* Runs forward of x without y, then backward; in_place: dx overwrites dy. */
static void run_both(const struct exec_context *exec, void *argument)
{
    const struct norm_problem *p = argument;
    struct norm_saved saved = {p->mean, p->inverse};
    size_t n = (size_t)(p->rows * p->width);
    rapt__residual_norm_forward(exec, &p->n, NULL, p->x, NULL, p->rows, p->width, p->sum, p->out,
                                &saved);
    if (p->in_place && exec->team->rank == 0) memcpy(p->dx, p->dy, n * sizeof(float));
    rapt__team_barrier(exec->team);
    rapt__norm_backward(exec, &p->n, &saved, p->x, p->in_place ? p->dx : p->dy,
                        p->with_from ? p->from : NULL, p->rows, p->dx, p->dgain, p->dbias,
                        p->partial);
}

static const int all_rows[] = {0, 1, 15, 113, 200}, norm_widths[] = {1, 7, 17, 130};

static void forward_is_the_definition(void **state)
{
    (void)state;
    for (int i = 0; i < COUNT(all_rows) * COUNT(norm_widths) * 4; i++) {
        struct norm_problem p =
            make(all_rows[i % COUNT(all_rows)], norm_widths[i / 4 / COUNT(all_rows)]);
        size_t n = (size_t)(p.rows * p.width);
        p.with_y = i / COUNT(all_rows) % 2;
        if (i / COUNT(all_rows) % 4 > 1) without_bias(&p);
        assert_same_bits(run_forward, &p, p.result, p.size);
        double *x = doubles(p.x, n), *gain = doubles(p.gain, (size_t)p.width);
        double *bias = doubles(p.bias, (size_t)p.width), *out = doubles(NULL, n);
        for (size_t j = 0; p.with_y && j < n; j++) {
            x[j] += (double)p.y[j];
            assert_near((double)p.sum[j], x[j], 1);
        }
        oracle_norm(p.rows, p.width, x, gain, p.by_root ? NULL : bias, (double)EPSILON, out);
        assert_all_near(p.out, out, n, 4);
        free(x);
        free(gain);
        free(bias);
        free(out);
        drop(&p);
    }
}

/* sum = x + dropout(y), whether a norm follows or not; without one, nothing past it is written. */
static void residual_is_dropped(void **state)
{
    (void)state;
    struct norm_problem p = make(113, 130);
    size_t n = 113 * 130, dropped = 0;
    p.with_y = true;
    p.with_norm = false;
    p.d = rapt__dropout(0.5f, 9);
    assert_same_bits(run_forward, &p, p.result, p.size);
    for (size_t i = 0; i < n; i++) {
        double x = (double)p.x[i], y = (double)p.y[i], sum = (double)p.sum[i];
        dropped += p.sum[i] == p.x[i];
        assert_true(p.sum[i] == p.x[i] || within_roundings(sum, x + 2 * y, 4, 1));
        assert_true(p.out[i] == 0);
    }
    assert_true(fabs((double)dropped - 0.5 * (double)n) < 4 * sqrt(0.25 * (double)n));
    drop(&p);
}

static void rows_do_not_know_each_other(void **state)
{
    (void)state;
    struct norm_problem p = make(113, 130);
    p.with_y = true;
    run_exec(3, run_forward, &p);
    for (int r = 0; r < p.rows; r++) {
        struct norm_problem one = make(1, 130);
        one.with_y = true;
        memcpy(one.x, p.x + r * 130, 130 * sizeof(float));
        memcpy(one.y, p.y + r * 130, 130 * sizeof(float));
        run_exec(1, run_forward, &one);
        assert_memory_equal(one.sum, p.sum + r * 130, 130 * sizeof(float));
        assert_memory_equal(one.out, p.out + r * 130, 130 * sizeof(float));
        drop(&one);
    }
    drop(&p);
}

struct judged { /* sum of dy * norm(x) */
    int rows, width;
    double *x, *gain, *bias, *dy, *out; /* bias NULL: by the root mean square */
};

static double weighed(const void *argument)
{
    const struct judged *j = argument;
    double sum = 0;
    oracle_norm(j->rows, j->width, j->x, j->gain, j->bias, (double)EPSILON, j->out);
    for (int i = 0; i < j->rows * j->width; i++) sum += j->dy[i] * j->out[i];
    return sum;
}

static void check_gradients(struct norm_problem *p)
{
    size_t n = (size_t)(p->rows * p->width), w = (size_t)p->width;
    assert_same_bits(run_both, p, p->result, p->size);
    struct judged j = {p->rows,
                       p->width,
                       doubles(p->x, n),
                       doubles(p->gain, w),
                       p->by_root ? NULL : doubles(p->bias, w),
                       doubles(p->dy, n),
                       doubles(NULL, n)};
    /* x / sqrt(x^2 + epsilon) is so curved that the difference quotient itself is inaccurate */
    const double roundings = p->by_root && p->width == 1 ? 100 : 4;
    for (size_t i = 0; i<n; i += n> 100 ? n / 100 : 1) {
        double from = p->with_from ? (double)p->from[i] : 0;
        assert_near((double)p->dx[i], from + slope(weighed, &j, &j.x[i]), roundings);
    }
    assert_slopes(weighed, &j, j.gain, p->dgain, w, 8, 12);
    if (j.bias) assert_slopes(weighed, &j, j.bias, p->dbias, w, 8, 12);
    for (size_t i = 0; p->by_root && i < w; i++) assert_true(p->dbias[i] == 0);
    free(j.x);
    free(j.gain);
    free(j.bias);
    free(j.dy);
    free(j.out);
}

static void gradients_are_slopes(void **state)
{
    (void)state;
    for (int r = 0; r < COUNT(all_rows); r++)
        for (int w = 0; w < COUNT(norm_widths); w++)
            for (int kind = 0; kind < 8; kind++) {
                struct norm_problem p = make(all_rows[r], norm_widths[w]);
                p.with_from = kind % 2;
                p.in_place = kind / 2 % 2;
                if (kind > 3) without_bias(&p);
                check_gradients(&p);
                drop(&p);
            }
}

/* ---- dropout: elements are dropped by key, row and column, in the requested share, and the mean
   is preserved. ---- */

struct dropout_problem {
    struct dropout d;
    int rows, width;
    float *x, *y;
};

static void run(const struct exec_context *exec, void *argument)
{
    const struct dropout_problem *p = argument;
    rapt__dropout_rows(exec, &p->d, p->x, p->rows, p->width, p->y);
}

static void run_in_place(const struct exec_context *exec, void *argument)
{
    const struct dropout_problem *p = argument;
    rapt__dropout_rows(exec, &p->d, p->y, p->rows, p->width, p->y);
}

static void elements_are_dropped_or_scaled(void **state)
{
    static const int widths[] = {1, 7, 17, 130};
    (void)state;
    for (int i = 0; i < COUNT(widths); i++) {
        struct dropout_problem p = {rapt__dropout(0.25f, 7), 113, widths[i], NULL, NULL};
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
    struct dropout_problem p = {rapt__dropout(0.5f, 3), 15, 130, NULL, NULL};
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
    struct dropout_problem p = {rapt__dropout(0.5f, 3), 15, 130, NULL, NULL};
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
        cmocka_unit_test(forward_is_the_definition),
        cmocka_unit_test(residual_is_dropped),
        cmocka_unit_test(rows_do_not_know_each_other),
        cmocka_unit_test(gradients_are_slopes),
        cmocka_unit_test(elements_are_dropped_or_scaled),
        cmocka_unit_test(in_place_is_the_same),
        cmocka_unit_test(keys_differ_and_zero_drops_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
