/* gemm.c - the matrix product of one thread: register tiles over panels.

   The sums of a tile stay in registers while k runs; every element is its own chain of fma in
   the order of k, so the shape and position of a tile never change a bit. Few rows get more panels,
   to have enough independent sums in flight. Goto and van de Geijn 2008, "Anatomy of
   high-performance matrix multiplication"; here b is packed beforehand and a is read in place. */
#include <string.h>

enum { MAX_PANELS = 4 * VF_PANELS }; /* of the widest tile, which has few rows */

_Static_assert(VF_ROWS <= 14, "kernel/tile_rows.def lists the heights below 14");

/* Panels of the widest tile with that many rows: its sums, a vector of each panel and one of a fit
   into the registers, as those of the largest tile do. */
static inline __attribute__((always_inline)) int tile_panels(int rows)
{
    int panels = (VF_ROWS + 1) * VF_PANELS / (rows + 1);
    return rapt__min(panels, MAX_PANELS);
}

struct tile { /* where one register tile reads and writes */
    const float *a, *b, *bias;
    const float *ahead; /* a panel that will be read soon, prefetched along with b; or NULL */
    float *c;
};

enum {
    FEW_ROWS = VF_ROWS > 8 ? 8 : 4, /* with so few, b streams from memory: */
    FETCH_STEPS = 16 /* it is prefetched so many steps ahead, also that of the next tile */
};

/* The sums of a tile: sum[r * panels + q]. rows and panels are constants where this is inlined. */
static inline __attribute__((always_inline)) void
tile_sums(int rows, int panels, const struct gemm_block *g, const struct tile *t, vf *sum)
{
    const float *a = t->a, *b = t->b, *ahead = t->ahead, *fetch = t->b + FETCH_STEPS * g->b_step;
    ptrdiff_t a_row = g->a_row, a_step = g->a_step, b_panel = g->b_panel, b_step = g->b_step;
    for (int k = g->depth; k > 0; k--) {
        vf column[MAX_PANELS];
        if (ahead) {
            __builtin_prefetch(ahead, 0, 2);
            ahead += b_step;
        }
        if (rows <= FEW_ROWS && k == FETCH_STEPS) fetch = t->b + panels * b_panel;
        UNROLL
        for (int q = 0; q < panels && rows <= FEW_ROWS; q++)
            __builtin_prefetch(fetch + q * b_panel);
        fetch += b_step;
        UNROLL
        for (int q = 0; q < panels; q++) column[q] = vf_load(b + q * b_panel);
        UNROLL
        for (int r = 0; r < rows; r++) {
            vf left = vf_splat(a[r * a_row]);
            UNROLL
            for (int q = 0; q < panels; q++)
                sum[r * panels + q] = vf_fma(left, column[q], sum[r * panels + q]);
        }
        a += a_step;
        b += b_step;
    }
}

/* A tile of whole panels. */
static inline __attribute__((always_inline)) void
tile_whole(int rows, int panels, const struct gemm_block *g, const struct tile *t)
{
    vf sum[VF_ROWS * VF_PANELS];
    UNROLL
    for (int r = 0; r < rows; r++) UNROLL
    for (int q = 0; q < panels; q++)
        sum[r * panels + q] = g->add    ? vf_load(t->c + r * g->c_row + q * g->c_panel)
                              : t->bias ? vf_load(t->bias + q * LANES)
                                        : vf_zero();
    tile_sums(rows, panels, g, t, sum);
    UNROLL
    for (int r = 0; r < rows; r++) UNROLL
    for (int q = 0; q < panels; q++)
        vf_store(t->c + r * g->c_row + q * g->c_panel, sum[r * panels + q]);
}

/* A tile of the last panel, of which only n < 16 columns exist. */
static void tile_rest(int rows, int n, const struct gemm_block *g, const struct tile *t)
{
    for (int r = 0; r < rows; r++) {
        float *c = t->c + r * g->c_row;
        const float *a = t->a + r * g->a_row, *b = t->b;
        vf sum = g->add ? vf_load_n(c, n, 0) : t->bias ? vf_load_n(t->bias, n, 0) : vf_zero();
        for (int k = 0; k < g->depth; k++)
            sum = vf_fma(vf_splat(a[k * g->a_step]), vf_load_n(b + k * g->b_step, n, 0), sum);
        vf_store_n(c, sum, n);
    }
}

