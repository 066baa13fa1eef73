/* ours.c - the library as plain functions for compare.py. Numbers are drawn and owned here, so that
   every peer reads the same. A workload is created once and run many times, so that no interpreter
   runs between two calls. */
#include "attention/attention.h"
#include "bench.h"
#include "op/op.h"
#include "pass.h"

#include <math.h>
#include <rapt/rapt.h>
#include <string.h>

#define EXPORT __attribute__((visibility("default")))

static void check_ours(rapt_status status, const rapt_message *why)
{
    if (status) bench_fail(why && why->text[0] ? why->text : rapt_status_text(status));
}

EXPORT char *ours_environment(void);
char *ours_environment(void)
{
    json_t *all = bench_environment();
    char *text = json_dumps(all, JSON_COMPACT);
    json_decref(all);
    return text;
}

/* Fills x with numbers in -scale .. scale that depend on a key. */
EXPORT void ours_fill(float *x, size_t count, uint64_t key, float scale);
void ours_fill(float *x, size_t count, uint64_t key, float scale)
{
    for (size_t i = 0; i < count; i++)
        x[i] = scale * (float)(2 * rapt__uniform(key, (uint64_t)i) - 1);
}

/* Returns the maximum difference of two arrays relative to the maximum of the second; NaN counts as
   infinitely far. */
EXPORT double ours_difference(const float *x, const float *y, size_t count);
double ours_difference(const float *x, const float *y, size_t count)
{
    double far = 0, max = 0;
    for (size_t i = 0; i < count; i++) {
        double d = fabs((double)x[i] - (double)y[i]), m = fabs((double)y[i]);
        if (!(d <= far)) far = isnan(d) ? INFINITY : d;
        if (m > max) max = m;
    }
    return max > 0 ? far / max : far;
}

/* ---- attention ---- */

enum { Q, K, V, DOUT, OUT, DQ, DK, DV, ARRAYS };

struct attention_work {
    rapt_attention a;
    float *array[ARRAYS], *statistics;
    size_t count; /* floats in an array */
    void *workspace;
};

EXPORT struct attention_work *ours_attention_create(int batch, int heads, int rows, int width,
                                                    int causal, int threads);
struct attention_work *ours_attention_create(int batch, int heads, int rows, int width, int causal,
                                             int threads)
{
    struct attention_work *w = bench_alloc(sizeof *w);
    *w = (struct attention_work){.count = 0};
    rapt_attention_init(&w->a, sizeof w->a, batch, heads, rows, rows, width);
    w->a.threads = threads;
    w->a.mask.causal = causal;
    w->a.mask.causal_alignment =
        causal ? RAPT_CAUSAL_ALIGNMENT_UPPER_LEFT : RAPT_CAUSAL_ALIGNMENT_NONE;
    w->count = (size_t)batch * (size_t)heads * (size_t)rows * (size_t)width;
    for (int i = 0; i < ARRAYS; i++) {
        w->array[i] = bench_floats(w->count);
        ours_fill(w->array[i], w->count, (uint64_t)i + 1, i <= DOUT ? 2 : 0);
    }
    w->statistics = bench_floats(2 * w->count / (size_t)width);
    w->workspace = bench_alloc(rapt_attention_workspace(&w->a));
    return w;
}

EXPORT float *ours_attention_array(struct attention_work *w, int index);
float *ours_attention_array(struct attention_work *w, int index)
{
    return w->array[index];
}

EXPORT void ours_attention_forward(struct attention_work *w, int times);
void ours_attention_forward(struct attention_work *w, int times)
{
    const rapt_attention_saved saved = {.size = sizeof saved, .statistics = w->statistics};
    for (int i = 0; i < times; i++)
        check_ours(rapt_attention_forward(&w->a, w->array[Q], w->array[K], w->array[V],
                                          w->array[OUT], &saved, w->workspace, NULL),
                   NULL);
}

/* Sets the gradients to 0 first, since the library adds to them, so that they can be compared. */
EXPORT void ours_attention_backward(struct attention_work *w, int times);
void ours_attention_backward(struct attention_work *w, int times)
{
    const rapt_attention_saved saved = {.size = sizeof saved, .statistics = w->statistics};
    for (int i = 0; i < times; i++) {
        for (int j = DQ; j <= DV; j++) memset(w->array[j], 0, w->count * sizeof(float));
        check_ours(rapt_attention_backward(&w->a, w->array[Q], w->array[K], w->array[V],
                                           w->array[OUT], &saved, w->array[DOUT], NULL,
                                           &(rapt_gradients){.size = sizeof(rapt_gradients),
                                                             .q = w->array[DQ],
                                                             .k = w->array[DK],
                                                             .v = w->array[DV]},
                                           w->workspace, NULL),
                   NULL);
    }
}

