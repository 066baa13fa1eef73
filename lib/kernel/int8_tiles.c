/* int8_tiles.c - the product, defined in int8.h, of quantized rows and panels of weights, computed
   with tile instructions (tiles.h).

   One instruction multiplies 16 rows of q by a panel, over 64 inputs. A tile of weights is loaded
   from 16 groups of a panel, which are 1,024 adjacent bytes; a tile of rows is loaded directly from
   q. If fewer than 64 inputs are left at the end, they are copied to zero-padded buffers.

   Rows are divided as tile_blocks.c describes. Sums are stored and then scaled as in int8_gemm.c.

   A product with at most TILES_FEW_ROWS rows is left to another variant, RAPT_INT8_FEW (such as
   avx512vnni), because reading the weights takes most of its time, and tiles would be nearly empty.

   The build defines the macros of int8_gemm.c, RAPT_TILES_HEADER (such as "kernel/int8_amx.h") and
   RAPT_INT8_FEW. The table at the end is the only global symbol. */
#include "kernel/int8_simd.h"
#include "kernel/tiles.h"

#include "int8_quantize.c"

#define TILES_FEW TABLE_NAME(rapt__int8_, RAPT_INT8_FEW)
extern const struct int8_kernels TILES_FEW;

enum { TILES_FEW_ROWS = 4 };

_Static_assert(TILES_PANELS <= (int)START_PANELS, "zeros suffice for all panels");
_Static_assert(LANES == (int)TILE_ROWS, "a tile of sums has the width of a panel");

/* A block of rows, and buffers for its products with a few panels. */
typedef struct int8_tiles_block {
    const struct int8_block *block;
    struct int8_start start;
    int row, rows;   /* the first row, and the number of rows */
    int tall;        /* number of tiles of rows: 1 or 2 */
    ptrdiff_t panel; /* size of a panel in bytes */
    int steps;       /* number of steps of 64 inputs */
    size_t rest;     /* number of inputs left after these steps, rounded up to a multiple of 4 */
    _Alignas(INT8_LINE) int8_t q_rest[TILES_BLOCK * TILE_BYTES]; /* the last inputs, padded with
                                                                    zeros */
    _Alignas(INT8_LINE) int8_t w_rest[TILES_PANELS * TILE_SIZE];
    _Alignas(INT8_LINE) int32_t sums[TILES_PANELS][TILE_SUMS];
} tiles_block;

static inline __attribute__((always_inline)) void tiles_product(int c, int a, int b)
{
    tile_product(c, a, b);
}

#include "tile_blocks.c"

/* Computes and stores the sums for a block and a few panels. */
static inline __attribute__((always_inline)) void tiles_sum(int tall, int panels, tiles_block *t,
                                                            int panel)
{
    const ptrdiff_t q_row = t->block->q_row, w_panel = t->panel;
    const int8_t *q = t->block->q + t->row * q_row, *w = t->block->w + panel * w_panel;
    tile_zero(0), tile_zero(1), tile_zero(2), tile_zero(3);
    for (int i = 0; i < t->steps; i++, q += TILE_BYTES, w += TILE_SIZE)
        tiles_step(tall, panels, q, q_row, TILE_ROWS * q_row, w, w_panel);
    for (int p = 0; p < panels && t->rest; p++)
        memcpy(t->w_rest + p * TILE_SIZE, w + p * w_panel, t->rest * LANES);
    if (t->rest) tiles_step(tall, panels, t->q_rest, TILE_BYTES, TILE_SIZE, t->w_rest, TILE_SIZE);
    tile_store(0, t->sums[0]), tile_store(1, t->sums[1]);
    tile_store(2, t->sums[2]), tile_store(3, t->sums[3]);
}

/* Scales the sums of a panel, the p-th of those being multiplied, and stores the results in the
   panel's n columns. */
static inline __attribute__((always_inline)) void tiles_finish(int n, const tiles_block *t, int p,
                                                               int panel)
{
    const struct int8_block *b = t->block;
    const int column = panel * LANES;
    const size_t count = (size_t)n;
    const vf w_scale = vf_load_partial(b->w_scale + column, count, 0);
    for (int r = 0; r < t->rows; r++) {
        const ptrdiff_t row = t->row + r;
        const int32_t *sums = t->sums[p + r / TILE_ROWS * 2] + r % TILE_ROWS * LANES;
        const float *start = t->start.start + row * t->start.row + column * t->start.column;
        vi sum;
        memcpy(&sum, sums, sizeof sum);
        vf y = int8_result(vi_float(sum), vf_splat(b->q_scale[row]), w_scale,
                           vf_load_partial(start, count, 0));
        vf_store_partial(b->y + row * b->y_row + column, y, count);
    }
}

/* Multiplies the block of rows that begins at `row` by all panels. */
static void tiles_rows(tiles_block *t, int row)
{
    const struct int8_block *b = t->block;
    tiles_begin(t, row);
    for (int r = 0; r < t->rows && t->rest; r++)
        memcpy(t->q_rest + r * TILE_BYTES,
               b->q + (row + r) * b->q_row + (ptrdiff_t)t->steps * TILE_BYTES, t->rest);
    tiles_panels(t);
}

static void tiles_gemm(const struct int8_block *b)
{
    if (b->rows <= TILES_FEW_ROWS) {
        TILES_FEW.gemm(b);
        return;
    }
    tiles_block t; /* buffers need no initial values except the zeros that pad the rest */
    t.block = b, t.start = int8_start_of(b), t.panel = (ptrdiff_t)rapt__int8_panel(b->depth);
    t.steps = b->depth / TILE_BYTES;
    t.rest = rapt__round_up_size((size_t)(b->depth % TILE_BYTES), INT8_GROUP);
    if (t.rest) memset(t.q_rest, 0, sizeof t.q_rest), memset(t.w_rest, 0, sizeof t.w_rest);
    for (int row = 0; row < b->rows; row += TILES_BLOCK) tiles_rows(&t, row);
    tile_release();
}

extern const struct int8_kernels TABLE_NAME(rapt__int8_, RAPT_INT8);
const struct int8_kernels TABLE_NAME(rapt__int8_, RAPT_INT8) = {
    .name = TABLE_TEXT(RAPT_INT8),
    .form = INT8_AMX,
    .height = TILE_ROWS,
    .q_size = VQ_SIZE,
    .gemm = tiles_gemm,
    .arrange_row = VQ_ARRANGE,
    .quantize_row = int8_quantize_row,
    .quantize_twice = int8_quantize_twice,
    .quantize_panel = int8_quantize_panel,
};
