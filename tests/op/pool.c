/* pool.c - pools rows of a sequence to one and back, against the definition, with the same bits for
   any number of threads and every instruction set. */
#include "op/helpers.h"

enum { BATCH = 5, ROWS = 9 + 1 + 0 + 33 + 4 };
static const int starts[] = {0, 9, 10, 10, 43, 47};

struct problem {
    struct pool pool;
    float *x, *dy;
    float *result; /* y [BATCH][width], then dx [ROWS][width] */
};

static void run(const struct exec_context *exec, void *argument)
{
    const struct problem *p = argument;
    rapt__pool_forward(exec, &p->pool, p->x, p->result);
    rapt__pool_backward(exec, &p->pool, p->dy, p->result + BATCH * p->pool.width);
}

static void compare(const struct problem *p, int b, int j)
{
    int width = p->pool.width, first = starts[b], rows = starts[b + 1] - first;
    double sum = 0, share = p->pool.mean ? 1.0 / rows : 0;
    const float *dx = p->result + BATCH * width;
    for (int r = first; r < first + rows; r++) sum += (double)p->x[r * width + j];
    double wanted = p->pool.mean ? sum / rows : (double)p->x[first * width + j];
    if (rows == 0) wanted = 0;
    assert_near((double)p->result[b * width + j], wanted, OF_A_SUM(rows));
    for (int r = first; r < first + rows; r++) {
        double part = p->pool.mean ? share : r == first;
        assert_near((double)dx[r * width + j], part * (double)p->dy[b * width + j], 2);
    }
}

static void pools_are_the_definition(void **state)
{
    (void)state;
    static const int widths[] = {1, 7, 16, 130};
    for (int mean = 0; mean < 2; mean++)
        for (int i = 0; i < COUNT(widths); i++) {
            size_t width = (size_t)widths[i], size = (BATCH + ROWS) * width;
            struct problem p = {.pool = {mean, BATCH, widths[i], starts}};
            p.x = random_floats(ROWS * width, 1);
            p.dy = random_floats(BATCH * width, 2);
            p.result = random_floats(size, 3);
            assert_same_bits(run, &p, p.result, size);
            for (int b = 0; b < BATCH; b++)
                for (int j = 0; j < widths[i]; j++) compare(&p, b, j);
            free(p.x);
            free(p.dy);
            free(p.result);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(pools_are_the_definition)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
