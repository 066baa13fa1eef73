/* head_map.c - tests linear maps of heads against their definition in double, and copies and sums
   of heads exactly, with the same bits for any number of threads and every instruction set.
   Elements between heads and rows stay as they are. */
#include "op/helpers.h"

enum { GAP = 3 }; /* floats between heads, and after the last one */

struct problem {
    int rows, heads, in, out;
    ptrdiff_t x_head, x_row, y_head, y_row;
    float *x, *w, *panels, *dy; /* w [heads][out][in] */
    float *y, *dx, *dweight;    /* back to back; dweight in panels */
    size_t size;
};

static struct problem make(int rows, int heads, int in, int out)
{
    struct problem p = {.rows = rows, .heads = heads, .in = in, .out = out};
    p.x_head = in + GAP, p.y_head = out + GAP;
    p.x_row = heads * p.x_head + 1, p.y_row = heads * p.y_head;
    size_t xs = (size_t)(rows * p.x_row), ys = (size_t)(rows * p.y_row);
    size_t ws = (size_t)(heads * out * in);
    p.x = random_floats(xs, 1), p.w = random_floats(ws, 2), p.dy = random_floats(ys, 3);
    p.panels = to_panels(p.w, heads * out, in);
    p.size = xs + ys + ws;
    p.y = random_floats(p.size, 4);
    p.dx = p.y + ys, p.dweight = p.dx + xs;
    return p;
}

static void drop(struct problem *p)
{
    free(p->x), free(p->w), free(p->panels), free(p->dy), free(p->y);
}

static void run_map(const struct exec_context *exec, void *argument)
{
    const struct problem *p = argument;
    const struct head_map m = {.all = {.weight = p->panels, .in = p->in, .out = p->heads * p->out},
                               .heads = p->heads,
                               .x_head = p->x_head,
                               .x_row = p->x_row,
                               .y_head = p->y_head,
                               .y_row = p->y_row};
    rapt__head_map_forward(exec, &m, p->rows, p->x, p->y);
    rapt__head_map_backward(exec, &m, p->rows, p->x, p->dy, p->dx, p->dweight);
}

static double weight_of(const struct problem *p, int h, int o, int i)
{
    return (double)p->w[(h * p->out + o) * p->in + i];
}

static void judge_row(const struct problem *p, int h, int r)
{
    const float *x = p->x + r * p->x_row + h * p->x_head;
    const float *dy = p->dy + r * p->y_row + h * p->y_head;
    for (int o = 0; o < p->out; o++) {
        double sum = 0;
        for (int i = 0; i < p->in; i++) sum += weight_of(p, h, o, i) * (double)x[i];
        assert_near((double)p->y[r * p->y_row + h * p->y_head + o], sum, OF_A_SUM(p->in));
    }
    for (int i = 0; i < p->in; i++) {
        double sum = 0;
        for (int o = 0; o < p->out; o++) sum += weight_of(p, h, o, i) * (double)dy[o];
        assert_near((double)p->dx[r * p->x_row + h * p->x_head + i], sum, OF_A_SUM(p->out));
    }
}

/* The gradient is added to what the array held. */
static void judge_weights(const struct problem *p, const float *before, int h)
{
    for (int o = 0; o < p->out; o++)
        for (int i = 0; i < p->in; i++) {
            size_t at = panel_index(p->in, h * p->out + o, i);
            double sum = (double)before[at];
            for (int r = 0; r < p->rows; r++)
                sum += (double)p->dy[r * p->y_row + h * p->y_head + o] *
                       (double)p->x[r * p->x_row + h * p->x_head + i];
            assert_near((double)p->dweight[at], sum, OF_A_SUM(p->rows));
        }
}

/* Fails if what follows a head of `width` has changed. */
static void assert_gaps(const struct problem *p, const float *x, ptrdiff_t head, ptrdiff_t row,
                        int width)
{
    for (int r = 0; r < p->rows; r++)
        for (int h = 0; h < p->heads; h++)
            for (int i = width; i < width + GAP; i++) {
                const float *at = x + r * row + h * head + i;
                assert_true(*at == random_float(4, (size_t)(at - p->y)));
            }
}

static void maps(void **state)
{
    (void)state;
    static const int all_rows[] = {0, 1, 9, 70}, widths[] = {1, 7, 16, 50};
    for (int n = 0; n < COUNT(all_rows) * COUNT(widths); n++) {
        struct problem p = make(all_rows[n % COUNT(all_rows)], 1 + n % 3,
                                widths[n / COUNT(all_rows)], n % 2 ? 16 : 48);
        float *before = random_floats(p.size, 4);
        assert_same_bits(run_map, &p, p.y, p.size);
        for (int h = 0; h < p.heads; h++) {
            for (int r = 0; r < p.rows; r++) judge_row(&p, h, r);
            judge_weights(&p, before + (p.dweight - p.y), h);
        }
        assert_gaps(&p, p.y, p.y_head, p.y_row, p.out);
        assert_gaps(&p, p.dx, p.x_head, p.x_row, p.in);
        free(before);
        drop(&p);
    }
}

/* Copies the heads of x to y, and adds dy, taken as rows that are in + 1 apart, to the first head
 * of y. */
static void run_copy(const struct exec_context *exec, void *argument)
{
    const struct problem *p = argument;
    rapt__heads_copy(exec, p->heads, p->in, p->rows, p->x, p->x_head, p->x_row, p->y, p->y_head,
                     p->y_row);
    rapt__rows_add(exec, p->in, p->rows, p->dy, p->in + 1, p->y, p->y_row);
}

static void copies(void **state)
{
    (void)state;
    for (int n = 0; n < 4; n++) {
        struct problem p = make(n * 11, 2, 5 + n, 16);
        assert_same_bits(run_copy, &p, p.y, p.size);
        for (int r = 0; r < p.rows; r++)
            for (int i = 0; i < p.in; i++) {
                const float *x = p.x + r * p.x_row + i, *y = p.y + r * p.y_row + i;
                assert_true(y[0] == x[0] + p.dy[r * (p.in + 1) + i]);
                assert_true(y[p.y_head] == x[p.x_head]);
            }
        assert_gaps(&p, p.y, p.y_head, p.y_row, p.in);
        drop(&p);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(maps), cmocka_unit_test(copies)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
