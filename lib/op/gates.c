/* gates.c - gradients of activations, and the forward and backward passes of gated activations,
   output gates, logarithms of gates and a gated recurrent unit. */
#include "op/op.h"

#include <math.h>
#include <string.h>

/* ---- activation ---- */

/* The gradient of an activation: dx = dy activation'(x). In the forward pass, the products of
   linear layers apply the activation while y is in the cache.

   A gated activation multiplies the activation of the first half of each row by the second half
   (Shazeer 2020, equation 6). */

void rapt__activate_backward(const struct exec_context *c, enum activation kind, const float *x,
                             const float *dy, float *dx, size_t n)
{
    size_t begin, end;
    while (rapt__team_part(c->team, n, LANES, &begin, &end))
        c->kernels->activate_backward(kind, x + begin, dy + begin, dx + begin, end - begin);
    rapt__team_barrier(c->team);
}

void rapt__gate_forward(const struct exec_context *c, enum activation kind, const float *x,
                        int rows, int width, float *y)
{
    size_t begin, end, w = (size_t)width;
    while (rapt__team_part(c->team, (size_t)rows, 1, &begin, &end))
        for (size_t r = begin; r < end; r++)
            c->kernels->gate(kind, x + 2 * r * w, x + (2 * r + 1) * w, y + r * w, w);
    rapt__team_barrier(c->team);
}

void rapt__gate_backward(const struct exec_context *c, enum activation kind, const float *x,
                         const float *dy, int rows, int width, float *dx)
{
    size_t begin, end, w = (size_t)width;
    while (rapt__team_part(c->team, (size_t)rows, 1, &begin, &end))
        for (size_t r = begin; r < end; r++) {
            size_t first = 2 * r * w, second = first + w;
            c->kernels->gate_backward(kind, x + first, x + second, dy + r * w, dx + first,
                                      dx + second, w);
        }
    rapt__team_barrier(c->team);
}

/* ---- output gate ---- */

/* Gates on the outputs of attention heads (Qiu et al. 2025):

       y = x sigmoid(z)     where each gate z scales `width` adjacent elements of a row

   With width 1 this is a gated activation. Otherwise the sigmoids of up to GATE_CHUNK gates are
   computed at a time, and each gate scales its elements. */

enum { GATE_CHUNK = 64 };

/* Multiplies the elements of a row by their gates. */
static void scale_row(const struct exec_context *c, const struct output_gate *g, const float *z,
                      const float *x, float *y)
{
    for (int first = 0; first < g->gates; first += GATE_CHUNK) {
        float s[GATE_CHUNK];
        int n = rapt__min(g->gates - first, GATE_CHUNK);
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

/* Sets dx to dy times the sigmoids, and the dz of each gate to sigmoid'(z) times the dot product of
   the gate's elements of x and dy. */
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

/* ---- log sigmoid ---- */

/* Logarithms of gates:

       y = log sigmoid(z) = min(z, 0) - log(1 + e^-|z|)     dz = dy (1 - sigmoid(z))

   y is finite if z is. A row has only a few gates, so using double precision costs little. */

static float log_sigmoid(double z)
{
    return (float)((z < 0 ? z : 0) - rapt__log(1 + rapt__exp(-fabs(z))));
}

void rapt__log_sigmoid_forward(const struct exec_context *c, const float *z, size_t n, float *y)
{
    size_t begin, end;
    while (rapt__team_part(c->team, n, LANES, &begin, &end))
        for (size_t i = begin; i < end; i++) y[i] = log_sigmoid((double)z[i]);
    rapt__team_barrier(c->team);
}

void rapt__log_sigmoid_backward(const struct exec_context *c, const float *z, const float *dy,
                                size_t n, float *dz)
{
    size_t begin, end;
    while (rapt__team_part(c->team, n, LANES, &begin, &end))
        for (size_t i = begin; i < end; i++)
            dz[i] = (float)((double)dy[i] / (1 + rapt__exp((double)z[i])));
    rapt__team_barrier(c->team);
}

/* ---- recurrent: the simpler simple recurrent unit (SSRU) over ragged sequences, forward and
   backward (Kim et al. 2019, section 3.1). Columns do not interact, so the columns of all sequences
   are divided among the threads in whole vectors. ---- */

/* Columns [first, first + count) of one sequence. */
struct strip {
    int sequence;
    size_t first, count;
};

/* Returns the strip that begins with vector number *at, where vectors are numbered across all
   sequences, and ends before vector `end` or at the end of its sequence. Moves *at past the
   strip. */
static struct strip next_strip(const struct ssru *s, size_t *at, size_t end)
{
    size_t width = (size_t)s->width, vectors = rapt__ceil_div_size(width, LANES);
    size_t sequence = *at / vectors, first = *at % vectors;
    size_t last = rapt__min_size(vectors, first + (end - *at));
    *at += last - first;
    return (struct strip){(int)sequence, first * LANES,
                          rapt__min_size(last * LANES, width) - first * LANES};
}

static bool take_strips(const struct exec_context *c, const struct ssru *s, size_t *begin,
                        size_t *end)
{
    size_t vectors = rapt__ceil_div_size((size_t)s->width, LANES);
    return rapt__team_part(c->team, (size_t)s->batch * vectors, 1, begin, end);
}

void rapt__ssru_forward(const struct exec_context *c, const struct ssru *s, const float *x,
                        float *cells, float *y)
{
    size_t at = 0, end = 0, width = (size_t)s->width;
    while (at < end || take_strips(c, s, &at, &end)) {
        const struct strip strip = next_strip(s, &at, end);
        size_t own = (size_t)strip.sequence * width + strip.first;
        float *state = s->states ? s->states + own : NULL;
        const float *before = state;
        for (int r = s->starts[strip.sequence]; r < s->starts[strip.sequence + 1]; r++) {
            const float *row = x + 2 * (size_t)r * width + strip.first;
            size_t to = (size_t)r * width + strip.first;
            c->kernels->ssru_row(row, row + width, before, cells + to, y + to, strip.count);
            before = cells + to;
        }
        if (state && before != state) memcpy(state, before, strip.count * sizeof *state);
    }
    rapt__team_barrier(c->team);
}

void rapt__ssru_backward(const struct exec_context *c, const struct ssru *s, const float *x,
                         const float *cells, float *dcells, float *dx)
{
    size_t at = 0, end = 0, width = (size_t)s->width;
    while (at < end || take_strips(c, s, &at, &end)) {
        const struct strip strip = next_strip(s, &at, end);
        int first = s->starts[strip.sequence];
        for (int r = s->starts[strip.sequence + 1] - 1; r >= first; r--) {
            size_t row = 2 * (size_t)r * width + strip.first, to = (size_t)r * width + strip.first;
            const float *before = r > first ? cells + to - width : NULL;
            c->kernels->ssru_row_backward(x + row, x + row + width, before, dcells + to, dx + row,
                                          dx + row + width, strip.count);
            if (r > first) c->kernels->add(dcells + to - width, dcells + to, strip.count);
        }
    }
    rapt__team_barrier(c->team);
}
