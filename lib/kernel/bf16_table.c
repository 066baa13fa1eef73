/* bf16_table.c - the kernels for products of bf16 numbers, compiled once per form, and their table.
   The build defines RAPT_BF16 (such as avx512bf16), RAPT_SIMD_HEADER (such as "simd_avx512.h") and
   RAPT_BF16_HEADER (such as "kernel/bf16_avx512.h"). */
#include "kernel/bf16.h"
#include "kernel/simd.h"

#include <string.h>

#include RAPT_BF16_HEADER

#include "bf16_gemm.c"

extern const struct bf16_kernels TABLE_NAME(rapt__bf16_, RAPT_BF16);
const struct bf16_kernels TABLE_NAME(rapt__bf16_, RAPT_BF16) = {
    .name = TABLE_TEXT(RAPT_BF16),
    .form = (enum bf16_form)VP_FORM,
    .gemm = bf16_gemm,
    .pack = bf16_pack,
};
