/* exp2_row.h - x[i] = 2^x[i] for x[i] <= 128 by the vf_exp2 of an instruction set
   (isa/exp2_row.c). */
#ifndef RAPT_TESTS_EXP2_ROW_H
#define RAPT_TESTS_EXP2_ROW_H

#include <rapt/base.h>

void exp2_row_scalar(float *x, size_t n);
void exp2_row_neon(float *x, size_t n);
void exp2_row_avx2(float *x, size_t n);
void exp2_row_avx512(float *x, size_t n);

static const struct {
    rapt_isa isa;
    void (*row)(float *x, size_t n);
} exp2_rows[] = {
#ifdef RAPT_HAVE_AVX512
    {RAPT_ISA_AVX512, exp2_row_avx512},
#endif
#ifdef RAPT_HAVE_AVX2
    {RAPT_ISA_AVX2, exp2_row_avx2},
#endif
#ifdef RAPT_HAVE_NEON
    {RAPT_ISA_NEON, exp2_row_neon},
#endif
    {RAPT_ISA_SCALAR, exp2_row_scalar}};

#endif
