/* differential.c - heads that are the difference of two attentions (Ye et al. 2024):

       y = (1 - a) norm(m1 - lambda m2),   lambda = exp(x0 . x1) - exp(x2 . x3) + a

   m1 and m2 are the outputs of the two attentions of a head, which have the same values; norm is
   the RMSNorm of a head (heads.c) with gains that all heads share; and x0 to x3 are learned
   vectors. All heads share lambda. Its gradient is a sum over rows and heads: it is summed over the
   heads of each row, and the sums of rows are added in order. */
#include "op/op.h"

#include <string.h>

/* Computes the two exponentials in lambda. */
static void terms_of(const struct difference *d, double *first, double *second)
{
    double dots[2] = {0, 0};
    int half = d->width / 2;
    for (int i = 0; i < half; i++)
        for (int n = 0; n < 2; n++) {
            const float *x = d->vectors + (ptrdiff_t)2 * n * half;
            dots[n] += (double)x[i] * (double)x[half + i];
        }
    *first = rapt__exp(dots[0]), *second = rapt__exp(dots[1]);
}

float rapt__difference_lambda(const struct difference *d)
{
    double first, second;
    terms_of(d, &first, &second);
    return (float)(first - second + (double)d->initial);
}

static struct head_norm norm_of(const struct difference *d)
{
    return (struct head_norm){.gain = d->gain,
                              .heads = d->heads,
                              .width = d->width,
                              .row = (ptrdiff_t)d->heads * d->width,
                              .epsilon = d->epsilon};
}

/* Returns the offset in `maps` of the first attention of a head, where heads are counted through
   all rows; *second receives the offset of the second. */
static size_t maps_of(const struct difference *d, size_t head, size_t *second)
{
    size_t group = (size_t)d->group, width = (size_t)d->width;
    size_t first = (head / group * 2 * group + head % group) * width;
    *second = first + group * width;
    return first;
}

/* Multiplies all elements of rows by 1 - a. */
static void scale_rows(const struct exec_context *c, const struct difference *d, int rows, float *y)
{
    size_t begin, end, all = (size_t)d->heads * (size_t)d->width;
    float by = 1 - d->initial;
    while (rapt__team_part(c->team, (size_t)rows, 1, &begin, &end))
        for (size_t i = begin * all; i < end * all; i++) y[i] *= by;
    rapt__team_barrier(c->team);
}

void rapt__difference_forward(const struct exec_context *c, const struct difference *d, int rows,
                              const float *maps, float *y, float *raw, float *inverse)
{
    const struct head_norm norm = norm_of(d);
    const float lambda = rapt__difference_lambda(d);
    size_t begin, end, heads = (size_t)d->heads, width = (size_t)d->width;
    while (rapt__team_part(c->team, (size_t)rows, 1, &begin, &end))
        for (size_t h = begin * heads; h < end * heads; h++) {
            float *to = y + h * width;
            size_t second, first = maps_of(d, h, &second);
            for (size_t i = 0; i < width; i++) to[i] = maps[first + i] - lambda * maps[second + i];
            rapt__head_norm_one(c, &norm, rows, h / heads, h % heads, y, raw, inverse);
            for (size_t i = 0; i < width; i++) to[i] *= 1 - d->initial;
        }
    rapt__team_barrier(c->team);
}

/* Adds the gradients of the learned vectors, given the gradient of lambda. */
static void vectors_backward(const struct difference *d, double dlambda, float *dvectors)
{
    int half = d->width / 2;
    double terms[2];
    terms_of(d, &terms[0], &terms[1]);
    for (int n = 0; n < 2; n++) {
        const float *x = d->vectors + (ptrdiff_t)2 * n * half;
        float *dx = dvectors + (ptrdiff_t)2 * n * half;
        double by = (n ? -dlambda : dlambda) * terms[n];
        for (int i = 0; i < half; i++) {
            dx[i] += (float)(by * (double)x[half + i]);
            dx[half + i] += (float)(by * (double)x[i]);
        }
    }
}

void rapt__difference_backward(const struct exec_context *c, const struct difference *d, int rows,
                               const float *maps, const float *raw, const float *inverse, float *dy,
                               float *dmaps, float *dvectors, float *dgain, float *partial,
                               float *dlambda)
{
    const struct head_norm norm = norm_of(d);
    const float lambda = rapt__difference_lambda(d);
    size_t begin, end, width = (size_t)d->width;
    scale_rows(c, d, rows, dy);
    rapt__head_norm_backward(c, &norm, rows, raw, inverse, dy, dgain, partial);
    while (rapt__team_part(c->team, (size_t)rows, 1, &begin, &end))
        for (size_t r = begin; r < end; r++) {
            dlambda[r] = 0;
            for (size_t h = r * (size_t)d->heads; h < (r + 1) * (size_t)d->heads; h++) {
                const float *g = dy + h * width;
                size_t second, first = maps_of(d, h, &second);
                for (size_t i = 0; i < width; i++)
                    dmaps[first + i] = g[i], dmaps[second + i] = -lambda * g[i];
                dlambda[r] -= c->kernels->dot(g, maps + second, d->width);
            }
        }
    rapt__team_barrier(c->team);
    if (c->team->rank == 0) {
        double sum = 0;
        for (int r = 0; r < rows; r++) sum += (double)dlambda[r];
        vectors_backward(d, sum, dvectors);
    }
    rapt__team_barrier(c->team);
}

void rapt__heads_repeat(const struct exec_context *c, int heads, int width, int rows,
                        const float *x, ptrdiff_t row, float *y)
{
    size_t begin, end, size = (size_t)width * sizeof *x;
    while (rapt__team_part(c->team, (size_t)rows, 1, &begin, &end))
        for (size_t r = begin; r < end; r++)
            for (ptrdiff_t h = 0; h < heads; h++) {
                const float *from = x + (ptrdiff_t)r * row + h * width;
                float *to = y + ((ptrdiff_t)r * heads + h) * 2 * width;
                memcpy(to, from, size);
                memcpy(to + width, from, size);
            }
    rapt__team_barrier(c->team);
}

void rapt__heads_repeat_backward(const struct exec_context *c, int heads, int width, int rows,
                                 const float *dy, float *dx, ptrdiff_t row)
{
    size_t begin, end;
    while (rapt__team_part(c->team, (size_t)rows, 1, &begin, &end))
        for (size_t r = begin; r < end; r++)
            for (ptrdiff_t h = 0; h < heads; h++) {
                const float *from = dy + ((ptrdiff_t)r * heads + h) * 2 * width;
                float *to = dx + (ptrdiff_t)r * row + h * width;
                for (int i = 0; i < width; i++) to[i] += from[i] + from[width + i];
            }
    rapt__team_barrier(c->team);
}
