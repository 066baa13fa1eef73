/* linear.c - y += x W + b, its gradients, and the three matrix products that they consist of.

   Each product accumulates in registers: a small tile of its result or, for the gradient of x, the
   partial sums of a dot product. The innermost loops have unit stride, so a compiler vectorizes
   them without reordering a sum, and -ffast-math is not needed. */
#include "kit/layers.h"
#include <math.h>

enum { ROWS = 4, COLUMNS = 8 }; /* size of a tile */

/* Computes y[r][j] += sum over k of x[r][k] w[k][j] for a full tile. */
static void tile(int in, int out, const float *x, const float *w, float *y)
{
    float sum[ROWS][COLUMNS];
    for (int r = 0; r < ROWS; r++)
        for (int j = 0; j < COLUMNS; j++) sum[r][j] = y[r * out + j];
    for (int k = 0; k < in; k++)
        for (int r = 0; r < ROWS; r++)
            for (int j = 0; j < COLUMNS; j++) sum[r][j] += x[r * in + k] * w[k * out + j];
    for (int r = 0; r < ROWS; r++)
        for (int j = 0; j < COLUMNS; j++) y[r * out + j] = sum[r][j];
}

/* Does the same for the remaining rows and columns at the edges. */
static void edge(int rows, int columns, int in, int out, const float *x, const float *w, float *y)
{
    for (int r = 0; r < rows; r++)
        for (int k = 0; k < in; k++)
            for (int j = 0; j < columns; j++) y[r * out + j] += x[r * in + k] * w[k * out + j];
}

void matmul(int rows, int in, int out, const float *x, const float *w, float *y)
{
    int full = out - out % COLUMNS, r = 0;
    for (; r + ROWS <= rows; r += ROWS)
        for (int j = 0; j < full; j += COLUMNS) tile(in, out, x + r * in, w + j, y + r * out + j);
    edge(rows - r, full, in, out, x + r * in, w, y + r * out);
    edge(rows, out - full, in, out, x, w + full, y + full);
}

/* Returns the sum of dy[j] w[j] over j: COLUMNS partial sums, which are added in pairs at the end,
   and the sum of the remaining products. */
static float dot_rows(int out, const float *dy, const float *w)
{
    float sum[COLUMNS] = {0}, rest = 0;
    int full = out - out % COLUMNS;
    for (int j = 0; j < full; j += COLUMNS)
        for (int l = 0; l < COLUMNS; l++) sum[l] += dy[j + l] * w[j + l];
    for (int j = full; j < out; j++) rest += dy[j] * w[j];
    for (int half = COLUMNS / 2; half > 0; half /= 2)
        for (int l = 0; l < half; l++) sum[l] += sum[l + half];
    return sum[0] + rest;
}

void matmul_backward_input(int rows, int in, int out, const float *dy, const float *w, float *dx)
{
    for (int r = 0; r < rows; r++)
        for (int k = 0; k < in; k++) dx[r * in + k] += dot_rows(out, dy + r * out, w + k * out);
}

/* Computes dw[k][j] += sum over r of x[r][k] dy[r][j] for a full tile. */
static void weight_tile(int rows, int in, int out, const float *x, const float *dy, float *dw)
{
    float sum[ROWS][COLUMNS];
    for (int k = 0; k < ROWS; k++)
        for (int j = 0; j < COLUMNS; j++) sum[k][j] = dw[k * out + j];
    for (int r = 0; r < rows; r++)
        for (int k = 0; k < ROWS; k++)
            for (int j = 0; j < COLUMNS; j++) sum[k][j] += x[r * in + k] * dy[r * out + j];
    for (int k = 0; k < ROWS; k++)
        for (int j = 0; j < COLUMNS; j++) dw[k * out + j] = sum[k][j];
}

static void weight_edge(int rows, int count, int columns, int in, int out, const float *x,
                        const float *dy, float *dw)
{
    for (int r = 0; r < rows; r++)
        for (int k = 0; k < count; k++)
            for (int j = 0; j < columns; j++) dw[k * out + j] += x[r * in + k] * dy[r * out + j];
}

void matmul_backward_weight(int rows, int in, int out, const float *x, const float *dy, float *dw)
{
    int full = out - out % COLUMNS, k = 0;
    for (; k + ROWS <= in; k += ROWS)
        for (int j = 0; j < full; j += COLUMNS)
            weight_tile(rows, in, out, x + k, dy + j, dw + k * out + j);
    weight_edge(rows, in - k, full, in, out, x + k, dy, dw + k * out);
    weight_edge(rows, in, out - full, in, out, x, dy + full, dw + full);
}

void linear_create(struct linear *linear, struct params *params, struct random *random, int in,
                   int out, int biased)
{
    size_t count = (size_t)in * (size_t)out;
    *linear = (struct linear){.in = in, .out = out};
    linear->weight = params_take(params, count, &linear->dweight);
    if (biased) linear->bias = params_take(params, (size_t)out, &linear->dbias);
    for (size_t i = 0; i < count; i++) linear->weight[i] = random_normal(random) / sqrtf((float)in);
}

void linear_forward(const struct linear *linear, int rows, const float *x, float *y)
{
    int out = linear->out;
    for (int r = 0; linear->bias != NULL && r < rows; r++)
        for (int j = 0; j < out; j++) y[r * out + j] += linear->bias[j];
    matmul(rows, linear->in, out, x, linear->weight, y);
}

void linear_backward(const struct linear *linear, int rows, const float *x, const float *dy,
                     float *dx)
{
    int out = linear->out;
    for (int r = 0; linear->bias != NULL && r < rows; r++)
        for (int j = 0; j < out; j++) linear->dbias[j] += dy[r * out + j];
    matmul_backward_weight(rows, linear->in, out, x, dy, linear->dweight);
    if (dx != NULL) matmul_backward_input(rows, linear->in, out, dy, linear->weight, dx);
}
