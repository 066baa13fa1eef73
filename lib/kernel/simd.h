/* simd.h - vector operations, implemented for each instruction set in the file named by
   RAPT_SIMD_HEADER. A vf is 16 floats on every machine: one AVX-512 register, two AVX2 registers,
   four NEON registers, or a plain array. All instruction sets with fused multiply-add give
   bit-identical results, because the width, the treatment of tails and the order of every sum are
   fixed here and in the kernels.

     vf_splat(s)               s in all lanes           vf_zero()
     vf_load(p) vf_store(p,v)  16 floats, any alignment
     vf_load_bf16(p) vf_load_f16(p)   16 bf16 or f16 numbers (half.h), widened to floats
     vf_load_n(p,n,rest)       lanes 0..n-1 from p, the others = rest; reads only n floats
     vf_store_n(p,v,n)         stores lanes 0..n-1 only
     vf_load_partial(p,left,rest) vf_store_partial(p,v,left)   the same for min(left, 16) lanes
     vf_add sub mul div max min sqrt abs,  vf_fma(a,b,c) = a*b + c, vf_fnma(a,b,c) = c - a*b
     vf_round(v)               to the nearest integer, ties to even
     vf_sign(v,w)              v with the sign of w
     vf_ldexp(v,n)             v 2^n, rounded once; |v| in [1/2, 256), integral n in -160 .. 128
     vf_power(v,n)             v 2^n if v is normal and v 2^n is normal or 2^128; NaN if v is NaN
     vf_frexp(v,&n)            m such that v = m 2^n, m in [sqrt 1/2, sqrt 2); v normal and positive
     vf_less(a,b)              a mask (vm): a < b;  vf_equal(a,b);  vm_and, vm_or, vm_bits
     vf_select(m,a,b)          m ? a : b
     vf_sum(v)                 the sum of the lanes, added as 8+8, 4+4, 2+2, 1+1
     vf_reduce_max(v)          the maximum of the lanes
     vf_reduce_max_rows(x)     lane i: the maximum of x[i] if i < VF_ROWS; other lanes: the same,
                               or 0
     vf_transpose(x)           transposes sixteen vectors in place
     vu                        eight lanes of 64 bits, for random numbers
     vu_splat(u) vu_count(u)   u in all lanes; u, u + 1, ... u + 7
     vu_xor(x,y) vu_high(x)    x ^ y; x >> 32
     vu_times(x,u)             (x mod 2^32) u, u < 2^32
     vu_words(x,to)            to[4 c + w] = lane c of x[w] mod 2^32, w < 4
     vu_less(x,y,u)            a mask: w mod 2^32 < u for the lanes w of x, then of y; u < 2^32
     vf_exp exp2 log tanh      simd_math.h
     VF_REST                   defined if vf_ldexp is one instruction and vf_rest replaces vf_power
     vf_rest(v)                v - vf_round(v), 0 for infinity
     VF_ISA                    the instruction set
     VF_ROWS VF_PANELS         rows and panels of the register tile

   vf_max(a,b) and vf_min return b if either is NaN. */
#ifndef RAPT_LIB_SIMD_H
#define RAPT_LIB_SIMD_H

#include <math.h>

#include RAPT_SIMD_HEADER

static inline vf vf_load_partial(const float *p, size_t left, float rest)
{
    return left >= 16 ? vf_load(p) : vf_load_n(p, (int)left, rest);
}
static inline void vf_store_partial(float *p, vf v, size_t left)
{
    if (left >= 16)
        vf_store(p, v);
    else
        vf_store_n(p, v, (int)left);
}

#ifndef VF_REDUCE_MAX_ROWS /* used if the header of the instruction set has no faster version */
static inline vf vf_reduce_max_rows(const vf x[16])
{
    float max[16];
    for (int i = 0; i < 16; i++) max[i] = vf_reduce_max(x[i]);
    return vf_load(max);
}
#endif

/* Transposes with four perfect shuffles, each of which interleaves the first half of 256 floats
   with the second. */
#ifndef VF_TRANSPOSE
static inline void vf_transpose(vf x[16])
{
    enum { HALF = 128 };
    float x2[2][2 * HALF];
    for (int i = 0; i < 16; i++) vf_store(x2[0] + i * 16, x[i]);
    for (int round = 0; round < 4; round++) {
        const float *from = x2[round % 2];
        float *to = x2[1 - round % 2];
        for (int i = 0; i < HALF; i++) to[2 * i] = from[i], to[2 * i + 1] = from[HALF + i];
    }
    for (int i = 0; i < 16; i++) x[i] = vf_load(x2[0] + i * 16);
}
#endif

#include "kernel/simd_math.h"

/* TABLE_NAME joins a prefix and a name that the build defines into the name of a table of kernels.
   TABLE_TEXT turns such a name into a string. */
#define TABLE_JOIN_(prefix, name) prefix##name
#define TABLE_NAME(prefix, name)  TABLE_JOIN_(prefix, name)
#define TABLE_TEXT_(name)         #name
#define TABLE_TEXT(name)          TABLE_TEXT_(name)

/* UNROLL precedes a loop with a constant number of iterations, so that the arrays that the loop
   indexes stay in registers. */
#ifdef __clang__
#define UNROLL _Pragma("clang loop unroll(full)")
#else
#define UNROLL _Pragma("GCC unroll 16")
#endif
/* UNROLL_FETCH does the same for a loop that only prefetches. On machines without a prefetch
   instruction the loop is empty, and gcc rejects the pragma before an empty loop, so UNROLL_FETCH
   expands to nothing there. */
#if defined(__x86_64__) || defined(__aarch64__)
#define UNROLL_FETCH UNROLL
#else
#define UNROLL_FETCH
#endif

#endif
