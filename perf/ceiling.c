/* ceiling.c - peak rates of fused multiply-adds and products of bytes, and memory read bandwidth,
   of threads that start together. */
#include "bench.h"
#include "int8_loop.h"
#include "kernel/int8.h"
#include "loop.h"

enum { SAMPLES = 40, MAX_THREADS = 1024 };

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

const struct loop *bench_loop(rapt_isa isa)
{
    return loops[isa];
}

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
