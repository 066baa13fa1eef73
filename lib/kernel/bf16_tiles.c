/* bf16_tiles.c - the product of bf16 matrices, with sums of the kind BF16_TILES (bf16.h), computed
   with tile instructions (tiles.h).

   One instruction multiplies 16 rows of a by a panel, over one slice of 16 pairs. A tile of b is
   loaded from 16 pairs of a panel, which are 1,024 adjacent bytes. If fewer pairs are left at the
   end, they are copied to zero-padded buffers. The rows of a are first rounded and packed into
   tiles, whose last slice is padded with zeros.

   Rows are divided as tile_blocks.c describes. The instruction adds a slice to its tile of sums, so
   these tiles first receive the start values of the sums.

   The build defines RAPT_BF16 (such as amx), RAPT_SIMD_HEADER (such as "simd_avx512.h") and
   RAPT_TILES_HEADER (such as "kernel/bf16_amx.h"). The table at the end is the only global
   symbol. */
#include "kernel/bf16.h"
#include "kernel/simd.h"
#include "kernel/tiles.h"

#include <assert.h>
#include <math.h>
#include <string.h>

#include "bf16_pack.c"

enum {
    TILES_DEPTH = 2 * BF16_SLICE /* depth of a slice */
};

_Static_assert(TILES_DEPTH * 2 == (int)TILE_BYTES, "a row of a tile has the pairs of a slice");
_Static_assert((int)LANES == (int)TILE_ROWS, "a tile of sums has the width of a panel");
_Static_assert(BF16_DEPTH % TILES_DEPTH == 0, "padded rows fit the buffer");

/* A block of rows, and buffers for its products with a few panels. */
typedef struct bf16_tiles_block {
    const struct bf16_block *block;
    const uint16_t *a; /* all packed rows */
    int row, rows;     /* the first row of the block, and the number of rows */
    int tall;          /* number of tiles of rows: 1 or 2 */
    int slices;        /* number of slices, including the rest */
    int rest;          /* number of pairs in the last slice if it is not full, otherwise 0 */
    _Alignas(64) uint32_t b_rest[TILES_PANELS][TILE_SUMS]; /* the last pairs, padded with zeros */
    _Alignas(64) float sums[TILES_PANELS][TILE_SUMS];
} tiles_block;

/* ---- packing rows ---- */

/* Copies a slice of n rows of a, starting at `row`, to x. Pads the depth with zeros. */
static void tiles_gather(const struct bf16_block *g, int row, int n, int slice,
                         float x[TILE_ROWS][TILES_DEPTH])
{
    const int k = slice * TILES_DEPTH, count = rapt__min(g->depth - k, TILES_DEPTH);
    const float *a = g->a + row * g->a_row + k * g->a_step;
    if (g->a_step == 1) {
        for (int r = 0; r < n; r++) {
            if (count < TILES_DEPTH) memset(x[r], 0, sizeof x[r]);
            memcpy(x[r], a + r * g->a_row, sizeof *a * (size_t)count);
        }
        return;
    }
    for (int i = 0; i < TILES_DEPTH; i += LANES) {
        vf lines[LANES];
        for (int j = 0; j < LANES; j++)
            lines[j] =
                i + j < count ? vf_load_partial(a + (i + j) * g->a_step, (size_t)n, 0) : vf_zero();
        vf_transpose(lines);
        for (int r = 0; r < n; r++) vf_store(x[r] + i, lines[r]);
    }
}

/* Rounds and packs all rows. Slice s of the tile whose first row is r, and which has n rows, is at
   (r * slices + s * n) * TILES_DEPTH, as [n][TILES_DEPTH]. */
static void tiles_pack(const struct bf16_block *g, int slices, uint16_t *to)
{
    float x[TILE_ROWS][TILES_DEPTH];
    for (int row = 0; row < g->rows; row += TILE_ROWS) {
        const int n = rapt__min(g->rows - row, TILE_ROWS);
        for (int slice = 0; slice < slices; slice++) {
            tiles_gather(g, row, n, slice, x);
            for (int r = 0; r < n; r++, to += TILES_DEPTH)
                for (int i = 0; i < TILES_DEPTH; i++) to[i] = (uint16_t)bf16_round(x[r][i]);
        }
    }
}

/* ---- multiplying ---- */

static inline __attribute__((always_inline)) void tiles_product(int c, int a, int b)
{
    tile_pairs(c, a, b);
}

#include "tile_blocks.c"

/* Loads the start values of a tile of sums, which covers one panel and the rows of the block from
   `down` on. Those of a partial panel are first copied to the buffer of the tile. */
