/* dropout.c - applies dropout to the rows of x: sets some elements to 0 and scales up the rest
   (Srivastava et al. 2014, "Dropout"). Which elements are dropped depends only on key, row and
   column (kernel/dropout.c), so backward applies the same function to the gradient. */
#include "op/op.h"

#include <string.h>

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
