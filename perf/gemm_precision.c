/* gemm_precision.c - perf_gemm --precision int8, bf16 or f16: y[rows][out] = x W' with weights of 8
   or 16 bits, from rows of floats to rows of floats. The peak is that of products of bytes for
   int8, of floats otherwise, in registers. of_memory is the rate at which the weights are read,
   divided by the memory bandwidth. times_f32 is the speed relative to the same product with float
   weights, measured in alternating samples. A layer that is to read its weights from memory has
   several copies of them, used in turn, that together exceed the caches. */
#include "bench.h"
#include "op/op.h"

struct layer {
    int rows, in, out;
    bool from_memory; /* the weights are read from memory */
};

static const struct layer layers[] = {
    {1, 512, 2048, false},   {4, 512, 2048, false},   {16, 512, 2048, false},
    {64, 512, 2048, false},  {512, 512, 2048, false}, {1024, 2048, 512, false},
    {1024, 512, 512, false}, {1, 256, 1536, false},   {16, 256, 1536, false},
    {1, 512, 32000, true},   {4, 512, 32000, true},   {16, 512, 32000, true},
};

enum { FROM_MEMORY = 256 << 20 }; /* bytes of all copies */

struct job {
    const struct layer *layer;
    rapt_precision precision;
    int threads, count, copies;
    float *x, *y, *panels, *scale, *pack;
    unsigned char *weights; /* [copies] */
    size_t bytes;           /* of one copy */
};

static size_t weight_bytes(const struct layer *l, rapt_precision precision)
{
    const size_t count = rapt__panels_size((size_t)l->out, (size_t)l->in);
    if (precision == RAPT_PRECISION_INT8) return rapt__int8_weight_bytes(l->out, l->in);
    return count * (precision == RAPT_PRECISION_F32 ? sizeof(float) : sizeof(uint16_t));
}

static struct linear linear_of(const struct job *j, int copy)
{
    void *weights = j->weights + (size_t)copy * j->bytes;
    struct linear l = {.in = j->layer->in, .out = j->layer->out};
    if (j->precision == RAPT_PRECISION_F32)
        l.weight = weights;
    else if (j->precision == RAPT_PRECISION_INT8)
        l.bytes = weights, l.scale = j->scale;
    else
        l.half = weights, l.type = j->precision == RAPT_PRECISION_BF16 ? HALF_BF16 : HALF_F16;
    return l;
}

static void round_weights(const struct job *j, const struct linear *l)
{
    const size_t count = rapt__panels_size((size_t)j->layer->out, (size_t)j->layer->in);
    for (size_t i = 0; i < count; i++) {
        if (l->half)
            ((uint16_t *)l->half)[i] = half_round(l->type, j->panels[i]);
        else
            ((float *)l->weight)[i] = j->panels[i];
    }
}

static void pack(struct team *team, void *argument)
{
    const struct job *j = argument;
    const struct exec_context c = {.team = team, .kernels = rapt__kernels()};
    for (int copy = 0; copy < j->copies; copy++) {
        const struct linear l = linear_of(j, copy);
        if (l.bytes)
            rapt__int8_pack(&c, j->panels, l.out, l.in, NULL, (int8_t *)l.bytes, j->scale);
        else if (team->rank == 0)
            round_weights(j, &l);
    }
}

static void multiply(struct team *team, void *argument)
{
    const struct job *j = argument;
    const struct layer *l = j->layer;
    const struct exec_context c = {.team = team, .kernels = rapt__kernels(), .pack = j->pack};
    for (int i = 0; i < j->count; i++) {
        const struct linear linear = linear_of(j, i % j->copies);
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

static struct job make_job(const struct bench *b, const struct layer *l, int threads,
                           rapt_precision precision)
{
    struct job j = {.layer = l, .threads = threads, .precision = precision, .copies = 1};
    j.bytes = weight_bytes(l, precision);
    if (l->from_memory && !b->check) j.copies += (int)(FROM_MEMORY / j.bytes);
    j.x = bench_floats((size_t)l->rows * (size_t)l->in);
    j.y = bench_floats((size_t)l->rows * (size_t)l->out);
    j.panels = bench_floats(rapt__panels_size((size_t)l->out, (size_t)l->in));
    j.scale = bench_floats((size_t)l->out);
    j.weights = bench_alloc(j.bytes * (size_t)j.copies);
    rapt__memory_streamed(NULL, j.weights, j.bytes * (size_t)j.copies);
    j.pack = bench_floats(PACK_FLOATS);
    rapt__team_run(threads, pack, &j);
    return j;
}

static void free_job(struct job *j)
{
    bench_free(j->x), bench_free(j->y), bench_free(j->panels), bench_free(j->scale);
    bench_free(j->weights), bench_free(j->pack);
}

static void measure(struct bench *b, const struct layer *l, int threads, double memory)
{
    struct job j = make_job(b, l, threads, b->precision);
    struct job floats = make_job(b, l, threads, RAPT_PRECISION_F32);
    const struct timing time = bench_time(b, run, &j);
    const double rate = (double)j.bytes / time.fastest * 1e-9;
    json_t *more =
        json_pack("{s:s, s:s, s:s, s:b, s:f, s:f, s:f}", "backend", "builtin", "pass", "forward",
                  "precision", rapt_precision_name(b->precision), "packed", 1, "gbytes_per_second",
                  rate, "of_memory", rate / memory, "times_f32", bench_times(b, run, &j, &floats));
    bench_line(b, &(struct result){
                      .name = "gemm",
                      .shape = json_pack("{s:i, s:i, s:i}", "M", l->rows, "N", l->out, "K", l->in),
                      .threads = threads,
                      .time = time,
                      .operations = 2.0 * l->rows * l->in * l->out,
                      .peak = b->precision == RAPT_PRECISION_INT8 ? bench_int8_peak(threads) : 0,
                      .more = more});
    free_job(&floats);
    free_job(&j);
}

/* Returns a tiny layer for --check. */
static struct layer shrunk(const struct layer *l)
{
    return (struct layer){rapt__min(l->rows, 48), rapt__min(l->in, 48), rapt__min(l->out, 48),
                          l->from_memory};
}

void measure_precision(struct bench *b, int threads)
{
    if (!bench_wants(b, "gemm", "forward")) return;
    const double memory = bench_bandwidth(threads, (size_t)(b->check ? 1 : 128) << 20);
    for (size_t n = 0; n < sizeof layers / sizeof *layers; n++) {
        struct layer small = shrunk(&layers[n]);
        measure(b, b->check ? &small : &layers[n], threads, memory);
    }
}
