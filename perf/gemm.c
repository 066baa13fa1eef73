/* gemm.c - benchmark of the matrix products of a linear layer with `out` outputs and `in` inputs
   over some rows:

     forward           y[rows][out] = x W'      W in panels, packed once
     backward_input    dx[rows][in] = dy W
     backward_weight   dW[in][out] += x' dy

   computed in float by the built-in product, in bf16 as in training, by OpenBLAS as the library
   calls it ("inside": true, for shapes that it would pass on), and by OpenBLAS on plain matrices
   with its own threads; or, with --precision, the forward pass with weights of 8 or 16
   bits. */
#include "bench.h"
#include "op/op.h"

#include <string.h>

enum pass { FORWARD, BACKWARD_INPUT, BACKWARD_WEIGHT };
static const char *const pass_names[] = {"forward", "backward_input", "backward_weight"};

enum backend { BUILTIN, BF16, INSIDE, OPENBLAS, BACKENDS };
static const char *const backend_names[] = {"builtin", "bf16", "openblas", "openblas"};
static const struct products *const backend_products[BACKENDS] = {
    [BF16] = &rapt__products_bf16, [INSIDE] = &rapt__products_all};

enum { ALWAYS, SLOW, SCALING }; /* SLOW: skipped by --quick; SCALING: run by perf_scaling */

struct layer {
    enum pass pass;
    int rows, in, out;
    int when;
};

static const struct layer layers[] = {
    {FORWARD, 1, 512, 2048, ALWAYS},          {FORWARD, 4, 512, 2048, ALWAYS},
    {FORWARD, 16, 512, 2048, ALWAYS},         {FORWARD, 64, 512, 2048, SLOW},
    {FORWARD, 512, 512, 2048, SCALING},       {FORWARD, 1024, 512, 2048, SLOW},
    {FORWARD, 1024, 2048, 512, ALWAYS},       {FORWARD, 1024, 512, 512, SLOW},
    {FORWARD, 1024, 1024, 1024, SLOW},        {FORWARD, 2048, 128, 256, ALWAYS},
    {FORWARD, 2048, 128, 10000, SLOW},        {BACKWARD_INPUT, 512, 512, 2048, SCALING},
    {BACKWARD_INPUT, 1024, 512, 2048, SLOW},  {BACKWARD_INPUT, 1024, 512, 512, SLOW},
    {BACKWARD_INPUT, 2048, 128, 256, SLOW},   {BACKWARD_WEIGHT, 512, 512, 2048, SCALING},
    {BACKWARD_WEIGHT, 1024, 512, 2048, SLOW}, {BACKWARD_WEIGHT, 1024, 512, 512, SLOW},
    {BACKWARD_WEIGHT, 2048, 128, 256, SLOW},
};

struct job {
    const struct layer *layer;
    enum backend backend;
    int threads, count;
    float *x, *y, *weight; /* weight: panels for the library, [out][in] for OpenBLAS itself */
    float *pack;
};

static void work(struct team *team, void *argument)
{
    const struct job *j = argument;
    const struct layer *l = j->layer;
    const struct exec_context c = {team, rapt__kernels(), j->pack, backend_products[j->backend],
                                   NULL};
    const struct linear linear = {.weight = j->weight, .in = l->in, .out = l->out};
    for (int i = 0; i < j->count; i++) {
        if (l->pass == FORWARD)
            rapt__linear_forward(&c, &linear, j->x, l->in, l->rows, j->y, l->out, ACTIVATION_NONE,
                                 NULL);
        else if (l->pass == BACKWARD_INPUT)
            rapt__linear_backward_input(&c, &linear, j->y, l->out, l->rows, j->x, l->in, false);
        else
            rapt__linear_backward_weight(&c, &linear, j->x, l->in, j->y, l->out, l->rows, j->weight,
                                         NULL);
    }
}

#if defined(PERF_HAVE_OPENBLAS)
#include <cblas.h>
static const bool have_openblas = true;

