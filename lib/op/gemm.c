/* gemm.c - c = a b, computed by a team: chooses bf16, OpenBLAS or the built-in kernels, and plans
   how the built-in kernels compute the product. */
#include "op/gemm.h"

#include <limits.h>

/* ---- choice: products are computed in bf16 if the context asks for it and the weights are floats
   or bf16; by OpenBLAS if the context asks for it, the weights are floats and the product is large
   enough; and otherwise by the built-in kernels. Within a context, the choice depends only on the
   type of the weights and the shape of the product. ---- */

/* Returns true if the context selects OpenBLAS for this product of a layer. */
static bool wants_openblas(const struct products *p, const struct gemm *g)
{
    if (g->form == GEMM_PANELS)
        return rapt__products_take(p, PRODUCT_FORWARD, g->columns, g->depth);
    if (g->form == GEMM_TRANSPOSED)
        return rapt__products_take(p, PRODUCT_INPUT, g->depth, g->columns);
    return rapt__products_take(p, PRODUCT_WEIGHT, g->columns, g->rows);
}

void rapt__gemm(const struct exec_context *exec, const struct gemm *g)
{
    const bool halves = g->half && g->type == HALF_F16;
    if (!halves && exec->products && exec->products->bf16)
        rapt__gemm_bf16(exec, g);
    else if (!g->half && wants_openblas(exec->products, g) && rapt__gemm_openblas_serves(g))
        rapt__gemm_openblas(exec, g);
    else
        rapt__gemm_builtin(exec, g);
}

void rapt__gemm_activate(const struct exec_context *exec, const struct gemm *g, const float *c,
                         int rows, int columns)
{
    if (g->activation == ACTIVATION_NONE) return;
    float *out = g->activated + (c - g->c);
    for (int r = 0; r < rows; r++)
        exec->kernels->activate(g->activation, c + r * g->c_row, out + r * g->c_row,
                                (size_t)columns);
}

/* ---- plan: decides what the built-in product copies before multiplying, and how a block of c is
   divided into units, depending on cache sizes, strides and the height of the register tile.
   ---- */

enum {
    WHOLE_ROWS = GEMM_UNIT_ROWS / LANES * LANES, /* maximum number of rows in a unit if adjacent
                                                    floats of a belong to adjacent rows */
    MAX_PANELS = 32,                             /* maximum number of panels in a unit */
    FEW_PANELS = 4,                              /* minimum number of panels in a unit */
    READ_PANELS = 1,                             /* cost of reading a unit's rows of a, in panels
                                                    that could be multiplied in the same time */
    COPY_EVEN = 256, /* strides of a that are multiples of this many floats may collide in L1 */
    PACK_ROWS = 32   /* row-major b is packed only if a has at least this many rows */
};

/* Returns true if b is transposed, or if b is row-major, a has at least PACK_ROWS rows, and the
   rows of b would not stay in the cache until all rows of a have been multiplied by them. */
bool rapt__gemm_packs(const struct gemm *g)
{
    return g->form == GEMM_TRANSPOSED ||
           (g->form == GEMM_ROWS && g->rows >= PACK_ROWS &&
            rapt__rows_collide(g->b_row, rapt__min(g->depth, GEMM_DEPTH)));
}

/* Returns true if L1 cannot keep the lines of a that tiles read repeatedly, because a stride that
   is a multiple of 16 lines maps them to only a few sets. In two cases L2 compensates for this. In
   the first, tiles read whole lines of rows (a_step 1), and a unit's rows span at most half of L2.
   In the second, each step reads a separate line, these lines stay in L2, and b is packed, so that
   it does not occupy the same sets. If lines that L2 evicts must be read from a distant L3 cache,
   the second case does not apply, and any large a_step counts as a collision. */
static bool collides(const struct gemm *g)
{
    bool whole_lines = g->a_step == 1;
    ptrdiff_t stride = whole_lines ? g->a_row : g->a_step;
    if (!whole_lines && stride >= COPY_EVEN && rapt__third_level_far()) return true;
    if (stride % COPY_EVEN != 0) return false;
    if (whole_lines)
        return GEMM_UNIT_ROWS * sizeof(float) * (size_t)stride > rapt__second_level_size() / 2;
    return !rapt__gemm_packs(g) || rapt__rows_collide(stride, rapt__min(g->depth, GEMM_COPY_DEPTH));
}

