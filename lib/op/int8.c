/* int8.c - y = x W' + b for whole arrays in 8-bit arithmetic, which kernel/int8.h defines.

   As many rows of x as fit are quantized into the buffer `pack` and then multiplied. y is divided
   into units as in gemm_builtin.c. A unit is computed over the whole depth: the kernel scales sums
   and adds the bias in registers, and the activation is applied while the results are in the cache.
   Each row is quantized separately, and sums are exact, so the division does not affect the
   bits. */
#include "kernel/int8.h"
#include "op/gemm.h"

#include <assert.h>

enum { TERMS = 2 };

struct quantized { /* quantized rows, in the buffer `pack` */
    int terms;     /* 1 or TERMS */
    int size;      /* bytes per element: 1, or q_size if the rows are rearranged for a product */
    float *scale[TERMS];
    int32_t *sum[TERMS]; /* q_sum of each row */
    int8_t *q[TERMS];    /* rows, `row` bytes apart */
    ptrdiff_t row;
};

/* Returns the distance in bytes between quantized rows. */
static ptrdiff_t row_size(int depth, int size)
{
    return rapt__int8_row(rapt__round_up_size((size_t)depth, LANES) * (size_t)size);
}

/* Returns the number of quantized rows that fit into the buffer, at least 1. */
static int rows_at_once(int depth, int size, int terms)
{
    size_t row = (size_t)row_size(depth, size) + sizeof(float) + sizeof(int32_t);
    int rows = (int)(PACK_FLOATS * sizeof(float) / (row * (size_t)terms));
    return rows < LANES ? rows : rows / LANES * LANES; /* rows of q begin at a cache line */
}

_Static_assert(PACK_FLOATS * sizeof(float) > TERMS * (2 * INT8_MAX_DEPTH + 4 * INT8_LINE),
               "pack holds a row of any depth");

/* Lays out `rows` quantized rows in the buffer. The rows of each term begin at a cache line if
   `rows` is a multiple of 16. */
static struct quantized lay_out(float *pack, int rows, int depth, int size, int terms)
{
    struct quantized to = {.terms = terms, .size = size, .row = row_size(depth, size)};
    const size_t bytes = (size_t)(rows * to.row);
    int8_t *q = (int8_t *)(pack + 2 * (ptrdiff_t)terms * rows);
    for (int i = 0; i < terms; i++) {
        to.scale[i] = pack + (ptrdiff_t)i * rows;
        to.sum[i] = (int32_t *)(pack + (ptrdiff_t)(terms + i) * rows);
        to.q[i] = q + (size_t)i * bytes;
    }
    return to;
}

static void quantize_row(const struct int8_kernels *k, const float *x, int depth, ptrdiff_t r,
                         const struct quantized *to)
{
    /* Rows that will be rearranged are quantized into the second half of their memory. */
    const ptrdiff_t at = r * to->row, plain = (to->size - 1) * rapt__round_up(depth, LANES);
    int8_t *q[TERMS];
    float scale[TERMS];
    int32_t sum[TERMS];
    for (int i = 0; i < to->terms; i++) q[i] = to->q[i] + at + plain;
    if (to->terms == 1)
        k->quantize_row(x, depth, q[0], scale, sum);
    else
        k->quantize_twice(x, depth, q, scale, sum);
    for (int i = 0; i < to->terms; i++) {
        if (to->size > 1) k->arrange_row(to->q[i] + at, depth, &sum[i]);
        to->scale[i][r] = scale[i], to->sum[i][r] = sum[i];
    }
}

static void quantize(const struct exec_context *c, const float *x, ptrdiff_t x_row, int rows,
                     int depth, const struct quantized *to)
{
    const struct int8_kernels *k = rapt__int8_kernels(c->kernels->isa);
    size_t begin, end;
    assert(depth <= INT8_MAX_DEPTH);
    while (rapt__team_part(c->team, (size_t)rows, 1, &begin, &end))
        for (ptrdiff_t r = (ptrdiff_t)begin; r < (ptrdiff_t)end; r++)
            quantize_row(k, x + r * x_row, depth, r, to);
    rapt__team_barrier(c->team);
}

enum { UNIT_PANELS = 64 }; /* maximum number of panels of a unit */

/* Divides y into units. Their panels take at most half of the L2 cache, where units of other rows
   find them, unless there would be fewer than 8. The number of rows is a multiple of what the
   kernel computes at a time. */
static struct gemm_partition partition(const struct exec_context *c, const struct linear *l,
                                       int rows)
{
    size_t fit = rapt__second_level_size() / 2 / rapt__max_size(rapt__int8_panel(l->in), 1);
    struct gemm_partition p = rapt__gemm_units(c->team->size, rows, rapt__ceil_div(l->out, LANES),
                                               (int)rapt__min_size(fit / 2 * 2, UNIT_PANELS));
    p.rows = rapt__round_up(p.rows, rapt__int8_kernels(c->kernels->isa)->height);
    p.row_parts = rapt__ceil_div(rows, p.rows);
    return p;
}

