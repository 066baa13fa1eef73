/* scaling_ranks.h - speed-up by number of ranks, on this machine. */
#ifndef RAPT_PERF_SCALING_RANKS_H
#define RAPT_PERF_SCALING_RANKS_H

#include "bench.h"

enum { SCALING_RANKS = 16 };
/* Runs perf_ranks of `folder` ("" or with a slash at its end) under mpirun, with each transport.
   Returns the exit status. */
int scaling_ranks(const struct bench *b, const char *folder, int ranks);

#endif
