/* flash_gemm.c - the matrix products of attention, built from the tiles of flash_panels.c. Each
   product dispatches once on the number of rows, which is then a constant, as are most strides. */
#include "kernel/flash.h"

/* Computes tiles of `panels` panels from panel n on, as long as they fit, and returns the next
   panel. */
static inline __attribute__((always_inline)) int
tiling_run(int rows, int panels, enum tiling_kind kind, const struct tiling *t, int n)
{
    for (; n + panels <= t->panels; n += panels) {
        if (kind == TILE_SCORES)
            score_panels(rows, panels, t, n);
        else if (kind == TILE_MEAN)
            mean_panels(rows, panels, t, n);
        else if (kind == TILE_PLUS)
            plus_panels(rows, panels, t, n);
        else
            value_panels(rows, panels, kind == TILE_ADDED, t, n);
    }
    return n;
}

/* Computes a row of tiles, widest tiles first. */
static inline __attribute__((always_inline)) void tiling_row(int rows, enum tiling_kind kind,
                                                             const struct tiling *t)
{
    int max = tile_panels(rows), n = tiling_run(rows, max, kind, t, 0);
    if (max > 4) n = tiling_run(rows, 4, kind, t, n);
    if (max > 2) n = tiling_run(rows, 2, kind, t, n);
    if (max > 1) tiling_run(rows, 1, kind, t, n);
}

/* Computes up to VF_ROWS rows. Inlined, so that kind and most strides are constants. */
static inline __attribute__((always_inline)) void tiling(int rows, enum tiling_kind kind,
                                                         const struct tiling *t)
{
    switch (rows) {
#define TILE_CASE(rows, height)                                                                    \
    case rows:                                                                                     \
        tiling_row(height, kind, t);                                                               \
        break;
#include "kernel/tile_rows.def"
#undef TILE_CASE
    default:
        tiling_row(VF_ROWS, kind, t);
    }
}

/* Computes scores[r][s] = q[r].k[s], with rows ATTEND_BLOCK apart. q is [depth][VF_ROWS], of which
   only the first `rows` columns are used; keys is [panels][depth][16]. max [rows][16], unless NULL,
   receives the maximum of each lane. */
static void score_tile(int rows, const float *q, const float *keys, int depth, int panels,
                       float *scores, float *max)
{
    const struct tiling t = {.g = {.depth = depth,
                                   .a = q,
                                   .a_row = 1,
                                   .a_step = VF_ROWS,
                                   .b = keys,
                                   .b_panel = (ptrdiff_t)depth * LANES,
                                   .b_step = LANES,
                                   .c = scores,
                                   .c_row = ATTEND_BLOCK,
                                   .c_panel = LANES},
                             .panels = panels,
                             .max = max};
    tiling(rows, TILE_SCORES, &t);
}

/* Computes scores[s][t] = k[s].q[t], with rows ld apart, for at most TILE_ROWS keys, whose rows are
   k_row apart. q is [panels][depth][16]. The call to rapt__min tells the compiler that there are at
   most HEAD_PANELS panels. */
static void score_keys(int keys, const float *k, ptrdiff_t k_row, const float *q, int depth,
                       int panels, float *scores, ptrdiff_t ld)
{
    const struct tiling t = {.g = {.depth = depth,
                                   .a = k,
                                   .a_row = k_row,
                                   .a_step = 1,
                                   .b = q,
                                   .b_panel = (ptrdiff_t)depth * LANES,
                                   .b_step = LANES,
                                   .c = scores,
                                   .c_row = ld,
                                   .c_panel = LANES},
                             .panels = rapt__min(panels, HEAD_PANELS)};
    tiling(keys, TILE_SCORES, &t);
}

/* Computes o[t] = inverse[t] (sum of weights[s][t] values[s] over `keys` keys s). Rows of weights
   are HEAD_QUERIES apart; width must be a multiple of 16. */
