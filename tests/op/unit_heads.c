/* unit_heads.c - tests heads of length 1 against their definition in double and its difference
   quotients, with the same bits for any number of threads and every instruction set. Elements of a
   row after its heads stay as they are. */
#include "op/helpers.h"

struct problem {
    int rows, heads, width, row; /* row: distance of rows, at least heads * width */
    float *x, *dy;
    float *result; /* y and dx [rows][row], the factors, and y without factors */
};

static const float epsilon = 0.03f;

static size_t floats_of(const struct problem *p)
{
    return (size_t)p->rows * (size_t)p->row;
}

static void run_units(const struct exec_context *exec, void *argument)
{
    const struct problem *p = argument;
    const struct unit_heads n = {p->heads, p->width, p->row, epsilon};
    size_t all = floats_of(p);
    float *y = p->result, *dx = y + all, *bare = dx + all, *inverse = bare + all;
    rapt__copy(exec, p->x, all, y);
    rapt__copy(exec, p->x, all, bare);
    rapt__copy(exec, p->dy, all, dx);
    rapt__unit_heads_forward(exec, &n, p->rows, y, inverse);
    rapt__unit_heads_backward(exec, &n, p->rows, y, inverse, dx);
    rapt__unit_heads_forward(exec, &n, p->rows, bare, NULL);
}

struct unit {
    int width;
    double *x, *dy; /* [width] */
};

static double element(const struct unit *u, int i)
{
    double squares = (double)epsilon;
    for (int j = 0; j < u->width; j++) squares += u->x[j] * u->x[j];
    return u->x[i] / sqrt(squares);
}

static double unit_objective(const void *argument)
{
    const struct unit *u = argument;
    double sum = 0;
    for (int i = 0; i < u->width; i++) sum += u->dy[i] * element(u, i);
    return sum;
}

static void judge_units(struct problem *p)
{
    size_t all = floats_of(p), width = (size_t)p->width, own = (size_t)p->heads * width;
    size_t n = 3 * all + (size_t)(p->rows * p->heads);
    p->x = random_floats(all, 1), p->dy = random_floats(all, 2), p->result = floats(n);
    assert_same_bits(run_units, p, p->result, n);
    assert_memory_equal(p->result, p->result + 2 * all, all * sizeof *p->result);
    for (size_t r = 0; r < (size_t)p->rows; r++) {
        size_t row = r * (size_t)p->row;
        for (size_t at = row; at < row + own; at += width) {
            struct unit u = {p->width, doubles(p->x + at, width), doubles(p->dy + at, width)};
            for (int i = 0; i < p->width; i++)
                assert_near((double)p->result[at + (size_t)i], element(&u, i), 8);
            assert_slopes(unit_objective, &u, u.x, p->result + all + at, width, 9, 16);
            free(u.x), free(u.dy);
        }
        for (size_t i = row + own; i < row + (size_t)p->row; i++)
            assert_true(p->result[i] == p->x[i] && p->result[all + i] == p->dy[i]);
    }
    free(p->x), free(p->dy), free(p->result);
}

static void units_of_heads(void **state)
{
    (void)state;
    static const int all_rows[] = {0, 1, 9, 130}, widths[] = {1, 7, 16, 50};
    for (int i = 0; i < COUNT(all_rows) * COUNT(widths); i++) {
        struct problem p = {.rows = all_rows[i % COUNT(all_rows)],
                            .heads = 1 + i % 3,
                            .width = widths[i / COUNT(all_rows)]};
        p.row = p.heads * p.width + (i % 2 ? 5 : 0);
        judge_units(&p);
    }
}

/* The head that is 0 has no direction: epsilon keeps it and its gradient finite. */
static void zeros(void **state)
{
    (void)state;
    float x[3] = {0}, dy[] = {1, -2, 0.5f}, result[10];
    struct problem p = {1, 1, 3, 3, x, dy, result};
    run_exec(1, run_units, &p);
    for (int i = 0; i < 3; i++) {
        assert_true(result[i] == 0);
        assert_near((double)result[3 + i], (double)dy[i] / sqrt((double)epsilon), 8);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(units_of_heads), cmocka_unit_test(zeros)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
