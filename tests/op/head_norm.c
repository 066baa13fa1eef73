/* head_norm.c - tests norms of heads against their definition in double and its difference
   quotients, with the same bits for any number of threads and every instruction set. Elements of a
   row after its heads stay as they are. */
#include "op/helpers.h"

struct problem {
    int rows, heads, width, row; /* row: distance of rows, at least heads * width */
    float *x, *dy, *gain;
    float *result;
};

static size_t floats_of(const struct problem *p)
{
    return (size_t)p->rows * (size_t)p->row;
}

static const float epsilon = 0.03f;

/* The result holds y, dx, x as it was, the inverses and the gradient of the gain. */
static void run_norm(const struct exec_context *exec, void *argument)
{
    const struct problem *p = argument;
    const struct head_norm n = {p->gain, p->heads, p->width, p->row, epsilon};
    size_t all = floats_of(p);
    float *y = p->result, *dx = y + all, *raw = dx + all, *inverse = raw + all;
    float *dgain = inverse + p->rows * p->heads, *partial = dgain + p->width;
    rapt__copy(exec, p->x, all, y);
    rapt__copy(exec, p->dy, all, dx);
    rapt__head_norm_forward(exec, &n, p->rows, y, raw, inverse);
    rapt__head_norm_backward(exec, &n, p->rows, raw, inverse, dx, dgain, partial);
}

struct normed {
    int width;
    double *x, *gain, *dy; /* [width] */
};

static double element(const struct normed *n, int i)
{
    double mean = 0;
    for (int j = 0; j < n->width; j++) mean += n->x[j] * n->x[j] / n->width;
    return n->x[i] / sqrt(mean + (double)epsilon) * n->gain[i];
}

static double norm_objective(const void *argument)
{
    const struct normed *n = argument;
    double sum = 0;
    for (int i = 0; i < n->width; i++) sum += n->dy[i] * element(n, i);
    return sum;
}

/* Judges y and dx of one head, and adds its share of the gradient of the gain. */
static void judge_head(const struct problem *p, size_t at, double *dgain)
{
    size_t width = (size_t)p->width;
    const float *dx = p->result + floats_of(p);
    struct normed n = {p->width, doubles(p->x + at, width), doubles(p->gain, width),
                       doubles(p->dy + at, width)};
    for (int i = 0; i < p->width; i++) {
        assert_near((double)p->result[at + (size_t)i], element(&n, i), 8);
        dgain[i] += slope(norm_objective, &n, &n.gain[i]);
    }
    assert_slopes(norm_objective, &n, n.x, dx + at, width, 9, 16);
    free(n.x), free(n.gain), free(n.dy);
}

static void judge_norm(struct problem *p)
{
    size_t all = floats_of(p), width = (size_t)p->width, own = (size_t)p->heads * width;
    size_t partial = rapt__head_norm_partial(p->rows, p->width);
    size_t n = 3 * all + (size_t)(p->rows * p->heads) + width;
    p->x = random_floats(all, 1), p->dy = random_floats(all, 2), p->gain = random_floats(width, 3);
    p->result = floats(n + partial);
    assert_same_bits(run_norm, p, p->result, n + partial);
    double *dgain = doubles(NULL, width);
    for (size_t r = 0; r < (size_t)p->rows; r++) {
        size_t at = r * (size_t)p->row;
        for (int h = 0; h < p->heads; h++) judge_head(p, at + (size_t)h * width, dgain);
        for (size_t i = own; i < (size_t)p->row; i++) /* neither normalized nor copied */
            assert_true(p->result[at + i] == p->x[at + i] &&
                        p->result[all + at + i] == p->dy[at + i] &&
                        p->result[2 * all + at + i] == 0);
    }
    assert_all_near(p->result + n - width, dgain, width, OF_A_SUM(p->rows * p->heads) + 8);
    free(dgain), free(p->x), free(p->dy), free(p->gain), free(p->result);
}

static void norms_of_heads(void **state)
{
    (void)state;
    static const int all_rows[] = {0, 1, 9, 130}, widths[] = {1, 7, 16, 50};
    for (int i = 0; i < COUNT(all_rows) * COUNT(widths); i++) {
        struct problem p = {.rows = all_rows[i % COUNT(all_rows)],
                            .heads = 1 + i % 3,
                            .width = widths[i / COUNT(all_rows)]};
        p.row = p.heads * p.width + (i % 2 ? 5 : 0);
        judge_norm(&p);
    }
}

/* At inference neither the rows before the norm nor the inverses are kept. */
static void run_bare(const struct exec_context *exec, void *argument)
{
    const struct problem *p = argument;
    const struct head_norm n = {p->gain, p->heads, p->width, p->row, epsilon};
    rapt__copy(exec, p->x, floats_of(p), p->result);
    rapt__head_norm_forward(exec, &n, p->rows, p->result, NULL, NULL);
}

static void norms_in_place(void **state)
{
    (void)state;
    struct problem p = {.rows = 5, .heads = 2, .width = 20, .row = 40};
    size_t all = floats_of(&p), partial = rapt__head_norm_partial(p.rows, p.width);
    p.x = random_floats(all, 1), p.dy = random_floats(all, 2), p.gain = random_floats(20, 3);
    float *bare = floats(all), *full = floats(3 * all + 10 + 20 + partial);
    p.result = full, run_exec(2, run_norm, &p);
    p.result = bare, run_exec(2, run_bare, &p);
    assert_memory_equal(bare, full, all * sizeof *bare);
    free(p.x), free(p.dy), free(p.gain), free(bare), free(full);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(norms_of_heads),
        cmocka_unit_test(norms_in_place),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
