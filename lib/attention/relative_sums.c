/* relative_sums.c - sums gradients of relative biases per head and sequence, and then over the
   sequences in order. */
#include "attention/projected.h"

float *rapt__relative_sums_layout(struct arena *arena, const struct bounds *b)
{
    if (!rapt__relative_wanted(b->a)) return NULL;
    return rapt__arena_floats(arena, b->heads, b->query_rows + b->key_rows);
}

/* Returns the distance s - position of the first sum of a sequence, which is negative or 0. */
static int sums_first(const rapt_attention *a, const struct sequence *b)
{
    bool left = a->mask.causal_alignment == RAPT_CAUSAL_ALIGNMENT_UPPER_LEFT;
    return 1 - (left ? b->queries : b->existing);
}

float *rapt__relative_sums(const rapt_attention *a, float *all, const struct sequence *b, int h)
{
    size_t rows = (size_t)rapt__query_rows(a) + (size_t)rapt__key_rows(a);
    return all ? all + (size_t)h * rows + (size_t)b->query_first + (size_t)b->key_first : NULL;
}

float *rapt__relative_sums_row(const rapt_attention *a, float *all, const struct sequence *b, int h,
                               int t)
{
    ptrdiff_t before = sums_first(a, b) + (ptrdiff_t)rapt__query_position(a, b, t);
    return all ? rapt__relative_sums(a, all, b, h) - before : NULL;
}

void rapt__relative_sums_add(struct team *team, const rapt_attention *a, float *all, int row,
                             int zero, float *to)
{
    for (int h; (h = rapt__team_take(team)) < a->heads;)
        for (int i = 0; i < a->batch; i++) {
            struct sequence b = rapt__sequence(a, i);
            float *sum = to + (size_t)h * (size_t)row + zero + sums_first(a, &b);
            if (b.queries > 0 && b.existing > 0)
                rapt__kernels()->add(sum, rapt__relative_sums(a, all, &b, h),
                                     (size_t)(b.queries + b.existing - 1));
        }
    rapt__team_barrier(team);
}
