/* flash_head_scores.c - finds the keys that are visible to the queries of a head, computes their
   scores, and applies the cap, biases and masks, with queries in the lanes of vectors. It also sums
   weights by distance, sums the gradients of biases, and adds the terms that depend on distance to
   the gradients of weights. Used by flash_head.c and flash_head_backward.c. */
#include "kernel/flash.h"

#include <math.h>

_Static_assert(HEAD_QUERIES % LANES == 0, "queries come in whole panels");
_Static_assert(HEAD_PANELS == 2, "the panels that see a key are neighbors");

struct key_range { /* no key outside key .. last - 1 is visible to the sixteen queries of a panel;
                      key is a multiple of 16 */
    int key, last;
};

/* Sets [*first, *last) to a range of keys that includes all keys that are visible to queries [t, t
   + count). */
static void head_range(const struct attend_head *a, int t, int count, int *first, int *last)
{
    float low = (float)a->keys, high = 0;
    for (int i = t; i < t + count && a->low; i++) {
        if (a->low[i] >= a->high[i]) continue;
        low = a->low[i] < low ? a->low[i] : low;
        high = a->high[i] > high ? a->high[i] : high;
    }
    *first = a->low ? (int)low : 0;
    *last = a->low ? (int)high : a->keys;
}

/* Sets range[p] for each panel p of the `queries` queries starting at `query`, and returns the
   number of panels. */
static int head_ranges(const struct attend_head *a, int query, int queries, struct key_range *range)
{
    int panels = rapt__ceil_div(queries, LANES);
    for (int p = 0; p < panels; p++) {
        int t = p * LANES;
        head_range(a, query + t, rapt__min(queries - t, LANES), &range[p].key, &range[p].last);
        range[p].key = range[p].key / LANES * LANES;
    }
    return panels;
}

/* Zeroes the sixteen floats of each key in [key, last) that is outside a panel's range. Keys are ld
   floats apart. */
static void head_clear(const struct key_range *range, int key, int last, float *x, ptrdiff_t ld)
{
    for (int s = key; s < rapt__min(range->key, last); s++) vf_store(x + s * ld, vf_zero());
    for (int s = rapt__max(range->key, range->last); s < last; s++) vf_store(x + s * ld, vf_zero());
}

/* Sets scores to -infinity for the keys in [key, last) that `low` and `high` hide from the 16
   queries starting at `query`. Rows are ld apart. */
static void head_mask(const struct attend_head *a, int query, int key, int last, float *scores,
                      ptrdiff_t ld)
{
    int n = rapt__min(a->queries - query, LANES);
    vf low = vf_load_n(a->low + query, n, 0), high = vf_load_n(a->high + query, n, 0);
    vf min = vf_splat(-INFINITY), one = vf_splat(1);
    for (int s = key; s < last; s++, scores += ld) {
        vf at = vf_splat((float)s);
        vm visible = vm_and(vf_less(low, vf_add(at, one)), vf_less(at, high));
        vf_store(scores, vf_select(visible, vf_load(scores), min));
    }
}

/* Computes the scores of keys [key, last) for queries in panels of 16. Rows are ld apart. */
static void head_scores(struct rows_ahead *ahead, const float *k, ptrdiff_t k_row, int key,
                        int last, const float *q, int depth, int panels, float *scores,
                        ptrdiff_t ld)
{
    int tiles = rapt__ceil_div(last - key, TILE_ROWS);
    for (int s = key, take; s < last; s += take, tiles--) {
        take = rapt__ceil_div(last - s, tiles);
        rapt__ahead_tile(ahead);
        score_keys(take, k + s * k_row, k_row, q, depth, panels, scores + s * ld, ld);
    }
}

/* Computes the scores of the keys that are visible to each panel of queries, in runs of keys that
   are visible to the same panels. */
