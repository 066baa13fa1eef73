/* block.c - matrix products for adjacent rows of a head that see almost the same keys: queries
   times keys, weights times values, and the products of the backward pass. Each sum adds the same
   terms in the same order as gemv and rank1_update (kernel/row.c) do for single rows. If a matrix
   product may have read an infinity or NaN that is hidden from one of the rows, the sums are
   computed row by row. */
#include "attention/general/general.h"

#include <limits.h>
#include <string.h>

void rapt__block_layout(struct arena *arena, const struct bounds *b, bool backward,
                        struct row_block *block)
{
    size_t keys = rapt__row_capacity(b);
    *block = (struct row_block){.capacity = (ptrdiff_t)keys};
    if (b->additive && !backward) return;
    block->more = rapt__arena_floats(arena, BLOCK_ROWS, DOT_COLUMNS);
    if (backward) block->dout_dots = rapt__arena_floats(arena, BLOCK_ROWS, keys);
    if (b->additive) return;
    block->dots = rapt__arena_floats(arena, BLOCK_ROWS, keys);
    block->weights = rapt__arena_floats(arena, BLOCK_ROWS, keys);
    if (backward) block->dx = rapt__arena_floats(arena, BLOCK_ROWS, keys);
}

static float *block_row(const struct row_block *block, float *rows, int i)
{
    return rows + i * block->capacity;
}

static void clear(const struct row_block *block, float *rows)
{
    for (int i = 0; i < block->rows && rows; i++)
        memset(block_row(block, rows, i) + block->first, 0,
               (size_t)(block->end - block->first) * sizeof *rows);
}

void rapt__block_set(struct row_block *block, const struct sequence *b, int rows, int first,
                     int end)
{
    block->rows = rows, block->first = first, block->end = end, block->existing = b->existing;
    clear(block, block->weights);
    clear(block, block->dx);
}

/* Sets [first, end) to a range that includes every key that at least one of the rows sees. */
bool rapt__block_begin(struct row_block *block, const struct projected *c, const struct sequence *b,
                       const struct row_head *head, const struct row_keys *keys, int h, int t,
                       int rows)
{
    int64_t seen = 0;
    int first = INT_MAX, end = 0;
    for (int i = 0; i < rows; i++) {
        struct row r = rapt__row(c, b, head, keys, h, t + i);
        rapt__row_span(&r);
        if (r.fully_masked) continue;
        first = rapt__min(first, r.first);
        end = rapt__max(end, r.end);
        seen += r.end - r.first;
    }
    if (!rapt__block_fits(rows, first, end, seen)) return false;
    rapt__block_set(block, b, rows, first, end);
    return true;
}

void rapt__block_keep(const struct row_block *block, float *rows, int i, const struct row *r,
                      const float *x)
{
    int low = r->visible.low, n = r->visible.high - low;
    if (!r->fully_masked)
        memcpy(block_row(block, rows, i) + low, x + low, (size_t)n * sizeof *rows);
}

static void copy_floats(const float *x, ptrdiff_t x_row, int rows, int width, float *y,
                        ptrdiff_t y_row)
{
    for (int r = 0; r < rows; r++) memcpy(y + r * y_row, x + r * x_row, (size_t)width * sizeof *y);
}

/* Computes at most DOT_COLUMNS columns of rapt__block_sums. If a result is not finite, the product
   may have read a value that it must not read, so all rows are computed again, one by one. */
static void sum_columns(const struct row_block *b, const struct kernels *kernels, const float *rows,
                        const float *x, ptrdiff_t x_row, int width, float *y, ptrdiff_t y_row)
{
    int n = rapt__min(b->end, b->existing) - b->first;
    const float *from = x + b->first * x_row;
    const struct gemm_block p = {.rows = b->rows,
                                 .columns = width,
                                 .depth = n,
                                 .a = rows + b->first,
                                 .a_row = b->capacity,
                                 .a_step = 1,
                                 .b = from,
                                 .b_panel = LANES,
                                 .b_step = x_row,
                                 .c = b->more,
                                 .c_row = DOT_COLUMNS,
                                 .c_panel = LANES,
                                 .add = true};
    copy_floats(y, y_row, b->rows, width, b->more, DOT_COLUMNS);
    kernels->gemm(&p);
    if (kernels->rows_finite(b->more, DOT_COLUMNS, b->rows, width)) {
        copy_floats(b->more, DOT_COLUMNS, b->rows, width, y, y_row);
        return;
    }
    for (int i = 0; i < b->rows; i++)
        kernels->gemv(rows + i * b->capacity + b->first, n, from, x_row, width, y + i * y_row);
}

