/* flash.c - attention of a few queries, with a running softmax:

       m' = max(m, max_s x[s])      x[s] = scale q.k[s] + bias[s]
       l' = l e^(m-m') + sum_s e^(x[s]-m')
       o' = o e^(m-m') + sum_s e^(x[s]-m') v[s]          out = o / l,  lse = m + log l

   over blocks of 128 keys (Milakov and Gimelshein 2018, "Online normalizer calculation for
   softmax"; Rabe and Staats 2021, "Self-attention does not need O(n^2) memory"). The results of a
   row do not depend on other rows: blocks begin at multiples of 128 no matter which keys are
   visible, q.k is computed as chains of fmas in the order of the elements (flash_panels.c), the sum
   of a block is a chain of fmas in the order of the keys, and l is sixteen sums, one per lane. A
   hidden key has x = -infinity and weight 0 in every rounding mode. It adds nothing to o unless its
   value is infinite or NaN, so only panels with such values are summed row by row, without the
   hidden keys. A sink is one more key, with value 0, and is added to m and l at the end. Sigmoids
   use the same blocks, but m and l serve only to detect fully masked rows. */
#include "kernel/flash.h"

#include <assert.h>
#include <math.h>
#include <string.h>

_Static_assert((int)VF_ROWS <= (int)LANES, "a tile has at most one row per lane of a vector");
_Static_assert((ATTEND_ROWS + VF_ROWS - 1) / VF_ROWS * VF_ROWS <= ATTEND_SLOTS,
               "each tile of a call has a slot of VF_ROWS rows");
_Static_assert((int)VF_ROWS <= (int)ATTEND_ROWS, "callers take whole tiles");

#ifdef NDEBUG
enum { GUARDED = 0 };
#else
enum { GUARDED = 1 };
#endif
static const float GUARD = -0x1.5a5a5ap99f; /* a value unlikely to occur in sums or queries */

/* ---- the running softmax of one tile ---- */

struct running {
    float *max;  /* [rows] maxima of the scores so far */
    float *sums; /* [rows][16] sums of exponentials, lane by lane */
    float *o;    /* [rows][width] weighted sums of values */
    int width;
};

/* Recomputes the maximum in each lane of each row after the scores have changed. */
static void lane_maxima(int rows, const float *scores, int panels, float *lanes)
{
    for (int r = 0; r < rows; r++, scores += ATTEND_BLOCK) {
        vf m = vf_load(scores);
        for (int p = 1; p < panels; p++) m = vf_max(vf_load(scores + p * LANES), m);
        vf_store(lanes + r * LANES, m);
    }
}

/* Raises state->max to the maxima of a block's scores where these are greater. lanes [16][16] holds
   the maximum of each lane for each row. base receives the new maxima, with 0 in place of
   -infinity; rescale receives the factors for earlier sums. */
static void raise_max(const struct running *state, int rows, const float *lanes, float times,
                      float base[LANES], float rescale[LANES])
{
    vf x[LANES], min = vf_splat(-INFINITY);
    for (int r = 0; r < LANES; r++) x[r] = vf_load(lanes + r * LANES);
    vf old = vf_load_n(state->max, rows, 0);
    vf max = vf_max(vf_reduce_max_rows(x), old);
    vf from = vf_select(vf_equal(max, min), vf_zero(), max);
    vf_store_n(state->max, max, rows);
    vf_store(base, from);
    vf_store(rescale, rescaled(old, from, vf_splat(times)));
}

/* Turns the scores of a row into weights and returns the sums of the weights, lane by lane. If
   `masked`, scores may be -infinity, which gives a weight of 0 in every rounding mode. */
static inline __attribute__((always_inline)) vf
exponentiate_row(float *s, int panels, float scale, float base, bool large, bool masked)
{
    vf times = vf_splat(scale), origin = vf_splat(origin_of(base, scale, large));
    vf sum = vf_zero(), min = vf_splat(-INFINITY);
    for (int p = 0; p < panels; p++) {
        vf x = vf_load(s + p * LANES), w = exponentiate_scores(x, times, origin, large);
        if (masked) w = vf_select(vf_equal(x, min), vf_zero(), w);
        vf_store(s + p * LANES, w);
        sum = vf_add(sum, w);
    }
    return sum;
}

