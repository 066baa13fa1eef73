/* cell.c - one step of a recurrent cell, forward and backward: Elman's (RNN), gated (GRU), and with
   a memory (LSTM). */
#include "recurrent.h"
#include <string.h>

const char *const cell_names[CELLS] = {"rnn", "gru", "lstm"};

void cell_create(struct cell *cell, enum cell_kind kind, struct params *params,
                 struct random *random, int in, int hidden)
{
    static const int gates[CELLS] = {1, 3, 4};
    cell->kind = kind;
    cell->hidden = hidden;
    cell->gates = gates[kind];
    linear_create(&cell->input, params, random, in, cell->gates * hidden, 1);
    linear_create(&cell->state, params, random, hidden, cell->gates * hidden, 0);
    for (int i = 0; kind == CELL_LSTM && i < hidden; i++) cell->input.bias[hidden + i] = 1;
}

static void rnn_forward(size_t width, const float *x, const float *inner, float *next)
{
    for (size_t i = 0; i < width; i++) next[i] = x[i] + inner[i];
    tanh_forward(width, next, next);
}

static void gru_forward(size_t width, const float *x, const float *inner, float *r, const float *h,
                        float *next)
{
    float *z = r + width, *n = z + width;
    for (size_t i = 0; i < 2 * width; i++) r[i] = x[i] + inner[i];
    sigmoid_forward(2 * width, r, r);
    for (size_t i = 0; i < width; i++) n[i] = x[2 * width + i] + r[i] * inner[2 * width + i];
    tanh_forward(width, n, n);
    for (size_t i = 0; i < width; i++) next[i] = (1 - z[i]) * n[i] + z[i] * h[i];
}

/* Stores tanh(c') in the first `width` elements of inner. */
static void lstm_forward(size_t width, const float *x, float *inner, float *in, const float *c,
                         float *next_c, float *next_h)
{
    float *forget = in + width, *out = forget + width, *g = out + width;
    for (size_t i = 0; i < 4 * width; i++) in[i] = x[i] + inner[i];
    sigmoid_forward(3 * width, in, in);
    tanh_forward(width, g, g);
    for (size_t i = 0; i < width; i++) next_c[i] = forget[i] * c[i] + in[i] * g[i];
    tanh_forward(width, next_c, inner);
    for (size_t i = 0; i < width; i++) next_h[i] = out[i] * inner[i];
}

void cell_forward(const struct cell *cell, int rows, const float *x, struct cell_state before,
                  struct cell_state next, struct cell_tape tape)
{
    const size_t width = (size_t)cell->hidden, wide = width * (size_t)cell->gates;
    memset(tape.inner, 0, (size_t)rows * wide * sizeof(float));
    linear_forward(&cell->state, rows, before.h, tape.inner);
    for (size_t row = 0; row < (size_t)rows; row++, x += wide) {
        float *inner = tape.inner + row * wide, *gates = tape.gates + row * wide;
        const float *h = before.h + row * width;
        float *out = next.h + row * width;
        if (cell->kind == CELL_RNN)
            rnn_forward(width, x, inner, out);
        else if (cell->kind == CELL_GRU)
            gru_forward(width, x, inner, gates, h, out);
        else
            lstm_forward(width, x, inner, gates, before.c + row * width, next.c + row * width, out);
    }
}

/* Each of these sets dinner, which may be the same array as inner, to the gradient of hU, and adds
   to the other gradients. */
static void rnn_backward(size_t width, const float *next, const float *d, float *dx, float *dinner)
{
    for (size_t i = 0; i < width; i++) dx[i] += dinner[i] = d[i] * (1 - next[i] * next[i]);
}

static void gru_backward(size_t width, const float *r, const float *h, const float *d, float *inner,
                         float *dx, float *dh)
{
    const float *z = r + width, *n = z + width;
    for (size_t i = 0; i < width; i++) {
        float dn = d[i] * (1 - z[i]) * (1 - n[i] * n[i]);
        float dz = d[i] * (h[i] - n[i]) * z[i] * (1 - z[i]);
        float dr = dn * inner[2 * width + i] * r[i] * (1 - r[i]);
        dh[i] += d[i] * z[i];
        dx[i] += inner[i] = dr;
        dx[width + i] += inner[width + i] = dz;
        dx[2 * width + i] += dn;
        inner[2 * width + i] = dn * r[i];
    }
}

static void lstm_backward(size_t width, const float *in, const float *c, const float *d,
                          const float *dc_next, float *inner, float *dx, float *dc)
{
    const float *forget = in + width, *out = forget + width, *g = out + width;
    for (size_t i = 0; i < width; i++) {
        float t = inner[i], dm = dc_next[i] + d[i] * out[i] * (1 - t * t);
        inner[i] = dm * g[i] * in[i] * (1 - in[i]);
        inner[width + i] = dm * c[i] * forget[i] * (1 - forget[i]);
        inner[2 * width + i] = d[i] * t * out[i] * (1 - out[i]);
        inner[3 * width + i] = dm * in[i] * (1 - g[i] * g[i]);
        dc[i] += dm * forget[i];
    }
    for (size_t i = 0; i < 4 * width; i++) dx[i] += inner[i];
}

void cell_backward(const struct cell *cell, int rows, struct cell_state before,
                   struct cell_state next, struct cell_state dnext, float *dx,
                   struct cell_state dbefore, struct cell_tape tape)
{
    const size_t width = (size_t)cell->hidden, wide = width * (size_t)cell->gates;
    for (size_t row = 0; row < (size_t)rows; row++, dx += wide) {
        float *inner = tape.inner + row * wide;
        const float *gates = tape.gates + row * wide, *d = dnext.h + row * width;
        if (cell->kind == CELL_RNN)
            rnn_backward(width, next.h + row * width, d, dx, inner);
        else if (cell->kind == CELL_GRU)
            gru_backward(width, gates, before.h + row * width, d, inner, dx,
                         dbefore.h + row * width);
        else
            lstm_backward(width, gates, before.c + row * width, d, dnext.c + row * width, inner, dx,
                          dbefore.c + row * width);
    }
    linear_backward(&cell->state, rows, before.h, tape.inner, dbefore.h);
}