void rapt__block_sums(const struct row_block *b, const struct kernels *kernels, const float *rows,
                      const float *x, ptrdiff_t x_row, int width, float *y, ptrdiff_t y_row)
{
    for (int j = 0; j < width; j += DOT_COLUMNS)
        sum_columns(b, kernels, rows, x + j, x_row, rapt__min(width - j, DOT_COLUMNS), y + j,
                    y_row);
}

void rapt__block_update(const struct row_block *b, const struct kernels *kernels, const float *rows,
                        const float *x, ptrdiff_t x_row, int width, float *y, ptrdiff_t y_row)
{
    int n = rapt__min(b->end, b->existing) - b->first;
    float *to = y + b->first * y_row;
    const struct gemm_block p = {.rows = n,
                                 .columns = width,
                                 .depth = b->rows,
                                 .a = rows + b->first,
                                 .a_row = 1,
                                 .a_step = b->capacity,
                                 .b = x,
                                 .b_panel = LANES,
                                 .b_step = x_row,
                                 .c = to,
                                 .c_row = y_row,
                                 .c_panel = LANES,
                                 .add = true};
    if (kernels->rows_finite(x, x_row, b->rows, width)) {
        kernels->gemm(&p);
        return;
    }
    for (int i = 0; i < b->rows; i++)
        kernels->rank1_update(rows + i * b->capacity + b->first, n, x + i * x_row, width, to,
                              y_row);
}

/* ---- dot products ---- */

/* These functions compute dot products of queries with keys, and of output gradients with values,
   for one row or for several rows that see almost the same keys. The results are bit-identical in
   both cases. */

enum { CHAIN = 32 }; /* elements per chain */

/* Describes the products to[i][s] = (factor * a[i]) . key[s] for all rows i and keys [first, end),
   which fill whole panels. */
struct dots {
    const float *a, *panels; /* panels: [keys / 16][width][16] */
    ptrdiff_t a_row, to_row;
    float factor;
    int rows, width, first, end;
    float *to, *more; /* more: scratch space, [rows][DOT_COLUMNS], or [end - first] for one row */
};

static void scale_rows(const struct dots *d, int k, int depth, float to[BLOCK_ROWS * CHAIN])
{
    for (int i = 0; i < d->rows; i++)
        for (int j = 0; j < depth; j++) to[i * CHAIN + j] = d->a[i * d->a_row + k + j] * d->factor;
}

/* Computes the products for keys [first, end), at most DOT_COLUMNS, as chains of 32 fused
   multiply-adds, whose results are added one after another. */
static void multiply_columns(const struct kernels *kernels, const struct dots *d, int first,
                             int end)
{
    float a[BLOCK_ROWS * CHAIN];
    for (int k = 0; k < d->width; k += CHAIN) {
        int depth = rapt__min(d->width - k, CHAIN);
        scale_rows(d, k, depth, a);
        const struct gemm_block p = {.rows = d->rows,
                                     .columns = end - first,
                                     .depth = depth,
                                     .a = a,
                                     .a_row = CHAIN,
                                     .a_step = 1,
                                     .b = d->panels + (ptrdiff_t)first * d->width +
                                          (ptrdiff_t)k * LANES,
                                     .b_panel = (ptrdiff_t)d->width * LANES,
                                     .b_step = LANES,
                                     .c = k ? d->more : d->to + first,
                                     .c_row = k ? DOT_COLUMNS : d->to_row,
                                     .c_panel = LANES};
        kernels->gemm(&p);
        for (int i = 0; i < d->rows && k; i++)
            kernels->add(d->to + i * d->to_row + first, d->more + (ptrdiff_t)i * DOT_COLUMNS,
                         (size_t)(end - first));
    }
}

static void multiply_rows(const struct kernels *kernels, const struct dots *d)
{
    for (int s = d->first; s < d->end; s += DOT_COLUMNS)
        multiply_columns(kernels, d, s, rapt__min(d->end, s + DOT_COLUMNS));
}

const float *rapt__row_dots(const struct row *r, const float *known, const float *a, float factor,
                            const float *panels, int width, float *to)
{
    if (known) return known;
    multiply_rows(r->head->kernels, &(struct dots){.a = a,
                                                   .factor = factor,
                                                   .panels = panels,
                                                   .rows = 1,
                                                   .width = width,
                                                   .first = r->first,
                                                   .end = r->end,
                                                   .to = to,
                                                   .more = r->space.more});
    return to;
}

void rapt__block_dots(const struct row_block *block, const struct kernels *kernels, const float *a,
                      ptrdiff_t a_row, float factor, const float *panels, int width, float *to)
{
    multiply_rows(kernels, &(struct dots){.a = a,
                                          .factor = factor,
                                          .panels = panels,
                                          .a_row = a_row,
                                          .to_row = block->capacity,
                                          .rows = block->rows,
                                          .width = width,
                                          .first = block->first,
                                          .end = block->end,
                                          .to = to,
                                          .more = block->more});
}
