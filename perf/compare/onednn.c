/* onednn.c - the same workloads by oneDNN 2, through its C interface: products with weights that it
   packs once into its preferred layout, and attention composed of primitives, since version 2 has
   no attention primitive: scaled q k' in one primitive, the mask added in place (as a post-op of
   the product it would fall back to the reference implementation), softmax in place, times v. Its
   threads are OpenMP's. */
#include <dnnl.h>
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>

#define EXPORT __attribute__((visibility("default")))

enum { MAX_STEPS = 4, MAX_ARGUMENTS = 4 };

struct step {
    dnnl_primitive_t primitive;
    dnnl_exec_arg_t argument[MAX_ARGUMENTS];
    int arguments;
};

struct work {
    dnnl_engine_t engine;
    dnnl_stream_t stream;
    struct step step[MAX_STEPS];
    int steps, threads;
    float *mask;
};

static void check(dnnl_status_t status, const char *what)
{
    if (status == dnnl_success) return;
    fprintf(stderr, "error: oneDNN: %s: status %d\n", what, (int)status);
    exit(1);
}

EXPORT const char *onednn_version(void);
const char *onednn_version(void)
{
    static char text[32];
    const dnnl_version_t *v = dnnl_version();
    snprintf(text, sizeof text, "%d.%d.%d", v->major, v->minor, v->patch);
    return text;
}

static struct work *create(int threads)
{
    struct work *w = calloc(1, sizeof *w);
    if (!w) check(dnnl_out_of_memory, "work");
    w->threads = threads;
    omp_set_num_threads(threads);
    check(dnnl_engine_create(&w->engine, dnnl_cpu, 0), "engine");
    check(dnnl_stream_create(&w->stream, w->engine, dnnl_stream_default_flags), "stream");
    return w;
}

static dnnl_memory_desc_t plain(int dims, const dnnl_dim_t *size, const dnnl_dim_t *stride)
{
    dnnl_memory_desc_t d;
    check(dnnl_memory_desc_init_by_strides(&d, dims, size, dnnl_f32, stride), "layout");
    return d;
}

static dnnl_memory_t memory(struct work *w, const dnnl_memory_desc_t *d, void *data)
{
    dnnl_memory_t m;
    check(dnnl_memory_create(&m, d, w->engine, data), "memory");
    return m;
}

static void add_argument(struct step *s, int index, dnnl_memory_t m)
{
    s->argument[s->arguments++] = (dnnl_exec_arg_t){index, m};
}

static void run(struct work *w)
{
    for (int i = 0; i < w->steps; i++)
        check(dnnl_primitive_execute(w->step[i].primitive, w->stream, w->step[i].arguments,
                                     w->step[i].argument),
              "execution");
    check(dnnl_stream_wait(w->stream), "waiting");
}

EXPORT void onednn_run(struct work *w, int times);
void onednn_run(struct work *w, int times)
{
    omp_set_num_threads(w->threads);
    for (int i = 0; i < times; i++) run(w);
}

EXPORT void onednn_free(struct work *w);
void onednn_free(struct work *w)
{
    for (int i = 0; i < w->steps; i++) {
        dnnl_primitive_destroy(w->step[i].primitive);
        for (int j = 0; j < w->step[i].arguments; j++)
            dnnl_memory_destroy(w->step[i].argument[j].memory);
    }
    dnnl_stream_destroy(w->stream);
    dnnl_engine_destroy(w->engine);
    free(w->mask);
    free(w);
}

/* A product as the next step; weights: as the primitive would like them, through the pointer. */
static struct step *add_product(struct work *w, const dnnl_memory_desc_t *a,
                                const dnnl_memory_desc_t *b, const dnnl_memory_desc_t *c,
                                const_dnnl_primitive_attr_t attr, dnnl_memory_desc_t *liked)
{
    dnnl_matmul_desc_t d;
    dnnl_primitive_desc_t pd;
    struct step *s = &w->step[w->steps++];
    check(dnnl_matmul_desc_init(&d, a, b, NULL, c), "product");
    check(dnnl_primitive_desc_create(&pd, &d, attr, w->engine, NULL), "product");
    check(dnnl_primitive_create(&s->primitive, pd), "product");
    if (liked) *liked = *dnnl_primitive_desc_query_md(pd, dnnl_query_weights_md, 0);
    dnnl_primitive_desc_destroy(pd);
    return s;
}

/* A copy of weights in another layout, owned by oneDNN. */
static dnnl_memory_t packed(struct work *w, const dnnl_memory_desc_t *from, float *data,
                            const dnnl_memory_desc_t *to)
{
    dnnl_primitive_desc_t pd;
    dnnl_primitive_t reorder;
    dnnl_memory_t in = memory(w, from, data), out = memory(w, to, DNNL_MEMORY_ALLOCATE);
    const dnnl_exec_arg_t arguments[] = {{DNNL_ARG_FROM, in}, {DNNL_ARG_TO, out}};
    check(dnnl_reorder_primitive_desc_create(&pd, from, w->engine, to, w->engine, NULL), "packing");
    check(dnnl_primitive_create(&reorder, pd), "packing");
    check(dnnl_primitive_execute(reorder, w->stream, 2, arguments), "packing");
    check(dnnl_stream_wait(w->stream), "packing");
    dnnl_primitive_desc_destroy(pd);
    dnnl_primitive_destroy(reorder);
    dnnl_memory_destroy(in);
    return out;
}

/* y[rows][out] = x[rows][in] W', W [out][in]. */
EXPORT struct work *onednn_product(int rows, int in, int out, int threads, float *x, float *weight,
                                   float *y);
