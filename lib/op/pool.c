/* pool.c - reduces the rows of each sequence of a ragged batch to one row, either the first or the
   mean, and computes the gradient. The terms of a mean are added in the order of the rows, in four
   chains. */
#include "op/op.h"

#include <string.h>

enum { CHAINS = 4 };

/* Sets y to the mean of x[rows][width]. Chain i adds rows i, i + 4, ..., so the rounding error
   grows with only a quarter of the rows. */
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