static void head_seen_scores(const struct attend_head *a, const struct key_range *range,
                             const float *k, ptrdiff_t k_row, const float *q, int depth, int panels,
                             float *scores, ptrdiff_t ld)
{
    for (int s = 0, end; s < a->keys; s = end) {
        int first = panels, count = 0;
        end = a->keys;
        for (int p = 0; p < panels; p++) {
            bool before = s < range[p].key, sees = !before && s < range[p].last;
            if (before || sees) end = rapt__min(end, before ? range[p].key : range[p].last);
            if (sees) first = rapt__min(first, p), count++;
        }
        if (count > 0)
            head_scores(a->ahead, k, k_row, s, end, q + (ptrdiff_t)first * LANES * depth, depth,
                        count, scores + first * LANES, ld);
    }
}

/* ---- the cap, biases and masks, which are applied to scores before the softmax, and the gradients
   of biases. Rows of biases are transposed, sixteen queries by sixteen keys at a time. Functions
   that most heads do not need are not inlined, because inlining them slowed down heads without
   biases (gcc 12). ---- */

static bool head_biased(const struct attend_head *a)
{
    return a->bias || a->relative || a->forget || has_distances(&a->distances);
}

/* Returns true if keys may be hidden from some queries. */
static bool head_hides(const struct attend_head *a)
{
    return a->low || a->allowed || head_biased(a);
}

/* Returns the factor by which scores must still be multiplied after head_finish_scores. */
static float head_scale(const struct attend_head *a)
{
    return rapt__statistics_scale(a->scale, a->cap, head_biased(a));
}

/* Caps the scores of `keys` keys for sixteen queries. slopes, unless NULL, receives the slopes of
   the cap, [keys][16]. */
static __attribute__((noinline)) void head_cap(const struct attend_head *a, int keys, float *scores,
                                               ptrdiff_t ld, float *slopes)
{
    for (int s = 0; s < keys; s++, scores += ld)
        cap_scores(rapt__score_factor(a->scale), a->cap, scores,
                   slopes ? slopes + s * LANES : NULL);
}

/* Returns `added` plus C of query t minus C of each of the sixteen keys starting at `key` (C: see
   attend_row.forget). A query after the last key uses the C of the last key; a query before the
   first key has no visible keys. */
static vf head_forget(const struct attend_head *a, int t, int key, vf added)
{
    int l = rapt__max(0, rapt__min(a->position + t, a->keys - 1));
    const float *own = a->forget + (ptrdiff_t)(l / LANES) * FORGET_PANEL + l % LANES;
    return add_forgotten(a->forget, own[0], own[LANES], key, added);
}

static bool head_wants_distances(const struct attend_head *a)
{
    return a->distances.dby_query || a->distances.dby_key;
}

/* Returns the struct distances for query t. */
static struct distances head_distances(const struct attend_head *a, int t)
{
    struct distances of = a->distances;
    ptrdiff_t row = t * a->distance_row;
    if (of.by_query) of.by_query += row;
    if (of.dby_query) of.dby_query += row;
    if (of.by_dout) of.by_dout += row;
    if (of.weights) of.weights += row;
    of.position += t;
    return of;
}

/* Sets lane t of x[s] to the value to add to the score of key `key` + s for query `query` + t. */
static void head_added(const struct attend_head *a, int query, int key, vf x[LANES])
{
    int queries = rapt__min(a->queries - query, LANES), keys = rapt__min(a->keys - key, LANES);
    for (int t = 0; t < LANES; t++) {
        ptrdiff_t row = query + t;
        x[t] = vf_zero();
        if (t >= queries) continue;
        const uint8_t *allowed = a->allowed ? a->allowed + row * a->allowed_row + key : NULL;
        x[t] = added_to_scores(moved(a->bias, row * a->bias_row + key),
                               moved(a->relative, key - row), allowed, keys);
        if (a->forget) x[t] = head_forget(a, query + t, key, x[t]);
        if (!has_distances(&a->distances)) continue;
        const struct distances of = head_distances(a, query + t);
        x[t] = add_distances(&of, key, x[t]);
    }
    vf_transpose(x);
}

/* Scales the scores of keys [key, last) for the sixteen queries starting at `query`, adds biases,
   and replaces scores with -infinity for keys hidden by a bias or `allowed`. Without a bias, the
   other scores do not change. key must be a multiple of 16. */
