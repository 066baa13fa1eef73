/* flash_backward.c - attention backward, a block of at most 56 queries and 128 keys at a time; the
   equations stand in tile.h (Dao et al. 2022, "FlashAttention", appendix B.2, algorithm 4). Weights
   are rebuilt from lse, so that nothing of the size queries x keys is kept. Every element of dq
   is one chain of fma in the order of keys, of dk and dv in the order of queries, across blocks
   too; so how work is shared out changes no bit. */

struct span { /* a tile of the rows of a block, and the keys of it that they see */
    int tile, row, rows;
    struct visible_range visible;
    int key, keys, panels; /* keys 0: none; key a multiple of 16 */
};

static struct span span_of(const struct attend_backward *b, int tile)
{
    int row = tile_begin(b->rows, tile), rows = tile_begin(b->rows, tile + 1) - row;
    struct span s = {tile, row, rows, visible_range_of(b->row + row, rows), 0, 0, 0};
    s.key = greater(b->key, s.visible.first / LANES * LANES);
    s.keys = greater(0, lesser(b->key + b->keys, s.visible.last) - s.key);
    s.panels = (s.keys + LANES - 1) / LANES;
    return s;
}

/* Slots from rows that are filled up to whole vectors. */
static void pack_slots(const float *from, int rows, int width, float sign, float *slots)
{
    const float *x[VF_ROWS];
    for (int i = 0; i < tiles_of(rows); i++) {
        int row = tile_begin(rows, i), count = tile_begin(rows, i + 1) - row;
        for (int r = 0; r < count; r++) x[r] = from + (row + r) * rapt__padded(width);
        pack_slot(x, count, width, sign, slots + slot_of(i, width));
    }
}

static void pack_block(const struct attend_backward *b)
{
    pack_slots(b->q_rows, b->rows, b->key_width, b->scale < 0 ? -1.f : 1.f, b->q_slots);
    pack_slots(b->dout_rows, b->rows, b->value_width, 1, b->dout_slots);
}

/* weights = p; 0 where nothing is seen. */
static void rebuild(const struct attend_backward *b, const struct span *s)
{
    float *w = b->weights + s->row * ATTEND_BLOCK, size = b->scale < 0 ? -b->scale : b->scale;
    if (s->keys < b->keys) memset(w, 0, (size_t)s->rows * ATTEND_BLOCK * sizeof(float));
    if (s->keys == 0) return;
    w += s->key - b->key;
    score_tile(s->rows, b->q_slots + slot_of(s->tile, b->key_width),
               b->key_panels + (ptrdiff_t)(s->key - b->key) * b->key_width, b->key_width, s->panels,
               w, NULL);
    struct seen seen;
    const struct attend_row *row = b->row + s->row;
    mask_tile(row, s->rows, &s->visible, size, s->key, s->panels, w, ATTEND_BLOCK, &seen);
    vf times = vf_splat(row->bias ? 1 : size), min = vf_splat(-INFINITY);
    for (int r = 0; r < s->rows; r++, w += ATTEND_BLOCK) {
        vf from = vf_splat(-b->lse[s->row + r]);
        for (int p = 0; p < s->panels; p++) {
            vf x = vf_load(w + p * LANES), e = vf_exp(vf_fma(x, times, from));
            vf_store(w + p * LANES, vf_select(vf_equal(x, min), vf_zero(), e));
        }
    }
}

/* dbias[key ...] += ds, as far as keys exist. */
static void add_bias(float *dbias, int keys, vf ds)
{
    int n = lesser(keys, LANES);
    vf_store_n(dbias, vf_add(vf_load_n(dbias, n, 0), ds), n);
}

/* One row: dp in ds becomes scale ds, p in w becomes what was weighed with, after dropout. */
static void score_gradient(const struct attend_backward *b, const struct span *s, int r, float *w,
                           float *ds)
{
    const struct attend_row *row = b->row + s->row + r;
    const struct dropout d = {row->drop_key, b->drop_below, b->drop_scale};
    float factor[4 * LANES];
    vf delta = vf_splat(b->delta[s->row + r]), scaled = vf_splat(b->scale), keep = vf_splat(1);
    for (int p = 0; p < s->panels; p++) {
        int key = s->key + p * LANES, in_group = key % (4 * LANES);
        if (b->drop_below && (p == 0 || in_group == 0))
            dropout_factors(&d, row->drop_row, key - in_group, factor);
        if (b->drop_below) keep = vf_load(factor + in_group);
        vf weight = vf_load(w + p * LANES), dp = vf_load(ds + p * LANES);
        vf g = vf_mul(weight, vf_sub(vf_mul(dp, keep), delta));
        g = vf_select(vf_equal(weight, vf_zero()), vf_zero(), g);
        if (row->dbias) add_bias(row->dbias + key, b->key + b->keys - key, g);
        vf_store(ds + p * LANES, vf_mul(g, scaled));
        vf_store(w + p * LANES, vf_mul(weight, keep));
    }
}

