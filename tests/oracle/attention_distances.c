/* attention_distances.c - distance vectors between queries and keys, from the papers:

     Shaw et al. 2018, eqs. 3 and 4     e[i][j] = x[i] W_Q (x[j] W_K + a_K[i][j])' / sqrt(d_z)
                                        z[i] = sum of alpha[i][j] (x[j] W_V + a_V[i][j]),
                                        a[i][j] = w[clip(j - i)]
     Dai et al. 2019, section 3.3       q.k + q.r[i - j] + u.k + v.r[i - j]
     He et al. 2021, eqs. 2 to 4        q.k + q.K_r[delta(i, j)] + k.Q_r[delta(j, i)]

   With buckets, the rows of the arrays are given for each distance. oracle_log_bucket is written
   from make_log_bucket_position of DeBERTa v2, which He et al. 2023 (2111.09543) use:

     |d| <= m: d       otherwise: sign(d) (m + ceil(log(|d| / m) / log((M - 1) / m) (m - 1)))

   where m is half of position_buckets, and M is max_relative_positions.

   delta(i, j) counts i - j, the opposite of Shaw et al.'s distance, and Q_r belongs to the query
   that sees key j, so all of them are rows for the same number: j - i limited to a range. */
#include "attention_axes.h"

#include <math.h>
#include <stdlib.h>

/* Returns the row for a query and key s in an array of vectors of `width` elements. */
static const double *vector_of(const struct oracle_row *r, const double *all, int s, int width)
{
    const rapt_distances *d = &r->a->distances;
    int distance = s - r->position, head = d->shared ? 0 : r->h,
        heads = d->shared ? 1 : r->a->heads;
    if (distance > d->after) distance = d->after;
    if (-distance > d->before) distance = -d->before;
    int row = d->buckets ? d->buckets[distance + d->before] : distance + d->before;
    return all + ((ptrdiff_t)row * heads + head) * width;
}

int oracle_log_bucket(int distance, int buckets, int far)
{
    int m = buckets / 2, size = abs(distance);
    if (size <= m) return distance;
    long double x = logl((long double)size / m) / logl((long double)far / m) * (m - 1);
    long double above = fabsl(x - rintl(x)) < 1e-12L ? rintl(x) : ceill(x);
    return (distance < 0 ? -1 : 1) * (m + (int)above);
}

double oracle_distances(const struct oracle_row *r, int s, double scale, double *size)
{
    const rapt_distances *d = &r->a->distances;
    const struct oracle_inputs *in = r->in;
    int K = r->a->key_width;
    const double *q = oracle_query(r), *k = oracle_key(r, s), *of_key = NULL, *of_query = NULL;
    double sum = 0, terms = 0;
    if (d->keys) of_key = vector_of(r, in->distance_keys, s, K);
    if (d->queries) of_query = vector_of(r, in->distance_queries, s, K);
    for (int i = 0; i < K && of_key; i++) {
        double v = d->position_bias ? in->position_bias[r->h * K + i] : 0;
        sum += (q[i] + v) * of_key[i], terms += (fabs(q[i]) + fabs(v)) * fabs(of_key[i]);
    }
    for (int i = 0; i < K && of_query; i++)
        sum += k[i] * of_query[i], terms += fabs(k[i] * of_query[i]);
    *size += fabs(scale) * terms;
    return scale * sum;
}

double oracle_distance_value(const struct oracle_row *r, int s, int i)
{
    if (!r->a->distances.values) return 0;
    return vector_of(r, r->in->distance_values, s, r->a->value_width)[i];
}
