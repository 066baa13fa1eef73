/* gemm.c - the single-threaded matrix product, in columns of register tiles over panels (Goto and
   van de Geijn 2008, "Anatomy of high-performance matrix multiplication"). The caller packs b,
   unless it is read as rows; a is read in place or packed tile by tile. */

/* Height of the tallest tile in a product. With AVX-512 it is one row fewer than would fit in the
   vector registers: on Zen 5, tiles of 13 rows reach 0.98 of the peak, but tiles of 14 rows reach
   only 0.95. */
enum { TILE_ROWS = VF_ROWS < 13 ? VF_ROWS : 13 };

/* A division of rows into tiles whose heights differ by at most one: `tall` tiles of height + 1,
   followed by tiles of `height`. */
struct split {
    int tiles, tall, height;
};

static struct split split_rows(const struct gemm_block *g)
{
    int max = g->max_tile ? rapt__min(g->max_tile, TILE_ROWS) : TILE_ROWS;
    int tiles = rapt__ceil_div(g->rows, max);
    return (struct split){tiles, g->rows % tiles, g->rows / tiles};
}

/* A column of tiles of equal height over the same panels. */
struct tile_column {
    struct gemm_block g;
    int row, count;  /* first row of the next tile, and number of tiles left */
    int first, last; /* panels first .. last - 1: as many as the widest tile spans, or all if g has
                        only one row of tiles */
    int n;           /* the next panel */
    float share;     /* 1 / g.rows */
};

/* Without this barrier the compiler keeps per-column values in registers across tiles and spills
   the tile's own addresses inside the innermost loop. */
static inline __attribute__((always_inline)) void free_registers(void)
{
    __asm__ volatile("" : : : "memory");
}

/* Minimum depth at which spreading prefetches evenly repays the extra instructions. */
enum { EVEN_DEPTH = 256 };

/* Chooses which part of the next panels a tile prefetches. Normally this is a share proportional to
   the tile's rows, so the tiles of a column together fetch each line once, spread evenly over all
   steps. If one tile fetched everything in a burst, its own loads would have to wait for memory. If
   the depth is small, b is not packed, or the share exceeds one line per step, each tile instead
   fetches a whole panel, and the tile below it fetches the following one. If a tile of few rows
   contains all rows of g, it prefetches its own panels (tile.c) and nothing else. */
static inline __attribute__((always_inline)) void fetch_panels(enum panel_type type, int rows,
                                                               int panels,
                                                               const struct tile_column *at,
                                                               struct tile *t)
{
    const struct gemm_block *g = &at->g;
    if (rows <= FEW_ROWS && rows == g->rows) t->ahead = NULL;
    if (!t->ahead || at->n + panels >= g->columns / LANES) return;
    const void *next = panel_at(type, t->b, panels * g->b_panel);
    float part = at->share * (float)(rows * panels);
    if (g->b_step != LANES || g->depth < EVEN_DEPTH || part >= 1) {
        t->ahead = panel_at(type, next, at->row / rows * g->b_panel);
        return;
    }
    float above = at->share * (float)(at->row * panels);
    int panel = (int)above, line = (int)((above - (float)panel) * (float)g->depth);
    t->ahead = panel_at(type, next, panel * g->b_panel + (ptrdiff_t)line * LANES);
    t->ahead_step = (int)(part * LANES) + 1;
}

/* Computes tiles of `panels` panels as long as they fit. `adjacent` means that a_row is 1. */
static inline __attribute__((always_inline)) void
tile_run(enum panel_type type, int rows, int panels, bool adjacent, struct tile_column *at)
{
    while (at->n + panels <= at->last) {
        struct gemm_block g = at->g;
        if (adjacent) g.a_row = 1;
        struct tile t = tile_at(type, &g, at->row, at->n);
        fetch_panels(type, rows, panels, at, &t);
        tile_whole(type, rows, panels, &g, &t);
        at->n += panels;
        free_registers();
    }
}

/* Computes the rows of the next tile over all panels, widest tiles first. */
static inline __attribute__((always_inline)) void tile_row(enum panel_type type, int rows,
                                                           bool adjacent, struct tile_column *at)
{
    int max = tile_panels(rows);
    at->n = at->first;
    tile_run(type, rows, max, adjacent, at);
    if (max > 4) tile_run(type, rows, 4, adjacent, at);
    if (max > 2) tile_run(type, rows, 2, adjacent, at);
    if (max > 1) tile_run(type, rows, 1, adjacent, at);
}

