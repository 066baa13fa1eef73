/* rank_job.c - ranks that synchronize, steps of groups of them, and the inputs of the simulation:
   the seconds of the parts of a step, on one rank and on several at once. */
#include "rank_job.h"

#include "kit/program.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Ends the program if the code is not EXIT_OK, which means that a rank is lost. */
static void rank_job_must(int code)
{
    if (code != EXIT_OK) bench_fail("a rank is lost");
}

/* ---- the job ---- */

static void create_trainer(struct rank_job *job)
{
    const struct training *s = &job->shape;
    rapt_config config = training_config(s);
    rapt_train_options options;
    rapt_train_options_default(&options, sizeof options);
    rapt_train_limits limits = {sizeof limits,           s->pairs,
                                s->pairs * s->length,    s->pairs * (s->length + 1),
                                .threads = job->threads, .shards = job->shards};
    rapt_message why = {""};
    training_check(rapt_model_create(&job->model, &config, 1, NULL, &why), &why);
    training_check(rapt_trainer_create(&job->trainer, job->model, &options, &limits, NULL, &why),
                   &why);
    rapt_trainer_gradients(job->trainer, &job->floats, NULL);
}

static void free_trainer(struct rank_job *job)
{
    rapt_trainer_free(job->trainer);
    rapt_model_free(job->model);
}

void rank_job_create(struct rank_job *job, const struct ranks *world, const struct training *shape,
                     int threads, const char *transport)
{
    *job = (struct rank_job){.world = *world,
                             .shape = *shape,
                             .transport = transport,
                             .shards = SHARDS,
                             .threads = threads};
    struct training *s = &job->shape;
    s->pairs = s->pairs > SHARDS ? s->pairs / SHARDS : 1;
    job->cores = rapt__team_size(0) / threads;
    if (job->cores < 1) job->cores = 1;
    if (job->cores > world->count) job->cores = world->count;
    create_trainer(job);
    job->source = training_tokens(s->pairs, s->length, s->vocab, 1);
    job->target = training_tokens(s->pairs, s->length + 1, s->vocab, 2);
    job->records = xcalloc(SHARDS, sizeof *job->records);
    for (int i = 0; i < 2; i++) job->bytes[i] = bench_floats(job->floats);
    for (int r = 0; r < world->count; r++) {
        job->group[r] = *world;
        job->group[r].count = r + 1;
        if (world->rank <= r)
            exchange_create(&job->exchange[r], &job->group[r], SHARDS, job->floats);
    }
}

void rank_job_free(struct rank_job *job)
{
    for (int r = job->world.rank; r < job->world.count; r++) exchange_free(&job->exchange[r]);
    for (int i = 0; i < 2; i++) bench_free(job->bytes[i]);
    free(job->records);
    training_tokens_free(&job->source);
    training_tokens_free(&job->target);
    free_trainer(job);
}

/* ---- synchronization ---- */

/* Sends values[rank] of this rank to all and receives theirs. */
static void rank_job_gather(struct rank_job *job, double values[RANKS])
{
    const struct exchange all = {.ranks = &job->world};
    size_t starts[RANKS + 1];
    for (size_t r = 0; r <= (size_t)job->world.count; r++) starts[r] = r * sizeof *values;
    rank_job_must(exchange_parts(&all, values, starts));
}

static void rank_job_meet(struct rank_job *job)
{
    double nothing[RANKS] = {0};
    rank_job_gather(job, nothing);
}

void rank_job_share(struct rank_job *job, double *value)
{
    double values[RANKS] = {0};
    values[job->world.rank] = *value;
    rank_job_gather(job, values);
    *value = values[0];
}

/* Returns the longest time of the first `ranks` ranks, on all ranks. */
static double rank_job_longest(struct rank_job *job, int ranks, double seconds)
{
    double values[RANKS] = {0}, longest = 0;
    values[job->world.rank] = seconds;
    rank_job_gather(job, values);
    for (int r = 0; r < ranks; r++)
        if (values[r] > longest) longest = values[r];
    return longest;
}

