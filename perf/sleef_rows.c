/* sleef_rows.c - exp, log and tanh of a row in place by SLEEF's vector functions, for perf_kernel
   to compare with the library's. Their errors are within 1 ulp, and their bits the same on every
   instruction set (finz). Compiled once per instruction set; n is a multiple of the lanes. */
#include "kernel.h"

#include <immintrin.h>
#include <sleef.h>

#ifdef __AVX512F__
typedef __m512 vector;
enum { WIDTH = 16 };
#define OF_ISA(name) Sleef_finz_##name##f16_u10avx512f
#define LOAD         _mm512_loadu_ps
#define STORE        _mm512_storeu_ps
#define ROWS         sleef_rows_avx512
#else
typedef __m256 vector;
enum { WIDTH = 8 };
#define OF_ISA(name) Sleef_finz_##name##f8_u10avx2
#define LOAD         _mm256_loadu_ps
#define STORE        _mm256_storeu_ps
#define ROWS         sleef_rows_avx2
#endif

static void exp_row(float *x, int n)
{
    for (int i = 0; i < n; i += WIDTH) STORE(x + i, OF_ISA(exp)(LOAD(x + i)));
}

static void log_row(float *x, int n)
{
    for (int i = 0; i < n; i += WIDTH) STORE(x + i, OF_ISA(log)(LOAD(x + i)));
}

static void tanh_row(float *x, int n)
{
    for (int i = 0; i < n; i += WIDTH) STORE(x + i, OF_ISA(tanh)(LOAD(x + i)));
}

const struct sleef_row ROWS[SLEEF_ROWS] = {
    {"exp_row", exp_row}, {"log_row", log_row}, {"tanh_row", tanh_row}};
