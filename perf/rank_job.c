/* rank_job.c - ranks that synchronize, and steps of groups of them. */
#include "rank_job.h"

#include "kit/program.h"
#include <stdlib.h>
#include <string.h>

void rank_job_must(int code)
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
void rank_job_gather(struct rank_job *job, double values[RANKS])
{
    const struct exchange all = {.ranks = &job->world};
    size_t starts[RANKS + 1];
    for (size_t r = 0; r <= (size_t)job->world.count; r++) starts[r] = r * sizeof *values;
    rank_job_must(exchange_parts(&all, values, starts));
}

void rank_job_meet(struct rank_job *job)
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

double rank_job_longest(struct rank_job *job, int ranks, double seconds)
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
