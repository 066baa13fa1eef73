/* bias.c - relative biases: from slopes or a table to one row per head with an element for every
   distance s - position of a key s from the position of the query, and their gradients back.

       -slope |s - position|            Press, Smith and Lewis 2022 (ALiBi)
       table[bucket(s - position)]      Raffel et al. 2020 (T5), section 2.1

   Half of the buckets are for one distance each; the others grow logarithmically up to `distance`,
   from where on all share the last. With buckets in both directions the upper half is for keys
   after the position; without, all of those are in bucket 0. */
#include "attention/problem.h"

#include <stdlib.h>

bool rapt__relative_wanted(const rapt_attention *a)
{
    return a->relative.slopes || a->relative.table;
}

int rapt__relative_bucket(const rapt_relative *r, int distance)
{
    int buckets = r->bidirectional ? r->buckets / 2 : r->buckets, exact = buckets / 2;
    int first = r->bidirectional && distance > 0 ? buckets : 0;
    int far = r->bidirectional ? abs(distance) : distance < 0 ? -distance : 0;
    if (far < exact) return first + far;
    if (far >= r->distance) return first + buckets - 1;
    double share = rapt__log((double)far / exact) / rapt__log((double)r->distance / exact);
    int bucket = exact + (int)(share * (buckets - exact) + 1e-9);
    return first + rapt__min(bucket, buckets - 1);
}

void rapt__relative_fill(struct team *team, const rapt_attention *a, int row, int zero, float *to)
{
    const rapt_relative *r = &a->relative;
    for (int h; (h = rapt__team_take(team)) < a->heads;) {
        float *x = to + (size_t)h * (size_t)row;
        for (int i = 0; i < row; i++) {
            x[i] = r->slopes ? -r->slopes[h] * (float)abs(i - zero) : 0;
            if (r->table)
                x[i] += r->table[(ptrdiff_t)h * r->buckets + rapt__relative_bucket(r, i - zero)];
        }
    }
    rapt__team_barrier(team);
}

/* s - position of the first of a sequence's sums, negative or 0. */
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

void rapt__relative_backward(struct team *team, const rapt_attention *a, int row, int zero,
                             const float *dy, const rapt_gradients *d)
{
    const rapt_relative *r = &a->relative;
    for (int h; (h = rapt__team_take(team)) < a->heads;) {
        const float *x = dy + (size_t)h * (size_t)row;
        double slope = 0;
        for (int i = 0; i < row; i++) {
            slope -= (double)x[i] * abs(i - zero);
            if (d->table)
                d->table[(ptrdiff_t)h * r->buckets + rapt__relative_bucket(r, i - zero)] += x[i];
        }
        if (d->slopes) d->slopes[h] += (float)slope;
    }
    rapt__team_barrier(team);
}
