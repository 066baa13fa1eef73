/* linear.c - linear layers, observers of their inputs, and the measurements that choose between
   OpenBLAS and the built-in kernels for their products. */
#define _POSIX_C_SOURCE 200809L /* clock_gettime */
#include "kernel/int8.h"
#include "op/gemm.h"
#include "op/op.h"

#include <float.h>
#include <math.h>
#include <time.h>

/* ---- layers ---- */

/* Computes y = x W' + b for whole arrays, and the gradients

       dx = dy W        dW = dy' x        db = sum of dy over rows

   W [out][in] is in panels (kernel/kernel.h). x is [rows][in]; y and dy are [rows][out]. */

struct linear rapt__linear_part(const struct linear *l, int first, int count)
{
    struct linear part = *l;
    if (l->half) part.half += (ptrdiff_t)first * l->in;
    if (l->weight) part.weight += (ptrdiff_t)first * l->in;
    if (l->bytes) part.bytes += first / LANES * (ptrdiff_t)rapt__int8_panel(l->in);
    if (l->bytes) part.scale += first;
    if (l->bias) part.bias += first;
    part.out = count;
    return part;
}

void rapt__linear_forward(const struct exec_context *c, const struct linear *l, const float *x,
                          ptrdiff_t x_row, int rows, float *y, ptrdiff_t y_row,
                          enum activation activation, float *activated)
{
    rapt__observe(c, l, 1, x, x_row, rows);
    if (l->bytes) {
        rapt__int8_forward(c, l, 1, x, x_row, rows, &y, y_row, activation, activated);
        return;
    }
    rapt__gemm(c, &(struct gemm){.rows = rows,
                                 .columns = l->out,
                                 .depth = l->in,
                                 .a = x,
                                 .a_row = x_row,
                                 .a_step = 1,
                                 .form = GEMM_PANELS,
                                 .b = l->weight,
                                 .half = l->half,
                                 .type = l->type,
                                 .c = y,
                                 .c_row = y_row,
                                 .c_panel = LANES,
                                 .bias = l->bias,
                                 .activation = activation,
                                 .activated = activated});
}

void rapt__linears_forward(const struct exec_context *c, const struct linear *layers, int count,
                           const float *x, ptrdiff_t x_row, int rows, float *const *y,
                           ptrdiff_t y_row)
{
    if (layers->bytes) {
        rapt__observe(c, layers, count, x, x_row, rows);
        rapt__int8_forward(c, layers, count, x, x_row, rows, y, y_row, ACTIVATION_NONE, NULL);
        return;
    }
    for (int i = 0; i < count; i++)
        rapt__linear_forward(c, &layers[i], x, x_row, rows, y[i], y_row, ACTIVATION_NONE, NULL);
}

enum { TRANSPOSE_DEPTH = 512 }; /* number of outputs transposed at a time, for 16 inputs */

void rapt__linear_transpose(const struct exec_context *c, const struct linear *l, float *transposed)
{
    int down = rapt__ceil_div(l->out, TRANSPOSE_DEPTH), units = rapt__ceil_div(l->in, LANES) * down;
    for (int t; (t = rapt__team_take(c->team)) < units;) {
        int panel = t / down, k = t % down * TRANSPOSE_DEPTH;
        ptrdiff_t to = ((ptrdiff_t)panel * l->out + k) * LANES;
        c->kernels->transpose_panels(l->weight, l->in, k, rapt__min(l->out - k, TRANSPOSE_DEPTH),
                                     panel, 1, transposed + to);
    }
    rapt__team_barrier(c->team);
}

void rapt__linear_backward_input(const struct exec_context *c, const struct linear *l,
                                 const float *dy, ptrdiff_t dy_row, int rows, float *dx,
                                 ptrdiff_t dx_row, bool add)
{
    rapt__gemm(c, &(struct gemm){.rows = rows,
                                 .columns = l->in,
                                 .depth = l->out,
                                 .a = dy,
                                 .a_row = dy_row,
                                 .a_step = 1,
                                 .form = GEMM_TRANSPOSED,
                                 .b = l->weight,
                                 .c = dx,
                                 .c_row = dx_row,
                                 .c_panel = LANES,
                                 .add = add});
}

enum { BIAS_GRAIN = 4 * LANES }; /* each thread takes a multiple of this number of columns of dy */

/* Adds the sum of dy over rows to dbias. No barrier is needed, because the product that follows
   neither reads nor writes dbias. */
static void backward_bias(const struct exec_context *c, const float *dy, ptrdiff_t dy_row, int rows,
                          int out, float *dbias)
{
    size_t begin, end;
    rapt__team_share(c->team, (size_t)out, BIAS_GRAIN, &begin, &end);
    if (begin < end)
        c->kernels->column_sum(dbias + begin, dy + begin, dy_row, rows, (int)(end - begin));
}

