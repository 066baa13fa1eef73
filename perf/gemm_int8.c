/* gemm_int8.c - perf_gemm --precision int8: y[rows][out] = x W' with weights of 8 bits, from rows
   of floats to rows of floats. The peak is that of products of bytes in registers. of_memory is the
   rate at which the weights are read, divided by the bandwidth of memory; a layer that is meant to
   read memory has so many copies of its weights that they do not fit into caches. */
#include "bench.h"
#include "op/op.h"

struct layer {
    int rows, in, out;
    int copies; /* of the weights, read in turn */
};

static const struct layer layers[] = {
    {1, 512, 2048, 1},   {4, 512, 2048, 1},    {16, 512, 2048, 1},  {64, 512, 2048, 1},
    {512, 512, 2048, 1}, {1024, 2048, 512, 1}, {1024, 512, 512, 1}, {1, 256, 1536, 1},
    {16, 256, 1536, 1},  {1, 512, 32000, 16},  {4, 512, 32000, 16}, {16, 512, 32000, 16},
};

struct job {
    const struct layer *layer;
    int threads, count;
    float *x, *y, *panels, *scale, *pack;
    int8_t *weights; /* [copies] */
    size_t bytes;    /* of one copy */
    double memory;   /* its bandwidth in GB/s */
};

static struct linear linear_of(const struct job *j, int copy)
{
    return (struct linear){.in = j->layer->in,
                           .out = j->layer->out,
                           .bytes = j->weights + (size_t)copy * j->bytes,
                           .scale = j->scale};
}

static void pack(struct team *team, void *argument)
{
    const struct job *j = argument;
    const struct exec_context c = {.team = team, .kernels = rapt__kernels()};
    for (int copy = 0; copy < j->layer->copies; copy++)
        rapt__int8_pack(&c, j->panels, j->layer->out, j->layer->in, NULL,
                        j->weights + (size_t)copy * j->bytes, j->scale);
}

static void multiply(struct team *team, void *argument)
{
    const struct job *j = argument;
    const struct layer *l = j->layer;
    const struct exec_context c = {.team = team, .kernels = rapt__kernels(), .pack = j->pack};
    for (int i = 0; i < j->count; i++) {
        const struct linear linear = linear_of(j, i % l->copies);
        rapt__linear_forward(&c, &linear, j->x, l->in, l->rows, j->y, l->out, ACTIVATION_NONE,
                             NULL);
    }
}

static void run(void *argument, int count)
{
    struct job *j = argument;
    j->count = count;
    rapt__team_run(j->threads, multiply, j);
}

static void report(struct bench *b, const struct job *j)
{
    const struct layer *l = j->layer;
    struct timing time = bench_time(b, run, (void *)j);
    double rate = (double)j->bytes / time.fastest * 1e-9;
    json_t *more = json_pack("{s:s, s:s, s:s, s:b, s:f, s:f}", "backend", "builtin", "pass",
                             "forward", "precision", "int8", "packed", 1, "gbytes_per_second", rate,
                             "of_memory", rate / j->memory);
    bench_line(b, &(struct result){
                      .name = "gemm",
                      .shape = json_pack("{s:i, s:i, s:i}", "M", l->rows, "N", l->out, "K", l->in),
                      .threads = j->threads,
                      .time = time,
                      .operations = 2.0 * l->rows * l->in * l->out,
                      .peak = bench_int8_peak(j->threads),
                      .more = more});
}

static void measure(struct bench *b, const struct layer *l, int threads, double memory)
{
    struct job j = {.layer = l, .threads = threads, .memory = memory};
    j.bytes = rapt__int8_weight_bytes(l->out, l->in);
    j.x = bench_floats((size_t)l->rows * (size_t)l->in);
    j.y = bench_floats((size_t)l->rows * (size_t)l->out);
    j.panels = bench_floats(rapt__panels_size((size_t)l->out, (size_t)l->in));
    j.scale = bench_floats((size_t)l->out);
    j.weights = bench_alloc(j.bytes * (size_t)l->copies);
    rapt__memory_streamed(NULL, j.weights, j.bytes * (size_t)l->copies);
    j.pack = bench_floats(PACK_FLOATS);
    rapt__team_run(threads, pack, &j);
    report(b, &j);
    bench_free(j.x), bench_free(j.y), bench_free(j.panels), bench_free(j.scale);
    bench_free(j.weights), bench_free(j.pack);
}

/* Returns a tiny layer for --check. */
static struct layer shrunk(const struct layer *l)
{
    return (struct layer){rapt__min(l->rows, 48), rapt__min(l->in, 48), rapt__min(l->out, 48),
                          rapt__min(l->copies, 2)};
}

void measure_int8(struct bench *b, int threads)
{
    if (!bench_wants(b, "gemm", "forward")) return;
    const double memory = bench_bandwidth(threads, (size_t)(b->check ? 1 : 128) << 20);
    for (size_t n = 0; n < sizeof layers / sizeof *layers; n++) {
        struct layer small = shrunk(&layers[n]);
        measure(b, b->check ? &small : &layers[n], threads, memory);
    }
}
