/* sleef_rows.h - SLEEF's counterparts of row kernels, per instruction set (sleef_rows.c). */
#ifndef RAPT_PERF_SLEEF_ROWS_H
#define RAPT_PERF_SLEEF_ROWS_H

#include <rapt/base.h>

enum { SLEEF_ROWS = 3 };

struct sleef_row {
    const char *name;             /* name of the library's kernel */
    void (*run)(float *x, int n); /* in place */
};

extern const struct sleef_row sleef_rows_avx2[SLEEF_ROWS], sleef_rows_avx512[SLEEF_ROWS];

#endif
