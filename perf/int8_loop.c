/* int8_loop.c - peak loop of products of bytes: computes one register tile of the library again and
   again from the same bytes. Compiled once per form, with the options of its kernels. */
#include "kernel/int8_simd.h"
#include "loop.h"

static float run(long rounds)
{
    enum { GROUP = INT8_GROUP * VQ_SIZE };
    static const int8_t bytes[VS_PANELS * 64 + VS_ROWS * GROUP] = {1, 2, 3, 4};
    vs sum[VS_ROWS * VS_PANELS];
    float total = 0, lanes[LANES];
    UNROLL
    for (int r = 0; r < VS_ROWS; r++) {
        UNROLL
        for (int p = 0; p < VS_PANELS; p++) sum[r * VS_PANELS + p] = vs_start(0);
    }
    while (rounds-- > 0) {
        const int8_t *from = bytes;
        vw w[VS_PANELS];
        __asm__ volatile("" : "+r"(from)); /* or the products would leave the loop */
        UNROLL
        for (int p = 0; p < VS_PANELS; p++) w[p] = vw_load(from + p * 64);
        UNROLL
        for (int r = 0; r < VS_ROWS; r++) {
            vq q = vq_load(from + VS_PANELS * 64 + r * GROUP);
            UNROLL
            for (int p = 0; p < VS_PANELS; p++) vs_add(&sum[r * VS_PANELS + p], w[p], q);
        }
    }
    UNROLL
    for (int r = 0; r < VS_ROWS; r++) {
        UNROLL
        for (int p = 0; p < VS_PANELS; p++) {
            vf_store(lanes, vs_float(sum[r * VS_PANELS + p]));
            for (int n = 0; n < LANES; n++) total += lanes[n]; /* all sums are needed */
        }
    }
    return total;
}

#define LOOP_JOIN(a, b) a##b
#define LOOP_NAME(form) LOOP_JOIN(bench_int8_loop_, form)

const struct int8_loop LOOP_NAME(RAPT_INT8) = {
    2 * VS_ROWS * VS_PANELS * LANES * INT8_GROUP,
    run,
};
