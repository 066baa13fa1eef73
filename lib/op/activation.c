/* activation.c - the gradient of an activation, elementwise: dx = dy activation'(x). Forward is
   part of the linear layer (linear.c), which applies the activation while y is in the cache. */
#include "op/op.h"

void rapt__activate_backward(const struct exec_context *c, enum activation kind, const float *x,
                             const float *dy, float *dx, size_t n)
{
    size_t begin, end;
    while (rapt__team_part(c->team, n, LANES, &begin, &end))
        c->kernels->activate_backward(kind, x + begin, dy + begin, dx + begin, end - begin);
    rapt__team_barrier(c->team);
}
