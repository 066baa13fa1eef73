/* heads.c - operations on the heads of rows: linear maps, copies, RMSNorm, and division by the L2
   norm; and sums of rows. */
#include "op/op.h"

#include <math.h>
#include <string.h>

/* ---- maps: a linear map for each head, y_h = x_h W_h'. The matrices are parts of one matrix in
   panels. ---- */

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

       y = x / sqrt(mean of x^2 + epsilon) gain

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
   gradient of the gain; the second is set to 0, as the gradient to which norm_row_backward adds. */
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
