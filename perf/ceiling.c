/* ceiling.c - peak FMA rate and memory read bandwidth of a number of threads that start
   together. */
#include "bench.h"
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

struct trial {
    const struct loop *loop;
    long rounds;
    const float *data; /* NULL: runs fma; else reads `count` floats, divided among the threads */
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

static void run_trial(struct team *team, void *argument)
{
    struct trial *t = argument;
    size_t begin, end;
    rapt__team_share(team, t->count, 256, &begin, &end);
    for (int sample = 0; sample <= SAMPLES; sample++) {
        rapt__team_barrier(team);
        t->begin[team->rank] = bench_now();
        t->sink[team->rank] = t->data ? t->loop->read(t->data + begin, end - begin)
                                      : t->loop->fma(t->rounds, 0.5f, 1);
        t->end[team->rank] = bench_now();
        rapt__team_barrier(team);
        double taken = team->rank == 0 ? seconds_of(t, team->size) : 0;
        if (team->rank == 0 && (sample == 0 || taken < t->seconds)) t->seconds = taken;
    }
    if (team->rank == 0) t->size = team->size;
}

double bench_peak(int threads)
{
    static double known[MAX_THREADS + 1];
    if (known[threads] > 0) return known[threads];
    struct trial t = {.loop = loops[rapt_isa_used()], .rounds = 100000};
    double start = bench_now();
    t.sink[0] = t.loop->fma(t.rounds, 0.5f, 1);
    t.rounds = (long)(3e-3 / (bench_now() - start) * (double)t.rounds) + 1000;
    rapt__team_run(threads, run_trial, &t);
    double operations = (double)t.rounds * t.loop->operations * t.size;
    return known[threads] = operations / t.seconds * 1e-9;
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
