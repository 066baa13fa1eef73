/* ceiling.c - peak rates of fused multiply-adds and products of bytes, and memory read bandwidth,
   of threads that start together; and the ceilings of one thread in registers and L1 cache. */
#include "bench.h"
#include "kernel/int8.h"
#include "loop.h"

enum { SAMPLES = 40, MAX_THREADS = 1024, NEAR_FLOATS = 4096 };

/* One table per instruction set, in the order of rapt_isa. */
static const struct loop *const loops[] = {
#ifdef RAPT_HAVE_SCALAR
    [RAPT_ISA_SCALAR] = &bench_loop_scalar,
#endif
#ifdef RAPT_HAVE_NEON
    [RAPT_ISA_NEON] = &bench_loop_neon,
#endif
#ifdef RAPT_HAVE_AVX2
    [RAPT_ISA_AVX2] = &bench_loop_avx2,
#endif
#ifdef RAPT_HAVE_AVX512
    [RAPT_ISA_AVX512] = &bench_loop_avx512,
#endif
};

/* One loop per form, in the order of enum int8_form. */
static const struct int8_loop *const int8_loops[] = {
#ifdef RAPT_HAVE_SCALAR
    [INT8_SCALAR] = &bench_int8_loop_scalar,
#endif
#ifdef RAPT_HAVE_NEON
    [INT8_NEON] = &bench_int8_loop_neon,
#endif
#ifdef RAPT_HAVE_NEONDOT
    [INT8_NEONDOT] = &bench_int8_loop_neondot,
#endif
#ifdef RAPT_HAVE_AVX2
    [INT8_AVX2] = &bench_int8_loop_avx2,
#endif
#ifdef RAPT_HAVE_AVXVNNI
    [INT8_AVXVNNI] = &bench_int8_loop_avxvnni,
#endif
#ifdef RAPT_HAVE_AVX512VNNI
    [INT8_AVX512] = &bench_int8_loop_avx512vnni,
#endif
#ifdef RAPT_HAVE_AMX
    [INT8_AMX] = &bench_int8_loop_amx,
#endif
};

struct trial {
    const struct loop *loop;      /* the loop to run; NULL if int8 is */
    const struct int8_loop *int8; /* the loop of bytes to run */
    long rounds;
    const float *data; /* NULL means to run fma; otherwise reads `count` floats, divided among the
                          threads */
    size_t count;
    int size;                /* size of the team */
    double seconds;          /* the fastest sample */
    float sink[MAX_THREADS]; /* results: keeps the compiler from removing the loops */
    double begin[MAX_THREADS], end[MAX_THREADS];
};

/* Returns the seconds from the first start to the last end. */
static double seconds_of(const struct trial *t, int members)
{
    double begin = t->begin[0], end = t->end[0];
    for (int i = 1; i < members; i++) {
        if (t->begin[i] < begin) begin = t->begin[i];
        if (t->end[i] > end) end = t->end[i];
    }
    return end - begin;
}

static float run_once(const struct trial *t, size_t begin, size_t end)
{
    if (!t->loop) return t->int8->run(t->rounds);
    return t->data ? t->loop->read(t->data + begin, end - begin) : t->loop->fma(t->rounds, 0.5f, 1);
}

static void run_trial(struct team *team, void *argument)
{
    struct trial *t = argument;
    size_t begin, end;
    rapt__team_share(team, t->count, 256, &begin, &end);
    for (int sample = 0; sample <= SAMPLES; sample++) {
        rapt__team_barrier(team);
        t->begin[team->rank] = bench_now();
        t->sink[team->rank] = run_once(t, begin, end);
        t->end[team->rank] = bench_now();
        rapt__team_barrier(team);
        double taken = team->rank == 0 ? seconds_of(t, team->size) : 0;
        if (team->rank == 0 && (sample == 0 || taken < t->seconds)) t->seconds = taken;
    }
    if (team->rank == 0) t->size = team->size;
}

/* Returns the rate of a loop of `operations` per round, in 10^9 per second. */
static double peak_of(struct trial *t, int operations, int threads)
{
    t->rounds = 10000;
    double start = bench_now();
    t->sink[0] = run_once(t, 0, 0);
    t->rounds = (long)(3e-3 / (bench_now() - start) * (double)t->rounds) + 1000;
    rapt__team_run(threads, run_trial, t);
    return (double)t->rounds * operations * t->size / t->seconds * 1e-9;
}

double bench_peak(int threads)
{
    static double known[MAX_THREADS + 1];
    struct trial t = {.loop = loops[rapt_isa_used()]};
    if (!(known[threads] > 0)) known[threads] = peak_of(&t, t.loop->operations, threads);
    return known[threads];
}

double bench_int8_peak(int threads)
{
    static double known[MAX_THREADS + 1];
    struct trial t = {.int8 = int8_loops[rapt__int8_kernels(rapt_isa_used())->form]};
    if (!(known[threads] > 0)) known[threads] = peak_of(&t, t.int8->operations, threads);
    return known[threads];
}

double bench_bandwidth(int threads, size_t bytes)
{
    size_t count = bytes / sizeof(float) / 256 * 256;
    float *data = bench_floats(count);
    struct trial t = {.loop = loops[rapt_isa_used()], .data = data, .count = count};
    rapt__team_run(threads, run_trial, &t);
    bench_free(data);
    return (double)(count * sizeof(float)) / t.seconds * 1e-9;
}

/* ---- one thread, in registers and L1 cache ---- */

typedef void near_trial(const struct loop *loop, float *x, long rounds);

static volatile float near_sink; /* keeps the compiler from removing the loops */

static void near_compute(const struct loop *loop, float *x, long rounds)
{
    near_sink = loop->fma(rounds, 0.5f, x[0]);
}

static void near_read(const struct loop *loop, float *x, long rounds)
{
    for (long i = 0; i < rounds; i++) near_sink = loop->read(x, NEAR_FLOATS);
}

static void near_write(const struct loop *loop, float *x, long rounds)
{
    for (long i = 0; i < rounds; i++) loop->write(x, NEAR_FLOATS, 0.7f);
}

/* Measures the clock rate: a dependent chain of shifts and exclusive-ors, which take one cycle
   each. */
static void near_chain(const struct loop *loop, float *x, long rounds)
{
    (void)loop;
    uint64_t word = (uint64_t)(x[0] + 1.5f) | UINT64_C(1) << 63;
    for (long i = 0; i < rounds; i++) word ^= word >> 1;
    near_sink = (float)word;
}

/* Returns the seconds of a round, from the fastest of several samples of a millisecond. */
static double near_seconds(near_trial *run, const struct loop *loop, float *x)
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
    const struct loop *loop = loops[isa];
    float *x = bench_floats(NEAR_FLOATS);
    struct near n;
    n.peak = loop->operations / near_seconds(near_compute, loop, x) * 1e-9;
    n.read = NEAR_FLOATS * sizeof *x / near_seconds(near_read, loop, x) * 1e-9;
    n.write = NEAR_FLOATS * sizeof *x / near_seconds(near_write, loop, x) * 1e-9;
    n.clock = 2 / near_seconds(near_chain, loop, x) * 1e-9;
    bench_free(x);
    return n;
}
