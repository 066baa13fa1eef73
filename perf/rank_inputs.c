/* rank_inputs.c - measures the inputs of the simulation: the seconds of the parts of a step, on one
   rank and on several at once. */
#include "rank_job.h"

#include <math.h>
#include <string.h>

const char *const rank_input_names[INPUTS] = {
    "shard_seconds", "shard_spread",    "step_seconds",    "sum_seconds", "last",
    "window",        "latency_seconds", "message_seconds", "bandwidth"};

struct finals {
    size_t floats; /* number of gradients that became final last */
    double first;  /* time when the first gradients became final; 0 if none have */
};

static void note_final(void *user, const rapt_subtree *tree, size_t from, size_t until)
{
    struct finals *f = user;
    (void)tree;
    if (f->first <= 0) f->first = bench_now();
    f->floats = until - from;
}

/* Measures all shards of a step, and the step, on this rank alone. shards[SHARDS]: the seconds of
   each. */
static void alone(struct rank_job *job, double *shards, double *step, double inputs[INPUTS])
{
    rapt_message why = {""};
    struct finals finals = {0};
    double start = bench_now(), began = start;
    for (int k = 0; k < SHARDS; k++) {
        double before = start;
        bool last = k + 1 == SHARDS;
        job->records[k] = (rapt_shard){.size = sizeof *job->records};
        training_check(rapt_train_shard_early(job->trainer, k, &job->source, &job->target,
                                              &job->records[k], last ? note_final : NULL, &finals,
                                              &why),
                       &why);
        start = bench_now();
        shards[k] = start - before;
        began = before;
    }
    inputs[INPUT_LAST] = (double)finals.floats / (double)job->floats;
    inputs[INPUT_WINDOW] = (start - finals.first) / (start - began);
    training_check(rapt_train_shards_step(job->trainer, job->records, NULL, &why), &why);
    *step = bench_now() - start;
}

static double mean_of(const double *x, int count)
{
    double sum = 0;
    for (int i = 0; i < count; i++) sum += x[i];
    return sum / count;
}

static double deviation_of(const double *x, int count)
{
    double mean = mean_of(x, count), sum = 0;
    for (int i = 0; i < count; i++) sum += (x[i] - mean) * (x[i] - mean);
    return sqrt(sum / (count - 1));
}

/* Returns the mean over the first `ranks` ranks. */
static double mean_over(struct rank_job *job, int ranks, double seconds)
{
    double values[RANKS] = {0}, sum = 0;
    values[job->world.rank] = seconds;
    rank_job_gather(job, values);
    for (int r = 0; r < ranks; r++) sum += values[r];
    return sum / ranks;
}

/* Measures the first `ranks` ranks at once, each computing for itself. */
static void compute(struct rank_job *job, int ranks, double *shard, double *step,
                    double inputs[INPUTS])
{
    double shards[SHARDS] = {0}, own = 0;
    rank_job_meet(job);
    if (job->world.rank < ranks) alone(job, shards, &own, inputs);
    *step = mean_over(job, ranks, own);
    *shard = mean_over(job, ranks, mean_of(shards, SHARDS));
    if (job->world.rank < ranks)
        inputs[INPUT_SPREAD] = deviation_of(shards, SHARDS) / mean_of(shards, SHARDS);
}

static double add_up(struct rank_job *job)
{
    const rapt_subtree list[2] = {{0, 1, job->bytes[0]}, {1, 1, job->bytes[1]}};
    double start = bench_now();
    rapt_shards_sum(2, list, 2, job->floats, NULL);
    double seconds = bench_now() - start;
    memset(job->bytes[0], 0, job->floats * sizeof(float)); /* otherwise it would grow without
                                                              bound */
    return seconds / (2.0 * (double)job->floats * sizeof(float));
}

/* Measures ranks 0 and 1 exchanging `count` messages each, of `size` bytes in all. */
static double send(struct rank_job *job, size_t size, int count)
{
    enum { MANY = 64 };
    struct transfer list[2 * MANY];
    int other = 1 - job->world.rank;
    size_t each = size / (size_t)count;
    rank_job_meet(job);
    double start = bench_now();
    for (int i = 0; i < count && job->world.rank < 2; i++) {
        char *from = (char *)job->bytes[0] + each * (size_t)i;
        char *to = (char *)job->bytes[1] + each * (size_t)i;
        list[2 * i] = (struct transfer){other, true, from, each, i};
        list[2 * i + 1] = (struct transfer){other, false, to, each, i};
    }
    if (job->world.rank < 2) rank_job_must(ranks_transfer(&job->world, list, 2 * count));
    return rank_job_longest(job, 2, bench_now() - start);
}

static void measure_link(struct rank_job *job, double inputs[INPUTS])
{
    enum { COUNT = 64, BYTES = 64 };
    size_t all = job->floats * sizeof(float);
    double latency = send(job, BYTES, 1), many = send(job, COUNT * BYTES, COUNT);
    double seconds = send(job, all, 16);
    inputs[INPUT_LATENCY] = latency;
    inputs[INPUT_MESSAGE] = fmax(many - latency, 0) / (COUNT - 1);
    inputs[INPUT_BANDWIDTH] = (double)all / fmax(seconds - latency, 1e-9);
}

/* Returns the bytes per second while each of the first `ranks` ranks sends its piece of the sums to
   all. */
static double send_to_all(struct rank_job *job, int ranks, const double inputs[INPUTS])
{
    const struct exchange *x = &job->exchange[ranks - 1];
    double all = (double)job->floats * sizeof(float);
    rank_job_meet(job);
    double start = bench_now();
    if (job->world.rank < ranks) rank_job_must(exchange_parts(x, job->bytes[0], x->pieces));
    double seconds = rank_job_longest(job, ranks, bench_now() - start);
    seconds -= inputs[INPUT_LATENCY] + (ranks - 1) * inputs[INPUT_MESSAGE];
    return (all - all / ranks) / fmax(seconds, 1e-9);
}

void rank_job_inputs(struct rank_job *job, double inputs[INPUTS],
                     struct rank_together together[RANKS])
{
    int count = job->world.count;
    memset(inputs, 0, INPUTS * sizeof *inputs);
    memset(together, 0, RANKS * sizeof *together);
    for (int n = count; n > 0; n--) /* one rank last, so that its spread is kept */
        compute(job, n, &together[n - 1].shard, &together[n - 1].step, inputs);
    inputs[INPUT_SHARD] = together[0].shard;
    inputs[INPUT_STEP] = together[0].step;
    rank_job_meet(job);
    inputs[INPUT_SUM] = rank_job_longest(job, 1, job->world.rank == 0 ? add_up(job) : 0);
    if (count > 1) measure_link(job, inputs);
    for (int n = 2; n <= count; n++) together[n - 1].bandwidth = send_to_all(job, n, inputs);
}
