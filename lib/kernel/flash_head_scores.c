/* flash_head_scores.c - finds the keys that the queries of a short head see, and computes their
   scores, with queries in the lanes of vectors, for flash_head.c and flash_head_backward.c. */
#include "kernel/flash.h"

#include <math.h>

_Static_assert(HEAD_QUERIES % LANES == 0, "queries come in whole panels");
_Static_assert(HEAD_PANELS == 2, "the panels that see a key are neighbors");

struct key_range { /* sixteen queries see no keys outside key .. last - 1; key is a multiple of
                      16 */
    int key, last;
};

/* Sets [*first, *last) to a range of keys that includes all keys that queries [t, t + count)
   see. */
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

/* Does the same for each panel of the `queries` queries starting at `query`, and returns the number
   of panels. */
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

/* Zeroes the sixteen floats of each key in [key, last) that a panel does not see. Keys are ld
   floats apart. */
static void head_clear(const struct key_range *range, int key, int last, float *x, ptrdiff_t ld)
{
    for (int s = key; s < rapt__min(range->key, last); s++) vf_store(x + s * ld, vf_zero());
    for (int s = rapt__max(range->key, range->last); s < last; s++) vf_store(x + s * ld, vf_zero());
}

/* Sets the scores of hidden keys in [key, last) to -infinity, for the 16 queries starting at
   `query`. Rows are ld apart. */
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

/* Computes the scores of the keys that each panel sees, in runs of keys seen by the same panels. */
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
