/* log_sigmoid.c - logarithms of gates:

       y = log sigmoid(z) = min(z, 0) - log(1 + e^-|z|)     dz = dy (1 - sigmoid(z))

   y is finite unless z is not. A row has only a few gates, so they are computed in double. */
#include "op/op.h"

#include <math.h>

static float log_sigmoid(double z)
{
    return (float)((z < 0 ? z : 0) - rapt__log(1 + rapt__exp(-fabs(z))));
}

void rapt__log_sigmoid_forward(const struct exec_context *c, const float *z, size_t n, float *y)
{
    size_t begin, end;
    while (rapt__team_part(c->team, n, LANES, &begin, &end))
        for (size_t i = begin; i < end; i++) y[i] = log_sigmoid((double)z[i]);
    rapt__team_barrier(c->team);
}

void rapt__log_sigmoid_backward(const struct exec_context *c, const float *z, const float *dy,
                                size_t n, float *dz)
{
    size_t begin, end;
    while (rapt__team_part(c->team, n, LANES, &begin, &end))
        for (size_t i = begin; i < end; i++)
            dz[i] = (float)((double)dy[i] / (1 + rapt__exp((double)z[i])));
    rapt__team_barrier(c->team);
}
