/* gemm.c - the matrix product of one thread: columns of register tiles over panels.

   Goto and van de Geijn 2008, "Anatomy of high-performance matrix multiplication"; here b is packed
   beforehand and a is read in place, or packed tile by tile. */

/* The highest tile of a product. A row less than fits leaves the compiler registers for
   addresses: 13 rows run at 0.98 of the ceiling on Zen 5, 14 at 0.95. */
enum { TILE_ROWS = VF_ROWS < 13 ? VF_ROWS : 13 };

/* Rows in tiles of equal height, but for a row: first `tall` of height + 1, then the others. */
struct split {
    int tiles, tall, height;
};

static struct split split_rows(const struct gemm_block *g)
{
    int max = g->max_tile ? rapt__min(g->max_tile, TILE_ROWS) : TILE_ROWS;
    int tiles = rapt__ceil_div(g->rows, max);
    return (struct split){tiles, g->rows % tiles, g->rows / tiles};
}

/* Tiles of equal height, one below the other, over the same panels. */
struct tile_column {
    struct gemm_block g;
    int row, count;  /* the first row of the next tile; tiles from there on */
    int first, last; /* panels first .. last - 1: those of one tile, or all of g if it has one */
    int n;           /* the next panel */
    float share;     /* 1 / rows of g */
};

/* What a compiler holds in registers from one tile to the next, it lacks within the tile, in whose
   innermost loop it then reads addresses from memory. After this it must read the column anew. */
static inline __attribute__((always_inline)) void free_registers(void)
{
    __asm__ volatile("" : : : "memory");
}

enum { EVEN_DEPTH = 256 }; /* where this is worth its instructions: */

/* What a tile of so many panels prefetches of the next ones: the part of them that it has of the
   rows. So all tiles of a column fetch each line once, and evenly: in a burst, their own loads wait
   for memory. Of little depth, in rows read in place, and where the part is more than a line in
   each step: a panel, each tile the one after that of the tile above. Few rows that are all of g:
   nothing, as they prefetch what they read themselves (tile.c). */
static inline __attribute__((always_inline)) void
fetch_panels(int rows, int panels, const struct tile_column *at, struct tile *t)
{
    const struct gemm_block *g = &at->g;
    if (rows <= FEW_ROWS && rows == g->rows) t->ahead = NULL;
    if (!t->ahead || at->n + panels >= g->columns / LANES) return;
    const float *next = g->b + (at->n + panels) * g->b_panel;
    float part = at->share * (float)(rows * panels);
    if (g->b_step != LANES || g->depth < EVEN_DEPTH || part >= 1) {
        t->ahead = next + at->row / rows * g->b_panel;
        return;
    }
    float above = at->share * (float)(at->row * panels);
    int panel = (int)above, line = (int)((above - (float)panel) * (float)g->depth);
    t->ahead = next + panel * g->b_panel + (ptrdiff_t)line * LANES;
    t->ahead_step = (int)(part * LANES) + 1;
}

/* Tiles of so many panels as long as they fit. */
static inline __attribute__((always_inline)) void tile_run(int rows, int panels, bool adjacent,
                                                           struct tile_column *at)
{
    while (at->n + panels <= at->last) {
        struct gemm_block g = at->g;
        if (adjacent) g.a_row = 1;
        struct tile t = tile_at(&g, at->row, at->n);
        fetch_panels(rows, panels, at, &t);
        tile_whole(rows, panels, &g, &t);
        at->n += panels;
        free_registers();
    }
}

/* The next tile's rows over all panels: the widest tiles first. */
static inline __attribute__((always_inline)) void tile_row(int rows, bool adjacent,
                                                           struct tile_column *at)
{
    int max = tile_panels(rows);
    at->n = at->first;
    tile_run(rows, max, adjacent, at);
    if (max > 4) tile_run(rows, 4, adjacent, at);
    if (max > 2) tile_run(rows, 2, adjacent, at);
    if (max > 1) tile_run(rows, 1, adjacent, at);
}

/* Prefetches the sums of a tile: it will write them, and may add to them. */
static inline __attribute__((always_inline)) void fetch_sums(const struct gemm_block *g, int row,
                                                             int rows, int n, int last)
{
    for (; n < last; n++)
        for (int r = row; r < row + rows; r++)
            __builtin_prefetch(g->c + r * g->c_row + n * g->c_panel, 1);
}

/* Each tile prefetches the sums of the next one, the last of a column those of the next panels. Low
   tiles gain nothing by it where sums are only written. */
static inline __attribute__((always_inline)) void column_tiles(int rows, bool adjacent,
                                                               struct tile_column *at)
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
        tile_row(rows, adjacent, at);
    }
}

/* The same for any height. */
static inline __attribute__((always_inline)) void column_any(int rows, bool adjacent,
                                                             struct tile_column *at)
{
    switch (rows) {
#define TILE_CASE(rows, height)                                                                    \
    case rows:                                                                                     \
        column_tiles(height, adjacent, at);                                                        \
        break;
#include "kernel/tile_rows.def"
#undef TILE_CASE
    default:
        column_tiles(VF_ROWS, adjacent, at);
    }
}

/* The rows of a are apart, or adjacent floats: then the compiler knows their addresses. */
static void column_apart(int rows, struct tile_column *at)
{
    column_any(rows, false, at);
}

static void column_adjacent(int rows, struct tile_column *at)
{
    column_any(rows, true, at);
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
    struct split s = split_rows(g);
    int whole = g->columns / LANES, width = tile_panels(s.height + (s.tall > 0));
    struct tile_column column = {.g = *g, .share = 1 / (float)g->rows};
    void (*run)(int, struct tile_column *) = g->a_row == 1 ? column_adjacent : column_apart;
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
