/* params.c - one block of parameters, and Adam: Kingma and Ba 2015, algorithm 1. */
#include "kit/layers.h"
#include "kit/program.h"
#include <math.h>
#include <stdlib.h>

void params_create(struct params *params, size_t capacity)
{
    *params = (struct params){.capacity = capacity, .left = {1, 1}};
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
    if (count > params->capacity - first) exit(failed("the block of parameters is too small"));
    params->count += count;
    *gradient = params->gradient + first;
    return params->value + first;
}

double params_step(struct params *params, float rate, float scale, float max)
{
    const float beta1 = 0.9F, beta2 = 0.98F;
    double sum = 0;
    for (size_t i = 0; i < params->count; i++)
        sum += (double)params->gradient[i] * (double)params->gradient[i];
    double norm = sqrt(sum) * (double)scale;
    if (max > 0 && norm > (double)max) scale *= (float)((double)max / norm);
    params->left[0] *= (double)beta1;
    params->left[1] *= (double)beta2;
    float size = rate * (float)(sqrt(1 - params->left[1]) / (1 - params->left[0]));
    for (size_t i = 0; i < params->count; i++) {
        float g = params->gradient[i] * scale;
        params->mean[i] = beta1 * params->mean[i] + (1 - beta1) * g;
        params->square[i] = beta2 * params->square[i] + (1 - beta2) * g * g;
        params->value[i] -= size * params->mean[i] / (sqrtf(params->square[i]) + 1e-9F);
        params->gradient[i] = 0;
    }
    return norm;
}
