/* chart.h - a drawing of speed-ups, one small chart for each thing that was measured. */
#ifndef RAPT_PERF_CHART_H
#define RAPT_PERF_CHART_H

#include "bench.h"

struct series {
    char title[96], shape[160];
    int count, threads[BENCH_THREADS];
    double rate[BENCH_THREADS]; /* work per second, in any unit */
};

/* Over the first number of threads; ideal: threads / threads of the first. */
static inline double series_speed_up(const struct series *s, int i)
{
    return s->rate[i] / s->rate[0];
}
static inline double series_efficiency(const struct series *s, int i)
{
    return series_speed_up(s, i) * s->threads[0] / s->threads[i];
}

/* Writes an SVG; below: a line of text under the title. false: the file could not be written. */
bool chart_write(const char *path, const char *below, const struct series *series, int count);

#endif
