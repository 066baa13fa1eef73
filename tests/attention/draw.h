/* draw.h - random numbers and arrays for trials. */
#ifndef RAPT_TESTS_DRAW_H
#define RAPT_TESTS_DRAW_H

#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

static inline uint32_t draw(uint64_t *state)
{
    *state = *state * 6364136223846793005ull + 1442695040888963407ull;
    return (uint32_t)(*state >> 33);
}

static inline int draw_below(uint64_t *state, int n)
{
    return (int)(draw(state) % (uint32_t)n);
}

static inline float draw_float(uint64_t *state) /* deviation about 1 */
{
    float sum = 0;
    for (int i = 0; i < 3; i++) sum += (float)(draw(state) & 0xffff) / 32768.f - 1;
    return sum;
}

static inline float *draw_floats(uint64_t *state, size_t n, float times)
{
    float *x = malloc(n ? n * sizeof *x : 1);
    for (size_t i = 0; i < n; i++) x[i] = times * draw_float(state);
    return x;
}

static inline float *zeros(size_t n)
{
    return calloc(n ? n : 1, sizeof(float));
}

static inline int *draw_starts(uint64_t *state, int batch, int max)
{
    int *starts = calloc((size_t)batch + 1, sizeof *starts);
    for (int b = 0; b < batch; b++)
        starts[b + 1] = starts[b] + (b == batch / 2 ? max : draw_below(state, max + 1));
    return starts;
}

static inline double *doubles(const float *x, size_t n)
{
    double *d = malloc((n + 1) * sizeof *d);
    for (size_t i = 0; i < n; i++) d[i] = (double)x[i];
    return d;
}

/* Whether the bits are the same, except that any NaN equals any other. */
static inline bool same_bits(const float *x, const float *y, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (memcmp(x + i, y + i, sizeof *x) != 0 && !(isnan(x[i]) && isnan(y[i]))) return false;
    return true;
}

#endif
