/* bf16.h - interface of the kernels that multiply bf16 numbers. There are two kinds of sums: those
   of the instruction vdpbf16ps and those of AMX's tdpbf16ps. For each kind, one table of kernels
   uses the instruction, and the others, one for each instruction set, emulate it. All tables of a
   kind give bit-identical results.

   ARITHMETIC. A bf16 number is the upper half of a float. Both factors are rounded to bf16, to
   nearest, ties to even, and denormals become zeros with the same sign. A sum c of products of a
   and b that starts at s is computed in one of two ways. BF16_STEPS, the kind of vdpbf16ps, is

       c = s;   for each pair of k, that is, k = 0, 2, 4 ...:
           c = step(a[k+1], b[k+1], c);   c = step(a[k], b[k], c)

   where an odd depth is padded with zeros. BF16_TILES, the kind of tdpbf16ps, is

       c = s;   for each slice of 16 pairs, that is, i = 0, 32, 64 ...:
           even = odd = +0;   for k = i, i + 2 ... i + 30:
               even = step(a[k], b[k], even);   odd = step(a[k+1], b[k+1], odd)
           c = step(step(odd, 1, even), 1, c)

   where the last slice is padded with zeros. If the result is NaN, its bits are 0xffc00000,
   because Intel does not document which NaN tdpbf16ps gives.

   step(a, b, c) is a b + c as vdpbf16ps computes it:

   - It rounds once, to nearest, ties to even.
   - A denormal operand counts as a zero with the same sign.
   - A result whose magnitude is below 2^-126 after rounding to 24 bits with an unbounded exponent
     becomes a zero with the same sign.
   - If an operand is NaN, the result is the first NaN among a, b and c, made quiet. The result of
     an invalid operation, such as infinity times zero, is the NaN 0xffc00000.

   The order of steps is fixed, so results do not depend on the number of threads or on how a
   product is divided, as long as parts begin where bf16_block permits it. The emulation works only
   in the default rounding mode, to nearest.

   PAIRS. The factors at k and k + 1, where k is even, are stored as a pair in 32 bits, with the
   factor at k + 1 in the upper half. Panels of pairs have 16 columns: pair j of column n is at
   (n/16)*panel + j*16 + n%16, with panel = 16 * (depth/2 rounded up). */
#ifndef RAPT_LIB_BF16_H
#define RAPT_LIB_BF16_H

#include "kernel/kernel.h"

enum {
    BF16_ROWS = 52,   /* maximum number of rows in a product */
    BF16_DEPTH = 512, /* maximum depth */
    BF16_PAIRS = BF16_DEPTH / 2,
    BF16_SLICE = 16 /* number of pairs in a slice */
};

enum bf16_sums { BF16_STEPS, BF16_TILES }; /* kinds of sums, as defined above */

/* The product c[r][n] = start + sum over k of a[r][k] b[k][n], as defined above. If the depth is
   divided among several calls, each call must start at an even k (BF16_STEPS) or at a multiple of
   32 (BF16_TILES). */
struct bf16_block {
    int rows, columns, depth;
    const float *a; /* a[r][k] is at a[r*a_row + k*a_step]; one of the two strides is 1 */
    ptrdiff_t a_row, a_step;
    const uint32_t *b; /* pairs in panels b_panel elements apart, padded with zeros */
    ptrdiff_t b_panel;
    float *c; /* c[r][n] is at c[r*c_row + (n/16)*c_panel + n%16] */
    ptrdiff_t c_row, c_panel;
    const float *bias; /* [columns]: start = bias[n]; NULL means start = 0 */
    bool add;          /* if true, start = c[r][n], and bias must be NULL */
};

/* Variants of the kernels. */
enum bf16_form {
    BF16_EMULATED, /* runs on any machine */
    BF16_AVX512,   /* 512-bit vdpbf16ps */
    BF16_AMX       /* tdpbf16ps */
};

struct bf16_kernels {
    const char *name;
    enum bf16_form form;
    enum bf16_sums sums;
    void (*gemm)(const struct bf16_block *b);
    /* Packs x[depth][columns], which has rows ld apart and at most 16 columns, into a panel of
       pairs. Pads columns and an odd depth with zeros. */
    void (*pack)(const float *x, ptrdiff_t ld, int columns, int depth, uint32_t *panel);
};

/* Rounds to bf16 as defined above. The conditions compile to selects, so loops can be
   vectorized. */
static inline uint32_t bf16_round(float x)
{
    uint32_t bits = half_bits_of(x), size = bits & 0x7fffffff;
    uint32_t near = (bits + 0x7fff + (bits >> 16 & 1)) >> 16, quiet = bits >> 16 | 0x40;
    uint32_t kept = size > 0x7f800000 ? quiet : near;
    return size < 0x00800000 ? bits >> 16 & 0x8000 : kept;
}

/* ---- choose.c ---- */
/* Returns the fastest kernels for this instruction set and kind of sums, or NULL if this build has
   no kernels for the instruction set or this machine does not support it. */
const struct bf16_kernels *rapt__bf16_kernels(rapt_isa isa, enum bf16_sums sums);
/* Returns the kernels that emulate vdpbf16ps or tdpbf16ps with this instruction set, or NULL if
   this build lacks them or this machine cannot run them. */
const struct bf16_kernels *rapt__bf16_emulation(rapt_isa isa, enum bf16_sums sums);

#endif
