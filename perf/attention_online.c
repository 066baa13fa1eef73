/* attention_online.c - benchmark of the two kinds of attention that can also be computed step by
   step as queries and keys arrive, linear and monotonic attention: forward, backward and steps. */
#include "bench.h"

#include <rapt/linear_attention.h>
#include <rapt/monotonic_attention.h>

/* ---- linear attention with and without decays, and with and without the delta rule ----

   Operations are those of the products of chunks of C = 64 rows. Per row, forward takes two
   products with the state (K V each) and two triangular ones (C K / 2 and C V / 2); the delta rule
   adds one with the state and two triangular ones. Backward takes five with the state and five
   triangular ones, three of width K and two of width V; the delta rule adds three of each of the
   three kinds. A step takes K V for each product with the state, and for its update. */

enum { CHUNK = 64 };

struct linear_shape {
    int heads, rows, width;
    bool decay, delta, slow;
};
static const struct linear_shape linear_shapes[] = {
    {8, 1024, 64, false, false, true},  {8, 1024, 64, true, false, true},
    {8, 1024, 64, true, true, false},   {8, 1024, 128, true, true, true},
    {1, 4096, 64, true, true, false},   {1, 65536, 64, true, true, true},
    {1, 65536, 128, true, false, true},
};

struct linear_job {
    rapt_linear_attention a;
    rapt_linear_attention_gradients d;
    float *q, *k, *v, *out, *dout, *state;
    void *workspace;
};

static void check_linear(rapt_status status, const char *what)
{
    if (status) bench_fail(what);
}

static void linear_forward(void *argument, int count)
{
    struct linear_job *j = argument;
    for (int i = 0; i < count; i++)
        check_linear(rapt_linear_attention_forward(&j->a, j->q, j->k, j->v, j->out, j->state,
                                                   j->workspace, NULL),
                     "rapt_linear_attention_forward");
}

static void linear_backward(void *argument, int count)
{
    struct linear_job *j = argument;
    for (int i = 0; i < count; i++)
        check_linear(rapt_linear_attention_backward(&j->a, j->q, j->k, j->v, j->dout, NULL, &j->d,
                                                    j->workspace, NULL),
                     "rapt_linear_attention_backward");
}

static void linear_steps(void *argument, int count)
{
    struct linear_job *j = argument;
    for (int i = 0; i < count; i++)
        check_linear(rapt_linear_attention_step(&j->a, j->q, j->k, j->v, j->state, j->out,
                                                j->workspace, NULL),
                     "rapt_linear_attention_step");
}

static void report_linear(struct bench *b, const struct linear_shape *s, const struct linear_job *j,
                          const char *name, double operations, struct timing time)
{
    bench_line(b, &(struct result){.name = name,
                                   .shape = json_pack("{s:i, s:i, s:i}", "H", j->a.heads, "T",
                                                      j->a.rows, "K", j->a.key_width),
                                   .threads = j->a.threads,
                                   .time = time,
                                   .operations = 2.0 * j->a.heads * j->a.rows * operations,
                                   .more = json_pack("{s:s}", "rule",
                                                     s->delta   ? "gated-delta"
                                                     : s->decay ? "gated"
                                                                : "linear")});
}

