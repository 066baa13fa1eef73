/* attention_linear.c - benchmark of linear attention with and without decays and with and without
   the delta rule, forward, backward and step by step.

   Operations are those of the products of chunks of C = 64 rows. Per row, forward takes two
   products with the state (K V each) and two triangular ones (C K / 2 and C V / 2); the delta rule
   adds one with the state and two triangular ones. Backward takes five with the state and five
   triangular ones, three of width K and two of width V; the delta rule adds three of each of the
   three kinds. A step takes K V for each product with the state, and for its update. */
#include "bench.h"

#include <rapt/linear_attention.h>

enum { CHUNK = 64 };

struct linear_shape {
    int heads, rows, width;
    bool decay, delta, slow;
};
static const struct linear_shape shapes[] = {
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

static void run_forward(void *argument, int count)
{
    struct linear_job *j = argument;
    for (int i = 0; i < count; i++)
        check_linear(rapt_linear_attention_forward(&j->a, j->q, j->k, j->v, j->out, j->state,
                                                   j->workspace, NULL),
                     "rapt_linear_attention_forward");
}

static void run_backward(void *argument, int count)
{
    struct linear_job *j = argument;
    for (int i = 0; i < count; i++)
        check_linear(rapt_linear_attention_backward(&j->a, j->q, j->k, j->v, j->dout, NULL, &j->d,
                                                    j->workspace, NULL),
                     "rapt_linear_attention_backward");
}

static void run_steps(void *argument, int count)
{
    struct linear_job *j = argument;
    for (int i = 0; i < count; i++)
        check_linear(rapt_linear_attention_step(&j->a, j->q, j->k, j->v, j->state, j->out,
                                                j->workspace, NULL),
                     "rapt_linear_attention_step");
}

static void report(struct bench *b, const struct linear_shape *s, const struct linear_job *j,
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

static void measure_shape(struct bench *b, const struct linear_shape *s, int threads)
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
    report(b, s, &j, "linear_forward", s->delta ? 3 * square + 4 * part : 2 * square + 2 * part,
           bench_time(b, run_forward, &j));
    report(b, s, &j, "linear_backward", s->delta ? 8 * square + 11 * part : 5 * square + 5 * part,
           bench_time(b, run_backward, &j));
    report(b, s, &j, "linear_step", (s->delta ? 3 : 2) * square, bench_time(b, run_steps, &j));
    void *memory[] = {log_decay, beta, dlog_decay, dbeta, j.state, j.workspace};
    for (int i = 0; i < 8; i++) bench_free(*arrays[i]);
    for (int i = 0; i < 6; i++) bench_free(memory[i]);
}

void measure_linear(struct bench *b, int threads)
{
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++)
        if (!(b->quick && shapes[i].slow) && bench_wants(b, "linear", "linear"))
            measure_shape(b, &shapes[i], threads);
}
