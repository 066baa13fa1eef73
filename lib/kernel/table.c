/* table.c - all kernels for floats, compiled once per instruction set, and their table. The build
   defines RAPT_ISA (such as avx2) and RAPT_SIMD_HEADER (such as "simd_avx2.h"). All functions are
   static and may be inlined into one another; the table is the only global symbol. To add a kernel,
   include its file here, add it to the table and declare it in kernel.h. */
#include "kernel/kernel.h"
#include "kernel/simd.h"

#include "tile.c"

#include "flash_panels.c"
#include "gemm.c"
#include "row.c"

#include "activation.c"
#include "adam.c"
#include "additive.c"
#include "elementary.c"
#include "flash_gemm.c"
#include "norm.c"
#include "pack.c"
#include "random.c"
#include "softmax.c"

#include "simplex.c"

#include "flash_distances.c"
#include "flash_scores.c"

#include "flash.c"
#include "flash_backward.c"
#include "flash_head_scores.c"

#include "flash_head.c"
#include "flash_head_backward.c"

extern const struct kernels TABLE_NAME(rapt__kernels_, RAPT_ISA);
const struct kernels TABLE_NAME(rapt__kernels_, RAPT_ISA) = {
    .name = TABLE_TEXT(RAPT_ISA),
    .isa = (rapt_isa)VF_ISA,
    .tile_rows = VF_ROWS,
    .gemm = gemm,
    .pack_tiles = pack_tiles,
    .transpose_panels = transpose_panels,
    .pack_rows = pack_rows,
    .pack_columns = pack_columns,
    .round_bf16 = round_bf16,
    .widen_bf16 = widen_bf16,
    .dot = dot_row,
    .add = add_row,
    .square_sum = square_sum,
    .column_sum = column_sum,
    .norm_row = norm_row,
    .norm_row_backward = norm_row_backward,
    .norm_columns = norm_columns,
    .activate = activate,
    .activate_backward = activate_backward,
    .gate = gate,
    .gate_backward = gate_backward,
    .ssru_row = ssru_row,
    .ssru_row_backward = ssru_row_backward,
    .dropout_row = dropout_row,
    .gumbel_row = gumbel_row,
    .softmax_row = softmax_row,
    .log_sum_row = log_sum_row,
    .simplex_row = simplex_row,
    .entmax_row = entmax_row,
    .entmax_row_backward = entmax_row_backward,
    .loss_row = loss_row,
    .top_row = top_row,
    .top_more = top_more,
    .exp_row = exp_row,
    .log_row = log_row,
    .tanh_row = tanh_row,
    .sine_cosine_row = sine_cosine_row,
    .additive_row = additive_row,
    .additive_row_backward = additive_row_backward,
    .gemv = gemv,
    .rank1_update = rank1_update,
    .adam_span = adam_span,
    .pad_rows = pad_rows,
    .rows_finite = rows_finite,
    .attend = attend_queries,
    .attend_head = attend_head,
    .attend_head_backward = attend_head_backward,
    .attend_pack = attend_pack,
    .attend_delta = attend_delta,
    .attend_weights = attend_weights,
    .attend_dkv = attend_dkv,
    .attend_dq = attend_dq,
};
