/* gate.c - multiplies the activation of the first half of each row by the second half, and computes
   the gradients of both (Shazeer 2020, equation 6). */
#include "op/op.h"

void rapt__gate_forward(const struct exec_context *c, enum activation kind, const float *x,
                        int rows, int width, float *y)
{
    size_t begin, end, w = (size_t)width;
    while (rapt__team_part(c->team, (size_t)rows, 1, &begin, &end))
        for (size_t r = begin; r < end; r++)
            c->kernels->gate(kind, x + 2 * r * w, x + (2 * r + 1) * w, y + r * w, w);
    rapt__team_barrier(c->team);
}

void rapt__gate_backward(const struct exec_context *c, enum activation kind, const float *x,
                         const float *dy, int rows, int width, float *dx)
{
    size_t begin, end, w = (size_t)width;
    while (rapt__team_part(c->team, (size_t)rows, 1, &begin, &end))
        for (size_t r = begin; r < end; r++) {
            size_t first = 2 * r * w, second = first + w;
            c->kernels->gate_backward(kind, x + first, x + second, dy + r * w, dx + first,
                                      dx + second, w);
        }
    rapt__team_barrier(c->team);
}
