/* output_gate.c - tests gates of outputs against their definition in double and its difference
   quotients, with the same bits for any number of threads and every instruction set. */
#include "op/helpers.h"

struct problem {
    int rows;
    struct output_gate gate;
    float *z, *x, *dy;
    float *result; /* y, dx and dz */
};

static size_t gates_of(const struct problem *p)
{
    return (size_t)p->rows * (size_t)p->gate.gates;
}

static void run_gate(const struct exec_context *exec, void *argument)
{
    const struct problem *p = argument;
    size_t all = gates_of(p) * (size_t)p->gate.width;
    float *dx = p->result + all, *dz = dx + all;
    rapt__output_gate_forward(exec, &p->gate, p->rows, p->z, p->x, p->result);
    rapt__output_gate_backward(exec, &p->gate, p->rows, p->z, p->x, p->dy, dz, dx);
}

struct gated {
    double x, z, dy;
};

static double objective(const void *argument)
{
    const struct gated *g = argument;
    return g->dy * g->x / (1 + exp(-g->z));
}

static void judge(struct problem *p)
{
    size_t gates = gates_of(p), width = (size_t)p->gate.width, all = gates * width;
    p->x = random_floats(all, 1), p->dy = random_floats(all, 2), p->z = random_floats(gates, 3);
    for (size_t i = 0; i < gates; i++) p->z[i] *= 4;
    p->result = floats(2 * all + gates);
    assert_same_bits(run_gate, p, p->result, 2 * all + gates);
    for (size_t g = 0; g < gates; g++) {
        double dz = 0;
        for (size_t i = g * width; i < (g + 1) * width; i++) {
            struct gated one = {(double)p->x[i], (double)p->z[g], (double)p->dy[i]};
            assert_near((double)p->result[i], one.x / (1 + exp(-one.z)), 4);
            assert_near((double)p->result[all + i], slope(objective, &one, &one.x), 8);
            dz += slope(objective, &one, &one.z);
        }
        assert_near((double)p->result[2 * all + g], dz, OF_A_SUM((double)width) + 4);
    }
    free(p->x), free(p->dy), free(p->z), free(p->result);
}

/* More gates than are computed together, and widths with and without whole vectors. */
static void gates(void **state)
{
    (void)state;
    static const int all_rows[] = {0, 1, 9}, counts[] = {1, 5, 130}, widths[] = {1, 7, 64};
    for (int i = 0; i < COUNT(all_rows); i++)
        for (int j = 0; j < COUNT(counts); j++)
            for (int k = 0; k < COUNT(widths); k++) {
                struct problem p = {.rows = all_rows[i], .gate = {counts[j], widths[k]}};
                judge(&p);
            }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(gates)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
