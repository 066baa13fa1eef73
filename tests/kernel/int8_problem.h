/* int8_problem.h - shared by the tests of 8-bit products: operands of a product between fences. */
#ifndef RAPT_TESTS_KERNEL_INT8_PROBLEM_H
#define RAPT_TESTS_KERNEL_INT8_PROBLEM_H

#include "kernel/int8_forms.h"

enum { MAX_ROWS = 70, MAX_COLUMNS = 72, MAX_DEPTH = 300 };

struct matrices { /* operands of a product, between fences */
    struct fenced q, q_scale, q_sum, w, w_scale, bias, y;
};

static inline int make_matrices(void **state)
{
    struct matrices *m = calloc(1, sizeof *m);
    m->q = fenced_make(MAX_ROWS * (MAX_DEPTH + 3 * INT8_LINE) / 4);
    m->q_scale = fenced_make(MAX_ROWS);
    m->q_sum = fenced_make(MAX_ROWS);
    m->w = fenced_make((MAX_COLUMNS + LANES) * (MAX_DEPTH + INT8_GROUP) / 4);
    m->w_scale = fenced_make(MAX_COLUMNS);
    m->bias = fenced_make(MAX_COLUMNS);
    m->y = fenced_make(MAX_ROWS * MAX_COLUMNS);
    *state = m;
    return 0;
}

static inline int drop_matrices(void **state)
{
    struct matrices *m = *state;
    fenced_free(&m->q), fenced_free(&m->q_scale), fenced_free(&m->q_sum);
    fenced_free(&m->w), fenced_free(&m->w_scale), fenced_free(&m->bias), fenced_free(&m->y);
    free(m);
    return 0;
}

struct shape {
    int rows, columns, depth;
    bool bias;
    bool extreme; /* every number is 127 or -127 */
    bool add;     /* add the products to y, instead of to a bias */
};

static inline int number(const struct shape *s, uint64_t key, size_t i)
{
    double u = uniform(key, i);
    return s->extreme ? (u < 0.5 ? -127 : 127) : (int)(u * 255) - 127;
}

static inline int q_at(const struct shape *s, int r, int k)
{
    return number(s, 1, (size_t)(r * MAX_DEPTH + k));
}
static inline int w_at(const struct shape *s, int n, int k)
{
    return number(s, 2, (size_t)(n * MAX_DEPTH + k));
}

/* Describes the product. The rows of q are as close as they may be. */
static inline struct int8_block set_up(const struct matrices *m, const struct shape *s)
{
    size_t rows = (size_t)s->rows, columns = (size_t)s->columns;
    size_t padded = rapt__round_up_size((size_t)s->depth, INT8_GROUP);
    size_t panels = rapt__ceil_div_size(columns, LANES), panel = rapt__int8_panel(s->depth);
    int8_t *q = (int8_t *)fenced_floats(&m->q, rows * padded / 4, true);
    int8_t *w = (int8_t *)fenced_floats(&m->w, panels * panel / 4, true);
    float *q_scale = fenced_floats(&m->q_scale, rows, true);
    int32_t *q_sum = (int32_t *)fenced_floats(&m->q_sum, rows, true);
    float *w_scale = fenced_floats(&m->w_scale, columns, true);
    float *bias = fenced_floats(&m->bias, columns, true);

    fill(q_scale, rows, 0, 1, 3);
    fill(w_scale, columns, 0, 0.1, 4);
    fill(bias, columns, -1, 1, 5);
    memset(q, 0, rows * padded);
    memset(w, 0, panels * panel);
    for (int r = 0; r < s->rows; r++) {
        q_sum[r] = 0;
        for (int k = 0; k < s->depth; k++) {
            q[(size_t)r * padded + (size_t)k] = (int8_t)q_at(s, r, k);
            q_sum[r] += q_at(s, r, k);
        }
    }
    for (int n = 0; n < s->columns; n++)
        for (int k = 0; k < s->depth; k++)
            w[(size_t)(n / LANES) * panel + (size_t)(k / 4 * 64 + n % LANES * 4 + k % 4)] =
                (int8_t)w_at(s, n, k);
    return (struct int8_block){.rows = s->rows,
                               .columns = s->columns,
                               .depth = s->depth,
                               .q = q,
                               .q_row = (ptrdiff_t)padded,
                               .q_scale = q_scale,
                               .q_sum = q_sum,
                               .w = w,
                               .w_scale = w_scale,
                               .bias = s->bias && !s->add ? bias : NULL,
                               .add = s->add,
                               .y = fenced_floats(&m->y, rows * columns, true),
                               .y_row = s->columns};
}

#endif
