/* int8_start.h - the values to which the products of int8.h are added, and their scaling, for
   int8_gemm.c and int8_tiles.c. */
#ifndef RAPT_LIB_INT8_START_H
#define RAPT_LIB_INT8_START_H

#include "kernel/int8_simd.h"

enum { START_PANELS = 8 }; /* maximum number of panels of a tile */

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

/* Returns the results for sums converted to floats, given the scales of their row and columns and
   the values in `start`. */
static inline vf int8_result(vf sum, vf q_scale, vf w_scale, vf start)
{
    return vf_add(vf_mul(sum, vf_mul(q_scale, w_scale)), start);
}

#endif
