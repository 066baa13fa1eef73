/* int8_tiles_table.c - the kernels for 8-bit integers that compute products in tiles, and their
   table. The build defines the macros of kernel/int8_table.c, RAPT_TILES_HEADER (such as
   "kernel/int8_amx.h") and RAPT_INT8_FEW (such as avx512vnni), the form that multiplies few
   rows. */
#include "kernel/int8_simd.h"
#include "kernel/int8_tiles.h"

#include "int8_quantize.c"
#include "int8_tiles.c"

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