static enum gemm_left left_of(const struct exec_context *exec, const struct gemm *g)
{
    /* If adjacent floats belong to adjacent rows, a tile with few rows uses less than half of each
       line it reads. */
    bool low = 2 * exec->kernels->tile_rows < LANES;
    if (g->rows < GEMM_FEW_ROWS) return GEMM_LEFT_IN_PLACE;
    if (g->a_row == 1 && low) return GEMM_LEFT_TILES;
    return collides(g) ? GEMM_LEFT_COPY : GEMM_LEFT_IN_PLACE;
}

/* Returns the maximum number of rows in a tile, or 0 for no limit. There is a limit if a tile reads
   rows in place and L1 would evict most lines of these rows before the last float of each line is
   read. The limit is the number of ways of an L1 set, but at least half of the full height, because
   shorter tiles read b more often. */
static int max_tile(const struct exec_context *exec, const struct gemm *g, enum gemm_left left)
{
    int rows = exec->kernels->tile_rows;
    bool whole_lines = left == GEMM_LEFT_IN_PLACE && g->a_step == 1;
    if (!whole_lines || g->rows < GEMM_FEW_ROWS || !rapt__tiles_collide(g->a_row, rows)) return 0;
    return rapt__max(rapt__first_level_ways(), rows / 2);
}

/* Returns the maximum number of panels in a unit. The panels and the unit's rows of a fit together
   in the L2 cache, where units of other rows reuse the panels, unless that would mean fewer than 8
   panels. Units that copy a may have up to MAX_PANELS panels. */
static int max_panels(const struct gemm *g, enum gemm_left left)
{
    int depth = rapt__max(1, rapt__min(g->depth, GEMM_DEPTH));
    size_t fit = rapt__second_level_size() / ((size_t)depth * sizeof(float)); /* rows plus columns
                                                                                 that fit in L2 */
    if (left != GEMM_LEFT_IN_PLACE || fit >= MAX_PANELS * LANES + GEMM_UNIT_ROWS) return MAX_PANELS;
    return rapt__max(((int)fit - GEMM_UNIT_ROWS) / LANES / 2 * 2, 2 * FEW_PANELS);
}

int rapt__gemm_even_panels(int members, int row_parts, int panels, int max)
{
    int best = max, best_work = INT_MAX;
    for (int n = max; n >= FEW_PANELS; n -= 2) {
        int units = row_parts * rapt__ceil_div(panels, n);
        int work = rapt__ceil_div(units, members) * (n + READ_PANELS);
        if (work >= best_work) continue;
        best = n;
        best_work = work;
    }
    return best;
}

/* Units have at most GEMM_UNIT_ROWS rows and max_panels() panels. In a team they have fewer panels
   (but at least FEW_PANELS, if c has that many) if threads would otherwise get fewer than four
   units, or unequal shares. */
struct gemm_partition rapt__gemm_partition(const struct exec_context *exec, const struct gemm *g,
                                           int columns)
{
    int panels = rapt__ceil_div(columns, LANES), team = exec->team->size;
    int wanted = team > 1 ? 4 * team : 1;
    bool across = g->a_row == 1;
    struct gemm_partition split = {.left = left_of(exec, g)};
    split.max_tile = max_tile(exec, g, split.left);
    split.row_parts = rapt__ceil_div(g->rows, across ? WHOLE_ROWS : GEMM_UNIT_ROWS);
    split.rows = rapt__round_up(rapt__ceil_div(g->rows, split.row_parts), across ? LANES : 1);
    split.row_parts = rapt__ceil_div(g->rows, split.rows);
    split.panels = rapt__ceil_div(panels * split.row_parts, wanted);
    split.panels = rapt__min(rapt__round_up(split.panels, 2), max_panels(g, split.left));
    split.panels = rapt__gemm_even_panels(team, split.row_parts, panels,
                                          rapt__max(split.panels, 2 * FEW_PANELS));
    split.panel_parts = rapt__ceil_div(panels, split.panels);
    return split;
}

struct gemm_partition rapt__gemm_units(int members, int rows, int panels, int max_panels)
{
    struct gemm_partition p = {.row_parts = rapt__ceil_div(rows, GEMM_UNIT_ROWS)};
    p.rows = rapt__ceil_div(rows, p.row_parts);
    p.panels = rapt__ceil_div(panels * p.row_parts, members > 1 ? 4 * members : 1);
    p.panels = rapt__max(rapt__min(rapt__round_up(p.panels, 2), max_panels), 2 * FEW_PANELS);
    p.panels = rapt__gemm_even_panels(members, p.row_parts, panels, p.panels);
    p.panel_parts = rapt__ceil_div(panels, p.panels);
    return p;
}