/* Turns scores into weights relative to state->max and adds the weights to the rescaled sums. */
static void exponentiate(const struct running *state, int rows, float *scores, int panels,
                         float times, const float base[LANES], const float rescale[LANES],
                         bool masked)
{
    for (int r = 0; r < rows; r++) {
        float *s = scores + r * ATTEND_BLOCK, *sums = state->sums + r * LANES;
        bool large = large_origin(base[r], times);
        vf sum = large    ? exponentiate_row(s, panels, times, base[r], true, true)
                 : masked ? exponentiate_row(s, panels, times, base[r], false, true)
                          : exponentiate_row(s, panels, times, base[r], false, false);
        vf_store(sums, vf_fma(vf_load(sums), vf_splat(rescale[r]), sum));
    }
}

/* ---- attend ---- */

struct key_source { /* keys and values, starting at key `first` */
    const float *keys, *values;
    const unsigned char *non_finite;
    int first;
    ptrdiff_t value_row;
};

struct attend_tile { /* at most VF_ROWS rows of a call to attend */
    const struct attend *a;
    const struct key_source *from;
    const struct attend_row *row;
    int rows;
    struct visible_range visible;
    struct running state;
    const float *q; /* [key width][VF_ROWS] */
    float *part;    /* [rows][width] */
    /* for the current block of keys: */
    int key, keys, panels; /* key and keys are set by seen_keys; panels is the number of panels of
                              these keys */
    float *scores;         /* [rows][ATTEND_BLOCK]; later overwritten with the weights */
    struct seen seen;
    float base[LANES], rescale[LANES];
};

/* Returns the factor by which scores must still be multiplied after mask_tile. */
static float masked_scale_of(const struct attend_tile *t)
{
    return masked_scale(t->row, t->a->scale, t->a->cap);
}

static bool any_non_finite(const unsigned char *non_finite, int panels)
{
    unsigned any = 0;
    for (int p = 0; p < panels; p++) any |= non_finite[p];
    return any;
}

/* Like accumulate_tile, but for a block with infinite or NaN values: sums panel by panel in `part`,
   which is then added to o. */
static void accumulate_non_finite(const struct attend_tile *t, const float *values,
                                  ptrdiff_t value_row, const unsigned char *non_finite)
{
    int width = t->state.width, size = t->rows * width;
    float *part = t->part;
    const float *weights = t->scores;
    memset(part, 0, (size_t)size * sizeof *part);
    for (int p = 0, n; p < t->panels; p++, values += n * value_row, weights += LANES) {
        n = rapt__min(t->keys - p * LANES, LANES);
        if (non_finite[p])
            accumulate_seen(t->rows, &t->seen, p, weights, values, value_row, n, width, part);
        else
            add_tile(t->rows, weights, values, value_row, n, width, part);
    }
    for (int r = 0; r < t->rows; r++)
        for (int n = r * width; n < (r + 1) * width; n += LANES)
            vf_store(t->state.o + n,
                     vf_fma(vf_load(t->state.o + n), vf_splat(t->rescale[r]), vf_load(part + n)));
}

/* The visible keys of a block are processed in three steps, each of them for several tiles in turn,
   so that the work of one tile hides the latency at the end of the previous one. Where register
   tiles have only one panel, the tiles are processed one by one, because the scores of all tiles
   would fill the L1 cache. */
enum { TILES_TOGETHER = VF_PANELS > 1 ? ATTEND_SLOTS : 1 };

