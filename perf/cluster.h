/* cluster.h - the time of a training step on many machines, from measured parts: formulas, which
   perf/machines.md has too. Seconds and bytes everywhere. */
#ifndef RAPT_PERF_CLUSTER_H
#define RAPT_PERF_CLUSTER_H

#include <stdbool.h>

enum { CLUSTER_SHARED = 64 }; /* ranks of one machine, at most */

struct cluster {
    int shards;                 /* of a step, a power of two */
    double bytes;               /* of the gradient */
    double shard, spread, step; /* as rank_job.h has them */
    double sum, last, window;
    double latency, message, bandwidth;
    double copying; /* 0 .. 1: the part of a transfer that takes the processor, so that nothing is
                       computed meanwhile */
    int cores;      /* of the one machine that all ranks share; 0: each has a machine of its own */
    int together;   /* on that machine: of how many ranks at once those below are known */
    double shard_of[CLUSTER_SHARED], step_of[CLUSTER_SHARED]; /* [n - 1] while n ranks compute */
    double bandwidth_of[CLUSTER_SHARED]; /* [n - 1] while n ranks send to all; 0: not known */
};

enum cluster_term {
    TERM_SHARDS, /* the rank with the most shards */
    TERM_WAIT,   /* for the slowest, whose shards take longer by chance */
    TERM_RECORDS,
    TERM_SCATTER, /* what is not hidden of the gradients' way to those who sum them */
    TERM_SUM,
    TERM_GATHER, /* sums go to all */
    TERM_STEP,   /* of the optimizer */
    TERMS
};
extern const char *const cluster_names[TERMS];

/* Of a step of `ranks` ranks, at most `shards`; returns their sum. */
double cluster_time(const struct cluster *c, int ranks, double terms[TERMS]);
/* One rank's time over ranks times theirs. */
double cluster_efficiency(const struct cluster *c, int ranks);
/* The term that takes the most beyond a fair part of what it takes one rank. */
enum cluster_term cluster_excess(const struct cluster *c, int ranks);
/* The least power of two of ranks whose efficiency is below it; 0: none up to shards. */
int cluster_limit(const struct cluster *c, double threshold);
/* Seconds till the last of so many ranks, CLUSTER_SHARED at most, which share c->cores > 0 cores,
   has computed its shards. */
double cluster_shared_shards(const struct cluster *c, int ranks);
/* The mean of the largest of `count` independent standard normal variables. */
double largest_normal(int count);

#endif
