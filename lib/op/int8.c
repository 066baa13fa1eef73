/* int8.c - linear layers in 8-bit arithmetic, and their weights. */
#include "kernel/int8.h"
#include "op/gemm.h"

#include <assert.h>
#include <string.h>

/* ---- forward: y = x W' + b for whole arrays in 8-bit arithmetic, as defined in kernel/int8.h.

   As many rows of x as fit are quantized into the buffer `pack` and then multiplied. y is divided
   into units as in gemm_builtin.c. A unit is computed over the whole depth: the kernel scales sums
   and adds the bias, and the activation is applied while the results are in the cache. Each row is
   quantized separately, and sums are exact, so the partition into units does not affect the
   results. ---- */

enum { TERMS = 2 };

struct quantized { /* quantized rows, in the buffer `pack` */
    int terms;     /* 1 or TERMS */
    int size;      /* number of bytes per element: 1, or q_size if the rows are rearranged for a
                      product */
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

/* Returns the number of quantized rows that fit in the buffer, at least 1. */
static int rows_at_once(int depth, int size, int terms)
{
    size_t row = (size_t)row_size(depth, size) + sizeof(float) + sizeof(int32_t);
    int rows = (int)(PACK_FLOATS * sizeof(float) / (row * (size_t)terms));
    return rows < LANES ? rows : rows / LANES * LANES; /* aligns rows of q to cache lines */
}

_Static_assert(PACK_FLOATS * sizeof(float) > TERMS * (2 * INT8_MAX_DEPTH + 4 * INT8_LINE),
               "pack holds a row of any depth");

/* Lays out `rows` quantized rows in the buffer. The rows of each term are aligned to a cache line
   if `rows` is a multiple of 16. */
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

enum { UNIT_PANELS = 64 }; /* maximum number of panels in a unit */

/* Divides y into units. A unit has as many panels as fit in half of the L2 cache, where units of
   other rows reuse them, but at least 8. Its number of rows is a multiple of the kernel's
   height. */
static struct gemm_partition int8_partition(const struct exec_context *c, const struct linear *l,
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
        struct gemm_partition p = int8_partition(c, l, rows);
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

/* ---- weights in panels of bytes (kernel/int8.h): quantizes floats, stores integers, converts both
   back to floats, and gathers rows, such as those of a shortlist. ---- */

size_t rapt__int8_weight_bytes(int out, int in)
{
    return rapt__ceil_div_size((size_t)out, LANES) * rapt__int8_panel(in);
}

void rapt__int8_pack(const struct exec_context *c, const float *panels, int out, int in,
                     const float *factors, int8_t *weight, float *scale)
{
    const struct int8_kernels *k = rapt__int8_kernels(c->kernels->isa);
    size_t panel = rapt__int8_panel(in);
    for (int p; (p = rapt__team_take(c->team)) < rapt__ceil_div(out, LANES);) {
        float scales[LANES], given[LANES] = {0};
        const float *from = panels + (ptrdiff_t)p * in * LANES;
        size_t columns = (size_t)rapt__min(out - p * LANES, LANES);
        if (factors) memcpy(given, factors + (ptrdiff_t)p * LANES, columns * sizeof *given);
        k->quantize_panel(from, in, given, weight + (size_t)p * panel, scales);
        memcpy(scale + (ptrdiff_t)p * LANES, scales, columns * sizeof *scales);
    }
    rapt__team_barrier(c->team);
}

void rapt__int8_widen(const struct exec_context *c, const struct linear *l, float *panels)
{
    const size_t panel = rapt__int8_panel(l->in);
    for (int p; (p = rapt__team_take(c->team)) < rapt__ceil_div(l->out, LANES);) {
        float scales[LANES] = {0}, *to = panels + (ptrdiff_t)p * l->in * LANES;
        int columns = rapt__min(l->out - p * LANES, LANES);
        memcpy(scales, l->scale + (ptrdiff_t)p * LANES, (size_t)columns * sizeof *scales);
        for (ptrdiff_t k = 0; k < l->in; k++, to += LANES) {
            const int8_t *from = l->bytes + (size_t)p * panel + k / INT8_GROUP * INT8_GROUP * LANES;
            for (int n = 0; n < LANES; n++)
                to[n] = (float)from[n * INT8_GROUP + k % INT8_GROUP] * scales[n];
        }
    }
    rapt__team_barrier(c->team);
}

/* Returns the offset in bytes of row n in panels of `in` inputs. */
static ptrdiff_t weight_row_at(int n, int in)
{
    return (ptrdiff_t)(n / LANES) * (ptrdiff_t)rapt__int8_panel(in) + n % LANES * INT8_GROUP;
}

size_t rapt__int8_scratch(int in)
{
    return LANES * (size_t)in + rapt__int8_panel(in) / sizeof(float);
}

/* Quantizes rows [first, first + count), which must belong to one panel. */
static void set_panel_rows(const struct int8_rows *to, int first, int count, const float *rows,
                           const float *factors, float *scratch)
{
    const int in = to->in;
    const bool whole = count == LANES;
    float given[LANES] = {0}, scales[LANES];
    int8_t *bytes = (int8_t *)(scratch + (ptrdiff_t)in * LANES);
    if (factors) memcpy(given, factors, (size_t)count * sizeof *given);
    rapt__kernels()->pack_columns(rows, in, count, in, 1, 0, 1, scratch);
    rapt__int8_kernels(rapt_isa_used())
        ->quantize_panel(scratch, in, given, whole ? to->weight + weight_row_at(first, in) : bytes,
                         scales);
    memcpy(to->scale + first, scales, (size_t)count * sizeof *scales);
    for (int n = 0; n < count && !whole; n++)
        for (ptrdiff_t k = 0; k < in; k += INT8_GROUP)
            memcpy(to->weight + weight_row_at(first + n, in) + k * LANES,
                   bytes + weight_row_at(n, in) + k * LANES, INT8_GROUP);
}

void rapt__int8_set_rows(const struct int8_rows *to, int first, int count, const float *rows,
                         const float *factors, float *scratch)
{
    for (int n = first, now; n < first + count; n += now) {
        now = rapt__min(LANES - n % LANES, first + count - n);
        set_panel_rows(to, n, now, rows + (ptrdiff_t)(n - first) * to->in,
                       factors ? factors + (n - first) : NULL, scratch);
    }
}

/* Returns true if the integers row[k] are sure to survive a round trip: divided by `factor`, then
   quantized with it again. */
static bool restorable(const int8_t *row, int count, float factor)
{
    unsigned char found = 0; /* 1 if an element is INT8_MIN */
    for (int k = 0; k < count; k++) found |= row[k] == INT8_MIN;
    return !found && factor >= 0x1p-100f && factor <= 0x1p100f;
}

bool rapt__int8_set_integers(const struct int8_rows *to, int first, int count, const int8_t *rows,
                             const float *factors)
{
    const ptrdiff_t in = to->in;
    for (int n = 0; n < count; n++)
        if (!restorable(rows + n * in, to->in, factors[n])) return false;
    for (int n = 0; n < count; n++) to->scale[first + n] = 1 / factors[n];
    for (int n = 0; n < count;) {
        int8_t *at = to->weight + weight_row_at(first + n, to->in);
        if ((first + n) % LANES == 0 && count - n >= LANES && in % INT8_GROUP == 0) {
            /* A panel is the transpose of its rows if each group, which is as large as a float, is
               treated as one element. */
            rapt__kernels()->pack_columns((const float *)(const void *)(rows + n * in),
                                          in / INT8_GROUP, LANES, to->in / INT8_GROUP, 1, 0, 1,
                                          (float *)(void *)at);
            n += LANES;
            continue;
        }
        for (ptrdiff_t k = 0; k < in; k += INT8_GROUP)
            memcpy(at + k * LANES, rows + n * in + k,
                   (size_t)rapt__min(to->in - (int)k, INT8_GROUP));
        n++;
    }
    return true;
}

/* Zeroes the rows that pad the last panel. */
static void clear_padding(int8_t *weight, int out, int in)
{
    for (int n = out; n % LANES; n++)
        for (ptrdiff_t k = 0; k < in; k += INT8_GROUP)
            memset(weight + weight_row_at(n, in) + k * LANES, 0, INT8_GROUP);
}

void rapt__int8_gather(const struct exec_context *c, const struct linear *l, const int32_t *rows,
                       int count, int8_t *weight, float *scale, float *bias)
{
    size_t begin, end;
    while (rapt__team_part(c->team, (size_t)count, LANES, &begin, &end))
        for (int n = (int)begin; n < (int)end; n++) {
            const int8_t *from = l->bytes + weight_row_at(rows[n], l->in);
            int8_t *to = weight + weight_row_at(n, l->in);
            for (ptrdiff_t k = 0; k < l->in; k += INT8_GROUP)
                memcpy(to + k * LANES, from + k * LANES, INT8_GROUP);
            scale[n] = l->scale[rows[n]];
            if (l->bias) bias[n] = l->bias[rows[n]];
        }
    if (c->team->rank == 0) clear_padding(weight, count, l->in);
    rapt__team_barrier(c->team);
}

void rapt__int8_floats(const struct linear *l, int row, int first, int count, float factor,
                       float *x)
{
    const int8_t *from = l->bytes + weight_row_at(row, l->in);
    const float scale = l->scale[row];
    for (ptrdiff_t k = first; k < first + count; k++)
        *x++ = factor * ((float)from[k / INT8_GROUP * INT8_GROUP * LANES + k % INT8_GROUP] * scale);
}
