/* rank_job.h - functions that the ranks of perf_ranks perform together. All ranks of the job call
   each function; those that are not involved wait. */
#ifndef RAPT_PERF_RANK_JOB_H
#define RAPT_PERF_RANK_JOB_H

#include "ranks/ranks.h"
#include "training.h"

enum { RANKS = 16, SHARDS = 8 };

struct rank_job {
    struct ranks world, group[RANKS]; /* groups of 1, 2, ... ranks */
    struct exchange exchange[RANKS];
    struct training shape; /* pairs are those of a shard */
    const char *transport;
    int shards, threads, cores; /* cores: number of ranks with a core of their own */
    size_t floats;              /* of the gradient */
    rapt_model *model;
    rapt_trainer *trainer;
    rapt_tokens source, target; /* of every shard */
    rapt_shard *records;
    float *bytes[2]; /* [floats] each, to add and to send */
};

/* shape.pairs is that of a step. */
void rank_job_create(struct rank_job *job, const struct ranks *world, const struct training *shape,
                     int threads, const char *transport);
void rank_job_free(struct rank_job *job);

/* Ends the program if the code is not EXIT_OK, which means that a rank is lost. */
void rank_job_must(int code);
void rank_job_meet(struct rank_job *job);
/* Sends values[rank] of this rank to all and receives theirs. */
void rank_job_gather(struct rank_job *job, double values[RANKS]);
/* Returns the longest time of the first `ranks` ranks, on all ranks. */
double rank_job_longest(struct rank_job *job, int ranks, double seconds);

/* Returns true if any number of ranks, with and without overlap, makes the same model in a step.
   Rank 0 decides for all. */
bool rank_job_same_bits(struct rank_job *job);
/* Returns the seconds of a step of `ranks` ranks: those of the slowest. */
double rank_job_step(struct rank_job *job, int ranks, bool waits);
/* Sends *value of rank 0 to all. */
void rank_job_share(struct rank_job *job, double *value);

/* ---- rank_inputs.c: measurements for the simulation ---- */
/* In seconds unless noted otherwise. */
enum rank_input {
    INPUT_SHARD,     /* a shard, while only one rank computes */
    INPUT_SPREAD,    /* standard deviation of a shard, as a fraction of it */
    INPUT_STEP,      /* the optimizer's step */
    INPUT_SUM,       /* adding up one byte of one subtree */
    INPUT_LAST,      /* fraction of the gradient that becomes final only at the end of its shard */
    INPUT_WINDOW,    /* time from the first final layer to the end of a shard, as a fraction of
                        it */
    INPUT_LATENCY,   /* of a message; 0 with one rank, like the next two */
    INPUT_MESSAGE,   /* each further message of many at once */
    INPUT_BANDWIDTH, /* bytes per second, sent and received at once */
    INPUTS
};
extern const char *const rank_input_names[INPUTS];
/* Means over n ranks that run at once. */
struct rank_together {
    double shard, step, bandwidth; /* INPUT_SHARD, ... while n ranks compute, or all send to all */
};
/* together[n - 1] receives those of n ranks. */
void rank_job_inputs(struct rank_job *job, double inputs[INPUTS],
                     struct rank_together together[RANKS]);

#endif
