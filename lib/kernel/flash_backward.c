/* flash_backward.c - the backward pass of attention, one block of at most 56 queries and 128 keys
   at a time. The equations are in flash.h (Dao et al. 2022, "FlashAttention", appendix B.2;
   algorithm 4 in B.4). Weights are recomputed from queries, keys and, except for sigmoids, the
   statistics of the forward pass, so no queries x keys matrix is stored. Every element of dq is a
   single chain of fmas in the order of the keys, and every element of dk or dv is a single chain in
   the order of the queries, even across blocks, so the results do not depend on how threads divide
   the work. */

struct span { /* a tile of a block's rows, and the keys of the block that are visible to these
                 rows */
    int tile, row, rows;
    struct visible_range visible;
    int key, keys, panels; /* keys is 0 if there are none; key is a multiple of 16 */
    struct seen seen;
};

static struct span span_of(const struct attend_block *b, int tile)
{
    int row = tile_begin(b->rows, tile), rows = tile_begin(b->rows, tile + 1) - row;
    struct span s; /* its arrays are written before they are read */
    s.tile = tile, s.row = row, s.rows = rows, s.visible = visible_range_of(b->row + row, rows);
    seen_keys(b->row + row, rows, &s.visible, b->key, b->key + b->keys, &s.key, &s.keys, &s.seen);
    s.panels = rapt__ceil_div(s.keys, LANES);
    return s;
}

static void attend_pack(const float *from, int rows, int width, float factor, float *slots)
{
    const float *x[VF_ROWS];
    for (int i = 0; i < tiles_of(rows); i++) {
        int row = tile_begin(rows, i), count = tile_begin(rows, i + 1) - row;
        for (int r = 0; r < count; r++) x[r] = from + (row + r) * rapt__padded(width);
        pack_slot(x, count, width, factor, slots + slot_offset(i, width));
    }
}

/* Computes delta = out.dout with the same chains of 32 fmas that score_tile uses for dp. Therefore,
   if one key has all the weight, so that out is its value, dp - delta is exactly 0, and remains 0
   when multiplied by a large factor. With several blocks of keys, or with dropout, dp - delta may
   instead be a rounding error of dp. */
static void attend_delta(const float *dout_slots, const float *out, ptrdiff_t ld, int rows,
                         int width, float *delta)
{
    float slot[CHAIN * VF_ROWS];
    for (int i = 0; i < tiles_of(rows); i++) {
        int row = tile_begin(rows, i), count = tile_begin(rows, i + 1) - row;
        const float *x[VF_ROWS], *dout = dout_slots + slot_offset(i, width);
        vf sum = vf_zero();
        for (int k = 0; k < width; k += CHAIN) {
            int n = rapt__min(width - k, CHAIN);
            vf chain = vf_zero();
            for (int r = 0; r < count; r++) x[r] = out + (row + r) * ld + k;
            pack_slot(x, count, n, 1, slot);
            for (int j = 0; j < n; j++, dout += VF_ROWS)
                chain = vf_fma(vf_load_n(dout, VF_ROWS, 0),
                               vf_load_n(slot + j * VF_ROWS, VF_ROWS, 0), chain);
            sum = k ? vf_add(sum, chain) : chain;
        }
        vf_store_n(delta + row, sum, count);
    }
}

/* Turns the scores of a row into weights, with the same exponentials as the forward pass. The
   exponentials are multiplied by the inverse of their sum and then corrected, so that the weight of
   a single visible key is exactly 1. */
static inline __attribute__((always_inline)) void normalize_row(float *w, int panels, float scale,
                                                                const float *statistics, bool large)
{
    float max = statistics[0], sum = statistics[1];
    vf times = vf_splat(scale), origin = vf_splat(origin_of(max, scale, large));
    vf l = vf_splat(sum), inverse = vf_splat(sum == 0 ? 0 : 1 / sum), min = vf_splat(-INFINITY);
    for (int p = 0; p < panels; p++, w += LANES) {
        vf x = vf_load(w), e = exponentiate_scores(x, times, origin, large);
        vf near = vf_mul(e, inverse), left = vf_fnma(near, l, e);
        vf_store(w, vf_select(vf_equal(x, min), vf_zero(), vf_fma(left, inverse, near)));
    }
}

/* Sets d->weights to p, which is 0 for hidden keys. slopes [rows][ATTEND_BLOCK], unless NULL,
   receives the slopes of the cap; those of hidden keys are unspecified. */
