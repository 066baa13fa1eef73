/* embed.c - embeddings, positional embeddings and pooling. */
#include "op/op.h"

#include <assert.h>
#include <string.h>

/* ---- embed ---- */

/* Embeddings and their gradients. An embedding is the sum of rows of up to three tables, for the
   token, its type and its position:

       y[r] = scale E[ids[r] % vocab] + T[ids[r] / vocab] + P[position of r],  then dropout
       (with first_is_zero, 0 replaces scale E[...] at position 0)

   Vaswani et al. 2017, "Attention is all you need", sections 3.4 (the scale) and 3.5 (P); Devlin et
   al. 2019 (T). E [vocab][width] is in panels: element j of token t is at (t/16) 16 width + 16 j +
   t%16. The backward pass divides the columns among the threads, so each element of a table is
   updated by one thread, in the order of the rows. */

/* Returns the offset in the table of the first element of a token's row. */
static ptrdiff_t table_row(const struct embedding *e, int32_t token)
{
    return (ptrdiff_t)(token / LANES) * e->table.in * LANES + token % LANES;
}

static int32_t token_of(const struct embedding *e, int32_t id)
{
    assert(id >= 0 && (e->types || id < e->table.out));
    return id % e->table.out;
}

/* Sets y to scale E[token]. */
static void token_row(const struct embedding *e, int32_t token, float *y)
{
    if (e->table.bytes) {
        rapt__int8_floats(&e->table, token, 0, e->table.in, e->scale, y);
        return;
    }
    if (e->table.half) {
        const uint16_t *half = e->table.half + table_row(e, token);
        for (int j = 0; j < e->table.in; j++)
            y[j] = e->scale * half_widen(e->table.type, half[(ptrdiff_t)j * LANES]);
        return;
    }
    const float *from = e->table.weight + table_row(e, token);
    for (int j = 0; j < e->table.in; j++) y[j] = e->scale * from[(ptrdiff_t)j * LANES];
}

static void embed_row(const struct embedding *e, int32_t id, int position, float *y)
{
    const float *at = e->positions ? e->positions + (ptrdiff_t)position * e->table.in : NULL;
    const float *type = e->types ? e->types + (ptrdiff_t)(id / e->table.out) * e->table.in : NULL;
    if (e->first_is_zero && position == 0)
        memset(y, 0, (size_t)e->table.in * sizeof *y);
    else
        token_row(e, token_of(e, id), y);
    for (int j = 0; type && j < e->table.in; j++) y[j] += type[j];
    if (!at) return;
    for (int j = 0; j < e->table.in; j++) y[j] += at[j];
}

void rapt__embed_forward(const struct exec_context *c, const struct embedding *e, int batch,
                         const int32_t *ids, const int *starts, const int *past,
                         const struct dropout *d, float *y)
{
    size_t begin, end;
    while (rapt__team_part(c->team, (size_t)starts[batch], 1, &begin, &end))
        for (int b = 0; b < batch; b++) {
            int first = starts[b] > (int)begin ? starts[b] : (int)begin;
            int last = starts[b + 1] < (int)end ? starts[b + 1] : (int)end;
            for (int r = first; r < last; r++) {
                float *row = y + (ptrdiff_t)r * e->table.in;
                embed_row(e, ids[r], r - starts[b] + (past ? past[b] : 0), row);
                if (d && d->below)
                    c->kernels->dropout_row(d, (uint64_t)r, row, NULL, row, e->table.in);
            }
        }
    rapt__team_barrier(c->team);
}

/* Adds columns [begin, end) of dy, for one sequence, to the gradients of the tables. */
static void scatter(const struct embedding *e, const int32_t *ids, int rows, const float *dy,
                    size_t begin, size_t end, const struct embedding_gradients *to)
{
    size_t width = (size_t)e->table.in;
    for (int r = 0; r < rows; r++, dy += width) {
        float *row = to->table + table_row(e, token_of(e, ids[r]));
        bool zero = e->first_is_zero && r == 0;
        for (size_t j = begin; j < end && !zero; j++) row[j * LANES] += e->scale * dy[j];
        float *type = e->types ? to->types + (size_t)(ids[r] / e->table.out) * width : NULL;
        for (size_t j = begin; type && j < end; j++) type[j] += dy[j];
        float *position = to->positions ? to->positions + (size_t)r * width : NULL;
        for (size_t j = begin; position && j < end; j++) position[j] += dy[j];
    }
}

