/* flash_head.c - attention for one head of a short sequence (at most 128 keys), with queries in the
   lanes of vectors: queries are transposed, and keys and values are read in place. A single block
   of keys needs no running softmax. Every sum runs down columns instead of along rows, but adds the
   same terms in the same order as in flash.c, so the results are bit-identical. */
#include "kernel/flash.h"

#include <math.h>

struct head_block { /* at most HEAD_QUERIES queries of a head, and the keys visible to them */
    const struct attend_head *a;
    int query, queries;
    struct key_range range[HEAD_PANELS];
    float *scores; /* [keys][HEAD_QUERIES]; later overwritten with the weights */
    float max[HEAD_QUERIES], total[HEAD_QUERIES], inverse[HEAD_QUERIES];
    bool fully_masked; /* true if any query or unused lane is fully masked */
};

/* Returns the maximum score of each query. */
static vf head_max(const float *scores, int keys)
{
    enum { CHAINS = 4 };
    vf max[CHAINS], min = vf_splat(-INFINITY);
    int s = 0;
    for (int i = 0; i < CHAINS; i++) max[i] = min;
    for (; s + CHAINS <= keys; s += CHAINS) {
        UNROLL
        for (int i = 0; i < CHAINS; i++)
            max[i] = vf_max(vf_load(scores + (s + i) * HEAD_QUERIES), max[i]);
    }
    for (; s < keys; s++) max[0] = vf_max(vf_load(scores + s * HEAD_QUERIES), max[0]);
    return vf_max(vf_max(max[0], max[1]), vf_max(max[2], max[3]));
}

/* Turns the scores of `keys` keys into weights. Vector i of sums receives the sums of the weights
   of keys i, i + 16, ... */
static inline __attribute__((always_inline)) void head_weights(float *scores, int keys, vf base,
                                                               float scale, vm large,
                                                               bool any_large, bool masked,
                                                               float *sums)
{
    vf times = vf_splat(scale), min = vf_splat(-INFINITY);
    vf origin = vf_sub(vf_zero(), vf_mul(base, times));
    for (int s = keys; s < LANES; s++) vf_store(sums + s * LANES, vf_zero());
    for (int s = 0; s < keys; s++, scores += HEAD_QUERIES) {
        vf x = vf_load(scores), w = exponentiate_scores(x, times, origin, false);
        if (any_large) w = vf_select(large, exponentiate_scores(x, times, base, true), w);
        if (masked) w = vf_select(vf_equal(x, min), vf_zero(), w);
        vf_store(scores, w);
        float *sum = sums + s % LANES * LANES;
        vf_store(sum, s < LANES ? w : vf_add(vf_load(sum), w));
    }
}

/* Returns the sum of sixteen vectors, added in the order in which vf_sum adds lanes. */
static vf head_sum(const float *sums)
{
    vf x[LANES];
    for (int i = 0; i < LANES; i++) x[i] = vf_load(sums + i * LANES);
    for (int half = LANES / 2; half > 0; half /= 2)
        for (int i = 0; i < half; i++) x[i] = vf_add(x[i], x[i + half]);
    return x[0];
}

/* Turns the scores of panel p into weights, and stores the maxima of the scores, the sums of the
   weights, the factors by which weighted sums of values must be multiplied (`inverse`), and lse. */
static void head_softmax(struct head_block *h, int p)
{
    const struct attend_head *a = h->a;
    const struct key_range *range = h->range + p;
    int keys = rapt__max(range->last - range->key, 0);
    float *scores = h->scores + range->key * HEAD_QUERIES + p * LANES, scale = head_scale(a);
    float sums[LANES * LANES], times = LOG2_E * scale;
    head_finish_scores(a, h->query + p * LANES, range->key, range->last, scores, HEAD_QUERIES,
                       NULL);
    vf max = head_max(scores, keys), min = vf_splat(-INFINITY);
    vf base = vf_select(vf_equal(max, min), vf_zero(), max);
    vm large = vf_less(vf_splat(LARGE), vf_abs(vf_mul(base, vf_splat(times))));
    if (vm_bits(large))
        head_weights(scores, keys, base, times, large, true, true, sums);
    else if (head_hides(a))
        head_weights(scores, keys, base, times, large, false, true, sums);
    else
        head_weights(scores, keys, base, times, large, false, false, sums);
    vf l = head_sum(sums), keep = vf_splat(1);
    if (a->kind == ATTEND_SINK)
        keep = add_sinks(vf_splat(rapt__sink_score(a->number, scale)), vf_splat(times), &max, &l);
    vf_store(h->max + p * LANES, max);
    vf_store(h->total + p * LANES, l);
    vf_store(h->inverse + p * LANES, vf_div(keep, l));
    if (vm_bits(vf_equal(l, vf_zero()))) h->fully_masked = true;
    if (!a->lse) return;
    vf lse = vf_select(vf_equal(l, vf_zero()), min, vf_fma(max, vf_splat(scale), vf_log(l)));
    vf_store_n(a->lse + h->query + p * LANES, lse, rapt__min(h->queries - p * LANES, LANES));
}

/* Writes the dropout factors [last - key][16] for keys [key, last) and the sixteen queries starting
   at `query`. */
