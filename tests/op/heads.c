/* heads.c - operations on the heads of rows: linear maps, copies and sums, norms, and vectors of
   length 1. */
#include "op/helpers.h"

/* ---- maps: tests linear maps of heads against their definition in double, and copies and sums of
   heads exactly, with the same bits for any number of threads and every instruction set. Elements
   between heads and rows stay as they are. ---- */

enum { GAP = 3 }; /* floats between heads, and after the last one */

struct maps_problem {
    int rows, heads, in, out;
    ptrdiff_t x_head, x_row, y_head, y_row;
    float *x, *w, *panels, *dy; /* w [heads][out][in] */
    float *y, *dx, *dweight;    /* back to back; dweight in panels */
    size_t size;
};

static struct maps_problem make(int rows, int heads, int in, int out)
{
    struct maps_problem p = {.rows = rows, .heads = heads, .in = in, .out = out};
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

static void drop(struct maps_problem *p)
{
    free(p->x), free(p->w), free(p->panels), free(p->dy), free(p->y);
}

static void run_map(const struct exec_context *exec, void *argument)
{
    const struct maps_problem *p = argument;
    const struct head_map m = {.all = {.weight = p->panels, .in = p->in, .out = p->heads * p->out},
                               .heads = p->heads,
                               .x_head = p->x_head,
                               .x_row = p->x_row,
                               .y_head = p->y_head,
                               .y_row = p->y_row};
    rapt__head_map_forward(exec, &m, p->rows, p->x, p->y);
    rapt__head_map_backward(exec, &m, p->rows, p->x, p->dy, p->dx, p->dweight);
}

static double weight_of(const struct maps_problem *p, int h, int o, int i)
{
    return (double)p->w[(h * p->out + o) * p->in + i];
}

static void judge_row(const struct maps_problem *p, int h, int r)
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
static void judge_weights(const struct maps_problem *p, const float *before, int h)
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
static void assert_gaps(const struct maps_problem *p, const float *x, ptrdiff_t head, ptrdiff_t row,
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
        struct maps_problem p = make(all_rows[n % COUNT(all_rows)], 1 + n % 3,
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
    const struct maps_problem *p = argument;
    rapt__heads_copy(exec, p->heads, p->in, p->rows, p->x, p->x_head, p->x_row, p->y, p->y_head,
                     p->y_row);
    rapt__rows_add(exec, p->in, p->rows, p->dy, p->in + 1, p->y, p->y_row);
}

static void copies(void **state)
{
    (void)state;
    for (int n = 0; n < 4; n++) {
        struct maps_problem p = make(n * 11, 2, 5 + n, 16);
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

/* ---- norms: tests norms of heads against their definition in double and its difference quotients,
   with the same bits for any number of threads and every instruction set. Elements of a row after
   its heads stay as they are. ---- */

struct norms_problem {
    int rows, heads, width, row; /* row: distance of rows, at least heads * width */
    float *x, *dy, *gain;
    float *result;
};

static size_t floats_of_norms(const struct norms_problem *p)
{
    return (size_t)p->rows * (size_t)p->row;
}

static const float epsilon = 0.03f;

/* The result holds y, dx, x as it was, the inverses and the gradient of the gain. */
static void run_norm(const struct exec_context *exec, void *argument)
{
    const struct norms_problem *p = argument;
    const struct head_norm n = {p->gain, p->heads, p->width, p->row, epsilon};
    size_t all = floats_of_norms(p);
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

static double element_norms(const struct normed *n, int i)
{
    double mean = 0;
    for (int j = 0; j < n->width; j++) mean += n->x[j] * n->x[j] / n->width;
    return n->x[i] / sqrt(mean + (double)epsilon) * n->gain[i];
}

static double norm_objective(const void *argument)
{
    const struct normed *n = argument;
    double sum = 0;
    for (int i = 0; i < n->width; i++) sum += n->dy[i] * element_norms(n, i);
    return sum;
}

/* Judges y and dx of one head, and adds its share of the gradient of the gain. */
static void judge_head(const struct norms_problem *p, size_t at, double *dgain)
{
    size_t width = (size_t)p->width;
    const float *dx = p->result + floats_of_norms(p);
    struct normed n = {p->width, doubles(p->x + at, width), doubles(p->gain, width),
                       doubles(p->dy + at, width)};
    for (int i = 0; i < p->width; i++) {
        assert_near((double)p->result[at + (size_t)i], element_norms(&n, i), 8);
        dgain[i] += slope(norm_objective, &n, &n.gain[i]);
    }
    assert_slopes(norm_objective, &n, n.x, dx + at, width, 9, 16);
    free(n.x), free(n.gain), free(n.dy);
}

static void judge_norm(struct norms_problem *p)
{
    size_t all = floats_of_norms(p), width = (size_t)p->width, own = (size_t)p->heads * width;
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
        struct norms_problem p = {.rows = all_rows[i % COUNT(all_rows)],
                                  .heads = 1 + i % 3,
                                  .width = widths[i / COUNT(all_rows)]};
        p.row = p.heads * p.width + (i % 2 ? 5 : 0);
        judge_norm(&p);
    }
}

/* At inference neither the rows before the norm nor the inverses are kept. */
static void run_bare(const struct exec_context *exec, void *argument)
{
    const struct norms_problem *p = argument;
    const struct head_norm n = {p->gain, p->heads, p->width, p->row, epsilon};
    rapt__copy(exec, p->x, floats_of_norms(p), p->result);
    rapt__head_norm_forward(exec, &n, p->rows, p->result, NULL, NULL);
}

static void norms_in_place(void **state)
{
    (void)state;
    struct norms_problem p = {.rows = 5, .heads = 2, .width = 20, .row = 40};
    size_t all = floats_of_norms(&p), partial = rapt__head_norm_partial(p.rows, p.width);
    p.x = random_floats(all, 1), p.dy = random_floats(all, 2), p.gain = random_floats(20, 3);
    float *bare = floats(all), *full = floats(3 * all + 10 + 20 + partial);
    p.result = full, run_exec(2, run_norm, &p);
    p.result = bare, run_exec(2, run_bare, &p);
    assert_memory_equal(bare, full, all * sizeof *bare);
    free(p.x), free(p.dy), free(p.gain), free(bare), free(full);
}

/* ---- unit heads: tests heads of length 1 against their definition in double and its difference
   quotients, with the same bits for any number of threads and every instruction set. Elements of a
   row after its heads stay as they are. ---- */

struct unit_heads_problem {
    int rows, heads, width, row; /* row: distance of rows, at least heads * width */
    float *x, *dy;
    float *result; /* y and dx [rows][row], the factors, and y without factors */
};

static size_t floats_of_unit_heads(const struct unit_heads_problem *p)
{
    return (size_t)p->rows * (size_t)p->row;
}

static void run_units(const struct exec_context *exec, void *argument)
{
    const struct unit_heads_problem *p = argument;
    const struct unit_heads n = {p->heads, p->width, p->row, epsilon};
    size_t all = floats_of_unit_heads(p);
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

static double element_unit_heads(const struct unit *u, int i)
{
    double squares = (double)epsilon;
    for (int j = 0; j < u->width; j++) squares += u->x[j] * u->x[j];
    return u->x[i] / sqrt(squares);
}

static double unit_objective(const void *argument)
{
    const struct unit *u = argument;
    double sum = 0;
    for (int i = 0; i < u->width; i++) sum += u->dy[i] * element_unit_heads(u, i);
    return sum;
}

static void judge_units(struct unit_heads_problem *p)
{
    size_t all = floats_of_unit_heads(p), width = (size_t)p->width, own = (size_t)p->heads * width;
    size_t n = 3 * all + (size_t)(p->rows * p->heads);
    p->x = random_floats(all, 1), p->dy = random_floats(all, 2), p->result = floats(n);
    assert_same_bits(run_units, p, p->result, n);
    assert_memory_equal(p->result, p->result + 2 * all, all * sizeof *p->result);
    for (size_t r = 0; r < (size_t)p->rows; r++) {
        size_t row = r * (size_t)p->row;
        for (size_t at = row; at < row + own; at += width) {
            struct unit u = {p->width, doubles(p->x + at, width), doubles(p->dy + at, width)};
            for (int i = 0; i < p->width; i++)
                assert_near((double)p->result[at + (size_t)i], element_unit_heads(&u, i), 8);
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
        struct unit_heads_problem p = {.rows = all_rows[i % COUNT(all_rows)],
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
    struct unit_heads_problem p = {1, 1, 3, 3, x, dy, result};
    run_exec(1, run_units, &p);
    for (int i = 0; i < 3; i++) {
        assert_true(result[i] == 0);
        assert_near((double)result[3 + i], (double)dy[i] / sqrt((double)epsilon), 8);
    }
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(maps),           cmocka_unit_test(copies),
        cmocka_unit_test(norms_of_heads), cmocka_unit_test(norms_in_place),
        cmocka_unit_test(units_of_heads), cmocka_unit_test(zeros),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
