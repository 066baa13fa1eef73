/* distances.c - sizes of the arrays that vectors for distances need, and their values. The products
   are in score/distances.c. */
#include "attention/projected.h"

int rapt__distance_count(const rapt_attention *a)
{
    const rapt_distances *d = &a->distances;
    return d->keys || d->queries || d->values ? d->before + 1 + d->after : 0;
}

bool rapt__distances_wanted(const rapt_attention *a)
{
    return a->distances.keys || a->distances.queries;
}

size_t rapt__distance_row(const rapt_attention *a)
{
    return (size_t)rapt__distance_count(a) + 2 * LANES;
}

size_t rapt__distance_panel(const rapt_attention *a)
{
    return ((size_t)rapt__distance_count(a) + LANES - 1) * LANES;
}

const float *rapt__distance_values(const rapt_attention *a, int h, ptrdiff_t *row)
{
    const float *x = a->distances.values;
    *row = (ptrdiff_t)(a->distances.shared ? 1 : a->heads) * a->value_width;
    return x && !a->distances.shared ? x + (ptrdiff_t)h * a->value_width : x;
}