struct work *onednn_product(int rows, int in, int out, int threads, float *x, float *weight,
                            float *y)
{
    struct work *w = create(threads);
    dnnl_memory_desc_t a = plain(2, (dnnl_dims_t){rows, in}, (dnnl_dims_t){in, 1});
    dnnl_memory_desc_t b = plain(2, (dnnl_dims_t){in, out}, (dnnl_dims_t){1, in}), any, liked;
    dnnl_memory_desc_t c = plain(2, (dnnl_dims_t){rows, out}, (dnnl_dims_t){out, 1});
    check(dnnl_memory_desc_init_by_tag(&any, 2, (dnnl_dims_t){in, out}, dnnl_f32,
                                       dnnl_format_tag_any),
          "layout");
    struct step *s = add_product(w, &a, &any, &c, NULL, &liked);
    add_argument(s, DNNL_ARG_SRC, memory(w, &a, x));
    add_argument(s, DNNL_ARG_WEIGHTS, packed(w, &b, weight, &liked));
    add_argument(s, DNNL_ARG_DST, memory(w, &c, y));
    return w;
}

/* 0 on and below the diagonal, as good as -infinity above. */
static float *causal_mask(int rows)
{
    float *mask = calloc((size_t)rows * (size_t)rows, sizeof *mask);
    if (!mask) check(dnnl_out_of_memory, "mask");
    for (int t = 0; t < rows; t++)
        for (int s = t + 1; s < rows; s++) mask[(size_t)t * (size_t)rows + (size_t)s] = -1e30f;
    return mask;
}

static dnnl_primitive_attr_t scaled_by(float scale)
{
    dnnl_primitive_attr_t attr;
    check(dnnl_primitive_attr_create(&attr), "attributes");
    check(dnnl_primitive_attr_set_output_scales(attr, 1, 0, &scale), "scale");
    return attr;
}

static void *data_of(dnnl_memory_t m)
{
    void *data;
    check(dnnl_memory_get_data_handle(m, &data), "data");
    return data;
}

static void add_mask(struct work *w, const dnnl_memory_desc_t *scores, void *data, int rows)
{
    dnnl_dim_t cells = (dnnl_dim_t)rows * rows;
    dnnl_memory_desc_t mask = plain(3, (dnnl_dims_t){1, rows, rows}, (dnnl_dims_t){cells, rows, 1});
    dnnl_binary_desc_t d;
    dnnl_primitive_desc_t pd;
    struct step *s = &w->step[w->steps++];
    w->mask = causal_mask(rows);
    check(dnnl_binary_desc_init(&d, dnnl_binary_add, scores, &mask, scores), "mask");
    check(dnnl_primitive_desc_create(&pd, &d, NULL, w->engine, NULL), "mask");
    check(dnnl_primitive_create(&s->primitive, pd), "mask");
    dnnl_primitive_desc_destroy(pd);
    add_argument(s, DNNL_ARG_SRC_0, memory(w, scores, data));
    add_argument(s, DNNL_ARG_SRC_1, memory(w, &mask, w->mask));
    add_argument(s, DNNL_ARG_DST, memory(w, scores, data));
}

static void add_softmax(struct work *w, const dnnl_memory_desc_t *scores, void *data)
{
    dnnl_softmax_desc_t d;
    dnnl_primitive_desc_t pd;
    struct step *s = &w->step[w->steps++];
    check(dnnl_softmax_forward_desc_init(&d, dnnl_forward_inference, scores, 2), "softmax");
    check(dnnl_primitive_desc_create(&pd, &d, NULL, w->engine, NULL), "softmax");
    check(dnnl_primitive_create(&s->primitive, pd), "softmax");
    dnnl_primitive_desc_destroy(pd);
    add_argument(s, DNNL_ARG_SRC, memory(w, scores, data));
    add_argument(s, DNNL_ARG_DST, memory(w, scores, data));
}

/* [pairs][rows][width] arrays, one pair for each sequence and head. */
EXPORT struct work *onednn_attention(int pairs, int rows, int width, int causal, float scale,
                                     int threads, float *q, float *k, float *v, float *out);
struct work *onednn_attention(int pairs, int rows, int width, int causal, float scale, int threads,
                              float *q, float *k, float *v, float *out)
{
    struct work *w = create(threads);
    dnnl_dim_t n = (dnnl_dim_t)rows * width, cells = (dnnl_dim_t)rows * rows;
    dnnl_dims_t size = {pairs, rows, width}, stride = {n, width, 1};
    dnnl_memory_desc_t array = plain(3, size, stride);
    dnnl_memory_desc_t transposed =
        plain(3, (dnnl_dims_t){pairs, width, rows}, (dnnl_dims_t){n, 1, width});
    dnnl_memory_desc_t scores =
        plain(3, (dnnl_dims_t){pairs, rows, rows}, (dnnl_dims_t){cells, rows, 1});
    dnnl_primitive_attr_t attr = scaled_by(scale);
    dnnl_memory_t weights = memory(w, &scores, DNNL_MEMORY_ALLOCATE);
    struct step *s = add_product(w, &array, &transposed, &scores, attr, NULL);
    add_argument(s, DNNL_ARG_SRC, memory(w, &array, q));
    add_argument(s, DNNL_ARG_WEIGHTS, memory(w, &transposed, k));
    add_argument(s, DNNL_ARG_DST, weights);
    if (causal) add_mask(w, &scores, data_of(weights), rows);
    add_softmax(w, &scores, data_of(weights));
    s = add_product(w, &scores, &array, &array, NULL, NULL);
    add_argument(s, DNNL_ARG_SRC, memory(w, &scores, data_of(weights)));
    add_argument(s, DNNL_ARG_WEIGHTS, memory(w, &array, v));
    add_argument(s, DNNL_ARG_DST, memory(w, &array, out));
    dnnl_primitive_attr_destroy(attr);
    return w;
}