static void score_block(struct attend_tile *t, int block, float *lanes)
{
    const struct attend *a = t->a;
    int depth = a->keys->key_width;
    seen_keys(t->row, t->rows, &t->visible, block, block + ATTEND_BLOCK, &t->key, &t->keys,
              &t->seen);
    t->panels = rapt__ceil_div(t->keys, LANES);
    if (t->keys == 0) return;
    rapt__ahead_tile(a->ahead);
    score_tile(t->rows, t->q, t->from->keys + (ptrdiff_t)(t->key - t->from->first) * depth, depth,
               t->panels, t->scores, lanes);
    if (a->cap > 0)
        cap_tile(t->rows, t->panels, rapt__score_factor(a->scale), a->cap, t->scores, NULL);
    mask_tile(t->row, t->rows, &t->visible, capped_scale(a->scale, a->cap), t->key, t->panels,
              t->scores, ATTEND_BLOCK, &t->seen);
    if (!t->seen.all || a->cap > 0) lane_maxima(t->rows, t->scores, t->panels, lanes);
    raise_max(&t->state, t->rows, lanes, LOG2_E * masked_scale_of(t), t->base, t->rescale);
}

/* Turns scores into sigmoids and adds these to the sums, which serve only to detect fully masked
   rows. */
static void apply_sigmoid(struct attend_tile *t)
{
    vf times = vf_splat(LOG2_E * masked_scale_of(t));
    for (int r = 0; r < t->rows; r++) {
        float *s = t->scores + r * ATTEND_BLOCK, *sums = t->state.sums + r * LANES;
        t->rescale[r] = 1;
        vf_store(sums, vf_add(vf_load(sums), sigmoid_row(s, t->panels, times,
                                                         vf_splat(LOG2_E * t->row[r].number))));
    }
}

/* Adds the weights of a block to its rows' sums of weights by distance. */
static void sum_by_distance(const struct attend_tile *t)
{
    for (int r = 0; r < t->rows; r++) {
        const struct distances *x = &t->row[r].distances;
        const float *w = t->scores + r * ATTEND_BLOCK;
        if (!x->weights) continue;
        if (t->rescale[r] != 1) scale_distance_weights(x, t->rescale[r]);
        for (int p = 0; p < t->panels; p++)
            add_distance_weights(x, t->key + p * LANES, vf_load(w + p * LANES));
    }
}

static void exponentiate_block(struct attend_tile *t)
{
    const struct attend *a = t->a;
    if (t->keys == 0) return;
    if (a->kind == ATTEND_SIGMOID)
        apply_sigmoid(t);
    else
        exponentiate(&t->state, t->rows, t->scores, t->panels, LOG2_E * masked_scale_of(t), t->base,
                     t->rescale, !t->seen.all);
    if (a->drop_below)
        drop_tile(t->row, t->rows, a->drop_below, a->drop_scale, t->key, t->panels, t->scores);
    if (t->row->out) sum_by_distance(t);
}

static void accumulate_block(const struct attend_tile *t)
{
    const struct key_source *from = t->from;
    if (t->keys == 0 || !t->row->out) return;
    rapt__ahead_tile(t->a->ahead);
    const float *values = from->values + (t->key - from->first) * from->value_row;
    const unsigned char *non_finite = from->non_finite + (t->key - from->first) / LANES;
    if (t->seen.all || !any_non_finite(non_finite, t->panels))
        accumulate_tile(t->rows, t->scores, values, from->value_row, t->keys, t->state.width,
                        t->rescale, t->state.o);
    else
        accumulate_non_finite(t, values, from->value_row, non_finite);
}

static void attend_block(struct attend_tile *tile, int tiles, int block, float *lanes)
{
    for (int i = 0; i < tiles; i++) score_block(tile + i, block, lanes);
    for (int i = 0; i < tiles; i++) exponentiate_block(tile + i);
    for (int i = 0; i < tiles; i++) accumulate_block(tile + i);
}

/* Returns l, summed over the lanes and with sinks included; for sigmoids, l is 1, or 0 in fully
   masked rows. Also sets `sums` to l, and `keep` to the factors by which o must still be
   multiplied. Updates state.max too: it then includes sinks, and is 0 for sigmoids. */
