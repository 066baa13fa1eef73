/* flash_head_backward.c - the backward pass of attention for one head of a short sequence, with
   queries in the lanes of vectors as in flash_head.c. The equations are in flash.h. Queries and
   gradients of outputs are transposed; keys and values are read in place. Every sum has the same
   terms in the same order as in flash_backward.c, so the results are bit-identical. */

struct head_gradient { /* sixteen queries of a head */
    const struct attend_head *a;
    int query, key, last; /* no key outside key .. last - 1 is visible; key is a multiple of 16 */
    float *w, *ds;        /* [keys][HEAD_GRADIENTS] for these queries, starting at `key` */
    const float *slopes;  /* slopes of the cap, [keys][16]; NULL if there is no cap */
};

/* Sets *m and *l to the statistics of the queries. */
static void head_statistics(const struct head_gradient *h, vf *m, vf *l)
{
    const struct attend_head *a = h->a;
    float max[LANES] = {0}, sum[LANES];
    const float *statistics = a->statistics + (ptrdiff_t)h->query * STATISTICS;
    for (int t = 0; t < LANES; t++) {
        bool there = h->query + t < a->queries;
        if (there) max[t] = statistics[t * STATISTICS];
        sum[t] = there ? statistics[t * STATISTICS + 1] : 1;
    }
    *m = vf_load(max), *l = vf_load(sum);
}

/* Turns scores into weights. */
static void head_normalize(const struct head_gradient *h)
{
    float *w = h->w, times_1 = LOG2_E * head_scale(h->a);
    vf m, l, times = vf_splat(times_1), zero = vf_zero();
    head_statistics(h, &m, &l);
    vf inverse = vf_select(vf_equal(l, zero), zero, vf_div(vf_splat(1), l));
    vf product = vf_mul(m, times), origin = vf_sub(zero, product), min = vf_splat(-INFINITY);
    vm large = vf_less(vf_splat(LARGE), vf_abs(product));
    bool any_large = vm_bits(large);
    for (int s = h->key; s < h->last; s++, w += HEAD_GRADIENTS) {
        vf x = vf_load(w), e = exponentiate_scores(x, times, origin, false);
        if (any_large) e = vf_select(large, exponentiate_scores(x, times, m, true), e);
        vf near = vf_mul(e, inverse), left = vf_fnma(near, l, e);
        vf_store(w, vf_select(vf_equal(x, min), zero, vf_fma(left, inverse, near)));
    }
}

/* Returns for each query the sum of w (dp - center) over the keys whose weight is not 0. */
static vf head_delta(const struct head_gradient *h, vf center)
{
    float sums[LANES * LANES] = {0};
    const float *w = h->w, *dp = h->ds;
    for (int n = 0; n < h->last - h->key; n++, w += HEAD_GRADIENTS, dp += HEAD_GRADIENTS) {
        float *at = sums + n % LANES * LANES;
        vf weight = vf_load(w), sum = vf_load(at);
        vf next = vf_fma(weight, vf_sub(vf_load(dp), center), sum);
        vf_store(at, vf_select(vf_equal(weight, vf_zero()), sum, next));
    }
    return head_sum(sums);
}

/* Returns the sums of w (dp - center) over the keys and, if there is one, the sink, whose dp is
   0. */
static vf head_delta_left(const struct head_gradient *h, vf center)
{
    vf left = head_delta(h, center), m, l;
    if (h->a->kind != ATTEND_SINK) return left;
    float scale = head_scale(h->a);
    head_statistics(h, &m, &l);
    vf weight = sink_weights(vf_splat(rapt__sink_score(h->a->number, scale)),
                             vf_splat(LOG2_E * scale), m, l);
    return vf_fnma(weight, center, left);
}

/* Adds ds, the gradient of the biased scores, to the gradients of the biases, then multiplies ds by
   the scale and, with a cap, by the slopes of the cap. */
static void head_scale_gradients(const struct head_gradient *h,
                                 const struct attend_head_gradients *d)
{
    const float *w = h->w, *slope = h->slopes;
    float *ds = h->ds;
    vf scale = vf_splat(h->a->scale);
    head_add_bias_gradients(h->a, d, h->query, h->key, h->last, ds);
    for (int s = h->key; s < h->last; s++, w += HEAD_GRADIENTS, ds += HEAD_GRADIENTS) {
        vf g = vf_load(ds);
        if (slope) {
            g = vf_mul(g, vf_load(slope));
            g = vf_select(vf_equal(vf_load(w), vf_zero()), vf_zero(), g);
            slope += LANES;
        }
        vf_store(ds, vf_mul(g, scale));
    }
}

/* Replaces dp in the array ds with the gradients of the unscaled scores, and p in w with the
   weights after dropout. With a cap, or if gradients of biases are requested, ds first receives the
   gradients of the biased scores, and head_scale_gradients does the rest. */
static void head_score_gradients(const struct head_gradient *h,
                                 const struct attend_head_gradients *d)
{
    const struct attend_head *a = h->a;
    float factors[ATTEND_BLOCK * LANES], *w = h->w, *ds = h->ds;
    int keys = h->last - h->key;
    if (a->distances.by_dout) head_add_dout(a, h->query, h->key, h->last, ds, HEAD_GRADIENTS);
    if (a->drop_below) head_factors(a, h->query, h->key, h->last, factors);
    for (int s = 0; s < keys && a->drop_below; s++, ds += HEAD_GRADIENTS)
        vf_store(ds, vf_mul(vf_load(ds), vf_load(factors + s * LANES)));
    vf center = head_delta(h, vf_zero()), delta = head_delta_left(h, center);
    bool first = h->slopes || d->dbias || d->drelative || d->dforget || head_wants_distances(a);
    vf scale = vf_splat(first ? 1 : a->scale);
    ds = h->ds;
    for (int s = 0; s < keys; s++, w += HEAD_GRADIENTS, ds += HEAD_GRADIENTS) {
        vf weight = vf_load(w), g = vf_mul(weight, vf_sub(vf_sub(vf_load(ds), center), delta));
        g = vf_select(vf_equal(weight, vf_zero()), vf_zero(), g);
        vf_store(ds, vf_mul(g, scale));
    }
    if (first) head_scale_gradients(h, d);
    w = h->w;
    for (int s = 0; s < keys && a->drop_below; s++, w += HEAD_GRADIENTS)
        vf_store(w, vf_mul(vf_load(w), vf_load(factors + s * LANES)));
    if (a->distances.weights)
        head_sum_by_distance(a, h->query, h->key, h->last, h->w, HEAD_GRADIENTS);
}

