/* gemm_builtin.c - c = a b, computed by a team with the kernels in lib/kernel/gemm.c.

   c is divided into units of a few rows and a few panels of columns, that the threads claim by
   ticket. Within a unit the depth is divided into blocks, which are added to the sums in order. The
   division depends on the machine and the team, but never changes the order of k, so it does not
   affect the results. If b must be packed (rapt__gemm_packs), the team packs it block by block:
   while one half of exec->pack is being multiplied, the other is filled with the next block, at the
   cost of one barrier per block. Otherwise b is read in place. Goto and van de Geijn 2008, "Anatomy
   of high-performance matrix multiplication". */
#include "op/gemm.h"

#include <string.h>

enum {
    COPY_FLOATS = GEMM_UNIT_ROWS * GEMM_COPY_DEPTH,
    PACK_HALF = PACK_FLOATS / 2 /* maximum number of floats in a block of b; the next block is in
                                   the other half */
};

/* A block of b in panels: columns [column, column + columns) and depth [k, k + depth). */
struct block {
    int column, columns, k, depth;
    const float *panels;
    ptrdiff_t panel, step; /* distance in elements from one panel to the next, and from one k to the
                              next */
};

/* Copies the rows of a that the kernel would read, and makes *p refer to the copy. A stride of 1
   stays 1. */
static void copy_left(const struct exec_context *exec, enum gemm_left left, struct gemm_block *p,
                      float *copy)
{
    p->a_tiles = left == GEMM_LEFT_TILES;
    if (p->a_tiles) {
        exec->kernels->pack_tiles(p, copy);
        p->a = copy;
        return;
    }
    bool by_rows = p->a_step == 1;
    int runs = by_rows ? p->rows : p->depth, run = by_rows ? p->depth : p->rows;
    ptrdiff_t from = by_rows ? p->a_row : p->a_step;
    for (int i = 0; i < runs; i++)
        memcpy(copy + (ptrdiff_t)i * run, p->a + i * from, (size_t)run * sizeof *copy);
    p->a = copy;
    p->a_row = by_rows ? run : 1;
    p->a_step = by_rows ? 1 : run;
}

/* Computes unit `index` of c over the whole depth of the block. */
static void multiply_unit(const struct exec_context *exec, const struct gemm *g,
                          const struct block *b, const struct gemm_partition *split, int index)
{
    _Alignas(64) float copy[COPY_FLOATS];
    int row = index % split->row_parts * split->rows,
        panel = index / split->row_parts * split->panels;
    bool copies = split->left != GEMM_LEFT_IN_PLACE;
    int step = g->rows < GEMM_FEW_ROWS ? b->depth : copies ? GEMM_COPY_DEPTH : GEMM_DEPTH, k = 0;
    struct gemm_block p = {
        .rows = rapt__min(g->rows - row, split->rows),
        .columns = rapt__min(b->columns - panel * LANES, split->panels * LANES),
        .type = g->type,
        .b_panel = b->panel,
        .b_step = b->step,
        .max_tile = split->max_tile,
        .c = g->c + row * g->c_row + (b->column / LANES + panel) * g->c_panel,
        .c_row = g->c_row,
        .c_panel = g->c_panel,
    };
    do {
        p.depth = rapt__min(b->depth - k, step);
        p.a = g->a + row * g->a_row + (b->k + k) * g->a_step;
        p.a_row = g->a_row;
        p.a_step = g->a_step;
        if (g->half)
            p.half = g->half + panel * b->panel + k * b->step;
        else
            p.b = b->panels + panel * b->panel + k * b->step;
        p.add = g->add || b->k + k > 0;
        p.bias = p.add || !g->bias ? NULL : g->bias + b->column + (ptrdiff_t)panel * LANES;
        if (copies) copy_left(exec, split->left, &p, copy);
        exec->kernels->gemm(&p);
        k += step;
    } while (k < b->depth);
    if (b->k + b->depth == g->depth) rapt__gemm_activate(exec, g, p.c, p.rows, p.columns);
}

/* Returns block number `index` of a packed b. Blocks are numbered along the depth first. Past the
   last block, `columns` is 0. */
