/* int8_tiles_loop.c - peak loop of products of bytes in AMX tiles: computes the four tiles of sums
   of one of the library's blocks of 32 rows again and again from the same bytes. */
#include "kernel/int8_simd.h"
#include "kernel/int8_tiles.h"
#include "loop.h"

enum { SUMS = 4 };

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

const struct int8_loop bench_int8_loop_amx = {
    2 * SUMS * TILE_SUMS * TILE_BYTES,
    run,
};
