/* scaling_crowded.c - two threads next to a busy program: the speed of 2 threads relative to 1. A
   separate process keeps one of two processors busy; everything that is measured is confined to
   these two. Samples of 1 and 2 threads alternate, so that other activity on the machine affects
   both alike, and medians are compared. The workloads are attention with 8 heads of width 64, a
   training step of the tiny model of training.c, and greedy translation of 16 sources by that
   model. */
#define _GNU_SOURCE
#include "bench.h"

#include "kit/program.h"

#include <rapt/attention.h>
#include <rapt/translator.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#ifdef __linux__
#include <sched.h>
#include <sys/prctl.h>
#endif

enum { ROUNDS = 15, QUICK_ROUNDS = 3 };
static const double SAMPLE = 0.2; /* seconds: many time slices of the scheduler */

struct crowded_job {
    const char *name, *label; /* both for --only */
    int size; /* number of keys, or width of the model; 0 in crowded_jobs means the width of the
                 model */
    bench_work *work; /* called with `state` */
    void *state;
    void (*end)(void *state);
};
enum { CROWDED_JOBS = 6 };

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

static void attend_forward(void *argument, int count)
{
    struct attention_job *j = argument;
    float **r = j->rows;
    const rapt_attention_saved saved = {.size = sizeof saved, .statistics = j->statistics};
    for (int i = 0; i < count; i++)
        check_jobs(
            rapt_attention_forward(&j->a, r[0], r[1], r[2], r[3], &saved, j->workspace, NULL));
}

static void attend_backward(void *argument, int count)
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
    attend_forward(j, 1); /* backward needs its results */
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

static void train_model(void *argument, int count)
{
    struct model_job *j = argument;
    training_steps(j->trainer, &j->source, &j->target, count);
}

static void translate_model(void *argument, int count)
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

/* state and end are NULL */
static const struct crowded_job crowded_jobs[CROWDED_JOBS] = {
    {.name = "attention_forward", .label = "short", .size = 512, .work = attend_forward},
    {.name = "attention_backward", .label = "short", .size = 512, .work = attend_backward},
    {.name = "train_step", .label = "model", .work = train_model},
    {.name = "generate", .label = "model", .work = translate_model},
    {.name = "attention_forward", .label = "long", .size = 4096, .work = attend_forward},
    {.name = "attention_backward", .label = "long", .size = 4096, .work = attend_backward},
};

/* Returns job 0 .. CROWDED_JOBS - 1 with `threads` threads; tiny: for --check. End it by
   job.end(state). */
static struct crowded_job crowded_job(int index, int threads, bool tiny)
{
    struct crowded_job job = crowded_jobs[index];
    const struct training *t = &trainings[tiny ? TRAININGS : 0];
    bool attention = job.size > 0;
    if (!attention)
        job.size = t->width;
    else if (tiny)
        job.size = 20;
    job.end = attention ? end_attention : end_model;
    job.state = attention                 ? begin_attention(job.size, threads)
                : job.work == train_model ? begin_training(t, threads)
                                          : begin_generation(t, threads);
    return job;
}

/* ---- a busy program ---- */

#ifdef __linux__
static void keep_to(const cpu_set_t *processors)
{
    if (sched_setaffinity(0, sizeof *processors, processors))
        bench_fail("cannot choose the processors of a process");
}

/* Finds the first two processors that this process may use. *second contains only the second of
   them. */
static void two_processors(cpu_set_t *two, cpu_set_t *second)
{
    cpu_set_t all;
    CPU_ZERO(two);
    if (sched_getaffinity(0, sizeof all, &all))
        bench_fail("cannot find out which processors may be used");
    for (size_t i = 0; i < CPU_SETSIZE && CPU_COUNT(two) < 2; i++) {
        if (!CPU_ISSET(i, &all)) continue;
        CPU_SET(i, two);
        CPU_ZERO(second);
        CPU_SET(i, second);
    }
}

/* Starts a process that is busy until it is stopped, or until this one ends. */
static pid_t start_busy(const cpu_set_t *processor)
{
    pid_t parent = getpid(), busy = fork();
    if (busy < 0) bench_fail("cannot start a process");
    if (busy > 0) return busy;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    keep_to(processor);
    if (getppid() != parent) _exit(0);
    for (volatile unsigned i = 0;;) i = i + 1;
}

/* Confines this process to two processors and the new one to the second of them. */
static pid_t begin_crowd(void)
{
    cpu_set_t two, second;
    two_processors(&two, &second);
    keep_to(&two);
    return start_busy(&second);
}
#else
static pid_t begin_crowd(void)
{
    bench_fail("--crowded is supported only on Linux");
}
#endif

/* ---- the measurement ---- */

static double sample(const struct crowded_job *job, bool once)
{
    double start = bench_now(), taken;
    int calls = 0;
    do {
        job->work(job->state, 1);
        calls++;
        taken = bench_now() - start;
    } while (!once && taken < SAMPLE);
    return taken / calls;
}

static void print_line(struct bench *b, const struct crowded_job *job, const struct timing t[2])
{
    double ratio = t[0].median / t[1].median;
    b->lines++;
    if (b->json) {
        json_t *line = json_pack("{s:s, s:{s:i}, s:i, s:f, s:f, s:f, s:i, s:o}", "name", job->name,
                                 "shape", "size", job->size, "threads", 2, "seconds", t[1].median,
                                 "seconds_of_one", t[0].median, "ratio", ratio, "runs", t[0].runs,
                                 "environment", bench_environment());
        if (json_dumpf(line, stdout, JSON_COMPACT | JSON_REAL_PRECISION(6)))
            bench_fail("a result could not be written");
        putchar('\n');
        json_decref(line);
    } else {
        printf("%-26s\t%5d\t%10s\t%10s\t%6.2f\n", job->name, job->size,
               bench_duration(t[0].median).text, bench_duration(t[1].median).text, ratio);
    }
    if (fflush(stdout) || ferror(stdout)) bench_fail("standard output cannot be written");
}

static void measure_crowded(struct bench *b, int index)
{
    struct crowded_job jobs[2];
    double seconds[2][ROUNDS];
    int rounds = b->check ? 1 : b->quick ? QUICK_ROUNDS : ROUNDS;
    for (int t = 0; t < 2; t++) {
        jobs[t] = crowded_job(index, t + 1, b->check);
        jobs[t].work(jobs[t].state, 1); /* warms up */
    }
    for (int i = 0; i < rounds; i++)
        for (int t = 0; t < 2; t++) seconds[t][i] = sample(&jobs[t], b->check);
    print_line(
        b, &jobs[0],
        (struct timing[2]){bench_summary(seconds[0], rounds), bench_summary(seconds[1], rounds)});
    for (int t = 0; t < 2; t++) jobs[t].end(jobs[t].state);
}

int scaling_crowded(struct bench *b)
{
    pid_t busy = begin_crowd();
    b->header = "name                      \t size\t  1 thread\t 2 threads\t ratio";
    for (int i = 0; i < CROWDED_JOBS; i++)
        if (bench_wants(b, crowded_jobs[i].name, crowded_jobs[i].label)) measure_crowded(b, i);
    kill(busy, SIGKILL);
    waitpid(busy, NULL, 0);
    return bench_end(b);
}
