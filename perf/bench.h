/* bench.h - what the measurements share: options, time, the machine's ceiling, result lines.

   A program of perf/ may leave and print: bench_fail ends it with status 1. */
#ifndef RAPT_PERF_BENCH_H
#define RAPT_PERF_BENCH_H

#include "base/base.h"

#include <jansson.h>

enum { BENCH_THREADS = 16, BENCH_GO_ON = -1 };

struct bench {
    const char *program;        /* "perf_gemm" */
    int threads[BENCH_THREADS]; /* --threads 1,2 */
    int thread_counts;
    bool threads_given;
    const char *only; /* --only NAME; NULL: all */
    bool quick, json; /* --quick, --json */
    bool check;       /* --check: as little as will do; what is measured means nothing */
    double enough;    /* seconds of samples of one thing; 0: the usual */
    double start;     /* bench_now() when the program began */
    int lines;        /* results so far */
    bool cut_short;   /* --quick ran out of time */
};

struct timing {
    double fastest, median; /* seconds of one call */
    int runs;
};

/* What a result line says; the json_t are taken over. */
struct result {
    const char *name;
    json_t *shape; /* an object of whole numbers, true and false */
    int threads;
    struct timing time;
    double operations; /* of one call, in floating point; a fused multiply-add counts for two */
    double peak;       /* of `operations`, in 10^9 per second; 0: bench_peak(threads) */
    json_t *more;      /* an object of further keys; NULL: none */
};

/* ---- bench.c ---- */
/* BENCH_GO_ON, or the exit status. purpose and names (what --only knows): for --help. */
int bench_begin(struct bench *b, int argc, char **argv, const char *purpose, const char *names);
/* The same without the head of the table. */
int bench_begin_bare(struct bench *b, int argc, char **argv, const char *purpose,
                     const char *names);
/* The exit status: 2 if there was nothing called as --only says. */
int bench_end(const struct bench *b);
/* Whether --only and --quick's time allow this measurement, known by any of the two names. */
bool bench_wants(struct bench *b, const char *name, const char *other);
void bench_line(struct bench *b, const struct result *r);
_Noreturn void bench_fail(const char *what);

/* ---- timing.c ---- */
double bench_now(void); /* seconds of a clock that only moves forward */
/* work(argument, count) does the thing count times. Warms up, then takes samples. */
typedef void bench_work(void *argument, int count);
struct timing bench_time(const struct bench *b, bench_work *work, void *argument);
struct timing bench_summary(double *seconds, int count); /* sorts them */
/* 64-byte aligned floats in -1 .. 1; ends the program if there is no memory. */
float *bench_floats(size_t count);
void *bench_alloc(size_t bytes);
void bench_free(void *memory);

/* ---- ceiling.c ---- */
/* Fused multiply-adds of the instruction set in use on so many threads, in 10^9 operations per
   second: measured at the first call for that number of threads, then remembered. */
double bench_peak(int threads);
/* Bytes per second, in 10^9, read by so many threads from arrays far larger than the caches. */
double bench_bandwidth(int threads, size_t bytes);

/* ---- near.c: one thread and one instruction set, in registers and the nearest cache ---- */
struct near {
    double peak;        /* 10^9 operations per second, as bench_peak */
    double read, write; /* 10^9 bytes per second */
    double clock;       /* 10^9 cycles per second */
};
struct near bench_near(rapt_isa isa);
const struct loop *bench_loop(rapt_isa isa); /* loop.h; of ceiling.c */

/* ---- environment.c ---- */
/* Processor, instruction set, compiler, flags, OpenBLAS, commit, load: an object of strings. */
json_t *bench_environment(void);
/* Says on standard error what may distort: variables of the environment, other programs. */
void bench_warn(void);

#endif