static void measure_linear_shape(struct bench *b, const struct linear_shape *s, int threads)
{
    struct linear_job j = {.d = {.size = sizeof j.d}};
    int heads = b->check ? 2 : s->heads, width = s->width,
        rows = b->check  ? 70
               : b->rows ? b->rows
                         : s->rows;
    size_t all = (size_t)heads * (size_t)rows, size = all * (size_t)width;
    size_t state = (size_t)heads * (size_t)width * (size_t)width;
    rapt_linear_attention_init(&j.a, sizeof j.a, 1, heads, rows, width, width);
    float **arrays[] = {&j.q, &j.k, &j.v, &j.out, &j.dout, &j.d.q, &j.d.k, &j.d.v};
    float *log_decay = bench_floats(all), *beta = bench_floats(all);
    float *dlog_decay = bench_floats(all), *dbeta = bench_floats(all);
    for (int i = 0; i < 8; i++) *arrays[i] = bench_floats(size);
    for (size_t i = 0; i < all; i++) log_decay[i] = log_decay[i] * 0.05f - 0.05f, beta[i] = 0.5f;
    for (size_t i = 0; i < size; i++) j.k[i] /= 8; /* so that the squares of a key sum to about 1 */
    if (s->decay) j.a.log_decay = log_decay, j.d.log_decay = dlog_decay;
    if (s->delta) j.a.beta = beta, j.d.beta = dbeta;
    j.a.threads = threads, j.state = bench_floats(state);
    j.workspace = bench_alloc(rapt_linear_attention_workspace(&j.a, 1));
    double square = (double)width * width, part = CHUNK * width / 2.0;
    report_linear(b, s, &j, "linear_forward",
                  s->delta ? 3 * square + 4 * part : 2 * square + 2 * part,
                  bench_time(b, linear_forward, &j));
    report_linear(b, s, &j, "linear_backward",
                  s->delta ? 8 * square + 11 * part : 5 * square + 5 * part,
                  bench_time(b, linear_backward, &j));
    report_linear(b, s, &j, "linear_step", (s->delta ? 3 : 2) * square,
                  bench_time(b, linear_steps, &j));
    void *memory[] = {log_decay, beta, dlog_decay, dbeta, j.state, j.workspace};
    for (int i = 0; i < 8; i++) bench_free(*arrays[i]);
    for (int i = 0; i < 6; i++) bench_free(memory[i]);
}

void measure_linear(struct bench *b, int threads)
{
    for (size_t i = 0; i < sizeof linear_shapes / sizeof *linear_shapes; i++)
        if (!(b->quick && linear_shapes[i].slow) && bench_wants(b, "linear", "linear"))
            measure_linear_shape(b, &linear_shapes[i], threads);
}

/* ---- monotonic attention in its three modes ----

   Only the operations of products are counted: queries by keys, weights by values, and, with chunk
   energies, one more. Backward computes all of them again except weights by values, and two more
   products for each. Steps scan keys until they stop, so only their time is reported. */

struct monotonic_shape {
    int heads, queries, keys, width;
    rapt_monotonic mode;
    bool slow;
};
static const struct monotonic_shape monotonic_shapes[] = {
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

static void monotonic_forward(void *argument, int count)
{
    const struct monotonic_job *j = argument;
    for (int i = 0; i < count; i++)
        check_monotonic(rapt_monotonic_attention_forward(&j->a, j->q, j->k, j->v, j->q, j->k,
                                                         j->out, NULL, j->workspace, NULL),
                        "rapt_monotonic_attention_forward");
}

static void monotonic_backward(void *argument, int count)
{
    const struct monotonic_job *j = argument;
    for (int i = 0; i < count; i++)
        check_monotonic(rapt_monotonic_attention_backward(&j->a, j->q, j->k, j->v, j->q, j->k,
                                                          j->dout, NULL, NULL, &j->d, j->workspace,
                                                          NULL),
                        "rapt_monotonic_attention_backward");
}

static void monotonic_steps(void *argument, int count)
{
    const struct monotonic_job *j = argument;
    for (int i = 0; i < count; i++) {
        for (int h = 0; h < j->a.heads; h++) j->positions[h] = 0;
        check_monotonic(rapt_monotonic_attention_step(&j->a, j->q, j->k, j->v, j->q, j->k,
                                                      j->positions, j->out, j->workspace, NULL),
                        "rapt_monotonic_attention_step");
    }
}

static void report_monotonic(struct bench *b, const struct monotonic_job *j, const char *name,
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

static void measure_monotonic_shape(struct bench *b, const struct monotonic_shape *s, int threads)
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
    report_monotonic(b, &j, "monotonic_forward", 2 + soft, bench_time(b, monotonic_forward, &j));
    report_monotonic(b, &j, "monotonic_backward", 5 + 3 * soft,
                     bench_time(b, monotonic_backward, &j));
    report_monotonic(b, &j, "monotonic_step", 0, bench_time(b, monotonic_steps, &j));
    for (int i = 0; i < 10; i++) bench_free(*arrays[i]);
    bench_free(offset), bench_free(j.positions), bench_free(j.workspace);
}

void measure_monotonic(struct bench *b, int threads)
{
    for (size_t i = 0; i < sizeof monotonic_shapes / sizeof *monotonic_shapes; i++)
        if (!(b->quick && monotonic_shapes[i].slow) && bench_wants(b, "monotonic", "monotonic"))
            measure_monotonic_shape(b, &monotonic_shapes[i], threads);
}