static void call_openblas(const struct job *j)
{
    const struct layer *l = j->layer;
    if (l->pass == FORWARD)
        cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasTrans, l->rows, l->out, l->in, 1, j->x, l->in,
                    j->weight, l->in, 0, j->y, l->out);
    else if (l->pass == BACKWARD_INPUT)
        cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, l->rows, l->in, l->out, 1, j->y,
                    l->out, j->weight, l->in, 0, j->x, l->in);
    else
        cblas_sgemm(CblasRowMajor, CblasTrans, CblasNoTrans, l->out, l->in, l->rows, 1, j->y,
                    l->out, j->x, l->in, 1, j->weight, l->in);
}
static void use_threads(int threads)
{
    openblas_set_num_threads(threads);
}
#else
static const bool have_openblas = false;

static void call_openblas(const struct job *j)
{
    (void)j;
}
static void use_threads(int threads)
{
    (void)threads;
}
#endif

static void run(void *argument, int count)
{
    struct job *j = argument;
    j->count = count;
    if (j->backend == OPENBLAS)
        for (int i = 0; i < count; i++) call_openblas(j);
    else
        rapt__team_run(j->threads, work, j);
}

static json_t *shape_of(const struct layer *l)
{
    static const char *const format = "{s:i, s:i, s:i}";
    if (l->pass == FORWARD) return json_pack(format, "M", l->rows, "N", l->out, "K", l->in);
    if (l->pass == BACKWARD_INPUT) return json_pack(format, "M", l->rows, "N", l->in, "K", l->out);
    return json_pack(format, "M", l->in, "N", l->out, "K", l->rows);
}

static void measure_gemm(struct bench *b, struct job *j)
{
    const struct layer *l = j->layer;
    use_threads(j->threads);
    json_t *more =
        json_pack("{s:s, s:s}", "backend", backend_names[j->backend], "pass", pass_names[l->pass]);
    if (j->backend == INSIDE) json_object_set_new(more, "inside", json_true());
    if (j->backend == BUILTIN && l->pass == FORWARD)
        json_object_set_new(more, "packed", json_true());
    bench_line(b, &(struct result){.name = "gemm",
                                   .shape = shape_of(l),
                                   .threads = j->threads,
                                   .time = bench_time(b, run, j),
                                   .operations = 2.0 * l->rows * l->in * l->out,
                                   .more = more});
}

/* Returns true if the backend computes this product. The library does not pass small products, such
   as those with few rows, to OpenBLAS. */
static bool serves(enum backend backend, const struct layer *l)
{
    if (backend == BUILTIN || backend == BF16) return true;
    if (backend == OPENBLAS) return have_openblas;
    return rapt__openblas_load(NULL) == RAPT_OK && l->rows >= 512;
}

static bool wanted(struct bench *b, const struct layer *l, enum backend backend)
{
    if (b->only && strcmp(b->only, "scaling") == 0)
        return l->when == SCALING && backend == BUILTIN && bench_wants(b, "scaling", "scaling");
    return !(b->quick && l->when == SLOW) && (bench_wants(b, "gemm", pass_names[l->pass]) ||
                                              bench_wants(b, backend_names[backend], "gemm"));
}

static void measure_layer(struct bench *b, const struct layer *l, int threads)
{
    struct job j = {.layer = l, .threads = threads};
    j.x = bench_floats((size_t)l->rows * (size_t)l->in);
    j.y = bench_floats((size_t)l->rows * (size_t)l->out);
    j.weight = bench_floats(rapt__panels_size((size_t)l->out, (size_t)l->in));
    j.pack = bench_floats(PACK_FLOATS);
    for (int backend = BUILTIN; backend < BACKENDS; backend++) {
        j.backend = (enum backend)backend;
        if (serves(j.backend, l) && !(b->quick && backend == INSIDE) && wanted(b, l, j.backend))
            measure_gemm(b, &j);
    }
    bench_free(j.x);
    bench_free(j.y);
    bench_free(j.weight);
    bench_free(j.pack);
}

