/* loop.c - peak loops: enough independent chains of s = s * factor + term to saturate the FMA
   units; reads; writes. Compiled with the flags of one instruction set and -ffp-contract=fast,
   which makes each step one fused multiply-add if the instruction exists. LOOP_BYTES is the size of
   a register, LOOP_CHAINS the number of accumulator registers, LOOP_NAME the name of the table. */
#include "loop.h"

#include <string.h>

#ifdef __clang__
#define UNROLL _Pragma("clang loop unroll(full)")
#else
#define UNROLL _Pragma("GCC unroll 32")
#endif

typedef float lanes __attribute__((vector_size(LOOP_BYTES)));
enum { LANES = LOOP_BYTES / sizeof(float), CHAINS = LOOP_CHAINS, READS = 8 };

static float sum_lanes(const lanes *v)
{
    float x[LANES], sum = 0;
    memcpy(x, v, sizeof x);
    for (int i = 0; i < LANES; i++) sum += x[i];
    return sum;
}

static float run_fma(long rounds, float factor, float term)
{
    lanes s[CHAINS], zero = {0}, f = zero + factor, t = zero + term;
    UNROLL
    for (int i = 0; i < CHAINS; i++) s[i] = t + (float)i;
    for (long round = 0; round < rounds; round++) {
        UNROLL
        for (int i = 0; i < CHAINS; i++) s[i] = s[i] * f + t;
    }
    UNROLL
    for (int i = 1; i < CHAINS; i++) s[0] += s[i];
    return sum_lanes(s);
}

static float run_read(const float *x, size_t count)
{
    lanes s[READS] = {{0}};
    for (size_t i = 0; i < count; i += READS * LANES) {
        UNROLL
        for (size_t j = 0; j < READS; j++) {
            lanes v;
            memcpy(&v, x + i + j * LANES, sizeof v);
            s[j] += v;
        }
    }
    UNROLL
    for (int j = 1; j < READS; j++) s[0] += s[j];
    return sum_lanes(s);
}

static void run_write(float *x, size_t count, float value)
{
    lanes zero = {0}, v = zero + value;
    for (size_t i = 0; i < count; i += READS * LANES) {
        UNROLL
        for (size_t j = 0; j < READS; j++) memcpy(x + i + j * LANES, &v, sizeof v);
    }
}

const struct loop LOOP_NAME = {2 * CHAINS * (int)LANES, run_fma, run_read, run_write};
