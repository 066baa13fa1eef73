/* activation.c - the gradient of an activation, elementwise: dx = dy activation'(x). The forward
   pass is part of the linear layer (linear.c), which applies the activation while y is in the
   cache.

   A gate multiplies the activation of the first half of each row by the second half (Shazeer 2020,
   equation 6). */
#include "op/op.h"

void rapt__activate_backward(const struct exec_context *c, enum activation kind, const float *x,
                             const float *dy, float *dx, size_t n)
{
    size_t begin, end;
    while (rapt__team_part(c->team, n, LANES, &begin, &end))
        c->kernels->activate_backward(kind, x + begin, dy + begin, dx + begin, end - begin);
    rapt__team_barrier(c->team);
}

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
