/* timing.c - monotonic clock, timing by repeated samples, and memory of benchmarks. */
#define _POSIX_C_SOURCE 200809L
#include "bench.h"

#include <stdlib.h>
#include <time.h>

enum { MAX_SAMPLES = 1000 };

/* A sample is as many calls as take SAMPLE seconds. Samples are taken until there are MIN of them
   and their sum is ENOUGH (QUICK_... with --quick). */
static const double SAMPLE = 2e-3, ENOUGH = 0.5, QUICK_ENOUGH = 0.15;
static const double RETRY_LIMIT = 20e-3; /* seconds: a try this slow is not repeated */
enum { MIN = 5, QUICK_MIN = 2, TRIES = 3, MAX_CALLS = 1 << 20 };

double bench_now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static double measure_time(bench_work *work, void *argument, int count)
{
    double start = bench_now();
    work(argument, count);
    return bench_now() - start;
}

/* Returns the fastest of several tries, so that one preempted try does not end the search for a
   count. */
static double fastest_of(int tries, bench_work *work, void *argument, int count)
{
    double fastest = measure_time(work, argument, count);
    for (int i = 1; i < tries && fastest < RETRY_LIMIT; i++) {
        double taken = measure_time(work, argument, count);
        if (taken < fastest) fastest = taken;
    }
    return fastest;
}

static int compare(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

struct timing bench_summary(double *seconds, int count)
{
    qsort(seconds, (size_t)count, sizeof *seconds, compare);
    double median = (seconds[(count - 1) / 2] + seconds[count / 2]) / 2;
    return (struct timing){seconds[0], median, count};
}

/* Returns the number of calls of a sample. */
static int calls_of(const struct bench *b, bench_work *work, void *argument)
{
    int calls = 1;
    if (b->check) return calls;
    while (fastest_of(TRIES, work, argument, calls) < SAMPLE && calls < MAX_CALLS) calls *= 2;
    return calls;
}

double bench_times(const struct bench *b, bench_work *work, void *argument, void *other)
{
    const double enough = b->quick ? QUICK_ENOUGH : ENOUGH;
    const int calls = calls_of(b, work, argument), others = calls_of(b, work, other);
    double ratios[MAX_SAMPLES], sum = 0;
    int samples = 0;
    do {
        const double own = measure_time(work, argument, calls) / calls;
        const double theirs = measure_time(work, other, others) / others;
        sum += own * calls + theirs * others;
        ratios[samples++] = theirs / own;
    } while (!b->check && samples < MAX_SAMPLES && (samples < MIN || sum < enough));
    return bench_summary(ratios, samples).median;
}

struct timing bench_time(const struct bench *b, bench_work *work, void *argument)
{
    double seconds[MAX_SAMPLES], sum = 0, enough = b->quick ? QUICK_ENOUGH : ENOUGH;
    int samples = 0, min = b->quick ? QUICK_MIN : MIN;
    if (b->enough > 0 && b->enough < enough) enough = b->enough;
    if (b->check) {
        seconds[0] = measure_time(work, argument, 1);
        return bench_summary(seconds, 1);
    }
    const int calls = calls_of(b, work, argument);
    while (samples < MAX_SAMPLES && (samples < min || sum < enough)) {
        double taken = measure_time(work, argument, calls);
        sum += taken;
        seconds[samples++] = taken / calls;
    }
    return bench_summary(seconds, samples);
}

void *bench_alloc(size_t bytes)
{
    void *memory = rapt__alloc(NULL, bytes ? bytes : 1);
    if (!memory) bench_fail("out of memory");
    return memory;
}

void bench_free(void *memory)
{
    rapt__free(NULL, memory, 0);
}

float *bench_floats(size_t count)
{
    float *x = bench_alloc(count * sizeof *x);
    uint32_t state = 12345;
    for (size_t i = 0; i < count; i++) {
        state = state * 1664525u + 1013904223u;
        x[i] = (float)(state >> 8) * 0x1p-23f - 1;
    }
    return x;
}
