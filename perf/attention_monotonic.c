/* attention_monotonic.c - benchmark of monotonic attention in its three modes, forward, backward
   and by hard stops.

   Only the operations of products are counted: queries by keys, weights by values, and, with chunk
   energies, one more. Backward computes all of them again except weights by values, and two more
   products for each. Steps scan keys until they stop, so only their time is reported. */
#include "bench.h"

#include <rapt/monotonic_attention.h>

struct monotonic_shape {
    int heads, queries, keys, width;
    rapt_monotonic mode;
    bool slow;
};
static const struct monotonic_shape shapes[] = {
    {8, 64, 64, 64, RAPT_MONOTONIC_HARD, true},
    {8, 512, 512, 64, RAPT_MONOTONIC_HARD, false},
    {8, 512, 512, 64, RAPT_MONOTONIC_CHUNK, true},
    {8, 512, 512, 64, RAPT_MONOTONIC_LOOKBACK, true},
};

struct monotonic_job {
    rapt_monotonic_attention a;
    rapt_monotonic_attention_gradients d;
    float *q, *k, *v, *out, *dout;
    int *positions;
    void *workspace;
};

static void check_monotonic(rapt_status status, const char *what)
{
    if (status) bench_fail(what);
}

static void run_forward(void *argument, int count)
{
    const struct monotonic_job *j = argument;
    for (int i = 0; i < count; i++)
        check_monotonic(rapt_monotonic_attention_forward(&j->a, j->q, j->k, j->v, j->q, j->k,
                                                         j->out, NULL, j->workspace, NULL),
                        "rapt_monotonic_attention_forward");
}

static void run_backward(void *argument, int count)
{
    const struct monotonic_job *j = argument;
    for (int i = 0; i < count; i++)
        check_monotonic(rapt_monotonic_attention_backward(&j->a, j->q, j->k, j->v, j->q, j->k,
                                                          j->dout, NULL, NULL, &j->d, j->workspace,
                                                          NULL),
                        "rapt_monotonic_attention_backward");
}

static void run_steps(void *argument, int count)
{
    const struct monotonic_job *j = argument;
    for (int i = 0; i < count; i++) {
        for (int h = 0; h < j->a.heads; h++) j->positions[h] = 0;
        check_monotonic(rapt_monotonic_attention_step(&j->a, j->q, j->k, j->v, j->q, j->k,
                                                      j->positions, j->out, j->workspace, NULL),
                        "rapt_monotonic_attention_step");
    }
}

static void report(struct bench *b, const struct monotonic_job *j, const char *name,
                   double operations, struct timing time)
{
    const rapt_monotonic_attention *a = &j->a;
    bench_line(b,
               &(struct result){.name = name,
                                .shape = json_pack("{s:i, s:i, s:i, s:i}", "H", a->heads, "T",
                                                   a->queries, "S", a->keys, "K", a->key_width),
                                .threads = a->threads,
                                .time = time,
                                .operations = 2.0 * a->heads * a->queries * a->keys * a->key_width *
                                              operations,
                                .more = json_pack("{s:s}", "mode", rapt_monotonic_name(a->mode))});
}

static void measure_shape(struct bench *b, const struct monotonic_shape *s, int threads)
{
    struct monotonic_job j = {.d = {.size = sizeof j.d}};
    int heads = b->check ? 2 : s->heads, queries = b->check ? 20 : s->queries;
    int keys = b->check ? 30 : s->keys, soft = s->mode != RAPT_MONOTONIC_HARD;
    if (b->rows && !b->check) queries = keys = b->rows;
    size_t query = (size_t)heads * (size_t)queries * (size_t)s->width;
    size_t key = (size_t)heads * (size_t)keys * (size_t)s->width;
    rapt_monotonic_attention_init(&j.a, sizeof j.a, 1, heads, queries, keys, s->width);
    float **arrays[] = {&j.q, &j.out, &j.dout, &j.d.q, &j.d.chunk_q,
                        &j.k, &j.v,   &j.d.k,  &j.d.v, &j.d.chunk_k};
    for (int i = 0; i < 10; i++) *arrays[i] = bench_floats(i < 5 ? query : key);
    float *offset = bench_floats((size_t)heads);
    for (int h = 0; h < heads; h++) offset[h] = -2;
    j.a.mode = s->mode, j.a.chunk = 8, j.a.offset = offset, j.a.threads = threads;
    j.positions = bench_alloc((size_t)heads * sizeof *j.positions);
    j.workspace = bench_alloc(rapt_monotonic_attention_workspace(&j.a, 1));
    report(b, &j, "monotonic_forward", 2 + soft, bench_time(b, run_forward, &j));
    report(b, &j, "monotonic_backward", 5 + 3 * soft, bench_time(b, run_backward, &j));
    report(b, &j, "monotonic_step", 0, bench_time(b, run_steps, &j));
    for (int i = 0; i < 10; i++) bench_free(*arrays[i]);
    bench_free(offset), bench_free(j.positions), bench_free(j.workspace);
}

void measure_monotonic(struct bench *b, int threads)
{
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++)
        if (!(b->quick && shapes[i].slow) && bench_wants(b, "monotonic", "monotonic"))
            measure_shape(b, &shapes[i], threads);
}