EXPORT void ours_attention_free(struct attention_work *w);
void ours_attention_free(struct attention_work *w)
{
    for (int i = 0; i < ARRAYS; i++) bench_free(w->array[i]);
    bench_free(w->statistics);
    bench_free(w->workspace);
    bench_free(w);
}

/* ---- products: y[rows][out] = x[rows][in] W', W [out][in] packed once, and its gradients ---- */

struct product_work {
    enum pass pass;
    int rows, in, out, threads, times;
    float *x, *weight, *y, *panels, *pack; /* panels of the weights, or of their gradient */
};

EXPORT struct product_work *ours_product_create(int pass, int rows, int in, int out, int threads);
struct product_work *ours_product_create(int pass, int rows, int in, int out, int threads)
{
    struct product_work *w = bench_alloc(sizeof *w);
    size_t x = (size_t)rows * (size_t)in, y = (size_t)rows * (size_t)out;
    size_t weights = (size_t)in * (size_t)out;
    *w = (struct product_work){
        .pass = (enum pass)pass, .rows = rows, .in = in, .out = out, .threads = threads};
    w->x = bench_floats(x);
    w->weight = bench_floats(weights);
    w->y = bench_floats(y);
    w->panels = bench_floats(rapt__panels_size((size_t)out, (size_t)in));
    w->pack = bench_floats(PACK_FLOATS);
    ours_fill(w->x, x, 1, 1);
    ours_fill(w->weight, weights, 2, 0.1f);
    ours_fill(w->y, y, 3, 1);
    if (w->pass == WEIGHTS) memset(w->weight, 0, weights * sizeof(float));
    rapt__kernels()->pack_columns(w->weight, in, out, in, 1, 0, (out + LANES - 1) / LANES,
                                  w->panels);
    return w;
}

EXPORT float *ours_product_array(struct product_work *w, int index);
float *ours_product_array(struct product_work *w, int index)
{
    float *all[] = {w->x, w->weight, w->y};
    return all[index];
}

static void multiply_ours(struct team *team, void *argument)
{
    const struct product_work *w = argument;
    const struct exec_context c = {team, rapt__kernels(), w->pack, NULL, NULL};
    const struct linear linear = {.weight = w->panels, .in = w->in, .out = w->out};
    for (int i = 0; i < w->times; i++)
        if (w->pass == FORWARD)
            rapt__linear_forward(&c, &linear, w->x, w->in, w->rows, w->y, w->out, ACTIVATION_NONE,
                                 NULL);
        else if (w->pass == INPUT)
            rapt__linear_backward_input(&c, &linear, w->y, w->out, w->rows, w->x, w->in, false);
        else
            rapt__linear_backward_weight(&c, &linear, w->x, w->in, w->y, w->out, w->rows, w->panels,
                                         NULL);
}

EXPORT void ours_product_run(struct product_work *w, int times);
void ours_product_run(struct product_work *w, int times)
{
    w->times = times;
    rapt__team_run(w->threads, multiply_ours, w);
}

/* Returns the result of one run, in the order of x, y or W, owned by w. Runs add to the gradient of
   weights, starting from 0. */
EXPORT const float *ours_product_result(struct product_work *w);
const float *ours_product_result(struct product_work *w)
{
    if (w->pass == WEIGHTS)
        memset(w->panels, 0, rapt__panels_size((size_t)w->out, (size_t)w->in) * sizeof(float));
    ours_product_run(w, 1);
    for (int o = 0; o < w->out && w->pass == WEIGHTS; o++)
        for (int i = 0; i < w->in; i++)
            w->weight[(ptrdiff_t)o * w->in + i] =
                w->panels[((ptrdiff_t)(o / LANES) * w->in + i) * LANES + o % LANES];
    return w->pass == WEIGHTS ? w->weight : w->pass == INPUT ? w->x : w->y;
}

EXPORT void ours_product_free(struct product_work *w);
void ours_product_free(struct product_work *w)
{
    float *all[] = {w->x, w->weight, w->y, w->panels, w->pack};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) bench_free(all[i]);
    bench_free(w);
}
