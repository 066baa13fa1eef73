/* gemm_plan.c - what the built-in product copies before it multiplies, and how a block of c is
   split into units: by cache sizes, strides and the height of the register tile. */
#include "op/gemm.h"

#include <limits.h>

enum {
    WHOLE_ROWS = GEMM_UNIT_ROWS / LANES * LANES, /* of a unit where lines of a hold sixteen rows */
    MAX_PANELS = 32,                             /* of a unit */
    FEW_PANELS = 4,                              /* of which a unit has no fewer */
    READ_PANELS = 1,                             /* as much work as reading its rows of a */
    COPY_EVEN = 256, /* a is read in place if its rows are not a multiple of this apart */
    PACK_ROWS = 32   /* b is read in place if fewer rows of a read it */
};

/* If it is the transpose of panels, or rows of it that many rows of a need would not stay in the
   cache. */
bool rapt__gemm_packs(const struct gemm *g)
{
    return g->form == GEMM_TRANSPOSED ||
           (g->form == GEMM_ROWS && g->rows >= PACK_ROWS &&
            rapt__rows_collide(g->b_row, rapt__min(g->depth, GEMM_DEPTH)));
}

/* Whether tiles read each row of a again from memory that holds it badly: rows that lie apart by a
   multiple of many lines fall into few sets of the nearest cache. The next cache makes up for it
   where a tile reads whole lines of rows and a unit's rows span no more than half of it; where a
   tile reads most of the line of each step (a_step), if their lines stay there and b, being packed,
   does not take the same sets; but not where what it loses comes from a third level that is far. */
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
    /* Of adjacent rows a low tile would use less than half of each line that it reads. */
    bool low = 2 * exec->kernels->tile_rows < LANES;
    if (g->rows < GEMM_FEW_ROWS) return GEMM_LEFT_IN_PLACE;
    if (g->a_row == 1 && low) return GEMM_LEFT_TILES;
    return collides(g) ? GEMM_LEFT_COPY : GEMM_LEFT_IN_PLACE;
}

/* Rows of a tile, at most: where it reads whole lines of rows in place, and a set of the nearest
   cache would lose most of them before their last float is read, as many as the set holds. But no
   less than half of the rows that it can have, as lower tiles read b more often. 0: no fewer. */
static int max_tile(const struct exec_context *exec, const struct gemm *g, enum gemm_left left)
{
    int rows = exec->kernels->tile_rows;
    bool whole_lines = left == GEMM_LEFT_IN_PLACE && g->a_step == 1;
    if (!whole_lines || g->rows < GEMM_FEW_ROWS || !rapt__tiles_collide(g->a_row, rows)) return 0;
    return rapt__max(rapt__first_level_ways(), rows / 2);
}

/* Panels of a unit, at most: with a unit's rows of a they fit into the second-level cache, so that
   units of other rows find them there. Not where each unit copies a. */
static int max_panels(const struct gemm *g, enum gemm_left left)
{
    int depth = rapt__max(1, rapt__min(g->depth, GEMM_DEPTH));
    size_t fit = rapt__second_level_size() / ((size_t)depth * sizeof(float)); /* rows and columns */
    if (left != GEMM_LEFT_IN_PLACE || fit >= MAX_PANELS * LANES + GEMM_UNIT_ROWS) return MAX_PANELS;
    return rapt__max(((int)fit - GEMM_UNIT_ROWS) / LANES / 2 * 2, 2 * FEW_PANELS);
}

/* Panels of a unit: at most `max`, fewer where the member that computes most then computes less. */
static int even_panels(int members, int row_parts, int panels, int max)
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

/* Units of about 52 rows and max_panels; of a team, fewer panels where a member would get less than
   four, or where members would get unequal shares. */
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
    split.panels =
        even_panels(team, split.row_parts, panels, rapt__max(split.panels, 2 * FEW_PANELS));
    split.panel_parts = rapt__ceil_div(panels, split.panels);
    return split;
}
