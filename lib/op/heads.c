/* heads.c - operations on rows that consist of heads: linear maps, copies, RMSNorm, division by the
   L2 norm, and differences of two attention outputs. Also adds rows to other rows. */
#include "op/op.h"

#include <math.h>
#include <string.h>

/* ---- maps: a linear map for each head, y_h = x_h W_h'. The matrices W_h are slices of one matrix,
   which is stored in panels. ---- */

static struct linear map_of(const struct head_map *m, int h)
{
    int out = m->all.out / m->heads;
    return rapt__linear_part(&m->all, h * out, out);
}

void rapt__head_map_forward(const struct exec_context *c, const struct head_map *m, int rows,
                            const float *x, float *y)
{
    for (int h = 0; h < m->heads; h++) {
        const struct linear l = map_of(m, h);
        rapt__linear_forward(c, &l, x + h * m->x_head, m->x_row, rows, y + h * m->y_head, m->y_row,
                             ACTIVATION_NONE, NULL);
    }
}

void rapt__head_map_backward(const struct exec_context *c, const struct head_map *m, int rows,
                             const float *x, const float *dy, float *dx, float *dweight)
{
    for (int h = 0; h < m->heads; h++) {
        const struct linear l = map_of(m, h);
        float *to = dweight + (ptrdiff_t)h * l.out * l.in;
        rapt__linear_backward_weight(c, &l, x + h * m->x_head, m->x_row, dy + h * m->y_head,
                                     m->y_row, rows, to, NULL);
        rapt__linear_backward_input(c, &l, dy + h * m->y_head, m->y_row, rows, dx + h * m->x_head,
                                    m->x_row, false);
    }
}