static void head_factors(const struct attend_head *a, int query, int key, int last, float *factors)
{
    enum { GROUP = 4 * LANES };
    const struct dropout d = {a->drop_key, a->drop_below, a->drop_scale};
    float factor[LANES * GROUP];
    int queries = rapt__min(a->queries - query, LANES);
    for (int first = key; key < last; key += LANES, factors += LANES * LANES) {
        int column = key % GROUP, keys = rapt__min(last - key, LANES);
        for (int t = 0; t < queries && (key == first || column == 0); t++)
            dropout_factors(&d, a->drop_row + (uint64_t)(query + t), key - column,
                            factor + t * GROUP);
        vf x[LANES];
        for (int t = 0; t < LANES; t++)
            x[t] = t < queries ? vf_load(factor + t * GROUP + column) : vf_zero();
        vf_transpose(x);
        for (int s = 0; s < keys; s++) vf_store(factors + s * LANES, x[s]);
    }
}

/* Applies dropout to the weights of panel p. */
static void head_drop(const struct head_block *h, int p)
{
    const struct key_range *range = h->range + p;
    float factors[ATTEND_BLOCK * LANES];
    float *w = h->scores + range->key * HEAD_QUERIES + p * LANES;
    head_factors(h->a, h->query + p * LANES, range->key, range->last, factors);
    for (int s = 0; s < range->last - range->key; s++, w += HEAD_QUERIES)
        vf_store(w, vf_mul(vf_load(w), vf_load(factors + s * LANES)));
}

/* Sums the weights of panel p by distance, and normalizes the sums. */
static void head_weigh_distances(const struct head_block *h, int p)
{
    const struct attend_head *a = h->a;
    const struct key_range *range = h->range + p;
    int query = h->query + p * LANES;
    head_sum_by_distance(a, query, range->key, range->last,
                         h->scores + range->key * HEAD_QUERIES + p * LANES, HEAD_QUERIES);
    for (int t = p * LANES; t < rapt__min(h->queries, (p + 1) * LANES); t++) {
        const struct distances of = head_distances(a, h->query + t);
        scale_distance_weights(&of, h->total[t] == 0 ? 0 : h->inverse[t]);
    }
}

static void head_out(const struct head_block *h)
{
    const struct attend_head *a = h->a;
    int tiles = rapt__ceil_div(h->queries, VF_ROWS);
    for (int t = 0, take; t < h->queries; t += take, tiles--) {
        int first, last, query = h->query + t;
        take = rapt__ceil_div(h->queries - t, tiles);
        head_range(a, query, take, &first, &last);
        rapt__ahead_tile(a->ahead);
        mean_tile(take, h->scores + first * HEAD_QUERIES + t, a->v + first * a->v_row, a->v_row,
                  rapt__max(last - first, 0), rapt__padded(a->value_width), h->inverse + t,
                  a->out + query * a->out_row, a->out_row);
    }
    for (int t = 0; t < h->queries && h->fully_masked; t++) {
        float *out = a->out + (h->query + t) * a->out_row;
        for (int n = 0; n < a->value_width && h->total[t] == 0; n += LANES)
            vf_store(out + n, vf_zero());
    }
}

static int head_tiles(const struct attend_head *a)
{
    return rapt__ceil_div(a->queries, HEAD_QUERIES) * rapt__ceil_div(a->keys, TILE_ROWS) +
           rapt__ceil_div(a->queries, VF_ROWS);
}

static bool attend_head(const struct attend_head *a)
{
    _Alignas(64) float scores[ATTEND_BLOCK * HEAD_QUERIES];
    if (head_hides(a) && a->out && !rows_finite(a->v, a->v_row, a->keys, a->value_width))
        return false;
    rapt__ahead_spread(a->ahead, head_tiles(a));
    for (int t = 0; t < a->queries; t += HEAD_QUERIES) {
        struct head_block h; /* its arrays are written before they are read */
        h.a = a, h.query = t, h.scores = scores, h.fully_masked = false;
        h.queries = rapt__min(a->queries - t, HEAD_QUERIES);
        int panels = head_ranges(a, t, h.queries, h.range);
        const struct key_range *first = h.range, *second = h.range + panels - 1;
        int key = rapt__min(first->key, second->key), last = rapt__max(first->last, second->last);
        pack_columns(a->q + t * a->q_row, a->q_row, h.queries, a->key_width,
                     rapt__query_factor(a->scale), 0, panels, a->workspace);
        head_seen_scores(a, h.range, a->k, a->k_row, a->workspace, a->key_width, panels, scores,
                         HEAD_QUERIES);
        for (int p = 0; p < panels; p++) {
            head_softmax(&h, p);
            if (a->drop_below) head_drop(&h, p);
            if (a->distances.weights && a->out) head_weigh_distances(&h, p);
            head_clear(h.range + p, key, last, scores + p * LANES, HEAD_QUERIES);
        }
        for (int r = 0; r < h.queries && a->statistics; r++) {
            a->statistics[(t + r) * STATISTICS] = h.max[r];
            a->statistics[(t + r) * STATISTICS + 1] = h.total[r];
        }
        if (a->out) head_out(&h);
    }
    return true;
}
