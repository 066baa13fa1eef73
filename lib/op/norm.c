/* norm.c - residual sums, dropout and normalization. */
#include "op/op.h"

#include <string.h>

/* ---- norm ---- */

/* Dropout, residual sum and normalization (layer norm or RMSNorm), row by row:

       sum = x + dropout(y),  out = (sum - mean) inverse gain + bias

   Ba, Kiros and Hinton 2016, "Layer normalization"; the order of the three operations follows
   Vaswani et al. 2017, section 5.4. The gradients of gain and bias are sums over rows: each chunk
   of rows has its own sums, which are then added in order. */

enum { CHUNK_ROWS = 64 };

static void residual_row(const struct exec_context *c, const struct dropout *d, size_t r,
                         const float *x, const float *y, size_t width, float *sum)
{
    if (d && d->below) {
        c->kernels->dropout_row(d, r, y, x, sum, (int)width);
        return;
    }
    const float *other = sum == y ? x : y;
    if (sum != x && sum != y) memcpy(sum, x, width * sizeof *sum);
    c->kernels->add(sum, other, width);
}

void rapt__residual_norm_forward(const struct exec_context *c, const struct norm *n,
                                 const struct dropout *d, const float *x, const float *y, int rows,
                                 int width, float *sum, float *out, const struct norm_saved *saved)
{
    size_t begin, end, row = (size_t)width;
    while (rapt__team_part(c->team, (size_t)rows, 1, &begin, &end))
        for (size_t r = begin; r < end; r++) {
            const float *from = y ? sum + r * row : x + r * row;
            float mean, inverse;
            if (y) residual_row(c, d, r, x + r * row, y + r * row, row, sum + r * row);
            if (!n) continue;
            c->kernels->norm_row(from, n->gain, n->bias, n->epsilon, width, out + r * row, &mean,
                                 &inverse);
            if (!saved) continue;
            saved->mean[r] = mean;
            saved->inverse[r] = inverse;
        }
    rapt__team_barrier(c->team);
}

/* The workspace of a chunk. */
struct partial {
    float *dgain, *dbias, *zero; /* [width] each */
};

static size_t chunks_of(int rows)
{
    return rapt__ceil_div_size((size_t)rows, CHUNK_ROWS);
}

static struct partial partial_at(float *partial, size_t chunk, size_t width)
{
    float *p = partial + chunk * 3 * width;
    return (struct partial){p, p + width, p + 2 * width};
}

size_t rapt__norm_partial(int rows, int width)
{
    return chunks_of(rows) * 3 * (size_t)width;
}

/* Computes the gradients for the rows of one chunk. Those of gain and bias come first, because dx
   may overwrite dy. */
static void backward_chunk(const struct exec_context *c, const struct norm *n,
                           const struct norm_saved *saved, const float *x, const float *dy,
                           const float *from, size_t first, int rows, float *dx,
                           const struct partial *p)
{
    size_t width = (size_t)n->width, at = first * width;
    memset(p->dgain, 0, 3 * width * sizeof *p->dgain);
    c->kernels->norm_columns(x + at, dy + at, n->width, saved->mean + first, saved->inverse + first,
                             rows, n->width, p->dgain, n->bias ? p->dbias : NULL);
    for (size_t r = first; r < first + (size_t)rows; r++, at += width)
        c->kernels->norm_row_backward(x + at, n->gain, n->bias != NULL, saved->mean[r],
                                      saved->inverse[r], dy + at, from ? from + at : p->zero,
                                      n->width, dx + at);
}

void rapt__norm_backward(const struct exec_context *c, const struct norm *n,
                         const struct norm_saved *saved, const float *x, const float *dy,
                         const float *from, int rows, float *dx, float *dgain, float *dbias,
                         float *partial)
{
    size_t chunks = chunks_of(rows), width = (size_t)n->width, begin, end;
    for (size_t i; (i = (size_t)rapt__team_take(c->team)) < chunks;) {
        int first = (int)i * CHUNK_ROWS, left = rows - first;
        struct partial p = partial_at(partial, i, width);
        backward_chunk(c, n, saved, x, dy, from, (size_t)first, rapt__min(left, CHUNK_ROWS), dx,
                       &p);
    }
    rapt__team_barrier(c->team);
    while (rapt__team_part(c->team, width, WIDE, &begin, &end))
        for (size_t i = 0; i < chunks; i++) {
            struct partial p = partial_at(partial, i, width);
            c->kernels->add(dgain + begin, p.dgain + begin, end - begin);
            if (n->bias) c->kernels->add(dbias + begin, p.dbias + begin, end - begin);
        }
    rapt__team_barrier(c->team);
}

/* ---- dropout: sets some elements to 0 and scales up the rest (Srivastava et al. 2014, "Dropout").
   Which elements are dropped depends only on key, row and column (kernel/random.c), so the
   backward pass applies the same function to the gradient. ---- */

struct dropout rapt__dropout(float share, uint64_t key)
{
    double s = (double)share;
    return (struct dropout){.key = key,
                            .below = (uint32_t)(s * 4294967296.0),
                            .scale = s > 0 ? (float)(1 / (1 - s)) : 1};
}

void rapt__dropout_rows(const struct exec_context *c, const struct dropout *d, const float *x,
                        int rows, int width, float *y)
{
    size_t begin, end;
    while (rapt__team_part(c->team, (size_t)rows, 1, &begin, &end))
        for (size_t r = begin; r < end; r++) {
            const float *from = x + r * (size_t)width;
            float *to = y + r * (size_t)width;
            if (d && d->below)
                c->kernels->dropout_row(d, r, from, NULL, to, width);
            else if (to != from)
                memcpy(to, from, (size_t)width * sizeof *to);
        }
    rapt__team_barrier(c->team);
}
