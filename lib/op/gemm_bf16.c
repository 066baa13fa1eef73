/* gemm_bf16.c - c = a b, computed by a team with both factors rounded to bf16 (kernel/bf16.h).

   b is rounded and packed block by block into exec->pack, as in gemm_builtin.c: while one half is
   being multiplied, the other is filled with the next block. Threads claim units of rows and panels
   by ticket; the kernel rounds and packs the rows of a for each unit. All blocks except possibly
   the last one have an even depth. Blocks are added to the sums in order, so the division does not
   affect the results. */
#include "kernel/bf16.h"
#include "op/gemm.h"

enum {
    PACK_HALF = PACK_FLOATS / 2, /* maximum number of pairs in a block of b */
    BLOCK_COLUMNS = PACK_HALF / BF16_PAIRS,
    UNIT_PANELS = 32, /* maximum number of panels in a unit */
    PACK_GRAIN = 4    /* number of panels packed at a time */
};

_Static_assert(sizeof(uint32_t) == sizeof(float), "a pair is as large as a float");
_Static_assert((int)BF16_ROWS == (int)GEMM_UNIT_ROWS, "units fit the kernel");

struct bf16_part { /* columns [column, column + columns) and depth [k, k + depth) of b */
    int column, columns, k, depth;
    uint32_t *pairs;
};

static const struct bf16_kernels *bf16_kernels_of(const struct exec_context *exec)
{
    return rapt__bf16_kernels(exec->kernels->isa, exec->products->tiles ? BF16_TILES : BF16_STEPS);
}

/* Returns the number of pairs in a panel of a block. */
static ptrdiff_t panel_size(const struct bf16_part *b)
{
    return (ptrdiff_t)rapt__ceil_div(b->depth, 2) * LANES;
}

/* Returns block number `index`. Blocks are numbered along the depth first. Past the last block,
   `columns` is 0. */
static struct bf16_part part_at(const struct exec_context *exec, const struct gemm *g, int index)
{
    int down = rapt__ceil_div(g->depth, BF16_DEPTH);
    struct bf16_part b = {.column = index / down * BLOCK_COLUMNS, .k = index % down * BF16_DEPTH};
    if (b.column >= g->columns) return b;
    b.columns = rapt__min(g->columns - b.column, BLOCK_COLUMNS);
    b.depth = rapt__min(g->depth - b.k, BF16_DEPTH);
    b.pairs = (uint32_t *)exec->pack + (ptrdiff_t)(index % 2) * PACK_HALF;
    return b;
}

static void pack_panel(const struct exec_context *exec, const struct gemm *g,
                       const struct bf16_part *b, int panel)
{
    const struct bf16_kernels *kernels = bf16_kernels_of(exec);
    _Alignas(64) float copy[BF16_DEPTH * LANES];
    const ptrdiff_t column = b->column + (ptrdiff_t)panel * LANES;
    const float *from = g->b;
    ptrdiff_t step = LANES;
    int columns = rapt__min(b->columns - panel * LANES, LANES);
    if (g->half) {
        exec->kernels->widen_bf16(g->half + column * g->depth + (ptrdiff_t)b->k * LANES,
                                  (size_t)b->depth * LANES, copy);
        from = copy;
    } else if (g->form == GEMM_TRANSPOSED) {
        exec->kernels->transpose_panels(g->b, g->columns, b->k, b->depth, (int)(column / LANES), 1,
                                        copy);
        from = copy;
    } else if (g->form == GEMM_PANELS) {
        from += column * g->depth + (ptrdiff_t)b->k * LANES;
    } else {
        step = g->b_row;
        from += b->k * step + column;
    }
    kernels->pack(from, step, columns, b->depth, b->pairs + panel * panel_size(b));
}

static void multiply_unit(const struct exec_context *exec, const struct gemm *g,
                          const struct bf16_part *b, const struct gemm_partition *split, int index)
{
    const ptrdiff_t row = (ptrdiff_t)(index % split->row_parts) * split->rows;
    const ptrdiff_t panel = (ptrdiff_t)(index / split->row_parts) * split->panels;
    const bool add = g->add || b->k > 0;
    const struct bf16_block p = {
        .rows = rapt__min(g->rows - (int)row, split->rows),
        .columns = rapt__min(b->columns - (int)panel * LANES, split->panels * LANES),
        .depth = b->depth,
        .a = g->a + row * g->a_row + b->k * g->a_step,
        .a_row = g->a_row,
        .a_step = g->a_step,
        .b = b->pairs + panel * panel_size(b),
        .b_panel = panel_size(b),
        .c = g->c + row * g->c_row + (b->column / LANES + panel) * g->c_panel,
        .c_row = g->c_row,
        .c_panel = g->c_panel,
        .add = add,
        .bias = add || !g->bias ? NULL : g->bias + b->column + panel * LANES,
    };
    bf16_kernels_of(exec)->gemm(&p);
    if (b->k + b->depth == g->depth) rapt__gemm_activate(exec, g, p.c, p.rows, p.columns);
}

/* Packs the block `next` and multiplies the block `now`, in one phase between barriers. Either may
   be empty. */
static void run_phase(const struct exec_context *exec, const struct gemm *g,
                      const struct bf16_part *now, const struct bf16_part *next)
{
    int panels = rapt__ceil_div(next->columns, LANES), packs = rapt__ceil_div(panels, PACK_GRAIN);
    struct gemm_partition split = {0};
    if (now->columns)
        split = rapt__gemm_units(exec->team->size, g->rows, rapt__ceil_div(now->columns, LANES),
                                 UNIT_PANELS);
    int units = split.row_parts * split.panel_parts;
    for (int t; (t = rapt__team_take(exec->team)) < packs + units;) {
        if (t >= packs) {
            multiply_unit(exec, g, now, &split, t - packs);
            continue;
        }
        int first = t * PACK_GRAIN, last = rapt__min(first + PACK_GRAIN, panels);
        for (int panel = first; panel < last; panel++) pack_panel(exec, g, next, panel);
    }
    rapt__team_barrier(exec->team);
}

void rapt__gemm_bf16(const struct exec_context *exec, const struct gemm *g)
{
    if (g->rows == 0 || g->columns == 0 || g->depth == 0) {
        rapt__gemm_builtin(exec, g); /* nothing is multiplied, so the result is the same */
        return;
    }
    struct bf16_part now = {0}, next;
    for (int i = 0; i == 0 || now.columns; i++) {
        next = part_at(exec, g, i);
        run_phase(exec, g, &now, &next);
        now = next;
    }
}
