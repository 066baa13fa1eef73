/* scaling.h - two parts of perf_scaling: speed-up by number of ranks, and two threads next to a
   busy program. */
#ifndef RAPT_PERF_SCALING_H
#define RAPT_PERF_SCALING_H

#include "bench.h"

/* ---- scaling_ranks.c ---- */
enum { SCALING_RANKS = 16 };
/* Runs perf_ranks of `folder` ("" or with a slash at its end) under mpirun, with each transport.
   Returns the exit status. */
int scaling_ranks(struct bench *b, const char *folder, int ranks);

/* ---- scaling_crowded.c ---- */
/* Measures, on two processors of which another process keeps one busy, the time of each workload
   with 1 and with 2 threads in turn, and `ratio`, the median time with 1 over that with 2. Prints a
   table or JSON lines and returns the exit status. */
int scaling_crowded(struct bench *b);

/* ---- crowded_jobs.c: the workloads ---- */
struct crowded_job {
    const char *name, *label; /* both for --only */
    int size; /* number of keys, or width of the model; 0 in crowded_jobs means the width of the
                 model */
    bench_work *work; /* called with `state` */
    void *state;
    void (*end)(void *state);
};
enum { CROWDED_JOBS = 6 };
extern const struct crowded_job crowded_jobs[CROWDED_JOBS]; /* state and end are NULL */
/* Returns job 0 .. CROWDED_JOBS - 1 with `threads` threads; tiny: for --check. End it by
   job.end(state). */
struct crowded_job crowded_job(int index, int threads, bool tiny);

#endif
