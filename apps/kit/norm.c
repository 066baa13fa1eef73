/* norm.c - layer normalization, forward and backward: Ba, Kiros and Hinton 2016. */
#include "kit/layers.h"
#include <math.h>

void norm_create(struct norm *norm, struct params *params, int width)
{
    norm->width = width;
    norm->gain = params_take(params, (size_t)width, &norm->dgain);
    norm->shift = params_take(params, (size_t)width, &norm->dshift);
    for (int j = 0; j < width; j++) norm->gain[j] = 1;
}

/* Computes the mean of a row, and 1 / sqrt(variance + 1e-5). */
static void statistics(int width, const float *x, float *mean, float *inverse)
{
    float sum = 0, square = 0;
    for (int j = 0; j < width; j++) sum += x[j];
    *mean = sum / (float)width;
    for (int j = 0; j < width; j++) square += (x[j] - *mean) * (x[j] - *mean);
    *inverse = 1 / sqrtf(square / (float)width + 1e-5F);
}

void norm_forward(const struct norm *norm, int rows, const float *x, float *y)
{
    int width = norm->width;
    for (int r = 0; r < rows; r++, x += width, y += width) {
        float mean, inverse;
        statistics(width, x, &mean, &inverse);
        for (int j = 0; j < width; j++)
            y[j] = (x[j] - mean) * inverse * norm->gain[j] + norm->shift[j];
    }
}

/* With n = (x - mean) inverse and g = dy gain: dx = inverse (g - mean(g) - n mean(g n)). */
void norm_backward(const struct norm *norm, int rows, const float *x, const float *dy, float *dx)
{
    int width = norm->width;
    for (int r = 0; r < rows; r++, x += width, dy += width, dx += width) {
        float mean, inverse, sum = 0, dot = 0;
        statistics(width, x, &mean, &inverse);
        for (int j = 0; j < width; j++) {
            float n = (x[j] - mean) * inverse, g = dy[j] * norm->gain[j];
            sum += g;
            dot += g * n;
            norm->dgain[j] += dy[j] * n;
            norm->dshift[j] += dy[j];
        }
        sum /= (float)width;
        dot /= (float)width;
        for (int j = 0; j < width; j++) {
            float n = (x[j] - mean) * inverse, g = dy[j] * norm->gain[j];
            dx[j] += inverse * (g - sum - n * dot);
        }
    }
}
