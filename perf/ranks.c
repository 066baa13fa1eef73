/* ranks.c - benchmark of a training step of several ranks, under mpirun: the time with 1, 2, ... of
   them, sending gradients while the last shard is computed or only after it, in alternating
   samples; and the inputs for a simulation of more ranks (machines.c). Before anything is timed,
   all variants must compute the same model, bit for bit. */
#define _POSIX_C_SOURCE 200809L
#include "rank_job.h"

#include "kit/program.h"
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

const char program_name[] = "perf_ranks";

enum { SAMPLES = 64 };

struct samples {
    double seconds[SAMPLES];
    int count;
};

struct plan {
    struct bench *b;
    struct rank_job job;
    struct samples step[RANKS][2]; /* [n - 1]: n ranks; [1]: gradients wait */
    struct samples inputs[INPUTS], shards[RANKS], steps[RANKS], bandwidths[RANKS];
    int rounds;
};

static void add(struct samples *s, double seconds)
{
    if (s->count < SAMPLES) s->seconds[s->count++] = seconds;
}

/* Measures every variant and every input once. */
static void round_of(struct plan *p)
{
    struct rank_job *job = &p->job;
    double inputs[INPUTS];
    struct rank_together together[RANKS];
    for (int ranks = 1; ranks <= job->world.count; ranks++)
        for (int waits = 0; waits < (ranks > 1 ? 2 : 1); waits++)
            add(&p->step[ranks - 1][waits], rank_job_step(job, ranks, waits != 0));
    rank_job_inputs(job, inputs, together);
    for (int i = 0; i < INPUTS; i++) add(&p->inputs[i], inputs[i]);
    for (int i = 0; i < job->world.count; i++) {
        add(&p->shards[i], together[i].shard);
        add(&p->steps[i], together[i].step);
        add(&p->bandwidths[i], together[i].bandwidth);
    }
}

/* Measures as many rounds as time allows, but always enough for a median. Rank 0 decides when to
   stop. */
static void measure_ranks(struct plan *p)
{
    const struct bench *b = p->b;
    double enough = b->check ? 0 : b->quick ? 6 : 30, start = bench_now(), more = 1;
    int min = b->check ? 1 : b->quick ? 3 : 7;
    while (more > 0) {
        round_of(p);
        p->rounds++;
        more = p->rounds < min || (p->rounds < SAMPLES && bench_now() - start < enough);
        rank_job_share(&p->job, &more);
    }
}

static void print_step(struct plan *p, int ranks, int waits)
{
    const struct rank_job *job = &p->job;
    struct samples *s = &p->step[ranks - 1][waits];
    struct timing time = bench_summary(s->seconds, s->count);
    int cores = ranks < job->cores ? ranks : job->cores;
    double tokens = (double)job->shape.pairs * job->shape.length * job->shards;
    json_t *more = json_pack("{s:s, s:i, s:b, s:s, s:i, s:f}", "model", job->shape.label, "ranks",
                             ranks, "overlap", !waits, "transport", job->transport, "shards",
                             job->shards, "tokens_per_second", tokens / time.median);
    bench_line(p->b, &(struct result){.name = "rank_step",
                                      .shape = training_shape(&job->shape),
                                      .threads = job->threads,
                                      .time = time,
                                      .operations = training_operations(&job->shape) * job->shards,
                                      .peak = bench_peak(job->threads) * cores,
                                      .more = more});
}

/* Returns the medians by number of ranks. */
static json_t *list_of(struct samples *samples, int count)
{
    json_t *list = json_array();
    for (int i = 0; i < count; i++)
        json_array_append_new(
            list, json_real(bench_summary(samples[i].seconds, samples[i].count).median));
    return list;
}

static void print_inputs(struct plan *p)
{
    const struct rank_job *job = &p->job;
    struct timing shard = {0};
    json_t *more = json_pack("{s:s, s:s, s:i, s:i, s:I}", "model", job->shape.label, "transport",
                             job->transport, "shards", job->shards, "cores", job->cores, "bytes",
                             (json_int_t)(job->floats * sizeof(float)));
    for (int i = 0; i < INPUTS; i++) {
        struct timing time = bench_summary(p->inputs[i].seconds, p->inputs[i].count);
        if (i == INPUT_SHARD) shard = time;
        json_object_set_new(more, rank_input_names[i], json_real(time.median));
    }
    json_object_set_new(more, "shard_seconds_together", list_of(p->shards, job->world.count));
    json_object_set_new(more, "step_seconds_together", list_of(p->steps, job->world.count));
    json_object_set_new(more, "bandwidth_together", list_of(p->bandwidths, job->world.count));
    bench_line(p->b, &(struct result){.name = "rank_inputs",
                                      .shape = training_shape(&job->shape),
                                      .threads = job->threads,
                                      .time = shard,
                                      .operations = training_operations(&job->shape),
                                      .more = more});
}

static void run_model(struct bench *b, const struct ranks *world, const struct training *shape,
                      const char *transport)
{
    static struct plan p;
    p = (struct plan){.b = b};
    rank_job_create(&p.job, world, shape, b->threads_given ? b->threads[0] : 1, transport);
    if (!rank_job_same_bits(&p.job)) bench_fail("ranks or their overlap change the model");
    measure_ranks(&p);
    for (int ranks = 1; ranks <= world->count && world->rank == 0; ranks++)
        for (int waits = 0; waits < (ranks > 1 ? 2 : 1); waits++) print_step(&p, ranks, waits);
    if (world->rank == 0) print_inputs(&p);
    rank_job_free(&p.job);
}

/* Ranks other than the first print only errors. */
static int begin(struct bench *b, int argc, char **argv, int rank)
{
    static const char purpose[] = "Measures training steps of several ranks: mpirun -n 4 "
                                  "perf_ranks. Started alone, it is the\n"
                                  "only one. perf_scaling --ranks starts it.";
    int saved = dup(STDERR_FILENO), nothing = open("/dev/null", O_WRONLY);
    if (rank > 0) {
        messages_of_rank(rank);
        if (nothing < 0 || dup2(nothing, STDOUT_FILENO) < 0 || dup2(nothing, STDERR_FILENO) < 0)
            return EXIT_FAILED;
    }
    int code = bench_begin(b, argc, argv, purpose, "tiny, base");
    b->begun = rank > 0; /* only rank 0 prints a header */
    if (rank > 0) dup2(saved, STDERR_FILENO);
    close(saved);
    close(nothing);
    return code;
}

int main(int argc, char **argv)
{
    struct bench b;
    struct ranks world = ranks_open();
    const char *transport = getenv("PERF_TRANSPORT"); /* a name, for the results */
    int code = begin(&b, argc, argv, world.rank);
    if (code == BENCH_GO_ON && world.count > RANKS) bench_fail("too many ranks");
    for (size_t n = 0; n < TRAININGS && code == BENCH_GO_ON; n++)
        if (bench_wants(&b, "rank_step", trainings[n].label) && !(b.quick && n > 0 && !b.only))
            run_model(&b, &world, &trainings[b.check ? TRAININGS : n],
                      transport ? transport : "default");
    if (code == BENCH_GO_ON) code = world.rank > 0 ? EXIT_OK : bench_end(&b);
    ranks_close(&world, code);
    return code;
}