/* ---- steps ---- */

static int batch(void *user, int shard, rapt_tokens *source, rapt_tokens *target)
{
    const struct rank_job *job = user;
    (void)shard;
    *source = job->source;
    *target = job->target;
    return EXIT_OK;
}

static void make_step(struct rank_job *job, struct exchange *x)
{
    rapt_status status;
    rapt_message why = {""};
    rank_job_must(shards_gradient(x, job->trainer, batch, job, job->records, &status, &why));
    training_check(status, &why);
    training_check(rapt_train_shards_step(job->trainer, job->records, NULL, &why), &why);
}

double rank_job_step(struct rank_job *job, int ranks, bool waits)
{
    struct exchange *x = &job->exchange[ranks - 1];
    rank_job_meet(job);
    double start = bench_now();
    if (job->world.rank < ranks) {
        x->waits = waits;
        make_step(job, x);
    }
    return rank_job_longest(job, ranks, bench_now() - start);
}

/* Returns a hash of all parameters as a double: 52 bits of FNV-1a. */
static double hash(const struct rank_job *job)
{
    uint64_t hash = 0xCBF29CE484222325u;
    for (int i = 0; i < rapt_model_tensors(job->model); i++) {
        rapt_tensor tensor = rapt_model_tensor(job->model, i);
        size_t count = (size_t)tensor.rows * (size_t)tensor.columns;
        uint32_t *data = xcalloc(count, sizeof *data);
        rapt_model_read(job->model, i, (float *)data, NULL);
        for (size_t k = 0; k < count; k++) hash = (hash ^ data[k]) * 0x100000001B3u;
        free(data);
    }
    return (double)(hash >> 12);
}

bool rank_job_same_bits(struct rank_job *job)
{
    double all[RANKS], one = 0, same = 1;
    for (int ranks = 1; ranks <= job->world.count; ranks++)
        for (int waits = 0; waits < (ranks > 1 ? 2 : 1); waits++) {
            free_trainer(job);
            create_trainer(job);
            rank_job_step(job, ranks, waits != 0);
            memset(all, 0, sizeof all);
            all[job->world.rank] = hash(job);
            rank_job_gather(job, all);
            if (ranks == 1) one = all[0];
            for (int r = 0; r < ranks; r++)
                if (memcmp(&all[r], &one, sizeof one) != 0) same = 0;
        }
    rank_job_share(job, &same);
    return same > 0;
}

/* ---- inputs of the simulation ---- */

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
static void compute_alone(struct rank_job *job, double *shards, double *step, double inputs[INPUTS])
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
static void compute_together(struct rank_job *job, int ranks, double *shard, double *step,
                             double inputs[INPUTS])
{
    double shards[SHARDS] = {0}, own = 0;
    rank_job_meet(job);
    if (job->world.rank < ranks) compute_alone(job, shards, &own, inputs);
    *step = mean_over(job, ranks, own);
    *shard = mean_over(job, ranks, mean_of(shards, SHARDS));
    if (job->world.rank < ranks)
        inputs[INPUT_SPREAD] = deviation_of(shards, SHARDS) / mean_of(shards, SHARDS);
}

static double add_gradients(struct rank_job *job)
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
static double exchange_messages(struct rank_job *job, size_t size, int count)
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
    double latency = exchange_messages(job, BYTES, 1),
           many = exchange_messages(job, COUNT * BYTES, COUNT);
    double seconds = exchange_messages(job, all, 16);
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
        compute_together(job, n, &together[n - 1].shard, &together[n - 1].step, inputs);
    inputs[INPUT_SHARD] = together[0].shard;
    inputs[INPUT_STEP] = together[0].step;
    rank_job_meet(job);
    inputs[INPUT_SUM] = rank_job_longest(job, 1, job->world.rank == 0 ? add_gradients(job) : 0);
    if (count > 1) measure_link(job, inputs);
    for (int n = 2; n <= count; n++) together[n - 1].bandwidth = send_to_all(job, n, inputs);
}
