/* int8.h - interface of the kernels for 8-bit integers. There is one table of kernels for each
   variant, that is, for each set of instructions with which processors multiply bytes. All variants
   give bit-identical results.

   ARITHMETIC. A row x of floats is quantized to a row q of integers in -127 .. 127 and a scale:

       m = max |x[k]|    r = 127 / m    s = m / 127    q[k] = x[k] r, to the nearest integer

   Each operation rounds to a float. Rounding to integers is to nearest, ties to even, in any
   rounding mode of the host. |x[k] r| stays below 127.5, so nothing has to be clamped.

   - A row with m < 2^-118, such as a row of zeros, has q = 0 and s = 0. For all other finite rows,
     r and s are normal numbers, and a denormal x[k] becomes 0 anyway, so flushing denormals changes
     nothing.
   - A row with an infinity or a NaN has q = 0 and s = NaN, so its products are NaN.

   Rows of weights are quantized in the same way, unless they were converted from integers (see
   quantize_panel). The product of a row q and a row w of weights with scale t is

       y = (float)(sum over k of q[k] w[k]) * (s * t) + bias        (bias 0 if there is none)

   Where twice as many bits are needed, a row x is quantized as the sum of two terms. The remainder
   of the first term is quantized too, and a second product is added to the first:

       p[k] = (x[k] r - q[k]) 254, rounded to the nearest integer       u = s / 254
       y' = y + (float)(sum over k of p[k] w[k]) * (u * t)

   The difference is exact and its magnitude is at most 1/2, so p is also in -127 .. 127. If s is
   below 2^-117 or NaN, p and u are 0.

   The sums are exact, because the sum of INT8_MAX_DEPTH products of at most 127^2 fits in 32 bits.
   So the order of summation does not matter, and y is bit-identical for any variant, batch and
   number of threads.

   PANELS. Weights w[columns][depth] are stored as panels of 16 columns: w[n][k] is at (n/16)*panel
   + (k/4)*64 + (n%16)*4 + k%4, with panel = 16 * (depth rounded up to a multiple of 4), and the
   padding is 0. Each group of 64 bytes holds four weights of each of 16 outputs: one operand of
   vpdpbusd, or four of sdot. Sixteen groups are one operand of tdpbssd. */
#ifndef RAPT_LIB_INT8_H
#define RAPT_LIB_INT8_H

#include "kernel/kernel.h"

#include <stdbool.h>

enum {
    INT8_GROUP = 4,          /* number of consecutive weights of one output that are adjacent in a
                                panel */
    INT8_MAX_DEPTH = 133144, /* (2^31 - 1) / 127^2 */
    INT8_LINE = 64           /* size of a cache line in bytes */
};

/* Returns the size of a panel in bytes. */
static inline size_t rapt__int8_panel(int depth)
{
    return LANES * rapt__round_up_size((size_t)depth, INT8_GROUP);
}

/* Returns the distance in bytes between rows of `bytes` bytes: an odd number of cache lines, so the
   rows of a tile map to different sets of the L1 cache. */
static inline ptrdiff_t rapt__int8_row(size_t bytes)
{
    return (ptrdiff_t)(rapt__ceil_div_size(bytes, INT8_LINE) | 1) * INT8_LINE;
}

/* The arguments of gemm, which sets y[r][n] as defined above, or adds the product of the second
   term to it. */
struct int8_block {
    int rows, columns, depth;
    const int8_t *q; /* q[r][k] is at q[r*q_row + k], followed by zeros up to a multiple of 4; or
                        rows from arrange_row, q_row bytes apart */
    ptrdiff_t q_row;
    const float *q_scale; /* [rows] */
    const int32_t *q_sum; /* [rows] sum over k of q[r][k], or the value from arrange_row */
    const int8_t *w;      /* panels */
    const float *w_scale; /* [columns] */
    const float *bias;    /* [columns]; NULL means 0 */
    bool add;             /* if true, the product is added to y, and bias must be NULL */
    float *y;             /* y[r][n] is at y[r*y_row + n] */
    ptrdiff_t y_row;
};

/* The variants, with their instructions. */
enum int8_form {
    INT8_SCALAR,
    INT8_NEON,    /* smull, sadalp */
    INT8_NEONDOT, /* sdot */
    INT8_AVX2,    /* vpmaddubsw, vpmaddwd */
    INT8_AVXVNNI, /* 256-bit vpdpbusd */
    INT8_AVX512,  /* 512-bit vpdpbusd */
    INT8_AMX,     /* tdpbssd; leaves products of few rows to INT8_AVX512 */
    INT8_FORMS
};

struct int8_kernels {
    const char *name;
    enum int8_form form;
    int height; /* products with a multiple of this number of rows are fastest */
    int q_size; /* bytes that gemm reads per element of q: 1, or 2 if rows must be rearranged */
    void (*gemm)(const struct int8_block *b);
    /* NULL if q_size is 1. Otherwise rearranges a quantized row of n elements for gemm. Let N be n
       rounded up to a multiple of 16. Reads the row, padded with zeros to N elements, from q + N,
       and writes 2 N bytes at q. Also replaces the row's sum with the value that gemm expects. */
    void (*arrange_row)(int8_t *q, int n, int32_t *sum);
    /* Quantizes x[n] to q, padded with zeros to a multiple of 16. Sets the scale and the sum of
       q. */
    void (*quantize_row)(const float *x, int n, int8_t *q, float *scale, int32_t *sum);
    /* Quantizes x[n] as the sum of two terms, q[0] and q[1], each padded and with its own scale and
       sum. */
    void (*quantize_twice)(const float *x, int n, int8_t *const q[2], float scale[2],
                           int32_t sum[2]);
    /* Quantizes 16 rows of weights: converts a panel [depth][16] of floats (kernel/kernel.h) to a
       panel of bytes and sets the scales [16] of the rows. factors [16] may be NULL. A factors[n]
       above 0 means that row n was converted from integers: it is quantized with r = factors[n] and
       s = 1 / r, which restores these integers. The factor is ignored if the magnitude of an
       integer would exceed 127. */
    void (*quantize_panel)(const float *w, int depth, const float *factors, int8_t *q,
                           float *scale);
};

/* ---- choose.c ---- */
/* Returns the best kernels that this processor can run and whose instruction set is at most isa.
   The choice is made once per instruction set, on the first call. */
const struct int8_kernels *rapt__int8_kernels(rapt_isa isa);
/* Returns the kernels of a variant, or NULL if this build does not contain it or this machine
   cannot run it. */
const struct int8_kernels *rapt__int8_kernels_of(enum int8_form form);

#endif
