/* int8.c - y = x W' + b for whole arrays, in 8-bit integers (kernel/int8.h defines the arithmetic).

   Rows of x are quantized into the buffer `pack`, as many as fit, and then multiplied. y is split
   into units as in gemm_builtin.c. A unit multiplies over the whole depth, scales its sums and adds
   the bias in registers, and applies the activation while its results are in the cache. Each row is
   quantized by itself, and sums are exact, so no split changes a bit. */
#include "kernel/int8.h"
#include "op/gemm.h"

#include <assert.h>

struct quantized { /* quantized rows, in the buffer `pack` */
    float *scale;
    int32_t *sum; /* sum of the elements of each row of q */
    int8_t *q;    /* rapt__int8_row(depth) bytes apart */
};

/* Returns how many quantized rows fit into the buffer, at least 1. */
static int rows_at_once(int depth)
{
    size_t row = (size_t)rapt__int8_row(depth) + sizeof(float) + sizeof(int32_t);
    int rows = (int)(PACK_FLOATS * sizeof(float) / row);
    return rows < LANES ? rows : rows / LANES * LANES; /* rows of q begin at a cache line */
}

_Static_assert(PACK_FLOATS * sizeof(float) > INT8_MAX_DEPTH + 3 * INT8_LINE,
               "pack holds a row of any depth");

static void quantize(const struct exec_context *c, const float *x, ptrdiff_t x_row, int rows,
                     int depth, const struct quantized *to)
{
    const struct int8_kernels *k = rapt__int8_kernels(c->kernels->isa);
    ptrdiff_t q_row = rapt__int8_row(depth);
    size_t begin, end;
    assert(depth <= INT8_MAX_DEPTH);
    while (rapt__team_part(c->team, (size_t)rows, 1, &begin, &end))
        for (ptrdiff_t r = (ptrdiff_t)begin; r < (ptrdiff_t)end; r++)
            k->quantize_row(x + r * x_row, depth, to->q + r * q_row, to->scale + r, to->sum + r);
    rapt__team_barrier(c->team);
}

enum { UNIT_PANELS = 64, LEAST_MAX = 8 }; /* limits of the maximum number of panels of a unit */

/* Divides y into units. The panels of a unit take up at most half of the L2 cache, so that units of
   other rows find them there, but there are at least LEAST_MAX of them if y has that many. In a
   team, each member gets several units, and the members get equal shares. */
static struct gemm_partition partition(const struct exec_context *c, const struct linear *l,
                                       int rows)
{
    int team = c->team->size, panels = rapt__ceil_div(l->out, LANES);
    size_t fit = rapt__second_level_size() / 2 / rapt__max_size(rapt__int8_panel(l->in), 1);
    struct gemm_partition p = {.row_parts = rapt__ceil_div(rows, GEMM_UNIT_ROWS)};
    p.rows = rapt__ceil_div(rows, p.row_parts);
    p.panels = rapt__ceil_div(panels * p.row_parts, team > 1 ? 4 * team : 1);
    p.panels =
        rapt__min(rapt__round_up(p.panels, 2), (int)rapt__min_size(fit / 2 * 2, UNIT_PANELS));
    p.panels = rapt__gemm_even_panels(team, p.row_parts, panels, rapt__max(p.panels, LEAST_MAX));
    p.panel_parts = rapt__ceil_div(panels, p.panels);
    return p;
}

/* Computes one unit. `activated` is where the activation of y[0][0] is stored. */
static void multiply_unit(const struct exec_context *c, const struct int8_block *whole,
                          const struct gemm_partition *p, int index, enum activation activation,
                          float *activated)
{
    struct int8_block b = *whole;
    ptrdiff_t row = (ptrdiff_t)(index % p->row_parts) * p->rows;
    ptrdiff_t panel = (ptrdiff_t)(index / p->row_parts) * p->panels, column = panel * LANES;
    b.rows = rapt__min(whole->rows - (int)row, p->rows);
    b.columns = rapt__min(whole->columns - (int)column, p->panels * LANES);
    b.q += row * b.q_row;
    b.q_scale += row;
    b.q_sum += row;
    b.w += panel * (ptrdiff_t)rapt__int8_panel(whole->depth);
    b.w_scale += column;
    if (b.bias) b.bias += column;
    b.y += row * b.y_row + column;
    rapt__int8_kernels(c->kernels->isa)->gemm(&b);
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
                                     .q = x->q,
                                     .q_row = rapt__int8_row(l->in),
                                     .q_scale = x->scale,
                                     .q_sum = x->sum,
                                     .w = l->bytes,
                                     .w_scale = l->scale,
                                     .bias = l->bias,
                                     .y = y,
                                     .y_row = y_row};
    if (rows > 0 && l->out > 0) {
        struct gemm_partition p = partition(c, l, rows);
        for (int t; (t = rapt__team_take(c->team)) < p.row_parts * p.panel_parts;)
            multiply_unit(c, &whole, &p, t, activation, activated);
    }
    rapt__team_barrier(c->team);
}

void rapt__int8_forward(const struct exec_context *c, const struct linear *layers, int count,
                        const float *x, ptrdiff_t x_row, int rows, float *const *y, ptrdiff_t y_row,
                        enum activation activation, float *activated)
{
    int depth = layers->in, at_once = rows_at_once(depth);
    struct quantized q = {.scale = c->pack};
    q.sum = (int32_t *)(c->pack + at_once);
    q.q = (int8_t *)(q.sum + at_once);
    for (int first = 0; first == 0 || first < rows; first += at_once) {
        int now = rapt__min(rows - first, at_once);
        ptrdiff_t at = first * y_row;
        quantize(c, x + first * x_row, x_row, now, depth, &q);
        for (int i = 0; i < count; i++)
            multiply(c, &layers[i], &q, now, y[i] + at, y_row, activation,
                     activated ? activated + at : NULL);
    }
}
