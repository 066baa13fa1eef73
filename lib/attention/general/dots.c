/* dots.c - dot products of queries with keys, and of output gradients with values, for one row or
   for several that see almost the same keys. The bits are the same in both cases. */
#include "attention/general/general.h"

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
   multiply-adds, whose results are added one after the other. */
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
