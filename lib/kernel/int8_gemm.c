/* int8_gemm.c - the product, defined in int8.h, of quantized rows and panels of weights. Like
   gemm.c, it uses register tiles, but each tile spans the whole depth, because its operands are
   bytes and stay in the L2 cache: 13 rows and two panels take 180 KB at a depth of 4,096. Scales
   and bias are applied to the sums in registers.

   This file is compiled once for each variant except AMX (int8_tiles.c). The build defines
   RAPT_INT8 (such as avx512vnni), RAPT_SIMD_HEADER (such as "simd_avx512.h") and RAPT_INT8_HEADER
   (such as "kernel/int8_avx512.h"). The table at the end is its only global symbol. */
#include "kernel/int8_simd.h"

#include "int8_quantize.c"

enum {
    VS_MAX_PANELS = 4 * VS_PANELS, /* number of panels of the widest tile, which has few rows */
    VS_FEW_ROWS = 4,               /* a product with at most this many rows prefetches the panels of
                                      each tile shortly before they are read */
    VS_FETCH = 1024,               /* distance of these prefetches in bytes; they may reach into the
                                      next panels */
    VS_JOINT = 3                   /* number of rows of q that share a pointer */
};

_Static_assert(VS_ROWS <= 14, "kernel/tile_rows.def lists the heights below 14");
_Static_assert(VS_MAX_PANELS <= (int)START_PANELS, "zeros suffice for all panels");

/* Returns the number of panels of the widest tile with `rows` rows, as tile_panels does. */
static inline __attribute__((always_inline)) int int8_panels(int rows)
{
    int panels = (VS_ROWS + 1) * VS_PANELS / (rows + 1);
    return rapt__min(panels, VS_MAX_PANELS);
}

/* Prefetches the memory of a tile's results, which are written at the end. */
static inline __attribute__((always_inline)) void int8_fetch(int rows, int panels,
                                                             const struct int8_block *b, float *y)
{
    for (int r = 0; r < rows; r++)
        for (int p = 0; p < panels; p++) __builtin_prefetch(y + r * b->y_row + p * LANES, 1);
}

/* The memory that a tile prefetches, with one part per panel of the tile. Each step of k prefetches
   one cache line of each part. */
struct int8_ahead {
    const int8_t *at;     /* address in the first part */
    ptrdiff_t part, step; /* distances between parts and between steps, in bytes */
};

/* Chooses the memory that a tile prefetches: a share of the next panels in proportion to its rows.
   Together, the tiles that use the current panels thus prefetch the next panels. Without this, the
   first tile to use new panels would wait for memory. With few rows in all, a tile prefetches its
   own panels instead. */
static inline __attribute__((always_inline)) struct int8_ahead
int8_ahead_of(int rows, int panels, const struct int8_block *b, int row, const int8_t *w)
{
    const ptrdiff_t w_panel = (ptrdiff_t)rapt__int8_panel(b->depth);
    if (rows <= VS_FEW_ROWS && rows == b->rows)
        return (struct int8_ahead){w + VS_FETCH, w_panel, INT8_LINE};
    const float all = (float)b->rows, share = (float)rows / all;
    const ptrdiff_t part = (ptrdiff_t)(share * (float)w_panel);
    const ptrdiff_t above = (ptrdiff_t)((float)row / all * (float)w_panel);
    return (struct int8_ahead){w + panels * (w_panel + above), part,
                               (ptrdiff_t)(share * INT8_LINE) + 1};
}

/* Computes a tile of full panels. Inlined, so that rows and panels are constants.

   Three rows of q share a pointer, because an x86 addressing mode can add one or two times the
   distance between rows to it. The empty asm keeps gcc from computing an address for each row,
   which would need more registers than there are. */
static inline __attribute__((always_inline)) void int8_tile(int rows, int panels,
                                                            const struct int8_block *b,
                                                            const struct int8_start *start, int row,
                                                            int panel)
{
    const ptrdiff_t w_panel = (ptrdiff_t)rapt__int8_panel(b->depth), q_row = b->q_row;
    const int8_t *w = b->w + panel * w_panel, *q[(VS_ROWS + VS_JOINT - 1) / VS_JOINT];
    const int column = panel * LANES;
    struct int8_ahead ahead = int8_ahead_of(rows, panels, b, row, w);
    vs sum[VS_ROWS * VS_MAX_PANELS];
    UNROLL
    for (int r = 0; r < rows; r += VS_JOINT) q[r / VS_JOINT] = b->q + (row + r) * q_row;
    UNROLL
    for (int r = 0; r < rows; r++) {
        UNROLL
        for (int p = 0; p < panels; p++) sum[r * panels + p] = vs_start(b->q_sum[row + r]);
    }
    int8_fetch(rows, panels, b, b->y + row * b->y_row + column);
    for (int k = b->depth; k > 0; k -= INT8_GROUP) {
        vw weights[VS_MAX_PANELS];
        UNROLL_FETCH
        for (int p = 0; p < panels; p++) __builtin_prefetch(ahead.at + p * ahead.part);
        ahead.at += ahead.step;
        UNROLL
        for (int p = 0; p < panels; p++) weights[p] = vw_load(w + p * w_panel);
        UNROLL
        for (int r = 0; r < rows; r++) {
            if (r % VS_JOINT == 0) __asm__("" : "+r"(q[r / VS_JOINT]));
            vq four = vq_load(q[r / VS_JOINT] + r % VS_JOINT * q_row);
            UNROLL
            for (int p = 0; p < panels; p++) vs_add(&sum[r * panels + p], weights[p], four);
        }
        w += INT8_GROUP * LANES;
        UNROLL
        for (int r = 0; r < rows; r += VS_JOINT) q[r / VS_JOINT] += INT8_GROUP * VQ_SIZE;
    }
    vf scale[VS_MAX_PANELS];
    UNROLL
    for (int p = 0; p < panels; p++) scale[p] = vf_load(b->w_scale + column + p * LANES);
    UNROLL
    for (int r = 0; r < rows; r++) {
        float *y = b->y + (row + r) * b->y_row + column;
        const float *to = start->start + (row + r) * start->row + column * start->column;
        vf own = vf_splat(b->q_scale[row + r]);
        UNROLL
        for (int p = 0; p < panels; p++) {
            vf all = vs_float(sum[r * panels + p]);
            vf_store(y + p * LANES, int8_result(all, own, scale[p], vf_load(to + p * LANES)));
        }
    }
}

