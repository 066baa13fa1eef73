/* flash_distances.c - terms that depend on the distance between a key and a query and are added to
   scores or to gradients of weights, the gradients of these terms, and sums of weights by distance.
   Sixteen adjacent keys have sixteen adjacent distances, and the arrays of struct distances repeat
   the terms of the extreme distances, so one load reads all sixteen. */
#include "kernel/flash.h"

static int limited(ptrdiff_t x, int min, int max)
{
    return x < min ? min : x > max ? max : (int)x;
}

static bool has_distances(const struct distances *x)
{
    return x->by_query || x->by_key;
}

/* These functions return the index of the terms for the sixteen keys starting at `key`, a multiple
   of 16. */
static ptrdiff_t query_distances(const struct distances *x, int key)
{
    return limited((ptrdiff_t)key - x->position, -x->before - (LANES - 1), x->after);
}
static ptrdiff_t key_distances(const struct distances *x, int key)
{
    int last = x->before + LANES - 1, e = limited((ptrdiff_t)x->position - key, -x->after, last);
    return ((ptrdiff_t)(key / LANES) * (x->after + last + 1) + x->after + e) * LANES;
}

/* Returns `added`, the result of added_to_scores, plus the terms of the sixteen keys starting at
   `key`. */
static vf add_distances(const struct distances *x, int key, vf added)
{
    vf min = vf_splat(-INFINITY), sum = vf_zero();
    if (x->by_query) sum = vf_load(x->by_query + query_distances(x, key));
    if (x->by_key) sum = vf_add(sum, vf_load(x->by_key + key_distances(x, key)));
    return vf_select(vf_equal(added, min), min, vf_add(added, sum));
}

/* Adds the ds of the sixteen keys starting at `key` to the gradients of their terms. */
static void add_distance_gradients(const struct distances *x, int key, vf ds)
{
    float *to = x->dby_query;
    if (to) to += query_distances(x, key), vf_store(to, vf_add(vf_load(to), ds));
    to = x->dby_key;
    if (to) to += key_distances(x, key), vf_store(to, vf_add(vf_load(to), ds));
}

/* Returns dp, the gradients of the weights of the sixteen keys starting at `key`, plus the terms in
   by_dout. */
static vf add_dout_distances(const struct distances *x, int key, vf dp)
{
    return vf_add(dp, vf_load(x->by_dout + query_distances(x, key)));
}

/* Adds the weights of the sixteen keys starting at `key` to the sums by distance. */
static void add_distance_weights(const struct distances *x, int key, vf w)
{
    float *to = x->weights + query_distances(x, key);
    vf_store(to, vf_add(vf_load(to), w));
}

/* Multiplies all sums in x->weights by a factor. */
static void scale_distance_weights(const struct distances *x, float factor)
{
    float *sums = x->weights - x->before - LANES;
    size_t n = (size_t)x->before + (size_t)x->after + 1 + 2 * LANES;
    for (size_t i = 0; i < n; i += LANES)
        vf_store_partial(sums + i, vf_mul(vf_load_partial(sums + i, n - i, 0), vf_splat(factor)),
                         n - i);
}