/* Returns a tiny layer for --check. */
static struct layer shrunk(const struct layer *l)
{
    struct layer small = *l;
    int *const sizes[] = {&small.rows, &small.in, &small.out};
    for (int i = 0; i < 3; i++)
        if (*sizes[i] > 48) *sizes[i] = 48;
    return small;
}

/* ---- --precision int8, bf16 or f16: y[rows][out] = x W' with weights of 8 or 16 bits ----

   From rows of floats to rows of floats. The peak is that of products of bytes for int8, of floats
   otherwise, in registers. of_memory is the rate at which the weights are read, divided by the
   memory bandwidth. times_f32 is the speed relative to the same product with float weights,
   measured in alternating samples. A layer that is to read its weights from memory has several
   copies of them, used in turn, that together exceed the caches. */

struct narrow_layer {
    int rows, in, out;
    bool from_memory; /* the weights are read from memory */
};

static const struct narrow_layer narrow_layers[] = {
    {1, 512, 2048, false},   {4, 512, 2048, false},   {16, 512, 2048, false},
    {64, 512, 2048, false},  {512, 512, 2048, false}, {1024, 2048, 512, false},
    {1024, 512, 512, false}, {1, 256, 1536, false},   {16, 256, 1536, false},
    {1, 512, 32000, true},   {4, 512, 32000, true},   {16, 512, 32000, true},
    {64, 512, 32000, true},
};

enum { FROM_MEMORY = 256 << 20 }; /* bytes of all copies */

struct narrow_job {
    const struct narrow_layer *layer;
    rapt_precision precision;
    int threads, count, copies;
    float *x, *y, *panels, *scale, *pack;
    unsigned char *weights; /* [copies] */
    size_t bytes;           /* of one copy */
};

static size_t weight_bytes(const struct narrow_layer *l, rapt_precision precision)
{
    const size_t count = rapt__panels_size((size_t)l->out, (size_t)l->in);
    if (precision == RAPT_PRECISION_INT8) return rapt__int8_weight_bytes(l->out, l->in);
    return count * (precision == RAPT_PRECISION_F32 ? sizeof(float) : sizeof(uint16_t));
}

static struct linear linear_of(const struct narrow_job *j, int copy)
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

static void round_weights(const struct narrow_job *j, const struct linear *l)
{
    const size_t count = rapt__panels_size((size_t)j->layer->out, (size_t)j->layer->in);
    for (size_t i = 0; i < count; i++) {
        if (l->half)
            ((uint16_t *)l->half)[i] = half_round(l->type, j->panels[i]);
        else
            ((float *)l->weight)[i] = j->panels[i];
    }
}

static void pack_narrow(struct team *team, void *argument)
{
    const struct narrow_job *j = argument;
    const struct exec_context c = {.team = team, .kernels = rapt__kernels()};
    for (int copy = 0; copy < j->copies; copy++) {
        const struct linear l = linear_of(j, copy);
        if (l.bytes)
            rapt__int8_pack(&c, j->panels, l.out, l.in, NULL, (int8_t *)l.bytes, j->scale);
        else if (team->rank == 0)
            round_weights(j, &l);
    }
}

static void multiply_narrow(struct team *team, void *argument)
{
    const struct narrow_job *j = argument;
    const struct narrow_layer *l = j->layer;
    const struct exec_context c = {.team = team, .kernels = rapt__kernels(), .pack = j->pack};
    for (int i = 0; i < j->count; i++) {
        const struct linear linear = linear_of(j, i % j->copies);
        rapt__linear_forward(&c, &linear, j->x, l->in, l->rows, j->y, l->out, ACTIVATION_NONE,
                             NULL);
    }
}

static void run_narrow(void *argument, int count)
{
    struct narrow_job *j = argument;
    j->count = count;
    rapt__team_run(j->threads, multiply_narrow, j);
}