static vf finish_sums(const struct attend_tile *t, float sums[LANES], float keep[LANES])
{
    const struct running *s = &t->state;
    float scale = masked_scale_of(t), sinks[LANES] = {0};
    for (int r = 0; r < t->rows; r++) sums[r] = vf_sum(vf_load(s->sums + r * LANES));
    vf l = vf_load_n(sums, t->rows, 1), max = vf_load_n(s->max, t->rows, 0), factors = vf_splat(1);
    if (t->a->kind == ATTEND_SINK) {
        for (int r = 0; r < t->rows; r++) sinks[r] = rapt__sink_score(t->row[r].number, scale);
        factors = add_sinks(vf_load(sinks), vf_splat(LOG2_E * scale), &max, &l);
    } else if (t->a->kind == ATTEND_SIGMOID) {
        vm none = vm_and(vf_equal(max, vf_splat(-INFINITY)), vf_equal(l, vf_zero()));
        max = vf_zero(), l = vf_select(none, vf_zero(), vf_splat(1));
    }
    if (t->a->kind != ATTEND_SOFTMAX) {
        vf_store_n(s->max, max, t->rows);
        vf_store(sums, l);
    }
    vf_store(keep, factors);
    return l;
}

/* Sets out to o times the rounded quotient keep / l (see finish_sums), and lse to m + log l. In a
   fully masked row, out is 0 and lse is -infinity. */
static void finish_tile(const struct attend_tile *t)
{
    const struct running *s = &t->state;
    int columns = t->row->out ? t->a->keys->value_width : 0;
    float sums[LANES], keep[LANES], lse[LANES], scale = masked_scale_of(t);
    vf l = finish_sums(t, sums, keep), max = vf_load_n(s->max, t->rows, 0);
    vf none = vf_splat(-INFINITY);
    vf_store(lse, vf_select(vf_equal(l, vf_zero()), none, vf_fma(max, vf_splat(scale), vf_log(l))));
    for (int r = 0; r < t->rows; r++) {
        const struct attend_row *row = t->row + r;
        bool fully_masked = sums[r] == 0;
        float factor = keep[r] / sums[r];
        vf inverse = vf_splat(factor);
        if (columns && row->distances.weights)
            scale_distance_weights(&row->distances, fully_masked ? 0 : factor);
        if (row->lse) *row->lse = lse[r];
        if (row->statistics) row->statistics[0] = s->max[r], row->statistics[1] = sums[r];
        for (int n = 0; n < columns; n += LANES) {
            vf o = vf_load(s->o + r * s->width + n);
            o = fully_masked ? vf_zero() : mean_of(o, inverse);
            vf_store_n(row->out + n, o, rapt__min(columns - n, LANES));
        }
    }
}

/* Sets up tile i, which consists of rows [row, end). Unless the call is resumed, also initializes
   the tile's state and packs its queries. */
static void make_tile(const struct attend *a, const struct key_source *from, int i, int row,
                      int end, float *scores, struct attend_tile *t)
{
    int depth = a->keys->key_width, width = rapt__padded(a->keys->value_width);
    const struct attend_layout at = rapt__attend_layout(depth, a->keys->value_width);
    float *sums = a->workspace + at.sums, *max = a->workspace + at.max, *o = a->workspace + at.out;
    float *q = a->workspace + at.q + slot_offset(i, depth);
    int rows = end - row;
    t->a = a;
    t->from = from;
    t->row = a->row + row;
    t->rows = rows;
    t->visible = visible_range_of(t->row, rows);
    t->state = (struct running){max + row, sums + row * LANES, o + row * width, width};
    t->q = q;
    t->part = a->workspace + at.part;
    t->scores = scores + row * ATTEND_BLOCK;
    if (a->resumed) return;
    const float *x[VF_ROWS];
    for (int r = 0; r < rows; r++) {
        x[r] = t->row[r].q;
        t->state.max[r] = -INFINITY;
    }
    pack_slot(x, rows, depth, rapt__query_factor(a->scale), q);
    memset(t->state.sums, 0, (size_t)rows * LANES * sizeof(float));
    memset(t->state.o, 0, (size_t)(rows * width) * sizeof(float));
}

/* Writes a pattern into the guards of the workspace, or checks that it is still there. */
static void guard(const struct attend *a, bool check)
{
    const struct attend_layout l = rapt__attend_layout(a->keys->key_width, a->keys->value_width);
    const size_t ends[] = {l.max, l.out, l.part, l.q, l.size};
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++)
        for (size_t n = ends[i] - LANES; n < ends[i]; n++) {
            if (!check) a->workspace[n] = GUARD;
            assert(a->workspace[n] == GUARD);
        }
}

