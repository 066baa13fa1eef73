/* params.c - a block of parameters and their gradients; Adam (Kingma and Ba 2015, algorithm 1) and
   its learning-rate schedule. */
#include "kit/layers.h"
#include "kit/program.h"
#include <math.h>
#include <stdlib.h>

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
