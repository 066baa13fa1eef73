/* gemm.c - benchmark of the matrix products of a linear layer with `out` outputs and `in` inputs
   over some rows:

     forward           y[rows][out] = x W'      W in panels, packed once
     backward_input    dx[rows][in] = dy W
     backward_weight   dW[in][out] += x' dy

   computed in float by the built-in product, in bf16 as in training, by OpenBLAS as the library
   calls it ("inside": true, for shapes that it would pass on), and by OpenBLAS on plain matrices
   with its own threads; or, with --precision, the forward pass with weights of 8 or 16 bits
   (gemm_precision.c). */
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
