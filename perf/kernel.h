/* kernel.h - what perf_kernel measures besides the row kernels of the tests: the tile kernels, and
   SLEEF's counterparts of row kernels. */
#ifndef RAPT_PERF_KERNEL_H
#define RAPT_PERF_KERNEL_H

#include "kernel/kernel.h"

/* ---- kernel_tiles.c: how to run each tile kernel, and what it reads, writes and computes ---- */
struct tile_data;

struct tile_case {
    const char *name;
    void (*run)(const struct kernels *k, struct tile_data *d);
    /* sets the number of floats that one call reads and writes, and of its operations */
    void (*cost)(const struct kernels *k, double *reads, double *writes, double *operations);
};

extern const struct tile_case tile_cases[];
extern const int tile_case_count;

struct tile_data *tile_data_make(void);
void tile_data_free(struct tile_data *d);

/* ---- sleef_rows.c, compiled once per instruction set ---- */
enum { SLEEF_ROWS = 3 };

struct sleef_row {
    const char *name;             /* name of the library's kernel */
    void (*run)(float *x, int n); /* in place */
};

extern const struct sleef_row sleef_rows_avx2[SLEEF_ROWS], sleef_rows_avx512[SLEEF_ROWS];

#endif
