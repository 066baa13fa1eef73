/* kernel.h - the tile kernels of perf_kernel: how to run each, and what it reads, writes and
   computes. */
#ifndef RAPT_PERF_KERNEL_H
#define RAPT_PERF_KERNEL_H

#include "kernel/kernel.h"

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

#endif