static void rebuild(const struct attend_block *b, const struct attend_weights *d, struct span *s,
                    float *slopes)
{
    float *w = d->weights + s->row * ATTEND_BLOCK;
    const float *statistics = d->statistics + s->row * STATISTICS;
    if (s->keys < b->keys) memset(w, 0, (size_t)s->rows * ATTEND_BLOCK * sizeof(float));
    if (s->keys == 0) return;
    w += s->key - b->key;
    rapt__ahead_tile(b->ahead);
    score_tile(s->rows, d->q_slots + slot_offset(s->tile, b->key_width),
               d->key_panels + (ptrdiff_t)(s->key - b->key) * b->key_width, b->key_width, s->panels,
               w, NULL);
    if (d->cap > 0) cap_tile(s->rows, s->panels, rapt__score_factor(d->scale), d->cap, w, slopes);
    const struct attend_row *row = b->row + s->row;
    mask_tile(row, s->rows, &s->visible, capped_scale(d->scale, d->cap), s->key, s->panels, w,
              ATTEND_BLOCK, &s->seen);
    float times = LOG2_E * masked_scale(row, d->scale, d->cap);
    for (int r = 0; r < s->rows; r++, w += ATTEND_BLOCK, statistics += STATISTICS)
        if (d->kind == ATTEND_SIGMOID)
            sigmoid_row(w, s->panels, vf_splat(times), vf_splat(LOG2_E * row[r].number));
        else if (large_origin(statistics[0], times))
            normalize_row(w, s->panels, times, statistics, true);
        else
            normalize_row(w, s->panels, times, statistics, false);
}

static void attend_weights(const struct attend_block *b, const struct attend_weights *d)
{
    for (int i = 0; i < tiles_of(b->rows); i++) {
        struct span s = span_of(b, i);
        rebuild(b, d, &s, NULL);
    }
}

static void add_bias(float *dbias, int n, vf ds)
{
    vf_store_n(dbias, vf_add(vf_load_n(dbias, n, 0), ds), n);
}

/* Adds ds to the bias gradients of the sixteen keys starting at `key`, of which only the first
   `keys` are valid. */
static inline void add_biases(const struct attend_row *row, int key, int keys, vf ds)
{
    int n = rapt__min(keys, LANES);
    if (row->dbias) add_bias(row->dbias + key, n, ds);
    if (row->drelative) add_bias(row->drelative + key, n, ds);
    if (row->dforget) add_bias(row->dforget + key, n, ds);
    add_distance_gradients(&row->distances, key, ds);
}

/* Multiplies the dp of a row by the dropout factors of its keys, and stores these factors in
   `factor`. */
static void drop_row(const struct attend_row *row, const struct attend_dkv *d, int key, int panels,
                     float *dp, float *factor)
{
    enum { GROUP = 4 * LANES };
    const struct dropout drop = {row->drop_key, d->drop_below, d->drop_scale};
    float all[GROUP];
    for (int p = 0; p < panels; p++) {
        int column = key + p * LANES, in_group = column % GROUP;
        if (p == 0 || in_group == 0) dropout_factors(&drop, row->drop_row, column - in_group, all);
        vf keep = vf_load(all + in_group);
        vf_store(factor + p * LANES, keep);
        vf_store(dp + p * LANES, vf_mul(vf_load(dp + p * LANES), keep));
    }
}

/* Returns the sum of p (dp - center) over the keys of a row, skipping keys with weight 0. */
static float delta_of(int panels, float center, const float *w, const float *dp)
{
    vf sum = vf_zero(), origin = vf_splat(center);
    for (int p = 0; p < panels; p++) {
        vf weight = vf_load(w + p * LANES);
        vf next = vf_fma(weight, vf_sub(vf_load(dp + p * LANES), origin), sum);
        sum = vf_select(vf_equal(weight, vf_zero()), sum, next);
    }
    return vf_sum(sum);
}

/* Returns delta - center: the sum of p (dp - center) over the keys and, if there is one, the sink,
   whose dp is 0. */
static vf delta_left(const struct attend_weights *from, const struct attend_row *row, int r,
                     int panels, float center, const float *w, const float *dp)
{
    vf left = vf_splat(delta_of(panels, center, w, dp));
    if (from->kind != ATTEND_SINK) return left;
    const float *statistics = from->statistics + r * STATISTICS;
    float scale = masked_scale(row, from->scale, from->cap);
    vf weight =
        sink_weights(vf_splat(rapt__sink_score(row->number, scale)), vf_splat(LOG2_E * scale),
                     vf_splat(statistics[0]), vf_splat(statistics[1]));
    return vf_fnma(weight, vf_splat(center), left);
}

/* Processes one row: replaces dp in the array ds with the gradients of the unscaled scores, and p
   in w with the weights after dropout. Also adds to the gradients of biases. If `capped` is true,
   slopes holds the slopes of the cap. Inlined, so that `capped` is a constant. */
