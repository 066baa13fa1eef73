/* gru.c - one step of a gated recurrent unit, forward and backward. */
#include "bottleneck.h"
#include <string.h>

void gru_create(struct gru *gru, struct params *params, struct random *random, int in, int hidden)
{
    gru->hidden = hidden;
    linear_create(&gru->input, params, random, in, 3 * hidden, 1);
    linear_create(&gru->state, params, random, hidden, 3 * hidden, 0);
}

void gru_forward(const struct gru *gru, int rows, const float *x, const float *h, float *next,
                 struct gru_tape tape)
{
    size_t width = (size_t)gru->hidden;
    memset(tape.inner, 0, (size_t)rows * 3 * width * sizeof(float));
    linear_forward(&gru->state, rows, h, tape.inner);
    for (int row = 0; row < rows; row++, x += 3 * width, h += width, next += width) {
        const float *inner = tape.inner + (size_t)row * 3 * width;
        float *r = tape.gates + (size_t)row * 3 * width, *z = r + width, *n = z + width;
        for (size_t i = 0; i < 2 * width; i++) r[i] = x[i] + inner[i];
        sigmoid_forward(2 * width, r, r);
        for (size_t i = 0; i < width; i++) n[i] = x[2 * width + i] + r[i] * inner[2 * width + i];
        tanh_forward(width, n, n);
        for (size_t i = 0; i < width; i++) next[i] = (1 - z[i]) * n[i] + z[i] * h[i];
    }
}

void gru_backward(const struct gru *gru, int rows, const float *h, const float *dnext, float *dx,
                  float *dh, struct gru_tape tape)
{
    size_t width = (size_t)gru->hidden;
    for (int row = 0; row < rows; row++) {
        /* The tape's inner products are read, then overwritten with their gradient. */
        float *inner = tape.inner + (size_t)row * 3 * width;
        const float *r = tape.gates + (size_t)row * 3 * width, *z = r + width, *n = z + width;
        const float *old = h + (size_t)row * width, *d = dnext + (size_t)row * width;
        float *out = dx + (size_t)row * 3 * width, *back = dh + (size_t)row * width;
        for (size_t i = 0; i < width; i++) {
            float dn = d[i] * (1 - z[i]) * (1 - n[i] * n[i]);
            float dz = d[i] * (old[i] - n[i]) * z[i] * (1 - z[i]);
            float dr = dn * inner[2 * width + i] * r[i] * (1 - r[i]);
            back[i] += d[i] * z[i];
            out[i] += inner[i] = dr;
            out[width + i] += inner[width + i] = dz;
            out[2 * width + i] += dn;
            inner[2 * width + i] = dn * r[i];
        }
    }
    linear_backward(&gru->state, rows, h, tape.inner, dh);
}