void rapt__heads_copy(const struct exec_context *c, int heads, int width, int rows, const float *x,
                      ptrdiff_t x_head, ptrdiff_t x_row, float *y, ptrdiff_t y_head,
                      ptrdiff_t y_row)
{
    size_t begin, end, bytes = (size_t)width * sizeof *y;
    while (rapt__team_part(c->team, (size_t)rows, 1, &begin, &end))
        for (ptrdiff_t r = (ptrdiff_t)begin; r < (ptrdiff_t)end; r++)
            for (int h = 0; h < heads; h++)
                memcpy(y + r * y_row + h * y_head, x + r * x_row + h * x_head, bytes);
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

void rapt__rows_add(const struct exec_context *c, int width, int rows, const float *x,
                    ptrdiff_t x_row, float *y, ptrdiff_t y_row)
{
    size_t begin, end;
    while (rapt__team_part(c->team, (size_t)rows, 1, &begin, &end))
        for (ptrdiff_t r = (ptrdiff_t)begin; r < (ptrdiff_t)end; r++)
            c->kernels->add(y + r * y_row, x + r * x_row, (size_t)width);
    rapt__team_barrier(c->team);
}

/* ---- norms ---- */

/* Norms of queries and keys, head by head (Henry et al. 2020; Dehghani et al. 2023): RMSNorm (Zhang
   and Sennrich 2019) with a gain that all heads share:

   y = gain x / sqrt(mean(x^2) + epsilon)

   The gradient of the gain is a sum over rows and heads. As in norm.c, each chunk of rows has its
   own sums, which are then added in order. */

enum { CHUNK_ROWS = 64 };

void rapt__head_norm_one(const struct exec_context *c, const struct head_norm *n, int rows,
                         size_t row, size_t head, float *x, float *raw, float *inverse)
{
    size_t width = (size_t)n->width, at = row * (size_t)n->row + head * width;
    float mean, by;
    if (raw) memcpy(raw + at, x + at, width * sizeof *x);
    c->kernels->norm_row(x + at, n->gain, NULL, n->epsilon, n->width, x + at, &mean, &by);
    if (inverse) inverse[head * (size_t)rows + row] = by;
}

void rapt__head_norm_forward(const struct exec_context *c, const struct head_norm *n, int rows,
                             float *x, float *raw, float *inverse)
{
    size_t begin, end;
    while (rapt__team_part(c->team, (size_t)rows, 1, &begin, &end))
        for (size_t r = begin; r < end; r++)
            for (size_t h = 0; h < (size_t)n->heads; h++)
                rapt__head_norm_one(c, n, rows, r, h, x, raw, inverse);
    rapt__team_barrier(c->team);
}

static size_t chunks_of(int rows)
{
    return rapt__ceil_div_size((size_t)rows, CHUNK_ROWS);
}

size_t rapt__head_norm_partial(int rows, int width)
{
    return chunks_of(rows) * 2 * (size_t)width;
}

/* Computes the gradients for the rows of one chunk. The first row of sums [2][width] receives the
   gradient of the gain. The second row holds zeros, which norm_row_backward takes as `from`, so
   that it overwrites d. */
static void backward_chunk(const struct exec_context *c, const struct head_norm *n, int all_rows,
                           const float *raw, const float *inverse, int first, int rows, float *d,
                           float *sums)
{
    static const float mean[CHUNK_ROWS];
    float *zeros = sums + n->width;
    memset(sums, 0, 2 * (size_t)n->width * sizeof *sums);
    for (int h = 0; h < n->heads; h++) {
        ptrdiff_t at = first * n->row + (ptrdiff_t)h * n->width;
        const float *by = inverse + (ptrdiff_t)h * all_rows + first;
        c->kernels->norm_columns(raw + at, d + at, n->row, mean, by, rows, n->width, sums, NULL);
        for (int r = 0; r < rows; r++, at += n->row)
            c->kernels->norm_row_backward(raw + at, n->gain, false, 0, by[r], d + at, zeros,
                                          n->width, d + at);
    }
}

void rapt__head_norm_backward(const struct exec_context *c, const struct head_norm *n, int rows,
                              const float *raw, const float *inverse, float *d, float *dgain,
                              float *partial)
{
    size_t chunks = chunks_of(rows), width = (size_t)n->width, begin, end;
    for (size_t i; (i = (size_t)rapt__team_take(c->team)) < chunks;) {
        int first = (int)i * CHUNK_ROWS;
        backward_chunk(c, n, rows, raw, inverse, first, rapt__min(rows - first, CHUNK_ROWS), d,
                       partial + i * 2 * width);
    }
    rapt__team_barrier(c->team);
    while (rapt__team_part(c->team, width, WIDE, &begin, &end))
        for (size_t i = 0; i < chunks; i++)
            c->kernels->add(dgain + begin, partial + i * 2 * width + begin, end - begin);
    rapt__team_barrier(c->team);
}

/* ---- unit heads ---- */

/* Divides the heads of queries and keys by their L2 norms, for the delta rule (Yang et al. 2024,
   arXiv 2406.06484, section 3.3):

       y = x / sqrt(sum of x^2 + epsilon)     dx = (dy - y (y . dy)) / sqrt(sum of x^2 + epsilon) */

void rapt__unit_heads_forward(const struct exec_context *c, const struct unit_heads *n, int rows,
                              float *x, float *inverse)
{
    size_t begin, end, heads = (size_t)n->heads;
    while (rapt__team_part(c->team, (size_t)rows, 1, &begin, &end))
        for (size_t i = begin * heads; i < end * heads; i++) {
            float *head = x + (ptrdiff_t)(i / heads) * n->row + (ptrdiff_t)(i % heads) * n->width;
            float by = 1 / sqrtf(c->kernels->dot(head, head, n->width) + n->epsilon);
            for (int j = 0; j < n->width; j++) head[j] *= by;
            if (inverse) inverse[i] = by;
        }
    rapt__team_barrier(c->team);
}

void rapt__unit_heads_backward(const struct exec_context *c, const struct unit_heads *n, int rows,
                               const float *y, const float *inverse, float *d)
{
    size_t begin, end, heads = (size_t)n->heads;
    while (rapt__team_part(c->team, (size_t)rows, 1, &begin, &end))
        for (size_t i = begin * heads; i < end * heads; i++) {
            ptrdiff_t at = (ptrdiff_t)(i / heads) * n->row + (ptrdiff_t)(i % heads) * n->width;
            float along = c->kernels->dot(y + at, d + at, n->width);
            for (int j = 0; j < n->width; j++)
                d[at + j] = inverse[i] * (d[at + j] - along * y[at + j]);
        }
    rapt__team_barrier(c->team);
}

/* ---- differences: heads that subtract one attention output from another (Ye et al. 2024):

       y = (1 - a) norm(m1 - lambda m2),   lambda = exp(x0 . x1) - exp(x2 . x3) + a

   m1 and m2 are the outputs of a head's two attention operations, which read the same values. norm
   is the RMSNorm of a head (see norms). x0 to x3 are learned vectors, and a is the constant
   `initial`. All heads share lambda and the gains of the norm. The gradient of lambda is summed
   over the heads of each row, and the sums of the rows are then added in order. ---- */

/* Computes the two exponentials in lambda. */
static void lambda_terms(const struct difference *d, double *first, double *second)
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
    lambda_terms(d, &first, &second);
    return (float)(first - second + (double)d->initial);
}

