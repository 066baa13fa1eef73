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
    ptrdiff_t a_row = g->a_tiles ? g->depth : g->a_row; /* from one tile to the next, a row */
    return (struct tile){g->a + row * a_row, b, g->bias ? g->bias + panel * LANES : NULL, b,
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

/* The highest tile of a product. A row less than fits leaves the compiler registers for
   addresses: 13 rows run at 0.98 of the ceiling on Zen 5, 14 at 0.95. */
enum { TILE_ROWS = VF_ROWS < 13 ? VF_ROWS : 13 };

/* Prefetches what a tile will add to. */
static inline __attribute__((always_inline)) void fetch_sums(const struct gemm_block *g, int row,
                                                             int rows, int n, int last)
{
    for (; n < last; n++)
        for (int r = row; r < row + rows; r++)
            __builtin_prefetch(g->c + r * g->c_row + n * g->c_panel, 1);
}

/* Rows in tiles of equal height, but for a row: first `tall` of height + 1, then the others. */
struct split {
    int tiles, tall, height;
};

static struct split split_rows(int rows)
{
    int tiles = rapt__ceil_div(rows, TILE_ROWS);
    return (struct split){tiles, rows % tiles, rows / tiles};
}

/* `count` tiles one below the other, the first of them tile `order` of its column. Each prefetches
   the sums of the next one, the last of a column those of the next panels. */
static inline __attribute__((always_inline)) void
tile_stack(int rows, const struct gemm_block *g, int row, int count, int n, int last, int order)
{
    int whole = g->columns / LANES;
    struct gemm_block at = *g;
    if (g->a_tiles) at.a_step = rows;
    for (; count > 0; count--, row += rows, order++) {
        int below = row + rows, left = g->rows - below;
        if (g->add && left > 0)
            fetch_sums(g, below, rapt__min(left, rows), n, last);
        else if (g->add && row > 0)
            fetch_sums(g, 0, rows, last, rapt__min(2 * last - n, whole));
        tile_row(rows, &at, row, n, last, order);
    }
}

/* The same for any height. Inlined, so that strides may be constants. */
static inline __attribute__((always_inline)) void
tile_ordered(int rows, const struct gemm_block *g, int row, int count, int n, int last, int order)
{
    switch (rows) {
#define TILE_CASE(rows, height)                                                                    \
    case rows:                                                                                     \
        tile_stack(height, g, row, count, n, last, order);                                         \
        break;
#include "kernel/tile_rows.def"
#undef TILE_CASE
    default:
        tile_stack(VF_ROWS, g, row, count, n, last, order);
    }
}

/* All rows, which fit into one tile, over all whole panels: without the loop of a stack, which
   would take registers. */
static void tile_alone(const struct gemm_block *g)
{
    int whole = g->columns / LANES;
    switch (g->rows) {
#define TILE_CASE(rows, height)                                                                    \
    case rows:                                                                                     \
        tile_row(height, g, 0, 0, whole, 0);                                                       \
        break;
#include "kernel/tile_rows.def"
#undef TILE_CASE
    default:
        tile_row(VF_ROWS, g, 0, 0, whole, 0);
    }
}

/* `count` tiles of so many rows over panels [n, last), which stay in the first-level cache. The
   rows of a are apart, or adjacent floats: then the stride is known to the compiler. */
static void stack_apart(int rows, const struct gemm_block *g, int row, int count, int n, int last,
                        int order)
{
    tile_ordered(rows, g, row, count, n, last, order);
}

static void stack_adjacent(int rows, const struct gemm_block *g, int row, int count, int n,
                           int last, int order)
{
    struct gemm_block adjacent = *g;
    adjacent.a_row = 1;
    tile_ordered(rows, &adjacent, row, count, n, last, order);
}

/* The columns of the last panel, of which only some exist. */
static void rest_column(const struct gemm_block *g, const struct split *s)
{
    struct gemm_block at = *g;
    for (int i = 0, row = 0, rows; i < s->tiles; i++, row += rows) {
        rows = s->height + (i < s->tall);
        if (g->a_tiles) at.a_step = rows;
        struct tile t = tile_at(&at, row, g->columns / LANES);
        tile_rest(rows, g->columns % LANES, &at, &t);
    }
}

static void gemm(const struct gemm_block *g)
{
    struct split s = split_rows(g->rows);
    int whole = g->columns / LANES, begin = s.tall * (s.height + 1);
    int width = tile_panels(s.height + (s.tall > 0));
    void (*stack)(int, const struct gemm_block *, int, int, int, int, int) =
        g->a_row == 1 ? stack_adjacent : stack_apart;
    bool alone = s.tiles == 1 && !g->a_tiles;
    if (alone) tile_alone(g);
    for (int n = 0; n < whole && !alone; n += width) {
        int last = rapt__min(n + width, whole);
        if (s.tall) stack(s.height + 1, g, 0, s.tall, n, last, 0);
        stack(s.height, g, begin, s.tiles - s.tall, n, last, s.tall);
    }
    if (g->columns % LANES) rest_column(g, &s);
}