/* Computes one row of the last panel, which has n < 16 columns. */
static void int8_rest(const struct int8_block *b, const struct int8_start *start, int row,
                      int panel)
{
    const int8_t *w = b->w + panel * (ptrdiff_t)rapt__int8_panel(b->depth);
    const int8_t *q = b->q + row * b->q_row;
    int column = panel * LANES, n = b->columns - column;
    vs sum = vs_start(b->q_sum[row]);
    for (int k = 0; k < b->depth; k += INT8_GROUP)
        vs_add(&sum, vw_load(w + k * LANES), vq_load(q + k * VQ_SIZE));
    vf own = vf_splat(b->q_scale[row]), scale = vf_load_n(b->w_scale + column, n, 0);
    vf to = vf_load_n(start->start + row * start->row + column * start->column, n, 0);
    vf_store_n(b->y + row * b->y_row + column, int8_result(vs_float(sum), own, scale, to), n);
}

/* Computes `rows` rows over panels [first, last), using the widest tiles first. */
static inline __attribute__((always_inline)) void int8_tile_row(int rows,
                                                                const struct int8_block *b,
                                                                const struct int8_start *start,
                                                                int row, int first, int last)
{
    int n = first, max = int8_panels(rows);
    for (; n + max <= last; n += max) int8_tile(rows, max, b, start, row, n);
    for (; max > 4 && n + 4 <= last; n += 4) int8_tile(rows, 4, b, start, row, n);
    for (; max > 2 && n + 2 <= last; n += 2) int8_tile(rows, 2, b, start, row, n);
    for (; max > 1 && n < last; n++) int8_tile(rows, 1, b, start, row, n);
}

/* Calls int8_tile_row with `rows`, 1 to VS_ROWS, as a constant. */
static void int8_tile_any(int rows, const struct int8_block *b, const struct int8_start *start,
                          int row, int first, int last)
{
    switch (rows < VS_ROWS ? rows : 0) {
#define TILE_CASE(rows, height)                                                                    \
    case rows:                                                                                     \
        if (rows < VS_ROWS) int8_tile_row(rows < VS_ROWS ? rows : 1, b, start, row, first, last);  \
        break;
#include "kernel/tile_rows.def"
#undef TILE_CASE
    default:
        int8_tile_row(VS_ROWS, b, start, row, first, last);
    }
}

/* Splits the rows into tiles whose heights differ by at most one. The panels of a tile stay in the
   L1 or L2 cache while all rows are multiplied by them. */
static void int8_gemm(const struct int8_block *b)
{
    int tiles = rapt__ceil_div(b->rows, VS_ROWS), height = b->rows / tiles, tall = b->rows % tiles;
    int whole = b->columns / LANES, width = int8_panels(height + (tall > 0));
    const struct int8_start start = int8_start_of(b);
    if (tiles == 1) width = whole;
    for (int n = 0; n < whole; n += width)
        for (int i = 0, row = 0, rows; i < tiles; i++, row += rows) {
            rows = height + (i < tall);
            int8_tile_any(rows, b, &start, row, n, rapt__min(n + width, whole));
        }
    for (int row = 0; row < b->rows && b->columns % LANES; row++) int8_rest(b, &start, row, whole);
}

extern const struct int8_kernels TABLE_NAME(rapt__int8_, RAPT_INT8);
const struct int8_kernels TABLE_NAME(rapt__int8_, RAPT_INT8) = {
    .name = TABLE_TEXT(RAPT_INT8),
    .form = (enum int8_form)VS_FORM,
    .height = 1,
    .q_size = VQ_SIZE,
    .gemm = int8_gemm,
    .arrange_row = VQ_ARRANGE,
    .quantize_row = int8_quantize_row,
    .quantize_twice = int8_quantize_twice,
    .quantize_panel = int8_quantize_panel,
};