void rapt__embed_backward(const struct exec_context *c, const struct embedding *e, int batch,
                          const int32_t *ids, const int *starts, const struct dropout *d, float *dy,
                          const struct embedding_gradients *to)
{
    size_t begin, end;
    if (d && d->below) rapt__dropout_rows(c, d, dy, starts[batch], e->table.in, dy);
    while (rapt__team_part(c->team, (size_t)e->table.in, WIDE, &begin, &end))
        for (int b = 0; b < batch; b++)
            scatter(e, ids + starts[b], starts[b + 1] - starts[b],
                    dy + (ptrdiff_t)starts[b] * e->table.in, begin, end, to);
    rapt__team_barrier(c->team);
}

void rapt__positions_add(const struct exec_context *c, const struct positioning *p, int batch,
                         const int *starts, const struct dropout *d, float *y)
{
    size_t begin, end;
    while (rapt__team_part(c->team, (size_t)starts[batch], 1, &begin, &end))
        for (int b = 0; b < batch; b++) {
            int first = rapt__max(starts[b], (int)begin), last = rapt__min(starts[b + 1], (int)end);
            for (int r = first; r < last; r++) {
                float *row = y + (ptrdiff_t)r * p->width;
                ptrdiff_t at = (ptrdiff_t)(r - starts[b]) * p->width;
                if (p->positions) c->kernels->add(row, p->positions + at, (size_t)p->width);
                if (d && d->below)
                    c->kernels->dropout_row(d, (uint64_t)r, row, NULL, row, p->width);
            }
        }
    rapt__team_barrier(c->team);
}

void rapt__positions_backward(const struct exec_context *c, const struct positioning *p, int batch,
                              const int *starts, const struct dropout *d, float *dy,
                              float *dpositions)
{
    size_t begin, end, width = (size_t)p->width;
    if (d && d->below) rapt__dropout_rows(c, d, dy, starts[batch], p->width, dy);
    while (rapt__team_part(c->team, width, WIDE, &begin, &end))
        for (int b = 0; dpositions && begin < end && b < batch; b++)
            for (int r = starts[b]; r < starts[b + 1]; r++)
                c->kernels->add(dpositions + (size_t)(r - starts[b]) * width + begin,
                                dy + (size_t)r * width + begin, end - begin);
    rapt__team_barrier(c->team);
}

/* ---- pool: reduces the rows of each sequence of a ragged batch to one row, either the first or
   the mean, and computes the gradient ---- */

enum { CHAINS = 4 };

/* Sets y to the mean of x[rows][width]. Chain i adds rows i, i + 4, ..., so the rounding error
   grows with a quarter of the number of rows. */
static void mean_of(const float *x, int rows, int width, float *y)
{
    for (int j = 0; j < width; j++) {
        float sum[CHAINS] = {0};
        for (int r = 0; r < rows; r++) sum[r % CHAINS] += x[(ptrdiff_t)r * width + j];
        y[j] = ((sum[0] + sum[1]) + (sum[2] + sum[3])) / (float)rows;
    }
}

void rapt__pool_forward(const struct exec_context *c, const struct pool *p, const float *x,
                        float *y)
{
    size_t begin, end, row = (size_t)p->width;
    while (rapt__team_part(c->team, (size_t)p->batch, 1, &begin, &end))
        for (size_t b = begin; b < end; b++) {
            const float *from = x + (size_t)p->starts[b] * row;
            int rows = p->starts[b + 1] - p->starts[b];
            if (rows == 0)
                memset(y + b * row, 0, row * sizeof *y);
            else if (p->mean)
                mean_of(from, rows, p->width, y + b * row);
            else
                memcpy(y + b * row, from, row * sizeof *y);
        }
    rapt__team_barrier(c->team);
}

void rapt__pool_backward(const struct exec_context *c, const struct pool *p, const float *dy,
                         float *dx)
{
    size_t begin, end, row = (size_t)p->width;
    while (rapt__team_part(c->team, (size_t)p->batch, 1, &begin, &end))
        for (size_t b = begin; b < end; b++) {
            int first = p->starts[b], rows = p->starts[b + 1] - first;
            float share = p->mean ? 1 / (float)rapt__max(rows, 1) : 1;
            for (int r = 0; r < rows; r++) {
                float *to = dx + (size_t)(first + r) * row;
                if (!p->mean && r > 0) share = 0;
                for (size_t j = 0; j < row; j++) to[j] = share > 0 ? share * dy[b * row + j] : 0;
            }
        }
    rapt__team_barrier(c->team);
}