static inline __attribute__((always_inline)) void
score_gradient(const struct attend_block *b, const struct attend_weights *from,
               const struct attend_dkv *d, const struct span *s, int r, bool capped,
               const float *slopes, float *w, float *ds)
{
    const struct attend_row *row = b->row + s->row + r;
    float factor[ATTEND_BLOCK];
    if (d->drop_below) drop_row(row, d, s->key, s->panels, ds, factor);
    float center = d->delta ? d->delta[s->row + r] : delta_of(s->panels, 0, w, ds);
    vf origin = vf_splat(center), scaled = vf_splat(from->scale), delta = vf_zero();
    vf sum = vf_zero();
    if (!d->delta) delta = delta_left(from, row, s->row + r, s->panels, center, w, ds);
    for (int p = 0; p < s->panels; p++) {
        int key = s->key + p * LANES;
        vf weight = vf_load(w + p * LANES), dp = vf_load(ds + p * LANES);
        vf g = vf_mul(weight, vf_sub(vf_sub(dp, origin), delta));
        g = vf_select(vf_equal(weight, vf_zero()), vf_zero(), g);
        if (row->dsum) sum = vf_add(sum, g);
        add_biases(row, key, b->key + b->keys - key, g);
        if (capped) {
            g = vf_mul(g, vf_load(slopes + p * LANES));
            g = vf_select(vf_equal(weight, vf_zero()), vf_zero(), g);
        }
        vf_store(ds + p * LANES, vf_mul(g, scaled));
        if (d->drop_below) vf_store(w + p * LANES, vf_mul(weight, vf_load(factor + p * LANES)));
    }
    if (row->dsum) *row->dsum += vf_sum(sum);
}

/* Like score_gradient, but for ATTEND_SIGMOID, where p is a sigmoid and ds is p (1 - p) dp. */
static void sigmoid_gradient(const struct attend_block *b, const struct attend_weights *from,
                             const struct attend_dkv *d, const struct span *s, int r,
                             const float *slopes, float *w, float *ds)
{
    const struct attend_row *row = b->row + s->row + r;
    float factor[ATTEND_BLOCK];
    vf scaled = vf_splat(from->scale), sum = vf_zero();
    if (d->drop_below) drop_row(row, d, s->key, s->panels, ds, factor);
    for (int p = 0; p < s->panels; p++) {
        int key = s->key + p * LANES;
        vf weight = vf_load(w + p * LANES), slope = vf_fnma(weight, weight, weight);
        vm none = vf_equal(weight, vf_zero());
        vf g = vf_select(none, vf_zero(), vf_mul(slope, vf_load(ds + p * LANES)));
        sum = vf_add(sum, g);
        add_biases(row, key, b->key + b->keys - key, g);
        if (slopes) g = vf_select(none, vf_zero(), vf_mul(g, vf_load(slopes + p * LANES)));
        vf_store(ds + p * LANES, vf_mul(g, scaled));
        if (d->drop_below) vf_store(w + p * LANES, vf_mul(weight, vf_load(factor + p * LANES)));
    }
    if (row->dsum) *row->dsum += vf_sum(sum);
}

/* Adds the terms of distances.by_dout to dp, the gradients of a row's weights. */
static void add_dout_row(const struct attend_row *row, const struct span *s, float *dp)
{
    for (int p = 0; p < s->panels && row->distances.by_dout; p++) {
        float *to = dp + p * LANES;
        vf_store(to, add_dout_distances(&row->distances, s->key + p * LANES, vf_load(to)));
    }
}

/* Adds the weights of a row to its sums of weights by distance. */
static void add_weights_row(const struct attend_row *row, const struct span *s, const float *w)
{
    for (int p = 0; p < s->panels && row->distances.weights; p++)
        add_distance_weights(&row->distances, s->key + p * LANES, vf_load(w + p * LANES));
}

static void score_gradients(const struct attend_block *b, const struct attend_weights *from,
                            const struct attend_dkv *d, const struct span *s, const float *slopes)
{
    float *w = from->weights + s->row * ATTEND_BLOCK, *ds = d->dscores + s->row * ATTEND_BLOCK;
    if (s->keys < b->keys) memset(ds, 0, (size_t)s->rows * ATTEND_BLOCK * sizeof(float));
    if (s->keys == 0) return;
    w += s->key - b->key, ds += s->key - b->key;
    rapt__ahead_tile(b->ahead);
    score_tile(s->rows, d->dout_slots + slot_offset(s->tile, d->value_width),
               d->value_panels + (ptrdiff_t)(s->key - b->key) * d->value_width, d->value_width,
               s->panels, ds, NULL);
    for (int r = 0, at = 0; r < s->rows; r++, at += ATTEND_BLOCK) {
        add_dout_row(b->row + s->row + r, s, ds + at);
        if (from->kind == ATTEND_SIGMOID)
            sigmoid_gradient(b, from, d, s, r, slopes ? slopes + at : NULL, w + at, ds + at);
        else if (slopes)
            score_gradient(b, from, d, s, r, true, slopes + at, w + at, ds + at);
        else
            score_gradient(b, from, d, s, r, false, NULL, w + at, ds + at);
        add_weights_row(b->row + s->row + r, s, w + at);
    }
}

