/* activation.c - dx = dy activation'(x) against slopes of the definition. */
#include "op/helpers.h"
#include "oracle/op.h"

struct problem {
    int kind;
    size_t n;
    float *x, *dy, *dx;
};

static void run(const struct exec_context *exec, void *argument)
{
    const struct problem *p = argument;
    rapt__activate_backward(exec, activation_of(p->kind), p->x, p->dy, p->dx, p->n);
}

struct point {
    int kind;
    double x;
};

static double at(const void *argument)
{
    const struct point *p = argument;
    return oracle_activation(p->kind, p->x);
}

static void gradients_are_slopes(void **state)
{
    static const size_t sizes[] = {0, 1, 7, 17, 130, 5000};
    (void)state;
    for (int kind = 0; kind < 3; kind++)
        for (int i = 0; i < COUNT(sizes); i++) {
            struct problem p = {kind, sizes[i], NULL, NULL, NULL};
            p.x = random_floats(p.n, 1);
            p.dy = random_floats(p.n, 2);
            p.dx = random_floats(p.n, 3);
            for (size_t j = 0; j < p.n; j++) p.x[j] = 6 * p.x[j] + (p.x[j] < 0 ? -0.01f : 0.01f);
            assert_same_bits(run, &p, p.dx, p.n);
            for (size_t j = 0; j < p.n; j++) {
                struct point point = {kind, (double)p.x[j]};
                assert_near((double)p.dx[j], (double)p.dy[j] * slope(at, &point, &point.x), 4);
            }
            free(p.x);
            free(p.dy);
            free(p.dx);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(gradients_are_slopes)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
