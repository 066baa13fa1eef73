/* output_gate.c - gates of the outputs of attention's heads (Qiu et al. 2025):

       y = x sigmoid(z)     where each z multiplies `width` adjacent elements of a row

   Forward and backward take rows one at a time. With width 1 they work like a gated activation;
   otherwise the sigmoids of a few gates are computed together, and each scales its elements. */
#include "op/op.h"

enum { CHUNK = 64 };

/* Multiplies the elements of a row by their gates. */
static void scale_row(const struct exec_context *c, const struct output_gate *g, const float *z,
                      const float *x, float *y)
{
    for (int first = 0; first < g->gates; first += CHUNK) {
        float s[CHUNK];
        int n = rapt__min(g->gates - first, CHUNK);
        c->kernels->activate(ACTIVATION_SIGMOID, z + first, s, (size_t)n);
        for (int i = 0; i < n; i++, x += g->width, y += g->width)
            for (int j = 0; j < g->width; j++) y[j] = x[j] * s[i];
    }
}

void rapt__output_gate_forward(const struct exec_context *c, const struct output_gate *g, int rows,
                               const float *z, const float *x, float *y)
{
    size_t begin, end, gates = (size_t)g->gates, all = gates * (size_t)g->width;
    while (rapt__team_part(c->team, (size_t)rows, 1, &begin, &end))
        for (size_t r = begin; r < end; r++)
            if (g->width == 1)
                c->kernels->gate(ACTIVATION_SIGMOID, z + r * all, x + r * all, y + r * all, all);
            else
                scale_row(c, g, z + r * gates, x + r * all, y + r * all);
    rapt__team_barrier(c->team);
}

/* dz of a gate is sigmoid'(z) times the dot product of its elements of x and dy. */
static void scale_row_backward(const struct exec_context *c, const struct output_gate *g,
                               const float *z, const float *x, const float *dy, float *dz,
                               float *dx)
{
    scale_row(c, g, z, dy, dx);
    for (int i = 0; i < g->gates; i++) {
        ptrdiff_t at = (ptrdiff_t)i * g->width;
        dz[i] = c->kernels->dot(x + at, dy + at, g->width);
    }
    c->kernels->activate_backward(ACTIVATION_SIGMOID, z, dz, dz, (size_t)g->gates);
}

void rapt__output_gate_backward(const struct exec_context *c, const struct output_gate *g, int rows,
                                const float *z, const float *x, const float *dy, float *dz,
                                float *dx)
{
    size_t begin, end, gates = (size_t)g->gates, all = gates * (size_t)g->width;
    while (rapt__team_part(c->team, (size_t)rows, 1, &begin, &end))
        for (size_t r = begin; r < end; r++) {
            const float *zs = z + r * gates, *xs = x + r * all, *dys = dy + r * all;
            if (g->width == 1)
                c->kernels->gate_backward(ACTIVATION_SIGMOID, zs, xs, dys, dz + r * gates,
                                          dx + r * all, all);
            else
                scale_row_backward(c, g, zs, xs, dys, dz + r * gates, dx + r * all);
        }
    rapt__team_barrier(c->team);
}