static void mean_tile(int rows, const float *weights, const float *values, ptrdiff_t v_row,
                      int keys, int width, const float *inverse, float *o, ptrdiff_t o_row)
{
    const struct tiling t = {.g = {.depth = keys,
                                   .a = weights,
                                   .a_row = 1,
                                   .a_step = HEAD_QUERIES,
                                   .b = values,
                                   .b_panel = LANES,
                                   .b_step = v_row,
                                   .c = o,
                                   .c_row = o_row,
                                   .c_panel = LANES},
                             .panels = width / LANES,
                             .inverse = inverse};
    tiling(rows, TILE_MEAN, &t);
}

/* Computes y[t] = y[t] + sum of w[s][t] x[s] over `terms` values of s. Rows of w are HEAD_GRADIENTS
   apart; width must be a multiple of 16. */
static void plus_columns(int rows, const float *w, const float *x, ptrdiff_t x_row, int terms,
                         int width, float *y, ptrdiff_t y_row)
{
    const struct tiling t = {.g = {.depth = terms,
                                   .a = w,
                                   .a_row = 1,
                                   .a_step = HEAD_GRADIENTS,
                                   .b = x,
                                   .b_panel = LANES,
                                   .b_step = x_row,
                                   .c = y,
                                   .c_row = y_row,
                                   .c_panel = LANES},
                             .panels = width / LANES};
    tiling(rows, TILE_PLUS, &t);
}

/* Computes y[s] = y[s] + sum of w[s][t] x[t] over `terms` values of t. If `unfinished`, the chains
   of fmas continue from y[s] instead of being added to it. */
static void plus_rows(int rows, const float *w, const float *x, ptrdiff_t x_row, int terms,
                      int width, float *y, ptrdiff_t y_row, bool unfinished)
{
    const struct tiling t = {.g = {.depth = terms,
                                   .a = w,
                                   .a_row = HEAD_GRADIENTS,
                                   .a_step = 1,
                                   .b = x,
                                   .b_panel = LANES,
                                   .b_step = x_row,
                                   .c = y,
                                   .c_row = y_row,
                                   .c_panel = LANES},
                             .panels = width / LANES};
    if (unfinished)
        tiling(rows, TILE_ADDED, &t);
    else
        tiling(rows, TILE_PLUS, &t);
}

/* Describes the sum of weights[r][s] values[s] over `keys` keys s for each row r. Rows of o have
   `width` floats. */
static inline struct tiling weighted_tiling(const float *weights, const float *values,
                                            ptrdiff_t value_row, int keys, int width, float *o)
{
    return (struct tiling){.g = {.depth = keys,
                                 .a = weights,
                                 .a_row = ATTEND_BLOCK,
                                 .a_step = 1,
                                 .b = values,
                                 .b_panel = LANES,
                                 .b_step = value_row,
                                 .c = o,
                                 .c_row = width,
                                 .c_panel = LANES},
                           .panels = width / LANES};
}

/* Multiplies each o[r] by rescale[r], and adds the sum described by weighted_tiling. */
static void accumulate_tile(int rows, const float *weights, const float *values,
                            ptrdiff_t value_row, int keys, int width, const float *rescale,
                            float *o)
{
    struct tiling t = weighted_tiling(weights, values, value_row, keys, width, o);
    t.rescale = rescale;
    tiling(rows, TILE_MERGED, &t);
}

/* Adds the sum described by weighted_tiling to each o[r]. */
static void add_tile(int rows, const float *weights, const float *values, ptrdiff_t value_row,
                     int keys, int width, float *o)
{
    const struct tiling t = weighted_tiling(weights, values, value_row, keys, width, o);
    tiling(rows, TILE_ADDED, &t);
}

/* Computes c[s][n] += sum over t of a[t][s] b[t][n] for `rows` values of s. a is
   [terms][ATTEND_BLOCK]; rows of b and c have `width` floats. */
static void transpose_tile(int rows, const float *a, const float *b, int terms, int width, float *c)
{
    struct tiling t = weighted_tiling(a, b, width, terms, width, c);
    t.g.a_row = 1;
    t.g.a_step = ATTEND_BLOCK;
    tiling(rows, TILE_ADDED, &t);
}
