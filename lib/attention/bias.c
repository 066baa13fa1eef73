/* bias.c - relative biases. Expands slopes, a table, or the sum of both to one row per head, with
   an element for every distance s - position between a key s and a query's position. Also computes
   their gradients.

       -slope |s - position|            Press, Smith and Lewis 2022 (ALiBi)
       table[bucket(s - position)]      Raffel et al. 2020 (T5), section 2.1

   If biases are bidirectional, the upper half of the buckets is for keys after the position, and
   the lower half for all others. Otherwise all buckets are for keys up to the position, and keys
   after it are in bucket 0, like the key at the position. On each side, the first half of the
   buckets hold one distance each. The sizes of the others grow exponentially up to `distance`, and
   the last one also holds all larger distances. */
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