/* Computes one unit, term by term. Activations are stored at `activated`, in the layout of y. */
static void multiply_unit(const struct exec_context *c, const struct int8_block *whole,
                          const struct quantized *x, const struct gemm_partition *p, int index,
                          enum activation activation, float *activated)
{
    struct int8_block b = *whole;
    ptrdiff_t row = (ptrdiff_t)(index % p->row_parts) * p->rows;
    ptrdiff_t panel = (ptrdiff_t)(index / p->row_parts) * p->panels, column = panel * LANES;
    b.rows = rapt__min(whole->rows - (int)row, p->rows);
    b.columns = rapt__min(whole->columns - (int)column, p->panels * LANES);
    b.w += panel * (ptrdiff_t)rapt__int8_panel(whole->depth);
    b.w_scale += column;
    if (b.bias) b.bias += column;
    b.y += row * b.y_row + column;
    for (int i = 0; i < x->terms; i++) {
        b.q = x->q[i] + row * b.q_row;
        b.q_scale = x->scale[i] + row;
        b.q_sum = x->sum[i] + row;
        b.add = i > 0;
        rapt__int8_kernels(c->kernels->isa)->gemm(&b);
    }
    if (activation == ACTIVATION_NONE) return;
    float *out = activated + (b.y - whole->y);
    for (int r = 0; r < b.rows; r++)
        c->kernels->activate(activation, b.y + r * b.y_row, out + r * b.y_row, (size_t)b.columns);
}

static void multiply(const struct exec_context *c, const struct linear *l,
                     const struct quantized *x, int rows, float *y, ptrdiff_t y_row,
                     enum activation activation, float *activated)
{
    const struct int8_block whole = {.rows = rows,
                                     .columns = l->out,
                                     .depth = l->in,
                                     .q_row = x->row,
                                     .w = l->bytes,
                                     .w_scale = l->scale,
                                     .bias = l->bias,
                                     .y = y,
                                     .y_row = y_row};
    if (rows > 0 && l->out > 0) {
        struct gemm_partition p = partition(c, l, rows);
        for (int t; (t = rapt__team_take(c->team)) < p.row_parts * p.panel_parts;)
            multiply_unit(c, &whole, x, &p, t, activation, activated);
    }
    rapt__team_barrier(c->team);
}

/* Converts quantized row r to a row of floats. */
static void widen_row(const struct quantized *x, int depth, ptrdiff_t r, float *row)
{
    const ptrdiff_t at = r * x->row;
    const int8_t *q = x->q[0] + at, *rest = x->terms > 1 ? x->q[1] + at : NULL;
    const float s = x->scale[0][r], u = rest ? x->scale[1][r] : 0;
    for (int k = 0; k < depth; k++) row[k] = (float)q[k] * s;
    for (int k = 0; rest && k < depth; k++) row[k] += (float)rest[k] * u;
}

void rapt__int8_round(const struct exec_context *c, const struct linear *l, const float *x,
                      ptrdiff_t x_row, int rows, float *rounded)
{
    int depth = l->in, terms = l->fine ? TERMS : 1, at_once = rows_at_once(depth, 1, terms);
    const struct quantized q = lay_out(c->pack, at_once, depth, 1, terms);
    for (int first = 0; first < rows; first += at_once) {
        int now = rapt__min(rows - first, at_once);
        size_t begin, end;
        quantize(c, x + first * x_row, x_row, now, depth, &q);
        while (rapt__team_part(c->team, (size_t)now, 1, &begin, &end))
            for (ptrdiff_t r = (ptrdiff_t)begin; r < (ptrdiff_t)end; r++)
                widen_row(&q, depth, r, rounded + (first + r) * depth);
        rapt__team_barrier(c->team);
    }
}

void rapt__int8_forward(const struct exec_context *c, const struct linear *layers, int count,
                        const float *x, ptrdiff_t x_row, int rows, float *const *y, ptrdiff_t y_row,
                        enum activation activation, float *activated)
{
    int depth = layers->in, terms = layers->fine ? TERMS : 1;
    int size = rapt__int8_kernels(c->kernels->isa)->q_size;
    int at_once = rows_at_once(depth, size, terms);
    const struct quantized q = lay_out(c->pack, at_once, depth, size, terms);
    for (int first = 0; first == 0 || first < rows; first += at_once) {
        int now = rapt__min(rows - first, at_once);
        ptrdiff_t at = first * y_row;
        quantize(c, x + first * x_row, x_row, now, depth, &q);
        for (int i = 0; i < count; i++)
            multiply(c, &layers[i], &q, now, y[i] + at, y_row, activation,
                     activated ? activated + at : NULL);
    }
}
