/* onednn.c - the same workloads with oneDNN, through its C interface: products with weights that it
   packs once into its preferred layout, their gradients, and attention. It has no attention
   primitive, so attention is composed: scaled q k' in one primitive, the mask added in place (as a
   post-op of the product it would fall back to the reference implementation), softmax in place,
   times v. Its threads are OpenMP's. */
#include "onednn_port.h"
#include "pass.h"

#include <omp.h>

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
    if (!w) onednn_check(dnnl_out_of_memory, "work");
    w->threads = threads;
    omp_set_num_threads(threads);
    onednn_check(dnnl_engine_create(&w->engine, dnnl_cpu, 0), "engine");
    onednn_check(dnnl_stream_create(&w->stream, w->engine, dnnl_stream_default_flags), "stream");
    return w;
}

static dnnl_memory_t memory(struct work *w, layout l, void *data)
{
    dnnl_memory_t m;
    onednn_check(dnnl_memory_create(&m, l, w->engine, data), "memory");
    return m;
}

static void add_argument(struct step *s, int index, dnnl_memory_t m)
{
    s->argument[s->arguments++] = (dnnl_exec_arg_t){index, m};
}

static void run(struct work *w)
{
    for (int i = 0; i < w->steps; i++)
        onednn_check(dnnl_primitive_execute(w->step[i].primitive, w->stream, w->step[i].arguments,
                                            w->step[i].argument),
                     "execution");
    onednn_check(dnnl_stream_wait(w->stream), "waiting");
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

/* Appends a primitive as the next step. */
static struct step *add_step(struct work *w, dnnl_primitive_t primitive)
{
    struct step *s = &w->step[w->steps++];
    s->primitive = primitive;
    return s;
}

/* Appends a product as the next step. */
static void add_product(struct work *w, const struct product *p, dnnl_memory_t a, dnnl_memory_t b,
                        dnnl_memory_t c)
{
    struct step *s = add_step(w, onednn_product_primitive(w->engine, p));
    add_argument(s, DNNL_ARG_SRC, a);
    add_argument(s, DNNL_ARG_WEIGHTS, b);
    add_argument(s, DNNL_ARG_DST, c);
}

/* Returns a copy of weights in another layout, owned by oneDNN. */
static dnnl_memory_t packed(struct work *w, layout from, float *data, layout to)
{
    dnnl_primitive_desc_t pd;
    onednn_check(dnnl_reorder_primitive_desc_create(&pd, from, w->engine, to, w->engine, NULL),
                 "packing");
    dnnl_primitive_t reorder = onednn_primitive(pd, "packing");
    dnnl_memory_t in = memory(w, from, data), out = memory(w, to, DNNL_MEMORY_ALLOCATE);
    const dnnl_exec_arg_t arguments[] = {{DNNL_ARG_FROM, in}, {DNNL_ARG_TO, out}};
    onednn_check(dnnl_primitive_execute(reorder, w->stream, 2, arguments), "packing");
    onednn_check(dnnl_stream_wait(w->stream), "packing");
    dnnl_primitive_destroy(reorder);
    dnnl_memory_destroy(in);
    return out;
}

/* Appends y[rows][out] = x[rows][in] W', W [out][in] in a layout of oneDNN's choice. */
static void add_forward(struct work *w, layout x, layout y, int in, int out, float *const array[3])
{
    layout any = onednn_any(2, (dnnl_dims_t){in, out}), liked;
    layout transposed = onednn_plain(2, (dnnl_dims_t){in, out}, (dnnl_dims_t){1, in});
    struct product p = {.a = x, .b = any, .c = y, .scale = 1, .liked = &liked};
    struct step *s = add_step(w, onednn_product_primitive(w->engine, &p));
    add_argument(s, DNNL_ARG_SRC, memory(w, x, array[0]));
    add_argument(s, DNNL_ARG_WEIGHTS, packed(w, transposed, array[1], liked));
    add_argument(s, DNNL_ARG_DST, memory(w, y, array[2]));
    onednn_free_layout(any);
    onednn_free_layout(liked);
    onednn_free_layout(transposed);
}

/* Makes x = y W, or W += y' x. W and its gradient are plain, because a training step changes
   them. */
EXPORT struct work *onednn_product(int pass, int rows, int in, int out, int threads, float *x,
                                   float *weight, float *y);
struct work *onednn_product(int pass, int rows, int in, int out, int threads, float *x,
                            float *weight, float *y)
{
    struct work *w = create(threads);
    layout of_x = onednn_plain(2, (dnnl_dims_t){rows, in}, (dnnl_dims_t){in, 1});
    layout of_y = onednn_plain(2, (dnnl_dims_t){rows, out}, (dnnl_dims_t){out, 1});
    layout of_w = onednn_plain(2, (dnnl_dims_t){out, in}, (dnnl_dims_t){in, 1});
    layout of_y_transposed = onednn_plain(2, (dnnl_dims_t){out, rows}, (dnnl_dims_t){1, out});
    struct product input = {.a = of_y, .b = of_w, .c = of_x, .scale = 1};
    struct product weights = {.a = of_y_transposed, .b = of_x, .c = of_w, .scale = 1, .add = true};
    if (pass == FORWARD)
        add_forward(w, of_x, of_y, in, out, (float *[]){x, weight, y});
    else if (pass == INPUT)
        add_product(w, &input, memory(w, of_y, y), memory(w, of_w, weight), memory(w, of_x, x));
    else
        add_product(w, &weights, memory(w, of_y_transposed, y), memory(w, of_x, x),
                    memory(w, of_w, weight));
    onednn_free_layout(of_x);
    onednn_free_layout(of_y);
    onednn_free_layout(of_w);
    onednn_free_layout(of_y_transposed);
    return w;
}

/* Returns 0 on and below the diagonal, and in effect -infinity above. */
static float *causal_mask(int rows)
{
    float *mask = calloc((size_t)rows * (size_t)rows, sizeof *mask);
    if (!mask) onednn_check(dnnl_out_of_memory, "mask");
    for (int t = 0; t < rows; t++)
        for (int s = t + 1; s < rows; s++) mask[(size_t)t * (size_t)rows + (size_t)s] = -1e30f;
    return mask;
}

static void *data_of(dnnl_memory_t m)
{
    void *data;
    onednn_check(dnnl_memory_get_data_handle(m, &data), "data");
    return data;
}

/* Appends scores += mask, [1][rows][rows]. */
static void add_mask(struct work *w, layout scores, void *data, int rows)
{
    dnnl_dim_t cells = (dnnl_dim_t)rows * rows;
    layout mask = onednn_plain(3, (dnnl_dims_t){1, rows, rows}, (dnnl_dims_t){cells, rows, 1});
    struct step *s = add_step(w, onednn_add_primitive(w->engine, scores, mask));
    w->mask = causal_mask(rows);
    add_argument(s, DNNL_ARG_SRC_0, memory(w, scores, data));
    add_argument(s, DNNL_ARG_SRC_1, memory(w, mask, w->mask));
    add_argument(s, DNNL_ARG_DST, memory(w, scores, data));
    onednn_free_layout(mask);
}

static void add_softmax(struct work *w, layout scores, void *data)
{
    struct step *s = add_step(w, onednn_softmax_primitive(w->engine, scores, 2));
    add_argument(s, DNNL_ARG_SRC, memory(w, scores, data));
    add_argument(s, DNNL_ARG_DST, memory(w, scores, data));
}

/* Arrays are [pairs][rows][width], one pair for each sequence and head. */
EXPORT struct work *onednn_attention(int pairs, int rows, int width, int causal, float scale,
                                     int threads, float *q, float *k, float *v, float *out);
struct work *onednn_attention(int pairs, int rows, int width, int causal, float scale, int threads,
                              float *q, float *k, float *v, float *out)
{
    struct work *w = create(threads);
    dnnl_dim_t n = (dnnl_dim_t)rows * width, cells = (dnnl_dim_t)rows * rows;
    layout array = onednn_plain(3, (dnnl_dims_t){pairs, rows, width}, (dnnl_dims_t){n, width, 1});
    layout transposed =
        onednn_plain(3, (dnnl_dims_t){pairs, width, rows}, (dnnl_dims_t){n, 1, width});
    layout scores =
        onednn_plain(3, (dnnl_dims_t){pairs, rows, rows}, (dnnl_dims_t){cells, rows, 1});
    dnnl_memory_t weights = memory(w, scores, DNNL_MEMORY_ALLOCATE);
    struct product first = {.a = array, .b = transposed, .c = scores, .scale = scale};
    struct product second = {.a = scores, .b = array, .c = array, .scale = 1};
    add_product(w, &first, memory(w, array, q), memory(w, transposed, k), weights);
    if (causal) add_mask(w, scores, data_of(weights), rows);
    add_softmax(w, scores, data_of(weights));
    add_product(w, &second, memory(w, scores, data_of(weights)), memory(w, array, v),
                memory(w, array, out));
    onednn_free_layout(array);
    onednn_free_layout(transposed);
    onednn_free_layout(scores);
    return w;
}
