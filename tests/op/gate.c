/* gate.c - y = activation(x) gate and the gradients of both, against the definition and its slopes,
   with the same bits for any number of threads and every instruction set. */
#include "op/helpers.h"
#include "oracle/op.h"

struct problem {
    int kind, rows, width;
    float *x, *dy;
    float *result; /* y [rows][width], then dx [rows][2 width] */
};

static void run(const struct exec_context *exec, void *argument)
{
    const struct problem *p = argument;
    rapt__gate_forward(exec, activation_of(p->kind), p->x, p->rows, p->width, p->result);
    rapt__gate_backward(exec, activation_of(p->kind), p->x, p->dy, p->rows, p->width,
                        p->result + p->rows * p->width);
}

struct point {
    int kind;
    double x, gate;
};

static double at(const void *argument)
{
    const struct point *p = argument;
    return oracle_activation(p->kind, p->x) * p->gate;
}

static void compare(const struct problem *p, int r, int j)
{
    const float *x = p->x + 2 * r * p->width;
    const float *dx = p->result + p->rows * p->width + 2 * r * p->width;
    struct point point = {p->kind, (double)x[j], (double)x[p->width + j]};
    double dy = (double)p->dy[r * p->width + j];
    assert_near((double)p->result[r * p->width + j], at(&point), 4);
    assert_near((double)dx[j], dy * slope(at, &point, &point.x), 8);
    assert_near((double)dx[p->width + j], dy * slope(at, &point, &point.gate), 8);
}

static void gates_are_the_definition(void **state)
{
    (void)state;
    static const int all_rows[] = {0, 1, 9, 70}, widths[] = {1, 7, 16, 50};
    for (int kind = 0; kind < 3; kind++)
        for (int i = 0; i < COUNT(all_rows) * COUNT(widths); i++) {
            struct problem p = {
                kind, all_rows[i % COUNT(all_rows)], widths[i / COUNT(all_rows)], NULL, NULL, NULL};
            size_t n = (size_t)(p.rows * p.width);
            p.x = random_floats(2 * n, 1);
            p.dy = random_floats(n, 2);
            p.result = random_floats(3 * n, 3);
            for (size_t j = 0; j < 2 * n; j++) p.x[j] = 3 * p.x[j] + (p.x[j] < 0 ? -0.01f : 0.01f);
            assert_same_bits(run, &p, p.result, 3 * n);
            for (int r = 0; r < p.rows; r++)
                for (int j = 0; j < p.width; j++) compare(&p, r, j);
            free(p.x);
            free(p.dy);
            free(p.result);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(gates_are_the_definition)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
