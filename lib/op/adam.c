/* adam.c - Adam for whole blocks of parameters: the sum of squared gradients (for clipping), the
   range of the results of a step, the step itself (kernel/adam.c), and filling, copying and adding.
   The sum is computed in chunks, whose sums are added in order in double precision. */
#include "op/op.h"

#include <math.h>
#include <string.h>

enum { CHUNK = 4096 };

size_t rapt__square_partial(size_t n)
{
    return rapt__ceil_div_size(n, CHUNK);
}

void rapt__square_sum(const struct exec_context *c, const float *x, size_t n, double *partial,
                      double *sum)
{
    size_t chunks = rapt__square_partial(n), begin, end;
    while (rapt__team_part(c->team, chunks, 1, &begin, &end))
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

static double larger(double max, const float *x, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        double magnitude = fabs((double)x[i]);
        if (!(magnitude <= max)) max = isfinite(magnitude) ? magnitude : (double)INFINITY;
    }
    return max;
}

/* Extends *range by the results for n <= TRIAL elements, which the kernel computes on copies. */
enum { TRIAL = 512 };
static void try_step(const struct exec_context *c, const struct adam *a, const float *p,
                     const float *g, const float *m, const float *v, size_t n,
                     struct adam_range *range)
{
    float new_p[TRIAL], new_m[TRIAL], new_v[TRIAL];
    memcpy(new_p, p, n * sizeof *p);
    memcpy(new_m, m, n * sizeof *m);
    memcpy(new_v, v, n * sizeof *v);
    c->kernels->adam_span(a, new_p, g, new_m, new_v, n);
    range->parameter = larger(range->parameter, new_p, n);
    range->moment = larger(range->moment, new_m, n);
    if (!isfinite(larger(0, new_v, n))) range->moment = (double)INFINITY;
}

void rapt__adam_range(const struct exec_context *c, const struct adam *a, const float *p,
                      const float *g, const float *m, const float *v, size_t n, double *partial,
                      struct adam_range *range)
{
    size_t chunks = rapt__square_partial(n), begin, end;
    while (rapt__team_part(c->team, chunks, 1, &begin, &end))
        for (size_t i = begin; i < end; i++) {
            struct adam_range own = {0, 0};
            size_t to = rapt__min_size(n, (i + 1) * CHUNK);
            for (size_t at = i * CHUNK; at < to; at += TRIAL)
                try_step(c, a, p + at, g + at, m + at, v + at, rapt__min_size(to - at, TRIAL),
                         &own);
            partial[2 * i] = own.parameter, partial[2 * i + 1] = own.moment;
        }
    rapt__team_barrier(c->team);
    if (c->team->rank == 0) {
        *range = (struct adam_range){0, 0};
        for (size_t i = 0; i < chunks; i++) {
            range->parameter = fmax(range->parameter, partial[2 * i]);
            range->moment = fmax(range->moment, partial[2 * i + 1]);
        }
    }
    rapt__team_barrier(c->team);
}

void rapt__adam(const struct exec_context *c, const struct adam *a, float *p, const float *g,
                float *m, float *v, size_t n)
{
    size_t begin, end;
    while (rapt__team_part(c->team, n, LANES, &begin, &end))
        c->kernels->adam_span(a, p + begin, g + begin, m + begin, v + begin, end - begin);
    rapt__team_barrier(c->team);
}

void rapt__copy(const struct exec_context *c, const float *x, size_t n, float *y)
{
    size_t begin, end;
    while (rapt__team_part(c->team, n, LANES, &begin, &end))
        if (end > begin) memcpy(y + begin, x + begin, (end - begin) * sizeof *y);
    rapt__team_barrier(c->team);
}

void rapt__add(const struct exec_context *c, const float *x, size_t n, float *y)
{
    size_t begin, end;
    while (rapt__team_part(c->team, n, LANES, &begin, &end))
        c->kernels->add(y + begin, x + begin, end - begin);
    rapt__team_barrier(c->team);
}

void rapt__fill(const struct exec_context *c, float *x, size_t n, float value)
{
    size_t begin, end;
    while (rapt__team_part(c->team, n, LANES, &begin, &end))
        for (size_t i = begin; i < end; i++) x[i] = value;
    rapt__team_barrier(c->team);
}
