/* rank_job.h - collective functions of perf_ranks. All ranks of the job call each function; those
   that are not involved wait. */
#ifndef RAPT_PERF_RANK_JOB_H
#define RAPT_PERF_RANK_JOB_H

#include "bench.h"
#include "ranks/ranks.h"

enum { RANKS = 16, SHARDS = 8 };

struct rank_job {
    struct ranks world, group[RANKS]; /* group[n - 1] has ranks 0 .. n - 1 */
    struct exchange exchange[RANKS];
    struct training shape; /* with the pairs of one shard */
    const char *transport;
    int shards, threads, cores; /* cores: number of ranks with a core of their own */
    size_t floats;              /* of the gradient */
    rapt_model *model;
    rapt_trainer *trainer;
    rapt_tokens source, target; /* the same for every shard */
    rapt_shard *records;
    float *bytes[2]; /* [floats] each, to add and to send */
};

/* shape->pairs counts the pairs of a step, not of a shard. */
void rank_job_create(struct rank_job *job, const struct ranks *world, const struct training *shape,
                     int threads, const char *transport);
void rank_job_free(struct rank_job *job);

/* Returns true if a step computes the same model with any number of ranks, with and without
   overlap. All ranks return what rank 0 found. */
bool rank_job_same_bits(struct rank_job *job);
/* Returns the seconds that the slowest of `ranks` ranks takes for a step. */
double rank_job_step(struct rank_job *job, int ranks, bool waits);
/* Sends *value of rank 0 to all. */
void rank_job_share(struct rank_job *job, double *value);

/* ---- measurements for the simulation, machines.c ---- */
/* In seconds unless noted otherwise. */
enum rank_input {
    INPUT_SHARD,   /* computing a shard, while no other rank computes */
    INPUT_SPREAD,  /* standard deviation of a shard, as a fraction of it */
    INPUT_STEP,    /* the optimizer's step */
    INPUT_SUM,     /* adding up one byte of one subtree */
    INPUT_LAST,    /* fraction of the gradient that becomes final only at the end of its shard */
    INPUT_WINDOW,  /* time from the first final gradients to the end of the shard, as a fraction of
                      the shard */
    INPUT_LATENCY, /* of a message; 0 with one rank, like the next two */
    INPUT_MESSAGE, /* each further message of many at once */
    INPUT_BANDWIDTH, /* bytes per second, sent and received at once */
    INPUTS
};
extern const char *const rank_input_names[INPUTS];
/* Means over n ranks that run at once. */
struct rank_together {
    double shard, step, bandwidth; /* as INPUT_SHARD, INPUT_STEP and INPUT_BANDWIDTH */
};
/* together[n - 1] receives the means over n ranks. */
void rank_job_inputs(struct rank_job *job, double inputs[INPUTS],
                     struct rank_together together[RANKS]);

#endif