static struct block block_at(const struct exec_context *exec, const struct gemm *g, int index)
{
    int depth = rapt__min(g->depth, GEMM_DEPTH);
    int columns = PACK_HALF / depth / LANES * LANES, down = rapt__ceil_div(g->depth, depth);
    struct block b = {.column = index / down * columns, .k = index % down * depth};
    if (b.column >= g->columns) return b;
    b.columns = rapt__min(g->columns - b.column, columns);
    b.depth = rapt__min(g->depth - b.k, depth);
    b.panels = exec->pack + (ptrdiff_t)(index % 2) * PACK_HALF;
    b.panel = (ptrdiff_t)b.depth * LANES;
    b.step = LANES;
    return b;
}

/* Packs panels [first, first + count) of a block. */
static void pack_block(const struct exec_context *exec, const struct gemm *g, const struct block *b,
                       int first, int count)
{
    float *panels = (float *)b->panels + first * b->panel;
    if (g->form == GEMM_TRANSPOSED)
        exec->kernels->transpose_panels(g->b, g->columns, b->k, b->depth, b->column / LANES + first,
                                        count, panels);
    else
        exec->kernels->pack_rows(g->b + b->k * g->b_row + b->column, g->b_row, b->columns, b->depth,
                                 first, count, panels);
}

enum { PACK_GRAIN = 8, READ_WAYS = 4 };

/* Returns the maximum number of panels packed at a time. Panels are usually a multiple of 4 KB
   apart, so the lines written at the same time map to a single set of the L1 cache, which also
   needs ways for the lines that are read. */
static int pack_grain(void)
{
    return rapt__max(1, rapt__min(rapt__first_level_ways() - READ_WAYS, PACK_GRAIN));
}

/* Packs the block `next` and multiplies the block `now`, in one phase between barriers. Either may
   be empty. */
static void run_phase(const struct exec_context *exec, const struct gemm *g,
                      const struct block *now, const struct block *next)
{
    int panels = rapt__ceil_div(next->columns, LANES);
    int grain = rapt__min(rapt__ceil_div(panels, 2 * exec->team->size), pack_grain());
    int packs = grain ? rapt__ceil_div(panels, grain) : 0;
    struct gemm_partition split = {0};
    if (now->columns) split = rapt__gemm_partition(exec, g, now->columns);
    int units = split.row_parts * split.panel_parts;
    for (int t; (t = rapt__team_take(exec->team)) < packs + units;) {
        int first = t * grain;
        if (t < packs)
            pack_block(exec, g, next, first, rapt__min(panels - first, grain));
        else
            multiply_unit(exec, g, now, &split, t - packs);
    }
    rapt__team_barrier(exec->team);
}

/* With depth 0, a and b are never read and may be NULL. Substitutes a valid pointer, because adding
   an offset to NULL is undefined. */
static struct gemm empty_sum(const struct exec_context *exec, const struct gemm *g)
{
    struct gemm empty = *g;
    empty.a = empty.b = exec->pack, empty.half = NULL;
    empty.a_row = empty.a_step = empty.b_row = 0;
    return empty;
}

void rapt__gemm_builtin(const struct exec_context *exec, const struct gemm *g)
{
    struct gemm empty;
    if (g->depth == 0) {
        empty = empty_sum(exec, g);
        g = &empty;
    }
    if (g->rows == 0 || g->columns == 0) {
        rapt__team_barrier(exec->team);
        return;
    }
    struct block now = {0}, next = {.columns = g->columns, .depth = g->depth, .panels = g->b};
    next.panel = g->form == GEMM_ROWS ? LANES : (ptrdiff_t)g->depth * LANES;
    next.step = g->form == GEMM_ROWS ? g->b_row : LANES;
    if (!rapt__gemm_packs(g) || g->depth == 0) {
        run_phase(exec, g, &next, &now);
        return;
    }
    for (int i = 0; i == 0 || now.columns; i++) {
        next = block_at(exec, g, i);
        run_phase(exec, g, &now, &next);
        now = next;
    }
}