/* Adds a times x to y. x and y have `width` floats each. Does nothing if a is 0. */
static void add_scaled(float *y, float a, const float *x, int width)
{
    for (int n = 0; n < width && a != 0; n += LANES)
        vf_store(y + n, vf_fma(vf_splat(a), vf_load(x + n), vf_load(y + n)));
}

/* Sets [*first, *last) to a range of rows that includes all rows to which any of the `keys` keys
   starting at `key` is visible. */
static void visible_rows(const struct attend_block *b, int key, int keys, int *first, int *last)
{
    int from = 0, to = b->rows, end = key + keys;
    while (from < to && !rapt__row_sees(b->row + from, key, end)) from++;
    while (from < to && !rapt__row_sees(b->row + to - 1, key, end)) to--;
    *first = from, *last = to;
}

/* Adds the contributions of a block to dk and dv. */
static void key_gradients(const struct attend_block *b, const float *weights,
                          const struct attend_dkv *d)
{
    int kw = rapt__padded(b->key_width), vw = rapt__padded(d->value_width);
    for (int i = 0, t, last; i < tiles_of(b->keys); i++) {
        int s = tile_begin(b->keys, i), keys = tile_begin(b->keys, i + 1) - s;
        visible_rows(b, b->key + s, keys, &t, &last);
        ptrdiff_t a = (ptrdiff_t)t * ATTEND_BLOCK + s;
        rapt__ahead_tile(b->ahead);
        transpose_tile(keys, weights + a, d->dout_rows + t * vw, last - t, vw, d->dv + s * vw);
        rapt__ahead_tile(b->ahead);
        transpose_tile(keys, d->dscores + a, d->q_rows + t * kw, last - t, kw, d->dk + s * kw);
    }
}

/* Like key_gradients, but for blocks in which 0 times an element may be NaN: processes one weight
   or score gradient at a time and skips those that are 0. */
static void key_gradients_non_finite(const struct attend_block *b, const float *weights,
                                     const struct attend_dkv *d)
{
    int kw = rapt__padded(b->key_width), vw = rapt__padded(d->value_width);
    for (int r = 0; r < b->rows; r++)
        for (int s = 0; s < b->keys; s++) {
            add_scaled(d->dk + s * kw, d->dscores[r * ATTEND_BLOCK + s], d->q_rows + r * kw, kw);
            add_scaled(d->dv + s * vw, weights[r * ATTEND_BLOCK + s], d->dout_rows + r * vw, vw);
        }
}

static void attend_dkv(const struct attend_block *b, const struct attend_weights *from,
                       const struct attend_dkv *d)
{
    _Alignas(64) float buffer[VF_ROWS * ATTEND_BLOCK];
    float *slopes = from->cap > 0 ? buffer : NULL;
    for (int i = 0; i < tiles_of(b->rows); i++) {
        struct span s = span_of(b, i);
        rebuild(b, from, &s, slopes);
        score_gradients(b, from, d, &s, slopes);
    }
    if (b->non_finite)
        key_gradients_non_finite(b, from->weights, d);
    else
        key_gradients(b, from->weights, d);
}

/* Adds the contributions of a block to dq. */
static void query_gradients(const struct attend_block *b, const struct attend_dq *d)
{
    int width = rapt__padded(b->key_width);
    for (int i = 0; i < tiles_of(b->rows); i++) {
        struct span s = span_of(b, i);
        int key = s.key - b->key;
        rapt__ahead_tile(b->ahead);
        if (s.keys > 0)
            add_tile(s.rows, d->dscores + s.row * ATTEND_BLOCK + key, d->key_rows + key * width,
                     width, s.keys, width, d->dq + s.row * width);
    }
}

/* Like query_gradients, but skips score gradients that are 0, as key_gradients_non_finite does. */
static void query_gradients_non_finite(const struct attend_block *b, const struct attend_dq *d)
{
    int width = rapt__padded(b->key_width);
    for (int r = 0; r < b->rows; r++)
        for (int s = 0; s < b->keys; s++)
            add_scaled(d->dq + r * width, d->dscores[r * ATTEND_BLOCK + s], d->key_rows + s * width,
                       width);
}

static void attend_dq(const struct attend_block *b, const struct attend_dq *d)
{
    if (b->non_finite)
        query_gradients_non_finite(b, d);
    else
        query_gradients(b, d);
}
