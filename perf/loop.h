/* loop.h - pure compute, read and write loops: loop.c, compiled once per instruction set of the
   library. */
#ifndef RAPT_PERF_LOOP_H
#define RAPT_PERF_LOOP_H

#include <stddef.h>

struct loop {
    int operations; /* operations of one round of fma; a fused multiply-add counts as two */
    float (*fma)(long rounds, float factor, float term);
    float (*read)(const float *x, size_t count); /* count must be a multiple of 256 */
    void (*write)(float *x, size_t count, float value);
};

extern const struct loop bench_loop_scalar, bench_loop_neon, bench_loop_avx2, bench_loop_avx512;

#endif