static struct narrow_job make_narrow(const struct bench *b, const struct narrow_layer *l,
                                     int threads, rapt_precision precision)
{
    struct narrow_job j = {.layer = l, .threads = threads, .precision = precision, .copies = 1};
    j.bytes = weight_bytes(l, precision);
    if (l->from_memory && !b->check) j.copies += (int)(FROM_MEMORY / j.bytes);
    j.x = bench_floats((size_t)l->rows * (size_t)l->in);
    j.y = bench_floats((size_t)l->rows * (size_t)l->out);
    j.panels = bench_floats(rapt__panels_size((size_t)l->out, (size_t)l->in));
    j.scale = bench_floats((size_t)l->out);
    j.weights = bench_alloc(j.bytes * (size_t)j.copies);
    rapt__memory_streamed(NULL, j.weights, j.bytes * (size_t)j.copies);
    j.pack = bench_floats(PACK_FLOATS);
    rapt__team_run(threads, pack_narrow, &j);
    return j;
}

static void free_narrow(struct narrow_job *j)
{
    bench_free(j->x), bench_free(j->y), bench_free(j->panels), bench_free(j->scale);
    bench_free(j->weights), bench_free(j->pack);
}

static void measure_narrow(struct bench *b, const struct narrow_layer *l, int threads,
                           double memory)
{
    struct narrow_job j = make_narrow(b, l, threads, b->precision);
    struct narrow_job floats = make_narrow(b, l, threads, RAPT_PRECISION_F32);
    const struct timing time = bench_time(b, run_narrow, &j);
    const double rate = (double)j.bytes / time.fastest * 1e-9;
    json_t *more =
        json_pack("{s:s, s:s, s:s, s:b, s:i, s:f, s:f, s:f}", "backend", "builtin", "pass",
                  "forward", "precision", rapt_precision_name(b->precision), "packed", 1, "copies",
                  j.copies, "gbytes_per_second", rate, "of_memory", rate / memory, "times_f32",
                  bench_times(b, run_narrow, &j, &floats));
    bench_line(b, &(struct result){
                      .name = "gemm",
                      .shape = json_pack("{s:i, s:i, s:i}", "M", l->rows, "N", l->out, "K", l->in),
                      .threads = threads,
                      .time = time,
                      .operations = 2.0 * l->rows * l->in * l->out,
                      .peak = b->precision == RAPT_PRECISION_INT8 ? bench_int8_peak(threads) : 0,
                      .more = more});
    free_narrow(&floats);
    free_narrow(&j);
}

/* Returns a tiny layer for --check. */
static struct narrow_layer shrunk_narrow(const struct narrow_layer *l)
{
    return (struct narrow_layer){rapt__min(l->rows, 48), rapt__min(l->in, 48),
                                 rapt__min(l->out, 48), l->from_memory};
}

static void measure_precision(struct bench *b, int threads)
{
    if (!bench_wants(b, "gemm", "forward")) return;
    const double memory = bench_bandwidth(threads, (size_t)(b->check ? 1 : 128) << 20);
    for (size_t n = 0; n < sizeof narrow_layers / sizeof *narrow_layers; n++) {
        struct narrow_layer small = shrunk_narrow(&narrow_layers[n]);
        measure_narrow(b, b->check ? &small : &narrow_layers[n], threads, memory);
    }
}

/* ---- the program ---- */

int main(int argc, char **argv)
{
    struct bench b;
    int code = bench_begin(&b, argc, argv, "Measures matrix products of linear layers.",
                           "gemm, forward, backward_input, backward_weight, builtin, bf16, "
                           "openblas, "
                           "scaling");
    if (code != BENCH_GO_ON) return code;
    bool narrow = b.precision > RAPT_PRECISION_F32;
    for (int i = 0; i < b.thread_counts && narrow; i++) measure_precision(&b, b.threads[i]);
    for (int i = 0; i < b.thread_counts && !narrow; i++)
        for (size_t n = 0; n < sizeof layers / sizeof *layers; n++) {
            struct layer small = shrunk(&layers[n]);
            measure_layer(&b, b.check ? &small : &layers[n], b.threads[i]);
        }
    return bench_end(&b);
}