static inline __attribute__((always_inline)) void tiles_start(int tile, tiles_block *t, int down,
                                                              int panel)
{
    const struct bf16_block *g = t->block;
    const int column = panel * LANES, left = rapt__min(g->columns - column, LANES);
    float *sums = t->sums[tile];
    if (g->add) {
        const int rows = rapt__min(t->rows - down, TILE_ROWS);
        const float *c = g->c + (t->row + down) * g->c_row + panel * g->c_panel;
        if (left == LANES) {
            tile_load(tile, c, g->c_row * (ptrdiff_t)sizeof *c);
            return;
        }
        for (int r = 0; r < rows; r++)
            vf_store(sums + r * LANES, vf_load_n(c + r * g->c_row, left, 0));
        tile_load(tile, sums, TILE_BYTES);
    } else if (g->bias) {
        vf_store(sums, vf_load_partial(g->bias + column, (size_t)left, 0));
        tile_load(tile, sums, 0); /* distance 0: all rows start with the bias */
    } else {
        tile_zero(tile);
    }
}

/* Computes and stores the sums for a block and a few panels. */
static inline __attribute__((always_inline)) void tiles_sum(int tall, int panels, tiles_block *t,
                                                            int panel)
{
    const int first = rapt__min(t->rows, TILE_ROWS), last = t->rows - first;
    const int full = t->slices - (t->rest > 0);
    const uint16_t *a = t->a + (ptrdiff_t)t->row * t->slices * TILES_DEPTH;
    const uint32_t *b = t->block->b + panel * t->block->b_panel;
    const ptrdiff_t b_panel = t->block->b_panel;
    ptrdiff_t below = (ptrdiff_t)first * t->slices * TILE_BYTES;
    tiles_start(0, t, 0, panel);
    if (panels > 1) tiles_start(1, t, 0, panel + 1);
    if (tall > 1) tiles_start(2, t, TILE_ROWS, panel);
    if (tall > 1 && panels > 1) tiles_start(3, t, TILE_ROWS, panel + 1);
    if (tall == 1 && panels > 2) tiles_start(2, t, 0, panel + 2);
    if (tall == 1 && panels > 3) tiles_start(3, t, 0, panel + 3);
    for (int i = 0; i < full; i++) {
        tiles_step(tall, panels, a, TILE_BYTES, below, b, b_panel * (ptrdiff_t)sizeof *b);
        a += first * TILES_DEPTH, below += (last - first) * TILE_BYTES, b += TILE_SUMS;
    }
    for (int p = 0; p < panels && t->rest; p++)
        memcpy(t->b_rest[p], b + p * b_panel, sizeof *b * (size_t)(t->rest * LANES));
    if (t->rest) tiles_step(tall, panels, a, TILE_BYTES, below, t->b_rest, TILE_SIZE);
    tile_store(0, t->sums[0]);
    if (panels > 1) tile_store(1, t->sums[1]);
    if (tall > 1 || panels > 2) tile_store(2, t->sums[2]);
    if ((tall > 1 && panels > 1) || panels > 3) tile_store(3, t->sums[3]);
}

/* Stores the sums of a panel, the p-th of those being multiplied, in its n columns. Every NaN gets
   the bits that bf16.h defines. A sum that has been NaN remains NaN, so the others are exact. */
static inline __attribute__((always_inline)) void tiles_finish(int n, const tiles_block *t, int p,
                                                               int panel)
{
    const struct bf16_block *g = t->block;
    const vf nan = vf_splat(half_float_of(0xffc00000));
    float *c = g->c + t->row * g->c_row + panel * g->c_panel;
    for (int r = 0; r < t->rows; r++, c += g->c_row) {
        const vf sum = vf_load(t->sums[p + r / TILE_ROWS * 2] + r % TILE_ROWS * LANES);
        vf_store_partial(c, vf_select(vf_equal(sum, sum), sum, nan), (size_t)n);
    }
}

static void tiles_gemm(const struct bf16_block *g)
{
    _Alignas(64) uint16_t packed[BF16_ROWS * BF16_DEPTH];
    tiles_block t; /* buffers need no initial values except the zeros that pad the rest */
    assert(g->rows <= BF16_ROWS && g->depth <= BF16_DEPTH);
    t.block = g, t.a = packed, t.slices = rapt__ceil_div(g->depth, TILES_DEPTH);
    t.rest = rapt__ceil_div(g->depth, 2) % BF16_SLICE;
    if (t.rest) memset(t.b_rest, 0, sizeof t.b_rest);
    tiles_pack(g, t.slices, packed);
    for (int row = 0; row < g->rows; row += TILES_BLOCK) {
        tiles_begin(&t, row);
        tiles_panels(&t);
    }
    tile_release();
}

extern const struct bf16_kernels TABLE_NAME(rapt__bf16_, RAPT_BF16);
const struct bf16_kernels TABLE_NAME(rapt__bf16_, RAPT_BF16) = {
    .name = TABLE_TEXT(RAPT_BF16),
    .form = BF16_AMX,
    .sums = BF16_TILES,
    .gemm = tiles_gemm,
    .pack = bf16_pack,
};
