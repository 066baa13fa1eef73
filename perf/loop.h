/* loop.h - loops that only compute, read or write, with which ceiling.c measures the machine. */
#ifndef RAPT_PERF_LOOP_H
#define RAPT_PERF_LOOP_H

#include <stddef.h>

/* ---- loop.c, compiled once per instruction set of the library ---- */
struct loop {
    int operations; /* operations of one round of fma; a fused multiply-add counts as two */
    float (*fma)(long rounds, float factor, float term);
    float (*read)(const float *x, size_t count); /* count must be a multiple of 256 */
    void (*write)(float *x, size_t count, float value);
};

extern const struct loop bench_loop_scalar, bench_loop_neon, bench_loop_avx2, bench_loop_avx512;

/* ---- int8_loop.c: products of bytes, compiled once per form of 8-bit instructions ---- */
struct int8_loop {
    int operations; /* of one round; a product and its addition count as two */
    float (*run)(long rounds);
};

extern const struct int8_loop bench_int8_loop_scalar, bench_int8_loop_neon, bench_int8_loop_neondot,
    bench_int8_loop_avx2, bench_int8_loop_avxvnni, bench_int8_loop_avx512vnni, bench_int8_loop_amx;

#endif