/* Computes w and ds for all keys and at most HEAD_QUERIES queries, with 0 for hidden keys. */
static void head_block_backward(const struct attend_head *a, const struct attend_head_gradients *d,
                                int query)
{
    struct key_range range[HEAD_PANELS];
    float slopes[ATTEND_BLOCK * LANES], *w = d->weights + query, *ds = d->dscores + query;
    int panels = head_ranges(a, query, rapt__min(a->queries - query, HEAD_QUERIES), range);
    head_seen_scores(a, range, a->k, a->k_row, d->q_panels + (ptrdiff_t)query * a->key_width,
                     a->key_width, panels, w, HEAD_GRADIENTS);
    head_seen_scores(a, range, a->v, a->v_row, d->dout_panels + (ptrdiff_t)query * a->value_width,
                     a->value_width, panels, ds, HEAD_GRADIENTS);
    for (int p = 0; p < panels; p++, w += LANES, ds += LANES) {
        int at = range[p].key * HEAD_GRADIENTS;
        const struct head_gradient h = {.a = a,
                                        .query = query + p * LANES,
                                        .key = range[p].key,
                                        .last = range[p].last,
                                        .w = w + at,
                                        .ds = ds + at,
                                        .slopes = a->cap > 0 ? slopes : NULL};
        head_finish_scores(a, h.query, h.key, h.last, h.w, HEAD_GRADIENTS, slopes);
        head_normalize(&h);
        head_score_gradients(&h, d);
        head_clear(range + p, 0, a->keys, w, HEAD_GRADIENTS);
        head_clear(range + p, 0, a->keys, ds, HEAD_GRADIENTS);
    }
}

static void head_query_gradients(const struct attend_head *a, const struct attend_head_gradients *d)
{
    int tiles = rapt__ceil_div(a->queries, VF_ROWS);
    for (int t = 0, take; t < a->queries; t += take, tiles--) {
        int first, last;
        take = rapt__ceil_div(a->queries - t, tiles);
        head_range(a, t, take, &first, &last);
        rapt__ahead_tile(a->ahead);
        plus_columns(take, d->dscores + first * HEAD_GRADIENTS + t, a->k + first * a->k_row,
                     a->k_row, rapt__max(last - first, 0), rapt__padded(a->key_width),
                     d->dq + t * a->q_row, a->q_row);
    }
}

/* Sets [*first, *last) to a range of queries that includes all queries to which any of the `keys`
   keys starting at `key` is visible. */
static void head_seers(const struct attend_head *a, int key, int keys, int *first, int *last)
{
    int from = 0, to = a->queries;
    float low = (float)key, high = (float)(key + keys);
    while (a->low && from < to && (a->low[from] >= high || a->high[from] <= low)) from++;
    while (a->low && from < to && (a->low[to - 1] >= high || a->high[to - 1] <= low)) to--;
    *first = from, *last = to;
}

static void head_key_gradients(const struct attend_head *a, const struct attend_head_gradients *d)
{
    int tiles = rapt__ceil_div(a->keys, VF_ROWS);
    for (int s = 0, take; s < a->keys; s += take, tiles--) {
        int t, last;
        take = rapt__ceil_div(a->keys - s, tiles);
        head_seers(a, s, take, &t, &last);
        int at = s * HEAD_GRADIENTS + t;
        rapt__ahead_tile(a->ahead);
        if (d->dv)
            plus_rows(take, d->weights + at, d->dout + t * a->out_row, a->out_row, last - t,
                      rapt__padded(a->value_width), d->dv + s * d->dv_row, d->dv_row,
                      d->unfinished);
        rapt__ahead_tile(a->ahead);
        if (d->dk)
            plus_rows(take, d->dscores + at, a->q + t * a->q_row, a->q_row, last - t,
                      rapt__padded(a->key_width), d->dk + s * d->dk_row, d->dk_row, d->unfinished);
    }
}

static int head_tiles_backward(const struct attend_head *a)
{
    return 2 * rapt__ceil_div(a->queries, HEAD_QUERIES) * rapt__ceil_div(a->keys, TILE_ROWS) +
           rapt__ceil_div(a->queries, VF_ROWS) + 2 * rapt__ceil_div(a->keys, VF_ROWS);
}

static void attend_head_backward(const struct attend_head *a, const struct attend_head_gradients *d)
{
    int panels = rapt__ceil_div(a->queries, LANES);
    float factor = rapt__query_factor(a->scale);
    rapt__ahead_spread(a->ahead, head_tiles_backward(a));
    pack_columns(a->q, a->q_row, a->queries, a->key_width, factor, 0, panels, d->q_panels);
    pack_columns(d->dout, a->out_row, a->queries, a->value_width, 1, 0, panels, d->dout_panels);
    for (int t = 0; t < a->queries; t += HEAD_QUERIES) head_block_backward(a, d, t);
    if (d->dq) head_query_gradients(a, d);
    head_key_gradients(a, d);
}