static void score_gradients(const struct attend_backward *b, const struct span *s)
{
    float *w = b->weights + s->row * ATTEND_BLOCK, *ds = b->dscores + s->row * ATTEND_BLOCK;
    if (s->keys < b->keys) memset(ds, 0, (size_t)s->rows * ATTEND_BLOCK * sizeof(float));
    if (s->keys == 0) return;
    w += s->key - b->key, ds += s->key - b->key;
    score_tile(s->rows, b->dout_slots + slot_of(s->tile, b->value_width),
               b->value_panels + (ptrdiff_t)(s->key - b->key) * b->value_width, b->value_width,
               s->panels, ds, NULL);
    for (int r = 0; r < s->rows; r++)
        score_gradient(b, s, r, w + r * ATTEND_BLOCK, ds + r * ATTEND_BLOCK);
}

/* y += a x, width floats. */
static void add_scaled(float *y, float a, const float *x, int width)
{
    for (int n = 0; n < width; n += LANES)
        vf_store(y + n, vf_fma(vf_splat(a), vf_load(x + n), vf_load(y + n)));
}

/* What key_gradients and query_gradients do, element by element, where a weight is not 0: for
   blocks in which 0 times something is not 0. */
static void gradients_one_by_one(const struct attend_backward *b)
{
    int kw = rapt__padded(b->key_width), vw = rapt__padded(b->value_width);
    bool queries = b->step == ATTEND_QUERIES;
    for (int r = 0; r < b->rows; r++)
        for (int s = 0; s < b->keys; s++) {
            float w = b->weights[r * ATTEND_BLOCK + s], ds = b->dscores[r * ATTEND_BLOCK + s];
            if (queries && ds != 0) add_scaled(b->dq + r * kw, ds, b->key_rows + s * kw, kw);
            if (!queries && ds != 0) add_scaled(b->dk + s * kw, ds, b->q_rows + r * kw, kw);
            if (!queries && w != 0) add_scaled(b->dv + s * vw, w, b->dout_rows + r * vw, vw);
        }
}

/* Rows [*first, *last) contain all that see one of `keys` keys from `key` on. */
static void rows_that_see(const struct attend_backward *b, int key, int keys, int *first, int *last)
{
    int from = 0, to = b->rows;
    while (from < to && (b->row[from].low >= key + keys || b->row[from].high <= key)) from++;
    while (from < to && (b->row[to - 1].low >= key + keys || b->row[to - 1].high <= key)) to--;
    *first = from, *last = to;
}

static void key_gradients(const struct attend_backward *b)
{
    int kw = rapt__padded(b->key_width), vw = rapt__padded(b->value_width);
    for (int i = 0, t, last; i < tiles_of(b->keys); i++) {
        int s = tile_begin(b->keys, i), keys = tile_begin(b->keys, i + 1) - s;
        rows_that_see(b, b->key + s, keys, &t, &last);
        ptrdiff_t a = (ptrdiff_t)t * ATTEND_BLOCK + s;
        transpose_tile(keys, b->weights + a, b->dout_rows + t * vw, last - t, vw, b->dv + s * vw);
        transpose_tile(keys, b->dscores + a, b->q_rows + t * kw, last - t, kw, b->dk + s * kw);
    }
}

static void query_gradients(const struct attend_backward *b)
{
    int width = rapt__padded(b->key_width);
    for (int i = 0; i < tiles_of(b->rows); i++) {
        struct span s = span_of(b, i);
        int key = s.key - b->key;
        if (s.keys > 0)
            add_tile(s.rows, b->dscores + s.row * ATTEND_BLOCK + key, b->key_rows + key * width,
                     s.keys, width, b->dq + s.row * width);
    }
}

static void attend_backward(const struct attend_backward *b)
{
    if (b->step == ATTEND_PACK) pack_block(b);
    if (b->step == ATTEND_WEIGHTS || b->step == ATTEND_KEYS)
        for (int i = 0; i < tiles_of(b->rows); i++) {
            struct span s = span_of(b, i);
            rebuild(b, &s);
            if (b->step == ATTEND_KEYS) score_gradients(b, &s);
        }
    if (b->step == ATTEND_KEYS || b->step == ATTEND_QUERIES) {
        if (b->non_finite)
            gradients_one_by_one(b);
        else if (b->step == ATTEND_KEYS)
            key_gradients(b);
        else
            query_gradients(b);
    }
}
