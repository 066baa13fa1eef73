/* int8_simd.h - the operations that int8_gemm.c and int8_quantize.c use in addition to those of
   kernel/simd.h. Each variant (enum int8_form) implements them in the file named by
   RAPT_INT8_HEADER.

     vs                the sums for one row of q and the sixteen columns of a panel
     vs_start(sum)     their initial value, for a row of q with this q_sum
     vw_load(p)        64 bytes of a panel: four weights of each column
     vq_load(p)        four elements of a row of q, repeated for every column
     vs_add(&s,w,q)    adds the products of these weights and elements
     vs_float(s)       the sums as floats, rounded in the host's mode
     VS_FORM           the enum int8_form; VS_ROWS, VS_PANELS: the register tile
     VQ_SIZE           bytes per element of a row of q
     VQ_ARRANGE        the function arrange_row of int8.h, or NULL

     vi                sixteen 32-bit integers
     vi_zero() vi_add(x,y) vi_sum(x) vi_float(x)
     vi_max_magnitude(x,v)  the maximum of x and the bits of |v|, as integers
     vi_reduce_max(x)       the maximum of the lanes, at least 0
     vi_nearest(v)          v as integers, ties to even in every rounding mode; |v| < 128
     vi_store(p,x)          stores sixteen integers
     vi_store_bytes(p,x)    stores the low byte of each lane
     vi_store_groups(p,x)   stores, lane by lane, the low bytes of x[0], x[1], x[2] and x[3] */
#ifndef RAPT_LIB_INT8_SIMD_H
#define RAPT_LIB_INT8_SIMD_H

#include "kernel/int8.h"
#include "kernel/simd.h"

#include <string.h>

/* Returns the initial value of the sums of a row of q, given the sum of the row's elements, for
   variants that multiply by w + 128 instead of w. Sums may wrap around before the end of a deep
   product, but the final sums are correct. */
static inline int32_t vs_shifted(int32_t sum)
{
    return (int32_t)(0u - 128u * (uint32_t)sum);
}

#include RAPT_INT8_HEADER

/* ---- scaling sums and adding them to the bias or y, for int8_gemm.c and int8_tiles.c ---- */

enum { START_PANELS = 8 }; /* maximum number of panels in a tile */

/* The values to which products are added: the bias, y or zeros. In a tile whose first column is n,
   the values for row r begin at start[r * row + n * column]. column is 0 for zeros, which are
   shared by all tiles. */
struct int8_start {
    const float *start;
    ptrdiff_t row, column;
};

static inline struct int8_start int8_start_of(const struct int8_block *b)
{
    static const float zeros[START_PANELS * LANES];
    if (b->add) return (struct int8_start){b->y, b->y_row, 1};
    return b->bias ? (struct int8_start){b->bias, 0, 1} : (struct int8_start){zeros, 0, 0};
}

/* Returns the elements of y for one row and sixteen columns, given the sums as floats, the scales
   of the row and the columns, and the values to which the products are added. */
static inline vf int8_result(vf sum, vf q_scale, vf w_scale, vf start)
{
    return vf_add(vf_mul(sum, vf_mul(q_scale, w_scale)), start);
}

#endif