static __attribute__((noinline)) void head_add(const struct attend_head *a, int query, int key,
                                               int last, float *scores, ptrdiff_t ld)
{
    vf times = vf_splat(capped_scale(a->scale, a->cap)), min = vf_splat(-INFINITY);
    for (; key < last; key += LANES) {
        vf x[LANES];
        head_added(a, query, key, x);
        for (int s = 0; s < rapt__min(last - key, LANES); s++, scores += ld) {
            vf score = vf_load(scores);
            if (head_biased(a)) score = vf_fma(score, times, x[s]);
            vf_store(scores, vf_select(vf_equal(x[s], min), min, score));
        }
    }
}

/* Applies the cap, biases and masks to scores. head_cap writes the slopes; those of hidden keys are
   unspecified. */
static void head_finish_scores(const struct attend_head *a, int query, int key, int last,
                               float *scores, ptrdiff_t ld, float *slopes)
{
    if (a->cap > 0) head_cap(a, last - key, scores, ld, slopes);
    if (a->allowed || head_biased(a)) head_add(a, query, key, last, scores, ld);
    if (a->low) head_mask(a, query, key, last, scores, ld);
}

/* Transposes `keys` rows of sixteen queries: sets x[t] to the elements of query t, with 0 for
   missing keys. */
static void head_transposed(const float *rows, ptrdiff_t ld, int keys, vf x[LANES])
{
    for (int s = 0; s < LANES; s++) x[s] = s < keys ? vf_load(rows + s * ld) : vf_zero();
    vf_transpose(x);
}

/* Adds the weights w of keys [key, last) for the sixteen queries starting at `query` to the sums by
   distance. */
static __attribute__((noinline)) void head_sum_by_distance(const struct attend_head *a, int query,
                                                           int key, int last, const float *w,
                                                           ptrdiff_t ld)
{
    int queries = rapt__min(a->queries - query, LANES);
    for (; key < last; key += LANES, w += LANES * ld) {
        vf x[LANES];
        head_transposed(w, ld, last - key, x);
        for (int t = 0; t < queries; t++) {
            const struct distances of = head_distances(a, query + t);
            add_distance_weights(&of, key, x[t]);
        }
    }
}

/* Adds the terms of distances.by_dout to the dp of keys [key, last) for the sixteen queries
   starting at `query`. */
static __attribute__((noinline)) void head_add_dout(const struct attend_head *a, int query, int key,
                                                    int last, float *dp, ptrdiff_t ld)
{
    int queries = rapt__min(a->queries - query, LANES);
    for (; key < last; key += LANES) {
        vf x[LANES];
        for (int t = 0; t < LANES; t++) {
            const struct distances of = head_distances(a, query + (t < queries ? t : 0));
            x[t] = add_dout_distances(&of, key, vf_zero());
        }
        vf_transpose(x);
        for (int s = 0; s < rapt__min(last - key, LANES); s++, dp += ld)
            vf_store(dp, vf_add(vf_load(dp), x[s]));
    }
}

/* Adds the ds of keys [key, last) for the sixteen queries starting at `query` to the gradients of
   biases. */
static __attribute__((noinline)) void head_add_bias_gradients(const struct attend_head *a,
                                                              const struct attend_head_gradients *d,
                                                              int query, int key, int last,
                                                              const float *ds)
{
    int queries = rapt__min(a->queries - query, LANES);
    vf sums[LANES];
    for (int t = 0; t < LANES; t++) sums[t] = vf_zero();
    for (; key < last; key += LANES) {
        int n = rapt__min(a->keys - key, LANES);
        vf x[LANES];
        head_transposed(ds, HEAD_GRADIENTS, last - key, x);
        ds += LANES * HEAD_GRADIENTS;
        for (int t = 0; t < queries; t++) {
            ptrdiff_t row = query + t;
            if (d->dbias) add_bias(d->dbias + row * a->bias_row + key, n, x[t]);
            if (d->drelative) add_bias(d->drelative - row + key, n, x[t]);
            if (d->dforget) add_bias(d->dforget + key, n, x[t]);
            const struct distances of = head_distances(a, query + t);
            add_distance_gradients(&of, key, x[t]);
            sums[t] = vf_add(sums[t], x[t]);
        }
    }
    for (int t = 0; t < queries && d->dsums; t++) d->dsums[query + t] += vf_sum(sums[t]);
}
