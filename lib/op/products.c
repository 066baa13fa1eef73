/* products.c - decides which matrix products OpenBLAS computes, by timing each of the three
   products of a layer with and without it. */
#define _POSIX_C_SOURCE 200809L /* clock_gettime */
#include "op/op.h"

#include <time.h>

const struct products rapt__products_all = {.all = true};
const struct products rapt__products_bf16 = {.bf16 = true};

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

static double seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

struct trial {
    const struct linear *layer;
    int rows;
    float *x, *y, *dweight;
};

static void compute_product(const struct exec_context *c, const struct trial *t, enum product kind)
{
    const struct linear *l = t->layer;
    if (kind == PRODUCT_FORWARD)
        rapt__linear_forward(c, l, t->x, l->in, t->rows, t->y, l->out, ACTIVATION_NONE, NULL);
    else if (kind == PRODUCT_INPUT)
        rapt__linear_backward_input(c, l, t->y, l->out, t->rows, t->x, l->in, false);
    else
        rapt__linear_backward_weight(c, l, t->x, l->in, t->y, l->out, t->rows, t->dweight, NULL);
}

/* Returns true if OpenBLAS is faster. After a warm-up run of each, the two alternate, and the
   fastest of TRIES runs of each counts. */
static bool openblas_wins(const struct exec_context *c, const struct trial *t, enum product kind)
{
    enum { TRIES = 3 };
    const double enough = 0.95; /* fraction of the built-in time below which OpenBLAS wins; a
                                   smaller gain may be noise */
    double best[2] = {1e30, 1e30};
    for (int n = 0; n <= TRIES; n++)
        for (int by = 0; by < 2; by++) {
            struct exec_context own = *c;
            own.products = by ? &rapt__products_all : NULL;
            double start = seconds();
            compute_product(&own, t, kind);
            double time = seconds() - start;
            if (n > 0 && time < best[by]) best[by] = time;
        }
    return best[1] < enough * best[0];
}

void rapt__products_measure(const struct exec_context *c, struct products *p,
                            const struct linear *l, int rows, float *x, float *y, float *dweight)
{
    const struct trial trial = {l, rows, x, y, dweight};
    struct product_shape shape = {.out = l->out, .in = l->in};
    for (int kind = 0; kind < PRODUCTS; kind++)
        shape.openblas[kind] = openblas_wins(c, &trial, (enum product)kind);
    if (c->team->rank == 0) p->shapes[p->count++] = shape;
    rapt__team_barrier(c->team);
}
