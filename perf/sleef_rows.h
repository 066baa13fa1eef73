/* sleef_rows.h - the kernels of rows that SLEEF has, too, per instruction set (sleef_rows.c). */
#ifndef RAPT_PERF_SLEEF_ROWS_H
#define RAPT_PERF_SLEEF_ROWS_H

#include <rapt/base.h>

enum { SLEEF_ROWS = 3 };

struct sleef_row {
    const char *name;             /* of the kernel of the library */
    void (*run)(float *x, int n); /* in place */
};

extern const struct sleef_row sleef_rows_avx2[SLEEF_ROWS], sleef_rows_avx512[SLEEF_ROWS];

#endif
