/* dots.c - products of queries with keys, and of gradients of outputs with values: for one row, or
   for several that see about the same keys. Bits do not depend on which. */
#include "attention/general/general.h"

#include <limits.h>

enum {
    CHAIN = 32,
    DOT_COLUMNS = 512
}; /* elements of a chain; keys whose chains are added at once */

struct dots {                /* to[i][s] = a[i].key s, i < rows, s in [first, end), whole panels */
    const float *a, *panels; /* panels: [keys / 16][width][16] */
    ptrdiff_t a_row, to_row;
    int rows, width, first, end;
    float *to, *more; /* more: [rows][DOT_COLUMNS], or of one row [end - first] */
};

/* Keys [first, end), DOT_COLUMNS at most: chains of 32 fma, added up one after the other. */
static void multiply_columns(const struct kernels *kernels, const struct dots *d, int first,
                             int end)
{
    for (int k = 0; k < d->width; k += CHAIN) {
        const struct gemm_block p = {.rows = d->rows,
                                     .columns = end - first,
                                     .depth = rapt__min(d->width - k, CHAIN),
                                     .a = d->a + k,
                                     .a_row = d->a_row,
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

static void multiply(const struct kernels *kernels, const struct dots *d)
{
    for (int s = d->first; s < d->end; s += DOT_COLUMNS)
        multiply_columns(kernels, d, s, rapt__min(d->end, s + DOT_COLUMNS));
}

const float *rapt__row_dots(const struct row *r, const float *known, const float *a,
                            const float *panels, int width, float *to)
{
    if (known) return known;
    multiply(r->head->kernels, &(struct dots){.a = a,
                                              .panels = panels,
                                              .rows = 1,
                                              .width = width,
                                              .first = r->first,
                                              .end = r->end,
                                              .to = to,
                                              .more = r->space.more});
    return to;
}

/* ---- several rows ---- */

void rapt__block_layout(struct arena *arena, const struct bounds *b, bool backward,
                        struct row_block *block)
{
    size_t keys = rapt__row_capacity(b);
    *block = (struct row_block){.capacity = (ptrdiff_t)keys};
    if (b->additive && !backward) return;
    block->more = rapt__arena_floats(arena, BLOCK_ROWS, DOT_COLUMNS);
    if (!b->additive) block->dots = rapt__arena_floats(arena, BLOCK_ROWS, keys);
    if (backward) block->dout_dots = rapt__arena_floats(arena, BLOCK_ROWS, keys);
}

/* The keys that any of the rows sees. */
bool rapt__block_begin(struct row_block *block, const struct projected *c, const struct sequence *b,
                       const struct row_head *head, const struct row_keys *keys, int h, int t,
                       int rows)
{
    int64_t seen = 0;
    block->rows = rows, block->first = INT_MAX, block->end = 0;
    for (int i = 0; i < rows; i++) {
        struct row r = rapt__row(c, b, head, keys, h, t + i);
        rapt__row_span(&r);
        if (r.fully_masked) continue;
        block->first = rapt__min(block->first, r.first);
        block->end = rapt__max(block->end, r.end);
        seen += r.end - r.first;
    }
    if (seen == 0 || (int64_t)rows * (block->end - block->first) > 2 * seen) block->rows = 0;
    return block->rows > 0;
}

void rapt__block_dots(const struct row_block *block, const struct kernels *kernels, const float *a,
                      ptrdiff_t a_row, const float *panels, int width, float *to)
{
    multiply(kernels, &(struct dots){a, panels, a_row, block->capacity, block->rows, width,
                                     block->first, block->end, to, block->more});
}
