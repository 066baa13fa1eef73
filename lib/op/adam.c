/* adam.c - Adam for whole blocks of parameters: the square sum of gradients
   (for clipping), the step (kernel/adam.c), and filling and adding, all elementwise but the sum,
   which is taken over chunks and folded in their order, in double. */
#include "op/op.h"

enum { CHUNK = 4096 };

size_t rapt__square_partial(size_t n)
{
    return rapt__ceil_div_size(n, CHUNK);
}

void rapt__square_sum(const struct exec_context *c, const float *x, size_t n, double *partial,
                      double *sum)
{
    size_t chunks = rapt__square_partial(n), begin, end;
    rapt__team_share(c->team, chunks, 1, &begin, &end);
    for (size_t i = begin; i < end; i++) {
        size_t left = n - i * CHUNK;
        partial[i] = (double)c->kernels->square_sum(x + i * CHUNK, rapt__min_size(left, CHUNK));
    }
    rapt__team_barrier(c->team);
    if (c->team->rank == 0) {
        *sum = 0;
        for (size_t i = 0; i < chunks; i++) *sum += partial[i];
    }
    rapt__team_barrier(c->team);
}

void rapt__adam(const struct exec_context *c, const struct adam *a, float *p, const float *g,
                float *m, float *v, size_t n)
{
    size_t begin, end;
    rapt__team_share(c->team, n, LANES, &begin, &end);
    c->kernels->adam_span(a, p + begin, g + begin, m + begin, v + begin, end - begin);
    rapt__team_barrier(c->team);
}

void rapt__fill(const struct exec_context *c, float *x, size_t n, float value)
{
    size_t begin, end;
    rapt__team_share(c->team, n, LANES, &begin, &end);
    for (size_t i = begin; i < end; i++) x[i] = value;
    rapt__team_barrier(c->team);
}