static inline __attribute__((always_inline)) struct tile tile_at(const struct gemm_block *g,
                                                                 int row, int panel)
{
    const float *b = g->b + panel * g->b_panel;
    return (struct tile){g->a + row * g->a_row, b, g->bias ? g->bias + panel * LANES : NULL, b,
                         g->c + row * g->c_row + panel * g->c_panel};
}

/* Tiles of so many panels from panel n on; returns where the next one would start. Tile
   `order` of a column of tiles (0: the first) prefetches one of the panels of the next columns. */
static inline __attribute__((always_inline)) int
tile_run(int rows, int panels, const struct gemm_block *g, int row, int n, int last, int order)
{
    for (; n + panels <= last; n += panels) {
        struct tile t = tile_at(g, row, n);
        int next = panels + order;
        if (n + next < g->columns / LANES) t.ahead += next * g->b_panel;
        tile_whole(rows, panels, g, &t);
    }
    return n;
}

/* Rows [row, row + rows) over panels [n, last): the widest tiles first. */
static inline __attribute__((always_inline)) void tile_row(int rows, const struct gemm_block *g,
                                                           int row, int n, int last, int order)
{
    int max = tile_panels(rows);
    n = tile_run(rows, max, g, row, n, last, order);
    if (max > 4) n = tile_run(rows, 4, g, row, n, last, order);
    if (max > 2) n = tile_run(rows, 2, g, row, n, last, order);
    if (max > 1) tile_run(rows, 1, g, row, n, last, order);
}

/* Up to VF_ROWS rows over panels [n, last). Inlined, so that strides may be constants. */
static inline __attribute__((always_inline)) void tile_ordered(int rows, const struct gemm_block *g,
                                                               int row, int n, int last, int order)
{
    switch (rows) {
#define TILE_CASE(rows, height)                                                                    \
    case rows:                                                                                     \
        tile_row(height, g, row, n, last, order);                                                  \
        break;
#include "kernel/tile_rows.def"
#undef TILE_CASE
    default:
        tile_row(VF_ROWS, g, row, n, last, order);
    }
}

/* The highest tile of a product. A row less than fits leaves the compiler registers for
   addresses: 13 rows run at 0.98 of the ceiling on Zen 5, 14 at 0.95. */
enum { TILE_ROWS = VF_ROWS < 13 ? VF_ROWS : 13 };

/* Prefetches what a tile will add to. */
static inline void fetch_sums(const struct gemm_block *g, int row, int rows, int n, int last)
{
    for (; n < last; n++)
        for (int r = row; r < row + rows; r++)
            __builtin_prefetch(g->c + r * g->c_row + n * g->c_panel, 1);
}

/* All rows over panels [n, last), which stay in the first-level cache; tiles of equal height, but
   for a row. Each tile prefetches the sums of the next one down, the last those of the next panels.
 */
static inline __attribute__((always_inline)) void tile_column(const struct gemm_block *g, int n,
                                                              int last)
{
    int tiles = rapt__ceil_div(g->rows, TILE_ROWS), whole = g->columns / LANES;
    for (int row = 0, order = 0, take; row < g->rows; row += take, order++) {
        take = rapt__ceil_div(g->rows - row, tiles - order);
        int below = row + take, left = g->rows - below;
        if (g->add && left > 0)
            fetch_sums(g, below, rapt__min(left, take), n, last);
        else if (g->add && tiles > 1)
            fetch_sums(g, 0, take, last, rapt__min(2 * last - n, whole));
        tile_ordered(take, g, row, n, last, order);
    }
}

/* The rows of a apart, or adjacent floats: then the stride is known to the compiler. */
static void column_apart(const struct gemm_block *g, int n, int last)
{
    tile_column(g, n, last);
}

static void column_adjacent(const struct gemm_block *g, int n, int last)
{
    struct gemm_block adjacent = *g;
    adjacent.a_row = 1;
    tile_column(&adjacent, n, last);
}

static void gemm(const struct gemm_block *g)
{
    int whole = g->columns / LANES, rest = g->columns % LANES;
    int tiles = rapt__ceil_div(g->rows, TILE_ROWS);
    int width = tiles > 1 ? tile_panels(rapt__ceil_div(g->rows, tiles)) : whole;
    for (int n = 0; n < whole; n += width) {
        int last = rapt__min(n + width, whole);
        if (g->a_row == 1)
            column_adjacent(g, n, last);
        else
            column_apart(g, n, last);
    }
    if (rest) {
        struct tile t = tile_at(g, 0, whole);
        tile_rest(g->rows, rest, g, &t);
    }
}

