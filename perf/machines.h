/* machines.h - the parts of perf_machines: formulas, predictions and their figure. */
#ifndef RAPT_PERF_MACHINES_H
#define RAPT_PERF_MACHINES_H

#include <stdbool.h>

/* ---- cluster.c: the time of a step on many machines from measured parts, by the formulas of
   perf/machines.md. Times are in seconds, sizes in bytes. ---- */

enum { CLUSTER_SHARED = 64 }; /* maximum number of ranks of one machine */

struct cluster {
    int shards;                 /* of a step, a power of two */
    double bytes;               /* of the gradient */
    double shard, spread, step; /* as in rank_job.h */
    double sum, last, window;
    double latency, message, bandwidth;
    double copying; /* 0 .. 1: share of a transfer that keeps the processor from computing */
    int cores; /* cores of the machine that all ranks share; 0 means that each rank has a machine of
                  its own */
    int together; /* maximum number of concurrent ranks on that machine for which the following are
                     known */
    double shard_of[CLUSTER_SHARED], step_of[CLUSTER_SHARED]; /* [n - 1] while n ranks compute */
    double bandwidth_of[CLUSTER_SHARED]; /* [n - 1] while n ranks send to all; 0 if not known */
};

enum cluster_term {
    TERM_SHARDS, /* the rank with the most shards */
    TERM_WAIT,   /* waiting for the rank whose shards happen to take longest */
    TERM_RECORDS,
    TERM_SCATTER, /* the part of sending gradients to the ranks that sum them that no computation
                     hides */
    TERM_SUM,
    TERM_GATHER, /* sending sums to all ranks */
    TERM_STEP,   /* the optimizer */
    TERMS
};
extern const char *const cluster_names[TERMS];

/* Computes the terms of a step of `ranks` ranks (at most `shards`) and returns their sum. */
double cluster_time(const struct cluster *c, int ranks, double terms[TERMS]);
/* Returns the time of a step on one rank, divided by `ranks` times that on `ranks` ranks. */
double cluster_efficiency(const struct cluster *c, int ranks);
/* Returns the term that exceeds its fair share the most. The fair share is the time of the term on
   one rank, divided by `ranks`. */
enum cluster_term cluster_excess(const struct cluster *c, int ranks);
/* Returns the smallest power of two, at most c->shards, for which the efficiency of as many ranks
   is below the threshold, or 0 if there is none. */
int cluster_limit(const struct cluster *c, double threshold);

/* ---- predictions ---- */

enum { LINKS = 2, BATCHES = 3, COUNTS = 8, MEASURED = 16 };

/* A measured step of some number of ranks. */
struct measured {
    int ranks;
    double seconds, without; /* of a step with and without overlap; 0 if not measured */
};

struct prediction {
    char model[96];     /* the model that is trained */
    char processor[96]; /* processor of the measurement */
    char transport[32]; /* transport between the measured ranks */
    double tokens;      /* target tokens of a shard */
    struct cluster here;
    struct measured measured[MEASURED]; /* on the machine of `here` */
    int measured_count;
    struct cluster cluster[LINKS][BATCHES]; /* by interconnect and batch */
    char link[LINKS][64];                   /* "10 Gbit/s, 30 us" */
    int links, batches;
    int machines[COUNTS], counts;
};

/* ---- machines_figure.c ---- */

/* Writes an SVG file. Returns 0, or an exit code after a message. */
int machines_figure(const char *path, const struct prediction *p);

#endif
