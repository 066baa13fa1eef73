/* recurrent.c - a simpler simple recurrent unit against its definition and difference quotients of
   it, with the same bits for any number of threads, every instruction set, and one call or
   several. */
#include "op/helpers.h"

enum { BATCH = 4 };

struct problem {
    struct ssru s;
    int rows;
    float *x, *dy;
    float *
        result; /* cells, y, dcells [rows][width] each, dx [rows][2 width], states [batch][width] */
};

static size_t size_of(const struct problem *p)
{
    return (size_t)p->rows * (size_t)p->s.width;
}

static void run(const struct exec_context *exec, void *argument)
{
    const struct problem *p = argument;
    size_t n = size_of(p);
    float *cells = p->result, *y = cells + n, *dcells = y + n, *dx = dcells + n,
          *states = dx + 2 * n;
    struct ssru carried = p->s;
    rapt__ssru_forward(exec, &p->s, p->x, cells, y);
    rapt__activate_backward(exec, ACTIVATION_RELU, cells, p->dy, dcells, n);
    rapt__ssru_backward(exec, &p->s, p->x, cells, dcells, dx);
    rapt__fill(exec, states, (size_t)(BATCH * p->s.width), 0);
    carried.states = states;
    rapt__ssru_forward(exec, &carried, p->x, cells, y);
}

/* Returns the sum over rows [first, end) of dy max(c, 0) in one column, with x[at] changed by h. */
static double loss(const struct problem *p, int first, int end, int column, size_t at, double h,
                   double *cell)
{
    double c = 0, sum = 0;
    size_t w = (size_t)p->s.width;
    for (int r = first; r < end; r++) {
        size_t i = 2 * (size_t)r * w + (size_t)column;
        double x = (double)p->x[i] + (i == at ? h : 0);
        double z = (double)p->x[i + w] + (i + w == at ? h : 0), f = 1 / (1 + exp(-z));
        c = f * c + (1 - f) * x;
        if (cell) cell[r] = c;
        sum += (double)p->dy[(size_t)r * w + (size_t)column] * fmax(c, 0);
    }
    return sum;
}

static void compare_column(const struct problem *p, int b, int column)
{
    double cell[64];
    size_t n = size_of(p), w = (size_t)p->s.width;
    int first = p->s.starts[b], end = p->s.starts[b + 1];
    loss(p, first, end, column, SIZE_MAX, 0, cell);
    for (int r = first; r < end; r++) {
        size_t i = (size_t)r * w + (size_t)column;
        assert_near((double)p->result[i], cell[r], 8);
        assert_near((double)p->result[n + i], fmax(cell[r], 0), 8);
        for (size_t gate = 0; gate < 2; gate++) {
            size_t at = 2 * (size_t)r * w + gate * w + (size_t)column;
            double up = loss(p, first, end, column, at, 1e-5, NULL),
                   down = loss(p, first, end, column, at, -1e-5, NULL);
            assert_near((double)p->result[3 * n + at], (up - down) / 2e-5, 64);
        }
    }
    float last = p->result[5 * n + (size_t)b * w + (size_t)column];
    float wanted = end > first ? p->result[(size_t)(end - 1) * w + (size_t)column] : 0;
    assert_true(last == wanted);
}

static struct problem make(const int *starts, int width)
{
    struct problem p = {.s = {BATCH, width, starts, NULL}, .rows = starts[BATCH]};
    size_t n = size_of(&p);
    p.x = random_floats(2 * n, 1);
    p.dy = random_floats(n, 2);
    p.result = random_floats(5 * n + (size_t)(BATCH * width), 3);
    for (size_t j = 0; j < 2 * n; j++) p.x[j] = 3 * p.x[j];
    return p;
}

static void drop(struct problem *p)
{
    free(p->x);
    free(p->dy);
    free(p->result);
}

static const int all_starts[][BATCH + 1] = {
    {0, 0, 0, 0, 0}, {0, 1, 1, 2, 2}, {0, 7, 7, 15, 16}, {0, 30, 31, 33, 50}};
static const int widths[] = {1, 7, 16, 50};

static void unit_is_the_definition(void **state)
{
    (void)state;
    for (int i = 0; i < COUNT(all_starts) * COUNT(widths); i++) {
        struct problem p = make(all_starts[i % COUNT(all_starts)], widths[i / COUNT(all_starts)]);
        assert_same_bits(run, &p, p.result, 5 * size_of(&p) + (size_t)(BATCH * p.s.width));
        for (int b = 0; b < BATCH; b++)
            for (int j = 0; j < p.s.width; j++) compare_column(&p, b, j);
        drop(&p);
    }
}

struct parts { /* the last problem in two calls, of which the first ends before row `cut` */
    const struct problem *p;
    int cut;
    float *cells, *y, *states;
};

static void run_parts(const struct exec_context *exec, void *argument)
{
    const struct parts *t = argument;
    const struct problem *p = t->p;
    size_t w = (size_t)p->s.width;
    int starts[BATCH + 1] = {0};
    struct ssru s = {1, p->s.width, starts, t->states};
    starts[1] = t->cut;
    rapt__ssru_forward(exec, &s, p->x, t->cells, t->y);
    starts[1] = p->s.starts[1] - t->cut;
    rapt__ssru_forward(exec, &s, p->x + 2 * (size_t)t->cut * w, t->cells + (size_t)t->cut * w,
                       t->y + (size_t)t->cut * w);
}

static void parts_give_the_same_bits(void **state)
{
    (void)state;
    struct problem p = make(all_starts[3], 50);
    size_t n = 30 * 50;
    run_exec(1, run, &p);
    for (int cut = 0; cut <= 30; cut += 5) {
        struct parts t = {&p, cut, floats(n), floats(n), floats(50)};
        run_exec(2, run_parts, &t);
        assert_memory_equal(t.cells, p.result, n * sizeof(float));
        assert_memory_equal(t.y, p.result + size_of(&p), n * sizeof(float));
        free(t.cells);
        free(t.y);
        free(t.states);
    }
    drop(&p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(unit_is_the_definition),
                                       cmocka_unit_test(parts_give_the_same_bits)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
