/* unit_heads.c - divides heads of queries and keys by their lengths (L2 norms), as the delta rule
   requires (Yang et al. 2024, arXiv 2406.06484, section 3.3):

       y = x / sqrt(sum of x^2 + epsilon)     dx = (dy - y (y . dy)) / sqrt(sum of x^2 + epsilon) */
#include "op/op.h"

#include <math.h>

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
