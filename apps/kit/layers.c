/* layers.c - the parts of layers.h that have no matrix products: parameters and Adam, embedding,
   norm, activations, loss, and the workspace of attention. */
#include "kit/layers.h"
#include "kit/program.h"
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* ---- parameters, gradients, and Adam (Kingma and Ba 2015, algorithm 1) ---- */

void params_create(struct params *params, size_t capacity)
{
    *params = (struct params){.capacity = capacity, .beta_power = {1, 1}};
    params->value = xcalloc(capacity, sizeof(float));
    params->gradient = xcalloc(capacity, sizeof(float));
    params->mean = xcalloc(capacity, sizeof(float));
    params->square = xcalloc(capacity, sizeof(float));
}

void params_free(struct params *params)
{
    free(params->value);
    free(params->gradient);
    free(params->mean);
    free(params->square);
    *params = (struct params){0};
}

float *params_take(struct params *params, size_t count, float **gradient)
{
    size_t first = params->count;
    if (count > params->capacity - first) exit(failed("more parameters than the block can hold"));
    params->count += count;
    *gradient = params->gradient + first;
    return params->value + first;
}

double params_step(struct params *params, float rate, float scale, float max_norm)
{
    const float beta1 = 0.9F, beta2 = 0.98F;
    double sum = 0;
    for (size_t i = 0; i < params->count; i++)
        sum += (double)params->gradient[i] * (double)params->gradient[i];
    double norm = sqrt(sum) * (double)scale;
    if (max_norm > 0 && norm > (double)max_norm) scale *= (float)((double)max_norm / norm);
    params->beta_power[0] *= (double)beta1;
    params->beta_power[1] *= (double)beta2;
    float step = rate * (float)(sqrt(1 - params->beta_power[1]) / (1 - params->beta_power[0]));
    for (size_t i = 0; i < params->count; i++) {
        float g = params->gradient[i] * scale;
        params->mean[i] = beta1 * params->mean[i] + (1 - beta1) * g;
        params->square[i] = beta2 * params->square[i] + (1 - beta2) * g * g;
        params->value[i] -= step * params->mean[i] / (sqrtf(params->square[i]) + 1e-9F);
        params->gradient[i] = 0;
    }
    return norm;
}

float schedule_factor(int step, int steps, float slope, float start)
{
    float progress = (float)step / (float)steps, rise = slope * progress + start;
    float fall = progress < 0.5F ? 1 : 1 - 0.95F * (2 * progress - 1);
    return rise < 1 ? rise : fall;
}

/* ---- embedding: y[row] += table[id], dtable[id] += dy[row] ---- */

void embed_create(struct embed *embed, struct params *params, struct random *random, int tokens,
                  int width)
{
    size_t count = (size_t)tokens * (size_t)width;
    *embed = (struct embed){.tokens = tokens, .width = width};
    embed->table = params_take(params, count, &embed->dtable);
    for (size_t i = 0; i < count; i++)
        embed->table[i] = random_normal(random) / sqrtf((float)width);
}

void embed_forward(const struct embed *embed, int rows, const int *ids, float *y)
{
    for (int r = 0; r < rows; r++)
        for (int j = 0; j < embed->width; j++)
            y[r * embed->width + j] += embed->table[ids[r] * embed->width + j];
}

void embed_backward(const struct embed *embed, int rows, const int *ids, const float *dy)
{
    for (int r = 0; r < rows; r++)
        for (int j = 0; j < embed->width; j++)
            embed->dtable[ids[r] * embed->width + j] += dy[r * embed->width + j];
}

/* ---- layer normalization: Ba, Kiros and Hinton 2016 ---- */

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

/* ---- activations ---- */

/* exp(x) is 2^n exp(r), where n is the integer nearest to x / ln 2, so |r| <= ln 2 / 2. exp(r) is
   computed by its Taylor series up to r^7, and 2^n is assembled from its bits. There are no
   branches and no calls, so loops vectorize, and results are bit-identical with every C library. */

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

/* ---- cross-entropy: -log p[label], p = softmax(x) ---- */

double cross_entropy(int rows, int width, const float *x, const int *labels, float *dx,
                     int *correct)
{
    double loss = 0;
    softmax(rows, width, x, dx);
    for (int r = 0; r < rows; r++, x += width, dx += width) {
        int label = labels[r];
        if (label < 0) {
            memset(dx, 0, (size_t)width * sizeof *dx);
            continue;
        }
        loss -= log((double)dx[label]);
        if (correct != NULL) *correct += argmax(width, x) == label;
        dx[label] -= 1;
    }
    return loss;
}

/* ---- workspace of attention, aligned to 64 bytes ---- */

void *workspace_for(struct workspace *workspace, const rapt_attention *problem)
{
    rapt_message why = {""};
    if (rapt_attention_check(problem, &why) != RAPT_OK) exit(failed("attention: %s", why.text));
    size_t bytes = (rapt_attention_workspace(problem) + 63) & ~(size_t)63;
    if (bytes <= workspace->bytes) return workspace->data;
    free(workspace->data);
    workspace->data = aligned_alloc(64, bytes);
    workspace->bytes = bytes;
    if (workspace->data == NULL) exit(failed("out of memory"));
    return workspace->data;
}

void must(rapt_status status)
{
    if (status != RAPT_OK) exit(failed("attention: %s", rapt_status_text(status)));
}