/* out[j][i] = in[i][j] for 16 x 16 floats back to back. */
static inline void transpose_block(const float *in, float *out)
{
    vf x[LANES];
    UNROLL
    for (int i = 0; i < LANES; i++) x[i] = vf_load(in + i * LANES);
    vf_transpose(x);
    UNROLL
    for (int i = 0; i < LANES; i++) vf_store(out + i * LANES, x[i]);
}

/* A block of which only rows of `in` exist, and only rows of `out` are wanted. */
static void transpose_rest(const float *in, int in_rows, float *out, int out_rows)
{
    float from[LANES * LANES] = {0}, to[LANES * LANES];
    memcpy(from, in, (size_t)(in_rows * LANES) * sizeof *in);
    transpose_block(from, to);
    memcpy(out, to, (size_t)(out_rows * LANES) * sizeof *out);
}

static void transpose_panels(const float *w, int columns, int k0, int ks, int first, int count,
                             float *out)
{
    ptrdiff_t w_panel = (ptrdiff_t)columns * LANES;
    for (int p = first; p < first + count; p++, out += (ptrdiff_t)ks * LANES) {
        int n = rapt__min(columns - p * LANES, LANES);
        const float *from = w + k0 / LANES * w_panel + (ptrdiff_t)p * LANES * LANES;
        for (int k = 0; k < ks; k += LANES, from += w_panel) {
            if (n == LANES && ks - k >= LANES)
                transpose_block(from, out + k * LANES);
            else
                transpose_rest(from, n, out + k * LANES, rapt__min(ks - k, LANES));
        }
    }
}

enum { ROWS_AHEAD = 8 }; /* rows of x lie apart: they are prefetched so many ahead */

static void pack_rows(const float *x, ptrdiff_t ld, int columns, int depth, int first, int count,
                      float *out)
{
    ptrdiff_t panel = (ptrdiff_t)depth * LANES;
    int whole = rapt__min(columns / LANES - first, count);
    const float *from = x + (ptrdiff_t)first * LANES;
    for (int k = 0; k < depth; k++, from += ld, out += LANES) {
        for (int p = 0; p < whole; p++) {
            __builtin_prefetch(from + ROWS_AHEAD * ld + p * LANES);
            vf_store(out + p * panel, vf_load(from + p * LANES));
        }
        for (int p = whole; p < count; p++)
            vf_store(out + p * panel, vf_load_n(from + p * LANES, columns % LANES, 0));
    }
}

/* out[j][i] = x[i][j] for 16 rows of 16 floats. */
static inline void pack_block(const float *x, ptrdiff_t ld, float scale, float *out)
{
    vf block[LANES], by = vf_splat(scale);
    UNROLL
    for (int i = 0; i < LANES; i++) block[i] = vf_mul(vf_load(x + i * ld), by);
    vf_transpose(block);
    UNROLL
    for (int i = 0; i < LANES; i++) vf_store(out + i * LANES, block[i]);
}

/* The same, of which `rows` rows of `width` floats exist; the others are 0. */
static void pack_rest(const float *x, ptrdiff_t ld, int rows, int width, float scale, float *out)
{
    vf block[LANES];
    for (int i = 0; i < LANES; i++) {
        block[i] = vf_zero();
        if (i < rows) block[i] = vf_load_partial(x + i * ld, (size_t)width, 0);
        block[i] = vf_mul(block[i], vf_splat(scale));
    }
    vf_transpose(block);
    for (int i = 0; i < rapt__min(width, LANES); i++) vf_store(out + i * LANES, block[i]);
}

static void pack_columns(const float *x, ptrdiff_t ld, int columns, int depth, float scale,
                         int first, int count, float *out)
{
    for (int p = first; p < first + count; p++) {
        const float *from = x + (ptrdiff_t)p * LANES * ld;
        int rows = rapt__min(columns - p * LANES, LANES);
        for (int k = 0; k < depth; k += LANES) {
            if (rows == LANES && depth - k >= LANES)
                pack_block(from + k, ld, scale, out + k * LANES);
            else
                pack_rest(from + k, ld, rows, depth - k, scale, out + k * LANES);
        }
        out += (ptrdiff_t)depth * LANES;
    }
}
