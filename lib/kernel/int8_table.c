/* int8_table.c - the kernels for 8-bit integers, compiled once per form, and their table. The build
   defines RAPT_INT8 (such as avx512vnni), RAPT_SIMD_HEADER (such as "simd_avx512.h") and
   RAPT_INT8_HEADER (such as "kernel/int8_avx512.h"). */
#include "kernel/int8_simd.h"

#include "int8_gemm.c"
#include "int8_quantize.c"

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
