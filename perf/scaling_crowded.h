/* scaling_crowded.h - two threads beside a busy program. */
#ifndef RAPT_PERF_SCALING_CROWDED_H
#define RAPT_PERF_SCALING_CROWDED_H

#include "bench.h"

/* On two processors, one of which a process of its own keeps busy: the time of each work with 1 and
   with 2 threads in turn, and `ratio`, the median time with 1 over the median time with 2; a table,
   or JSON lines. Returns the exit status. */
int scaling_crowded(struct bench *b);

/* ---- crowded_jobs.c: what is measured ---- */
struct crowded_job {
    const char *name, *label; /* both for --only */
    int size;         /* keys of attention, width of a model; 0 in the table: that of the model */
    bench_work *work; /* of `state` */
    void *state;
    void (*end)(void *state);
};
enum { CROWDED_JOBS = 6 };
extern const struct crowded_job crowded_jobs[CROWDED_JOBS]; /* without state and end */
/* Job 0 .. CROWDED_JOBS - 1 with `threads` threads; tiny: for --check. Ended by job.end(state). */
struct crowded_job crowded_job(int index, int threads, bool tiny);

#endif