void rapt__linear_backward_weight(const struct exec_context *c, const struct linear *l,
                                  const float *x, ptrdiff_t x_row, const float *dy,
                                  ptrdiff_t dy_row, int rows, float *dweight, float *dbias)
{
    float *rounded = c->products ? c->products->rounded : NULL;
    if (dbias) backward_bias(c, dy, dy_row, rows, l->out, dbias);
    if (rounded) {
        rapt__int8_round(c, l, x, x_row, rows, rounded);
        x = rounded, x_row = l->in;
    }
    rapt__gemm(c, &(struct gemm){.rows = l->in,
                                 .columns = l->out,
                                 .depth = rows,
                                 .a = x,
                                 .a_row = 1,
                                 .a_step = x_row,
                                 .form = GEMM_ROWS,
                                 .b = dy,
                                 .b_row = dy_row,
                                 .c = dweight,
                                 .c_row = LANES,
                                 .c_panel = (ptrdiff_t)l->in * LANES,
                                 .add = true});
}

/* ---- observe: reports the largest magnitude in the input of each layer to an observer. Every
   product of a layer in the forward pass, in any precision, goes through linear.c. ---- */

static float largest_of(const float *x, ptrdiff_t x_row, int rows, int columns)
{
    float largest = 0;
    for (ptrdiff_t r = 0; r < rows; r++)
        for (ptrdiff_t i = 0; i < columns; i++) {
            float magnitude = fabsf(x[r * x_row + i]);
            if (!(magnitude <= FLT_MAX)) return INFINITY;
            if (magnitude > largest) largest = magnitude;
        }
    return largest;
}

void rapt__observe(const struct exec_context *c, const struct linear *layers, int count,
                   const float *x, ptrdiff_t x_row, int rows)
{
    if (!c->observer || c->team->rank != 0 || rows == 0) return;
    float largest = largest_of(x, x_row, rows, layers->in);
    for (int i = 0; i < count; i++) c->observer->see(c->observer->user, &layers[i], largest);
}

/* ---- products: decides which matrix products OpenBLAS computes: all, none, or those for which it
   was faster when the three products of a layer were timed. ---- */

const struct products rapt__products_all = {.all = true};
const struct products rapt__products_bf16 = {.bf16 = true};
const struct products rapt__products_tiles = {.bf16 = true, .tiles = true};

const struct product_shape *rapt__products_find(const struct products *p, int out, int in)
{
    for (int i = 0; i < p->count; i++)
        if (p->shapes[i].out == out && p->shapes[i].in == in) return &p->shapes[i];
    return NULL;
}

bool rapt__products_take(const struct products *p, enum product kind, int out, int in)
{
    if (!p || p->all) return p != NULL;
    const struct product_shape *shape = rapt__products_find(p, out, in);
    return shape && shape->openblas[kind];
}

static double seconds_now(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

struct product_trial {
    const struct linear *layer;
    int rows;
    float *x, *y, *dweight;
};

static void compute_product(const struct exec_context *c, const struct product_trial *t,
                            enum product kind)
{
    const struct linear *l = t->layer;
    if (kind == PRODUCT_FORWARD)
        rapt__linear_forward(c, l, t->x, l->in, t->rows, t->y, l->out, ACTIVATION_NONE, NULL);
    else if (kind == PRODUCT_INPUT)
        rapt__linear_backward_input(c, l, t->y, l->out, t->rows, t->x, l->in, false);
    else
        rapt__linear_backward_weight(c, l, t->x, l->in, t->y, l->out, t->rows, t->dweight, NULL);
}

/* Returns true if OpenBLAS is faster than the built-in kernels. Runs of the two alternate. After
   one warm-up run of each, the fastest of TRIES runs of one is compared with the fastest of the
   other. */
static bool openblas_wins(const struct exec_context *c, const struct product_trial *t,
                          enum product kind)
{
    enum { TRIES = 3 };
    const double enough = 0.95; /* fraction of the built-in time below which OpenBLAS wins; a
                                   smaller gain may be noise */
    double best[2] = {1e30, 1e30};
    for (int n = 0; n <= TRIES; n++)
        for (int by = 0; by < 2; by++) {
            struct exec_context own = *c;
            own.products = by ? &rapt__products_all : NULL;
            double start = seconds_now();
            compute_product(&own, t, kind);
            double time = seconds_now() - start;
            if (n > 0 && time < best[by]) best[by] = time;
        }
    return best[1] < enough * best[0];
}

void rapt__products_measure(const struct exec_context *c, struct products *p,
                            const struct linear *l, int rows, float *x, float *y, float *dweight)
{
    const struct product_trial trial = {l, rows, x, y, dweight};
    struct product_shape shape = {.out = l->out, .in = l->in};
    for (int kind = 0; kind < PRODUCTS; kind++)
        shape.openblas[kind] = openblas_wins(c, &trial, (enum product)kind);
    if (c->team->rank == 0) p->shapes[p->count++] = shape;
    rapt__team_barrier(c->team);
}
