/* pack.c - packs the operands of products into the layouts that kernels read. Row-major matrices,
   their transposes and the transposes of panels become panels of sixteen columns (kernel.h). Rows
   of the left operand are packed tile by tile. Also converts arrays to bf16 and back. */
#include "kernel/half.h"

#include <string.h>

/* Transposes 16 x 16 contiguous floats: out[j][i] = in[i][j]. */
static inline void transpose_block(const float *in, float *out)
{
    vf x[LANES];
    UNROLL
    for (int i = 0; i < LANES; i++) x[i] = vf_load(in + i * LANES);
    vf_transpose(x);
    UNROLL
    for (int i = 0; i < LANES; i++) vf_store(out + i * LANES, x[i]);
}

/* Transposes a partial block: reads only in_rows rows of `in` and writes only out_rows rows of
   `out`. */
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

enum { ROWS_AHEAD = 4 }; /* rows of x, which are far apart, are prefetched this many rows ahead */

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

/* Transposes and scales 16 rows of 16 floats: out[j][i] = scale x[i][j]. With scale 1, bits are
   copied, so the host's flush-to-zero mode does not matter. Not inlined, because inlining made
   attend slower (gcc 12). */
static __attribute__((noinline)) void pack_block(const float *x, ptrdiff_t ld, float scale,
                                                 float *out)
{
    vf block[LANES], by = vf_splat(scale);
    UNROLL
    for (int i = 0; i < LANES; i++) block[i] = vf_load(x + i * ld);
    if (scale != 1) {
        UNROLL
        for (int i = 0; i < LANES; i++) block[i] = vf_mul(block[i], by);
    }
    vf_transpose(block);
    UNROLL
    for (int i = 0; i < LANES; i++) vf_store(out + i * LANES, block[i]);
}

/* Does the same at an edge, where only `rows` rows or `width` columns are left. Missing rows are
   read as 0. */
static void pack_rest(const float *x, ptrdiff_t ld, int rows, int width, float scale, float *out)
{
    vf block[LANES];
    for (int i = 0; i < LANES; i++) {
        block[i] = vf_zero();
        if (i < rows) block[i] = vf_load_partial(x + i * ld, (size_t)width, 0);
        if (scale != 1) block[i] = vf_mul(block[i], vf_splat(scale));
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

enum { STEPS_AHEAD = 4 }; /* a, whose steps are far apart, is prefetched this many steps ahead */

/* Copies `count` adjacent tiles to [count][depth][height]. Inlined, so that height is a
   constant. */
static inline __attribute__((always_inline)) void copy_tiles(int height, int count, const float *a,
                                                             ptrdiff_t step, int depth, float *out)
{
    ptrdiff_t tile = (ptrdiff_t)depth * height;
    for (int k = 0; k < depth; k++, a += step, out += height)
        for (int i = 0; i < count; i++) {
            __builtin_prefetch(a + STEPS_AHEAD * step + i * height);
            memcpy(out + i * tile, a + i * height, (size_t)height * sizeof *out);
        }
}

static void copy_rows(int rows, int count, const float *a, ptrdiff_t step, int depth, float *out)
{
    switch (rows) {
#define TILE_CASE(rows, height)                                                                    \
    case rows:                                                                                     \
        copy_tiles(height, count, a, step, depth, out);                                            \
        break;
#include "kernel/tile_rows.def"
#undef TILE_CASE
    default:
        copy_tiles(VF_ROWS, count, a, step, depth, out);
    }
}

static void pack_tiles(const struct gemm_block *g, float *out)
{
    struct split s = split_rows(g);
    int begin = s.tall * (s.height + 1);
    if (s.tall) copy_rows(s.height + 1, s.tall, g->a, g->a_step, g->depth, out);
    copy_rows(s.height, s.tiles - s.tall, g->a + begin, g->a_step, g->depth,
              out + (ptrdiff_t)begin * g->depth);
}

/* ---- bf16 ---- */

static void round_bf16(const float *restrict x, int n, uint16_t *restrict to)
{
    for (int i = 0; i < n; i++) to[i] = half_round_bf16(x[i]);
}

static void widen_bf16(const uint16_t *x, size_t n, float *to)
{
    for (size_t i = 0; i < n; i += LANES) vf_store(to + i, vf_load_bf16(x + i));
}