/* Packs sixteen keys, starting at `key`. If the keys are probably not in a nearby cache, also
   prefetches the next sixteen. Values need no prefetching, because they are read row after row. */
static void pack_plain_keys(const struct attend_plain *plain, int key, int width, float *panel)
{
    int next = key + LANES, rows = rapt__min(plain->keys - next, LANES);
    for (int r = 0; r < rows && plain->far; r++)
        rapt__prefetch_row(plain->k + (next + r) * plain->k_row, width);
    pack_columns(plain->k, plain->k_row, plain->keys, width, 1, key / LANES, 1, panel);
}

/* Packs the keys of a block, and the values unless their width is a multiple of 16. Both are packed
   sixteen keys at a time, which is faster than packing all keys before all values. */
static struct key_source plain_block(const struct attend *a, int key)
{
    const struct attend_keys *all = a->keys;
    const struct attend_plain *plain = all->plain;
    int keys = rapt__min(plain->keys - key, ATTEND_BLOCK), width = all->value_width;
    bool whole = plain->v && width % LANES == 0;
    const float *v = plain->v ? plain->v + key * plain->v_row : NULL;
    struct key_source from = {.keys = plain->panels,
                              .values = whole ? v : plain->rows,
                              .non_finite = plain->non_finite,
                              .first = key,
                              .value_row = whole ? plain->v_row : rapt__padded(width)};
    for (int p = 0; p * LANES < keys; p++) {
        int n = rapt__min(keys - p * LANES, LANES), row = p * LANES;
        rapt__ahead_tile(a->ahead);
        pack_plain_keys(plain, key + row, all->key_width,
                        plain->panels + (ptrdiff_t)row * all->key_width);
        if (!v) continue;
        plain->non_finite[p] =
            whole ? !rows_finite(v, plain->v_row, n, width)
                  : pad_rows(v, plain->v_row, n, width, plain->rows + row * from.value_row);
        v += LANES * plain->v_row;
    }
    return from;
}

/* Returns the first key of the first block in [key, last) that contains a visible key, or a number
   that is at least `last` if there is none. key must be a multiple of ATTEND_BLOCK. */
static int next_block(const struct visible_keys *keys, int count, int key, int last)
{
    return rapt__next_visible(keys, count, key, last) / ATTEND_BLOCK * ATTEND_BLOCK;
}

static void attend_queries(const struct attend *a)
{
    struct key_source from = {a->keys->keys, a->keys->values, a->keys->non_finite, a->keys->first,
                              rapt__padded(a->keys->value_width)};
    struct attend_tile tile[ATTEND_SLOTS / VF_ROWS];
    _Alignas(64) float scores[ATTEND_ROWS * ATTEND_BLOCK], lanes[LANES * LANES] = {0};
    int tiles = tiles_of(a->rows);
    struct visible_range visible = visible_range_of(a->row, a->rows);
    struct visible_keys keys[ATTEND_ROWS];
    int count = rapt__visible_keys(a->row, a->rows, keys);
    int begin = rapt__max(visible.first / ATTEND_BLOCK * ATTEND_BLOCK, a->begin);
    int last = a->end ? rapt__min(visible.last, a->end) : visible.last;
    if (GUARDED && !a->resumed) guard(a, false);
    for (int i = 0; i < tiles; i++)
        make_tile(a, &from, i, tile_begin(a->rows, i), tile_begin(a->rows, i + 1), scores,
                  tile + i);
    for (int key = next_block(keys, count, begin, last); key < last;
         key = next_block(keys, count, key + ATTEND_BLOCK, last)) {
        if (a->keys->plain) from = plain_block(a, key);
        for (int i = 0; i < tiles; i += TILES_TOGETHER)
            attend_block(tile + i, rapt__min(tiles - i, TILES_TOGETHER), key, lanes);
    }
    for (int i = 0; i < tiles && !a->unfinished; i++) finish_tile(tile + i);
    if (GUARDED) guard(a, true);
}
