/* speedup.h - a series of rates by number of threads, and its figure: one chart per measurement. */
#ifndef RAPT_PERF_SPEEDUP_H
#define RAPT_PERF_SPEEDUP_H

#include "bench.h"

struct series {
    char title[96], shape[160];
    int count, threads[BENCH_THREADS];
    double rate[BENCH_THREADS]; /* work per second, in any unit */
};

/* Returns the rate relative to the smallest number of threads; ideal is threads[i] / threads[0]. */
static inline double series_speed_up(const struct series *s, int i)
{
    return s->rate[i] / s->rate[0];
}
static inline double series_efficiency(const struct series *s, int i)
{
    return series_speed_up(s, i) * s->threads[0] / s->threads[i];
}

/* Writes an SVG file. `environment` is a line of text below the title. Returns false if the file
   cannot be written. */
bool speedup_figure(const char *path, const char *environment, const struct series *series,
                    int count);

#endif
