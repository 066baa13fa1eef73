/* near.c - ceilings of one thread and one instruction set: fused multiply-adds in registers, L1
   read and write bandwidth. The clock rate is measured with a dependent chain of shifts and
   exclusive-ors, which take one cycle each. */
#include "bench.h"
#include "loop.h"

enum { SAMPLES = 40, FLOATS = 4096 };

typedef void trial(const struct loop *loop, float *x, long rounds);

static volatile float sink; /* keeps the compiler from removing the loops */

static void compute(const struct loop *loop, float *x, long rounds)
{
    sink = loop->fma(rounds, 0.5f, x[0]);
}

static void read(const struct loop *loop, float *x, long rounds)
{
    for (long i = 0; i < rounds; i++) sink = loop->read(x, FLOATS);
}

static void write(const struct loop *loop, float *x, long rounds)
{
    for (long i = 0; i < rounds; i++) loop->write(x, FLOATS, 0.7f);
}

static void chain(const struct loop *loop, float *x, long rounds)
{
    (void)loop;
    uint64_t word = (uint64_t)(x[0] + 1.5f) | UINT64_C(1) << 63;
    for (long i = 0; i < rounds; i++) word ^= word >> 1;
    sink = (float)word;
}

/* Returns the seconds of a round, from the fastest of several samples of a millisecond. */
static double seconds_of(trial *run, const struct loop *loop, float *x)
{
    long rounds = 1000;
    double fastest = 0;
    for (int sample = 0; sample < SAMPLES; sample++) {
        double start = bench_now();
        run(loop, x, rounds);
        double taken = bench_now() - start;
        if (taken < 1e-3 && sample == 0) {
            rounds *= 2, sample = -1;
            continue;
        }
        if (sample == 0 || taken / (double)rounds < fastest) fastest = taken / (double)rounds;
    }
    return fastest;
}

struct near bench_near(rapt_isa isa)
{
    const struct loop *loop = bench_loop(isa);
    float *x = bench_floats(FLOATS);
    struct near n;
    n.peak = loop->operations / seconds_of(compute, loop, x) * 1e-9;
    n.read = FLOATS * sizeof *x / seconds_of(read, loop, x) * 1e-9;
    n.write = FLOATS * sizeof *x / seconds_of(write, loop, x) * 1e-9;
    n.clock = 2 / seconds_of(chain, loop, x) * 1e-9;
    bench_free(x);
    return n;
}
