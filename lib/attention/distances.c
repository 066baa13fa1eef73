/* distances.c - ranges and buckets of distances, the sizes of the arrays that distance vectors
   need, pointers to the vectors that are added to values, and checks. Products with the vectors are
   computed in score/distances.c and score/distance_values.c. */
#include "attention/projected.h"

#include <limits.h>
#include <math.h>

enum { MAX_DISTANCES = 1 << 16 };

int rapt__distance_count(const rapt_attention *a)
{
    const rapt_distances *d = &a->distances;
    return d->keys || d->queries || d->values ? d->before + 1 + d->after : 0;
}

int rapt__distance_vectors(const rapt_attention *a)
{
    return a->distances.buckets ? a->distances.bucket_count : rapt__distance_count(a);
}

bool rapt__distances_wanted(const rapt_attention *a)
{
    return a->distances.keys || a->distances.queries;
}

size_t rapt__distance_row(const rapt_attention *a)
{
    size_t products = a->distances.buckets ? (size_t)rapt__distance_vectors(a) : 0;
    return (size_t)rapt__distance_count(a) + 2 * LANES + products;
}

float *rapt__distance_by_vector(const rapt_attention *a, float *row)
{
    return row + LANES + (a->distances.buckets ? rapt__distance_count(a) + LANES : 0);
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

/* Checks the buckets; d->before and d->after must already have been checked. */
static rapt_status check_buckets(const rapt_distances *d, rapt_message *why)
{
    int n = d->before + 1 + d->after;
    if (!d->buckets && d->bucket_count)
        return rapt__fail(why, RAPT_BAD_ARGUMENT,
                          "distances.bucket_count is %d; it must be 0 if distances.buckets is NULL",
                          d->bucket_count);
    if (d->buckets && (d->bucket_count < 1 || d->bucket_count > n))
        return rapt__fail(why, RAPT_BAD_ARGUMENT,
                          "distances.bucket_count is %d; it must be 1 to %d, the number of "
                          "distances",
                          d->bucket_count, n);
    for (int i = 0; d->buckets && i < n; i++)
        if (d->buckets[i] < 0 || d->buckets[i] >= d->bucket_count)
            return rapt__fail(why, RAPT_BAD_ARGUMENT,
                              "distances.buckets[%d] is %d; it must be 0 or more, and less than "
                              "distances.bucket_count",
                              i, d->buckets[i]);
    return RAPT_OK;
}

rapt_status rapt__distances_check(const rapt_distances *d, rapt_message *why)
{
    if (d->before < 0 || d->before >= MAX_DISTANCES)
        return rapt__fail(why, RAPT_BAD_ARGUMENT, "distances.before is %d; it must be 0 to 65535",
                          d->before);
    if (d->after < 0 || d->after >= MAX_DISTANCES - d->before)
        return rapt__fail(why, RAPT_BAD_ARGUMENT,
                          "distances.after is %d; it must be 0 or more, and less than 65536 - "
                          "distances.before",
                          d->after);
    return check_buckets(d, why);
}

/* ---- logarithmic buckets ---- */

/* Returns the bucket of a distance d >= 0, or INT_MAX if the bucket would be too large. */
static int log_bucket(int d, int half, int distance)
{
    if (d <= half) return d;
    double share = rapt__log((double)d / half) / rapt__log((double)distance / half);
    double above = ceil(share * (half - 1) -
                        1e-9); /* ceil must not turn a rounding error into the next integer */
    return above < INT_MAX - half ? half + (int)above : INT_MAX;
}

int rapt_distance_buckets(int before, int after, int buckets, int distance, int *to)
{
    int half = buckets / 2;
    if (before < 0 || before >= MAX_DISTANCES || after < 0 || after >= MAX_DISTANCES - before)
        return 0;
    if (buckets < 4 || buckets % 2 || distance <= half || !to) return 0;
    int first = log_bucket(before, half, distance), last = log_bucket(after, half, distance);
    if (first == INT_MAX || last >= INT_MAX - first) return 0;
    for (int d = -before; d <= after; d++)
        *to++ =
            d < 0 ? first - log_bucket(-d, half, distance) : first + log_bucket(d, half, distance);
    return first + 1 + last;
}
