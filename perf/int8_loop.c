/* int8_loop.c - peak loop of products of bytes: computes one register tile of the library, or in
   AMX the four tiles of sums of one of its blocks of 32 rows, again and again from the same bytes.
   Compiled once per form, with the options of its kernels. */
#include "kernel/int8_simd.h"
#include "loop.h"

#ifdef RAPT_TILES_HEADER
#include "kernel/tiles.h"

enum { SUMS = 4, OPERATIONS = 2 * SUMS * TILE_SUMS * TILE_BYTES };

static float run(long rounds)
{
    static const int8_t bytes[TILE_SIZE] = {1, 2, 3, 4};
    int32_t sums[TILE_SUMS];
    float total = 0;
    struct tile_shapes shapes = {.palette = 1};
    for (int t = 0; t < 8; t++) shapes.bytes[t] = TILE_BYTES, shapes.rows[t] = TILE_ROWS;
    tile_configure(&shapes);
    tile_zero(0), tile_zero(1), tile_zero(2), tile_zero(3);
    while (rounds-- > 0) {
        tile_load(4, bytes, TILE_BYTES), tile_load(6, bytes, TILE_BYTES);
        tile_product(0, 4, 6);
        tile_load(7, bytes, TILE_BYTES);
        tile_product(1, 4, 7);
        tile_load(5, bytes, TILE_BYTES);
        tile_product(2, 5, 6);
        tile_product(3, 5, 7);
    }
    tile_store(0, sums), total += (float)sums[0];
    tile_store(1, sums), total += (float)sums[0];
    tile_store(2, sums), total += (float)sums[0];
    tile_store(3, sums), total += (float)sums[0];
    tile_release();
    return total;
}
#else
enum { OPERATIONS = 2 * VS_ROWS * VS_PANELS * LANES * INT8_GROUP };

static float run(long rounds)
{
    enum { GROUP = INT8_GROUP * VQ_SIZE };
    static const int8_t bytes[VS_PANELS * 64 + VS_ROWS * GROUP] = {1, 2, 3, 4};
    vs sum[VS_ROWS * VS_PANELS];
    float total = 0, lanes[LANES];
    UNROLL
    for (int r = 0; r < VS_ROWS; r++) {
        UNROLL
        for (int p = 0; p < VS_PANELS; p++) sum[r * VS_PANELS + p] = vs_start(0);
    }
    while (rounds-- > 0) {
        const int8_t *from = bytes;
        vw w[VS_PANELS];
        __asm__ volatile("" : "+r"(from)); /* or the products would leave the loop */
        UNROLL
        for (int p = 0; p < VS_PANELS; p++) w[p] = vw_load(from + p * 64);
        UNROLL
        for (int r = 0; r < VS_ROWS; r++) {
            vq q = vq_load(from + VS_PANELS * 64 + r * GROUP);
            UNROLL
            for (int p = 0; p < VS_PANELS; p++) vs_add(&sum[r * VS_PANELS + p], w[p], q);
        }
    }
    UNROLL
    for (int r = 0; r < VS_ROWS; r++) {
        UNROLL
        for (int p = 0; p < VS_PANELS; p++) {
            vf_store(lanes, vs_float(sum[r * VS_PANELS + p]));
            for (int n = 0; n < LANES; n++) total += lanes[n]; /* all sums are needed */
        }
    }
    return total;
}
#endif

#define LOOP_JOIN(a, b) a##b
#define LOOP_NAME(form) LOOP_JOIN(bench_int8_loop_, form)

const struct int8_loop LOOP_NAME(RAPT_INT8) = {OPERATIONS, run};