static struct head_norm difference_norm(const struct difference *d)
{
    return (struct head_norm){.gain = d->gain,
                              .heads = d->heads,
                              .width = d->width,
                              .row = (ptrdiff_t)d->heads * d->width,
                              .epsilon = d->epsilon};
}

/* Returns the offset in `maps` of a head's first attention output, and sets *second to the offset
   of its second. Heads are numbered across all rows. */
static size_t difference_maps(const struct difference *d, size_t head, size_t *second)
{
    size_t group = (size_t)d->group, width = (size_t)d->width;
    size_t first = (head / group * 2 * group + head % group) * width;
    *second = first + group * width;
    return first;
}

/* Multiplies all elements of the rows by 1 - a. */
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
    const struct head_norm norm = difference_norm(d);
    const float lambda = rapt__difference_lambda(d);
    size_t begin, end, heads = (size_t)d->heads, width = (size_t)d->width;
    while (rapt__team_part(c->team, (size_t)rows, 1, &begin, &end))
        for (size_t h = begin * heads; h < end * heads; h++) {
            float *to = y + h * width;
            size_t second, first = difference_maps(d, h, &second);
            for (size_t i = 0; i < width; i++) to[i] = maps[first + i] - lambda * maps[second + i];
            rapt__head_norm_one(c, &norm, rows, h / heads, h % heads, y, raw, inverse);
            for (size_t i = 0; i < width; i++) to[i] *= 1 - d->initial;
        }
    rapt__team_barrier(c->team);
}

/* Adds the gradients of the learned vectors to dvectors, given the gradient of lambda. */
static void lambda_backward(const struct difference *d, double dlambda, float *dvectors)
{
    int half = d->width / 2;
    double terms[2];
    lambda_terms(d, &terms[0], &terms[1]);
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
    const struct head_norm norm = difference_norm(d);
    const float lambda = rapt__difference_lambda(d);
    size_t begin, end, width = (size_t)d->width;
    scale_rows(c, d, rows, dy);
    rapt__head_norm_backward(c, &norm, rows, raw, inverse, dy, dgain, partial);
    while (rapt__team_part(c->team, (size_t)rows, 1, &begin, &end))
        for (size_t r = begin; r < end; r++) {
            dlambda[r] = 0;
            for (size_t h = r * (size_t)d->heads; h < (r + 1) * (size_t)d->heads; h++) {
                const float *g = dy + h * width;
                size_t second, first = difference_maps(d, h, &second);
                for (size_t i = 0; i < width; i++)
                    dmaps[first + i] = g[i], dmaps[second + i] = -lambda * g[i];
                dlambda[r] -= c->kernels->dot(g, maps + second, d->width);
            }
        }
    rapt__team_barrier(c->team);
    if (c->team->rank == 0) {
        double sum = 0;
        for (int r = 0; r < rows; r++) sum += (double)dlambda[r];
        lambda_backward(d, sum, dvectors);
    }
    rapt__team_barrier(c->team);
}
