/* crowded_jobs.c - the workloads that scaling_crowded.c measures: attention with 8 heads of width
   64; a training step of the tiny model of training.h, and greedy translation of 16 sources by
   it. */
#include "scaling.h"
#include "training.h"

#include <rapt/attention.h>
#include <rapt/translator.h>

/* ---- attention ---- */

struct attention_job {
    rapt_attention a;
    float *rows[8]; /* q, k, v, out, dout, dq, dk, dv */
    float *statistics;
    void *workspace;
};

static void check_jobs(rapt_status status)
{
    if (status) bench_fail(rapt_status_text(status));
}

static void forward(void *argument, int count)
{
    struct attention_job *j = argument;
    float **r = j->rows;
    const rapt_attention_saved saved = {.size = sizeof saved, .statistics = j->statistics};
    for (int i = 0; i < count; i++)
        check_jobs(
            rapt_attention_forward(&j->a, r[0], r[1], r[2], r[3], &saved, j->workspace, NULL));
}

static void backward(void *argument, int count)
{
    struct attention_job *j = argument;
    float **r = j->rows;
    const rapt_attention_saved saved = {.size = sizeof saved, .statistics = j->statistics};
    const rapt_gradients d = {.size = sizeof d, .q = r[5], .k = r[6], .v = r[7]};
    for (int i = 0; i < count; i++)
        check_jobs(rapt_attention_backward(&j->a, r[0], r[1], r[2], r[3], &saved, r[4], NULL, &d,
                                           j->workspace, NULL));
}

static void end_attention(void *argument)
{
    struct attention_job *j = argument;
    for (int i = 0; i < 8; i++) bench_free(j->rows[i]);
    bench_free(j->statistics);
    bench_free(j->workspace);
    bench_free(j);
}

static void *begin_attention(int keys, int threads)
{
    struct attention_job *j = bench_alloc(sizeof *j);
    *j = (struct attention_job){0};
    rapt_attention_init(&j->a, sizeof j->a, 1, 8, keys, keys, 64);
    j->a.threads = threads;
    for (int i = 0; i < 8; i++) j->rows[i] = bench_floats(8 * (size_t)keys * 64);
    j->statistics = bench_floats(2 * 8 * (size_t)keys);
    j->workspace = bench_alloc(rapt_attention_workspace(&j->a));
    forward(j, 1); /* backward needs its results */
    return j;
}

/* ---- a model ---- */

enum { SOURCES = 16 };

struct model_job {
    rapt_model *model;
    rapt_trainer *trainer;
    rapt_session *session;
    rapt_tokens source, target;
    rapt_generate_options options;
    int32_t end, *ids;
    int *counts;
};

static void train(void *argument, int count)
{
    struct model_job *j = argument;
    training_steps(j->trainer, &j->source, &j->target, count);
}

static void generate(void *argument, int count)
{
    struct model_job *j = argument;
    const rapt_generate_outputs out = {.size = sizeof out, .ids = j->ids, .counts = j->counts};
    rapt_message why = {""};
    for (int i = 0; i < count; i++)
        training_check(rapt_generate(j->session, &j->source, &j->options, &out, &why), &why);
}

static void end_model(void *argument)
{
    struct model_job *j = argument;
    rapt_session_free(j->session);
    rapt_trainer_free(j->trainer);
    rapt_model_free(j->model);
    training_tokens_free(&j->source);
    training_tokens_free(&j->target);
    bench_free(j->ids);
    bench_free(j->counts);
    bench_free(j);
}

static struct model_job *begin_model(const struct training *t, int pairs)
{
    struct model_job *j = bench_alloc(sizeof *j);
    rapt_config config = training_config(t);
    rapt_message why = {""};
    *j = (struct model_job){.source = training_tokens(pairs, t->length, t->vocab, 1),
                            .target = training_tokens(pairs, t->length + 1, t->vocab, 2)};
    training_check(rapt_model_create(&j->model, &config, 1, NULL, &why), &why);
    return j;
}

static void *begin_training(const struct training *t, int threads)
{
    struct model_job *j = begin_model(t, t->pairs);
    rapt_train_options options;
    rapt_train_options_default(&options, sizeof options);
    const rapt_train_limits limits = {sizeof limits, t->pairs, t->pairs * t->length,
                                      t->pairs * (t->length + 1), .threads = threads};
    rapt_message why = {""};
    training_check(rapt_trainer_create(&j->trainer, j->model, &options, &limits, NULL, &why), &why);
    return j;
}

static void *begin_generation(const struct training *t, int threads)
{
    struct model_job *j = begin_model(t, SOURCES);
    const rapt_limits limits = {.size = sizeof limits,
                                .batch = SOURCES,
                                .beams = 1,
                                .source_tokens = SOURCES * t->length,
                                .target_length = t->length,
                                .threads = threads};
    rapt_message why = {""};
    rapt_generate_options_default(&j->options, sizeof j->options, 1, 0);
    j->options.beams = 1, j->options.max_length = t->length;
    j->options.suppressed = &j->end, j->options.suppressed_count = 1;
    j->ids = bench_alloc((size_t)(SOURCES * t->length) * sizeof *j->ids);
    j->counts = bench_alloc(SOURCES * sizeof *j->counts);
    training_check(rapt_session_create(&j->session, j->model, &limits, NULL, &why), &why);
    return j;
}

const struct crowded_job crowded_jobs[CROWDED_JOBS] = {
    {.name = "attention_forward", .label = "short", .size = 512, .work = forward},
    {.name = "attention_backward", .label = "short", .size = 512, .work = backward},
    {.name = "train_step", .label = "model", .work = train},
    {.name = "generate", .label = "model", .work = generate},
    {.name = "attention_forward", .label = "long", .size = 4096, .work = forward},
    {.name = "attention_backward", .label = "long", .size = 4096, .work = backward},
};

struct crowded_job crowded_job(int index, int threads, bool tiny)
{
    struct crowded_job job = crowded_jobs[index];
    const struct training *t = &trainings[tiny ? TRAININGS : 0];
    bool attention = job.size > 0;
    if (!attention)
        job.size = t->width;
    else if (tiny)
        job.size = 20;
    job.end = attention ? end_attention : end_model;
    job.state = attention           ? begin_attention(job.size, threads)
                : job.work == train ? begin_training(t, threads)
                                    : begin_generation(t, threads);
    return job;
}