/* Prefetches the memory of a tile's results, which will be written and, if `add`, read first. */
static inline __attribute__((always_inline)) void fetch_sums(const struct gemm_block *g, int row,
                                                             int rows, int n, int last)
{
    for (; n < last; n++)
        for (int r = row; r < row + rows; r++)
            __builtin_prefetch(g->c + r * g->c_row + n * g->c_panel, 1);
}

/* Computes the tiles of a column. Each tile prefetches the results of the tile below it; the last
   tile prefetches those of the first tile of the next panels. Where register tiles have at most 8
   rows, this helps only if the results are also read. */
static inline __attribute__((always_inline)) void
column_tiles(enum panel_type type, int rows, bool adjacent, struct tile_column *at)
{
    bool fetches = at->g.add || 2 * TILE_ROWS > LANES;
    if (at->g.a_tiles) at->g.a_step = rows;
    for (; at->count > 0; at->count--, at->row += rows) {
        const struct gemm_block *g = &at->g;
        int below = at->row + rows, left = g->rows - below, whole = g->columns / LANES;
        if (fetches && left > 0)
            fetch_sums(g, below, rapt__min(left, rows), at->first, at->last);
        else if (fetches && at->row > 0)
            fetch_sums(g, 0, rows, at->last, rapt__min(2 * at->last - at->first, whole));
        tile_row(type, rows, adjacent, at);
    }
}

/* Calls column_tiles for a tile height that is not a compile-time constant. */
static inline __attribute__((always_inline)) void column_any(enum panel_type type, int rows,
                                                             bool adjacent, struct tile_column *at)
{
    switch (rows) {
#define TILE_CASE(rows, height)                                                                    \
    case rows:                                                                                     \
        column_tiles(type, height, adjacent, at);                                                  \
        break;
#include "kernel/tile_rows.def"
#undef TILE_CASE
    default:
        column_tiles(type, VF_ROWS, adjacent, at);
    }
}

/* There are two instances for floats. In column_adjacent, the compiler knows that a_row is 1. */
static void column_apart(int rows, struct tile_column *at)
{
    column_any(PANEL_FLOAT, rows, false, at);
}

static void column_adjacent(int rows, struct tile_column *at)
{
    column_any(PANEL_FLOAT, rows, true, at);
}

static void column_bf16(int rows, struct tile_column *at)
{
    column_any(PANEL_BF16, rows, false, at);
}

static void column_f16(int rows, struct tile_column *at)
{
    column_any(PANEL_F16, rows, false, at);
}

static enum panel_type type_of(const struct gemm_block *g)
{
    if (!g->half) return PANEL_FLOAT;
    return g->type == HALF_BF16 ? PANEL_BF16 : PANEL_F16;
}

/* Computes the columns of the last panel if it is not full. */
static void rest_column(const struct gemm_block *g, const struct split *s)
{
    const enum panel_type type = type_of(g);
    struct gemm_block at = *g;
    for (int i = 0, row = 0, rows; i < s->tiles; i++, row += rows) {
        rows = s->height + (i < s->tall);
        if (g->a_tiles) at.a_step = rows;
        struct tile t = tile_at(type, &at, row, g->columns / LANES);
        tile_rest(type, rows, g->columns % LANES, &at, &t);
    }
}

static void gemm(const struct gemm_block *g)
{
    struct split s = split_rows(g);
    int whole = g->columns / LANES, width = tile_panels(s.height + (s.tall > 0));
    struct tile_column column = {.g = *g, .share = 1 / (float)g->rows};
    static void (*const columns[])(int, struct tile_column *) = {column_apart, column_bf16,
                                                                 column_f16};
    void (*run)(int, struct tile_column *) = columns[type_of(g)];
    if (!g->half && g->a_row == 1) run = column_adjacent;
    if (s.tiles == 1) width = whole;
    for (int n = 0; n < whole; n += width) {
        column.first = n, column.last = rapt__min(n + width, whole);
        column.row = 0, column.count = s.tall;
        if (s.tall) run(s.height + 1, &column);
        column.count = s.tiles - s.tall;
        run(s.height, &column);
    }
    if (g->columns % LANES) rest_column(g, &s);
}
