/* int8_loop.h - peak loops of products of bytes: int8_loop.c, compiled once per form, and
   int8_tiles_loop.c. */
#ifndef RAPT_PERF_INT8_LOOP_H
#define RAPT_PERF_INT8_LOOP_H

struct int8_loop {
    int operations; /* of one round; a product and its addition count as two */
    float (*run)(long rounds);
};

extern const struct int8_loop bench_int8_loop_scalar, bench_int8_loop_neon, bench_int8_loop_neondot,
    bench_int8_loop_avx2, bench_int8_loop_avxvnni, bench_int8_loop_avx512vnni, bench_int8_loop_amx;

#endif
