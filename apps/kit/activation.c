/* activation.c - sigmoid, tanh and ReLU, forward and backward; softmax and argmax.

   exp(x) is 2^n exp(r), where n is the integer nearest to x / ln 2, so |r| <= ln 2 / 2. exp(r) is
   computed by its Taylor series up to r^7, and 2^n is assembled from its bits. There are no
   branches and no calls, so loops vectorize and give the same bits with every C library. */
#include "kit/layers.h"
#include <stdint.h>
#include <string.h>

static inline float exponential(float x)
{
    const float shift = 0x1.8p23F; /* adding it rounds to an integer, in the lowest bits */
    x = x > 80 ? 80 : x;
    x = x < -80 ? -80 : x;
    float n = x * 1.44269504F + shift, rounded = n - shift;
    float r = (x - rounded * 0.693359375F) + rounded * 2.12194440e-4F; /* ln 2 in two parts */
    float sum = 1.0F / 5040;
    sum = sum * r + 1.0F / 720;
    sum = sum * r + 1.0F / 120;
    sum = sum * r + 1.0F / 24;
    sum = sum * r + 1.0F / 6;
    sum = sum * r + 0.5F;
    sum = sum * r + 1;
    sum = sum * r + 1;
    uint32_t bits;
    memcpy(&bits, &n, sizeof bits);
    bits = (bits + 127) << 23; /* the exponent of 2^n; higher bits are shifted out */
    float scale;
    memcpy(&scale, &bits, sizeof scale);
    return sum * scale;
}

void sigmoid_forward(size_t count, const float *x, float *y)
{
    for (size_t i = 0; i < count; i++) y[i] = 1 / (1 + exponential(-x[i]));
}

void sigmoid_backward(size_t count, const float *y, const float *dy, float *dx)
{
    for (size_t i = 0; i < count; i++) dx[i] += dy[i] * y[i] * (1 - y[i]);
}

void tanh_forward(size_t count, const float *x, float *y)
{
    for (size_t i = 0; i < count; i++) y[i] = 1 - 2 / (1 + exponential(2 * x[i]));
}

void tanh_backward(size_t count, const float *y, const float *dy, float *dx)
{
    for (size_t i = 0; i < count; i++) dx[i] += dy[i] * (1 - y[i] * y[i]);
}

void relu_forward(size_t count, const float *x, float *y)
{
    for (size_t i = 0; i < count; i++) y[i] = x[i] > 0 ? x[i] : 0;
}

void relu_backward(size_t count, const float *y, const float *dy, float *dx)
{
    for (size_t i = 0; i < count; i++) dx[i] += y[i] > 0 ? dy[i] : 0;
}

int argmax(int width, const float *x)
{
    int best = 0;
    for (int j = 1; j < width; j++) best = x[j] > x[best] ? j : best;
    return best;
}

void softmax(int rows, int width, const float *x, float *p)
{
    for (int r = 0; r < rows; r++, x += width, p += width) {
        float max = x[argmax(width, x)], sum = 0;
        for (int j = 0; j < width; j++) p[j] = exponential(x[j] - max);
        for (int j = 0; j < width; j++) sum += p[j];
        for (int j = 0; j < width; j++) p[j] /= sum;
    }
}
