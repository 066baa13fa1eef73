/* flash.c - attention of a few queries over their keys, with a running softmax:

       m' = max(m, max_s x[s])      x[s] = scale q.k[s] + bias[s]
       l' = l e^(m-m') + sum_s e^(x[s]-m')
       o' = o e^(m-m') + sum_s e^(x[s]-m') v[s]          out = o / l,  lse = m + log l

   over blocks of 128 keys (Milakov and Gimelshein 2018, "Online normalizer calculation for
   softmax"; Rabe and Staats 2021, "Self-attention does not need O(n^2) memory"). Blocks begin
   at multiples of 128 whatever a row sees, q.k and the sums of a block are chains of fma in the
   order of elements and keys, l is sixteen sums: so a row's bits depend on no other row. A hidden
   key has x = -infinity and weight 0, which adds nothing to o unless its value is not finite; only
   such panels are weighed row by row. */
#include "kernel/flash.h"

#include <assert.h>
#include <float.h>
#include <math.h>
#include <string.h>

enum { BLOCK_PANELS = ATTEND_BLOCK / LANES };

_Static_assert((int)VF_ROWS <= (int)LANES,
               "maxima, lanes and bits of a tile's rows fill one vector");
_Static_assert((ATTEND_ROWS + VF_ROWS - 1) / VF_ROWS * VF_ROWS <= ATTEND_SLOTS,
               "each tile of a call has a slot of VF_ROWS rows");
_Static_assert((int)VF_ROWS <= (int)ATTEND_ROWS, "callers take whole tiles");
_Static_assert(LANES == 16, "struct seen keeps a bit for each key of a panel in 16 bits");
_Static_assert(ATTEND_BLOCK % (4 * LANES) == 0, "dropout factors come by 64 keys");

#ifdef NDEBUG
enum { GUARDED = 0 };
#else
enum { GUARDED = 1 };
#endif
static const float GUARD = -0x1.5a5a5ap99f; /* no sum, no query */

static const float LOG2_E = 0x1.715476p0f;

/* ---- register tiles with constant strides, over the sums of gemm.c ---- */

/* Rows are cut into tiles of like height; tile i begins here. */
static int tiles_of(int rows)
{
    return (rows + VF_ROWS - 1) / VF_ROWS;
}
static int tile_begin(int rows, int i)
{
    return rows * i / tiles_of(rows);
}

static bool pad_rows(const float *x, ptrdiff_t ld, int rows, int width, float *to)
{
    vf endless = vf_splat(INFINITY);
    unsigned finite = 0xffff;
    for (int r = 0; r < rows; r++, x += ld)
        for (int n = 0; n < width; n += LANES, to += LANES) {
            vf v = vf_load_partial(x + n, (size_t)(width - n), 0);
            vf_store(to, v);
            finite &= vm_bits(vf_less(vf_abs(v), endless));
        }
    return finite != 0xffff;
}

/* Rows on the left of a product are kept in slots [depth][VF_ROWS], one for each tile. */
static ptrdiff_t slot_of(int tile, int depth)
{
    return (ptrdiff_t)tile * depth * VF_ROWS;
}

/* Rows x[r], times sign, into a slot. */
static void pack_slot(const float *const x[VF_ROWS], int rows, int depth, float sign, float *slot)
{
    for (int k = 0; k < depth; k += LANES) {
        vf block[LANES];
        int n = rapt__min(depth - k, LANES);
        for (int r = 0; r < LANES; r++) block[r] = vf_zero();
        for (int r = 0; r < rows; r++)
            block[r] = vf_mul(vf_load_partial(x[r] + k, (size_t)n, 0), vf_splat(sign));
        vf_transpose(block);
        for (int i = 0; i < n; i++, slot += VF_ROWS) vf_store_n(slot, block[i], VF_ROWS);
    }
}

/* ---- which keys are seen ---- */

struct visible_range {
    int first, last;         /* keys outside are seen by no row */
    int all_first, all_last; /* keys inside by all of them, as far as low and high say */
};

static struct visible_range visible_range_of(const struct attend_row *row, int rows)
{
    struct visible_range s = {INT32_MAX, 0, 0, INT32_MAX};
    for (int r = 0; r < rows; r++) {
        if (row[r].low < row[r].high) {
            s.first = rapt__min(s.first, row[r].low);
            s.last = rapt__max(s.last, row[r].high);
        }
        s.all_first = rapt__max(s.all_first, row[r].low);
        s.all_last = rapt__min(s.all_last, row[r].high);
    }
    return s;
}

static const float lane_numbers[LANES] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};

/* 1 where sixteen bytes from allowed on are not 0, of which n exist, 0 elsewhere. */
static vf opened(const uint8_t *allowed, int n)
{
    float open[LANES] = {0};
    for (int i = 0; i < n; i++) open[i] = allowed[i] ? 1 : 0;
    return vf_load(open);
}

/* Whether something is added to the scores of a call; they are scaled before. */
static bool biased(const struct attend_row *row)
{
    return row->bias || row->relative;
}

/* What is added to the scores of keys key .. key + n - 1; open becomes 0 where that hides them. */
static inline vf added_bias(const struct attend_row *row, int key, int n, vf *open)
{
    vf min = vf_splat(-INFINITY), bias = vf_zero();
    if (row->bias) {
        bias = vf_load_n(row->bias + key, n, 0);
        *open = vf_select(vf_equal(bias, min), vf_zero(), *open);
    }
    if (!row->relative) return bias;
    vf relative = vf_load_n(row->relative + key, n, 0);
    *open = vf_select(vf_equal(relative, min), vf_zero(), *open);
    return row->bias ? vf_add(bias, relative) : relative;
}

/* The scores s of sixteen keys from `key` on as row sees them: hidden ones are -infinity; with a
   bias s becomes scale s + bias. *seen: a bit for each key that is seen. */
static vf look(const struct attend_row *row, int key, float scale, vf s, unsigned *seen)
{
    vf lanes = vf_load(lane_numbers), min = vf_splat(-INFINITY), open = vf_splat(1);
    int n = rapt__max(0, rapt__min(row->high - key, LANES)),
        before = rapt__max(-1, row->low - key - 1);
    vm see = vm_and(vf_less(lanes, vf_splat((float)n)), vf_less(vf_splat((float)before), lanes));
    if (row->allowed && n > 0) open = opened(row->allowed + key, n);
    if (biased(row) && n > 0) {
        vf bias = added_bias(row, key, n, &open);
        s = vf_fma(s, vf_splat(scale), bias);
    }
    see = vm_and(see, vf_less(vf_zero(), open));
    *seen = vm_bits(see);
    return vf_select(see, s, min);
}

/* Scores s become cap tanh(scale s / cap); slopes, unless NULL, the derivative of that by scale s.
 */
static void cap_tile(int rows, int panels, float scale, float cap, float *scores, float *slopes)
{
    vf times = vf_splat(scale), limit = vf_splat(cap), one = vf_splat(1);
    vf inverse = vf_min(vf_splat(FLT_MAX), vf_splat(1 / cap));
    for (int r = 0; r < rows; r++)
        for (int p = 0; p < panels; p++) {
            int at = r * ATTEND_BLOCK + p * LANES;
            vf t = vf_tanh(vf_mul(vf_mul(vf_load(scores + at), times), inverse));
            vf_store(scores + at, vf_mul(t, limit));
            if (slopes) vf_store(slopes + at, vf_fnma(t, t, one));
        }
}

/* What each row of a tile sees of each panel of a block: a bit for each key. */
struct seen {
    bool all; /* of all panels; bits are then not set */
    unsigned short bits[VF_ROWS][BLOCK_PANELS];
};

/* Hides what must be hidden in the scores of `panels` panels from `key` on, ld floats a row. */
static void mask_tile(const struct attend_row *row, int rows, const struct visible_range *visible,
                      float scale, int key, int panels, float *scores, int ld, struct seen *seen)
{
    bool each = biased(row) || row->allowed;
    seen->all = !each && key >= visible->all_first && key + panels * LANES <= visible->all_last;
    for (int p = 0; p < panels && !seen->all; p++, key += LANES) {
        bool whole = !each && key >= visible->all_first && key + LANES <= visible->all_last;
        for (int r = 0; r < rows; r++) {
            float *s = scores + r * ld + p * LANES;
            unsigned bits = 0xffff;
            if (!whole) vf_store(s, look(row + r, key, scale, vf_load(s), &bits));
            seen->bits[r][p] = (unsigned short)bits;
        }
    }
}

/* o[r] += sum of weights[r][s] values[s] over the keys of panel p that r sees, and only those:
   what accumulate_tile does, one row at a time. */
static void accumulate_seen(int rows, const struct seen *seen, int p, const float *weights,
                            const float *values, int keys, int width, float *o)
{
    for (int r = 0; r < rows; r++)
        for (int s = 0; s < keys; s++) {
            if (!(seen->bits[r][p] >> s & 1)) continue;
            vf w = vf_splat(weights[r * ATTEND_BLOCK + s]);
            for (int n = 0; n < width; n += LANES) {
                float *to = o + r * width + n;
                vf_store(to, vf_fma(w, vf_load(values + s * width + n), vf_load(to)));
            }
        }
}

/* Drops weights of the keys from `key` on. */
static void drop_tile(const struct attend_row *row, int rows, uint32_t below, float scaled, int key,
                      int panels, float *weights)
{
    enum { GROUP = 4 * LANES };
    float factor[GROUP];
    for (int r = 0; r < rows; r++, weights += ATTEND_BLOCK) {
        const struct dropout d = {row[r].drop_key, below, scaled};
        for (int p = 0; p < panels; p++) {
            int column = key + p * LANES, in_group = column % GROUP;
            if (p == 0 || in_group == 0)
                dropout_factors(&d, row[r].drop_row, column - in_group, factor);
            float *w = weights + p * LANES;
            vf_store(w, vf_mul(vf_load(w), vf_load(factor + in_group)));
        }
    }
}

/* ---- the running softmax of one tile ---- */

struct running {
    float *max;  /* [rows] the greatest score so far */
    float *sums; /* [rows][16] sums of exponentials, lane by lane */
    float *o;    /* [rows][width] weighted sum of values */
    int width;
};

/* The greatest of each sixteenth score of a row, for scores that have been changed. */
static void max_find(int rows, const float *scores, int panels, float *lanes)
{
    for (int r = 0; r < rows; r++, scores += ATTEND_BLOCK) {
        vf m = vf_load(scores);
        for (int p = 1; p < panels; p++) m = vf_max(vf_load(scores + p * LANES), m);
        vf_store(lanes + r * LANES, m);
    }
}

/* The greatest score of each row is taken into state->most. lanes: the greatest scores, [16][16].
   base: what exponents are taken from; fade: what earlier sums have to be multiplied with. Returns
   a bit for each row that is so great that scale base, rounded, would be off by more than a little.
 */
static unsigned max_raise(const struct running *state, int rows, const float *lanes, float scale,
                          float base[LANES], float rescale[LANES])
{
    vf x[LANES], min = vf_splat(-INFINITY), times = vf_splat(scale);
    for (int r = 0; r < LANES; r++) x[r] = vf_load(lanes + r * LANES);
    vf old = vf_load_n(state->max, rows, 0);
    vf max = vf_max(vf_reduce_max_rows(x), old);
    vf from = vf_select(vf_equal(max, min), vf_zero(), max);
    vf_store_n(state->max, max, rows);
    vf_store(base, from);
    vf_store(rescale, vf_exp2(vf_mul(vf_sub(old, from), times)));
    return vm_bits(vf_less(vf_splat(0x1p20f), vf_abs(vf_mul(from, times))));
}

/* Scores of a row become weights 2^(scale (score - base)); returns their sums, lane by lane. */
static inline __attribute__((always_inline)) vf exponentiate_row(float *s, int panels, float scale,
                                                                 float base, bool row_max)
{
    vf times = vf_splat(scale), from = vf_splat(row_max ? base : -(base * scale)), sum = vf_zero();
    for (int p = 0; p < panels; p++) {
        vf x = vf_load(s + p * LANES);
        x = row_max ? vf_mul(vf_sub(x, from), times) : vf_fma(x, times, from);
        x = vf_exp2(x);
        vf_store(s + p * LANES, x);
        sum = vf_add(sum, x);
    }
    return sum;
}

/* Scores become weights relative to state->most, and are added up. */
static void exponentiate(const struct running *state, int rows, float *scores, int panels,
                         float scale, const float base[LANES], const float rescale[LANES],
                         unsigned row_max)
{
    for (int r = 0; r < rows; r++) {
        float *s = scores + r * ATTEND_BLOCK, *sums = state->sums + r * LANES;
        vf sum = row_max >> r & 1 ? exponentiate_row(s, panels, scale, base[r], true)
                                  : exponentiate_row(s, panels, scale, base[r], false);
        vf_store(sums, vf_fma(vf_load(sums), vf_splat(rescale[r]), sum));
    }
}

/* ---- attend ---- */

struct attend_tile { /* some rows of an attend */
    const struct attend *a;
    const struct attend_row *row;
    int rows;
    struct visible_range visible;
    struct running state;
    const float *q; /* [key width][VF_ROWS] */
    float *part;    /* [rows][width] */
    /* of the block of keys at hand: */
    int key, keys, panels; /* what is seen of it; keys 0: nothing */
    float *scores;         /* [rows][ATTEND_BLOCK], then weights */
    struct seen seen;
    float base[LANES], rescale[LANES];
    unsigned row_max; /* see max_raise */
};

/* The scale of scores after cap_tile; its sign is in q. */
static float scale_of(const struct attend *a)
{
    return a->cap > 0 ? 1 : fabsf(a->scale);
}

/* The same after mask_tile, which scales what it adds a bias to. */
static float masked_scale_of(const struct attend_tile *t)
{
    return biased(t->row) ? 1 : scale_of(t->a);
}

static bool any_non_finite(const unsigned char *non_finite, int panels)
{
    unsigned any = 0;
    for (int p = 0; p < panels; p++) any |= non_finite[p];
    return any;
}

/* The same as accumulate_tile where some values are wild: panel by panel in `part`, then merged. */
static void accumulate_non_finite(const struct attend_tile *t, const float *values,
                                  const unsigned char *non_finite)
{
    int width = t->state.width, size = t->rows * width;
    float *part = t->part;
    const float *weights = t->scores;
    memset(part, 0, (size_t)size * sizeof *part);
    for (int p = 0, n; p < t->panels; p++, values += n * width, weights += LANES) {
        n = rapt__min(t->keys - p * LANES, LANES);
        if (non_finite[p])
            accumulate_seen(t->rows, &t->seen, p, weights, values, n, width, part);
        else
            add_tile(t->rows, weights, values, n, width, part);
    }
    for (int r = 0; r < t->rows; r++)
        for (int n = r * width; n < (r + 1) * width; n += LANES)
            vf_store(t->state.o + n,
                     vf_fma(vf_load(t->state.o + n), vf_splat(t->rescale[r]), vf_load(part + n)));
}

/* Three steps for a block of keys, as far as the tile sees it. Each step is done for all tiles
   before the next: what one tile waits for at its end is covered by the next one's work. */

static void score_block(struct attend_tile *t, int block, float *lanes)
{
    const struct attend *a = t->a;
    const struct attend_keys *from = a->keys;
    t->key = rapt__max(block, t->visible.first / LANES * LANES);
    t->keys = rapt__max(0, rapt__min(block + ATTEND_BLOCK, t->visible.last) - t->key);
    t->panels = (t->keys + LANES - 1) / LANES;
    if (t->keys == 0) return;
    score_tile(t->rows, t->q, from->keys + (ptrdiff_t)t->key * from->key_width, from->key_width,
               t->panels, t->scores, lanes);
    if (a->cap > 0) cap_tile(t->rows, t->panels, fabsf(a->scale), a->cap, t->scores, NULL);
    mask_tile(t->row, t->rows, &t->visible, scale_of(a), t->key, t->panels, t->scores, ATTEND_BLOCK,
              &t->seen);
    if (!t->seen.all || a->cap > 0) max_find(t->rows, t->scores, t->panels, lanes);
    t->row_max =
        max_raise(&t->state, t->rows, lanes, LOG2_E * masked_scale_of(t), t->base, t->rescale);
}

static void exponentiate_block(struct attend_tile *t)
{
    const struct attend *a = t->a;
    if (t->keys == 0) return;
    exponentiate(&t->state, t->rows, t->scores, t->panels, LOG2_E * masked_scale_of(t), t->base,
                 t->rescale, t->row_max);
    if (a->drop_below)
        drop_tile(t->row, t->rows, a->drop_below, a->drop_scale, t->key, t->panels, t->scores);
}

static void accumulate_block(const struct attend_tile *t)
{
    const struct attend_keys *from = t->a->keys;
    const float *values = from->values + (ptrdiff_t)t->key * t->state.width;
    const unsigned char *non_finite = from->non_finite + t->key / LANES;
    if (t->keys == 0) return;
    if (t->seen.all || !any_non_finite(non_finite, t->panels))
        accumulate_tile(t->rows, t->scores, values, t->keys, t->state.width, t->rescale,
                        t->state.o);
    else
        accumulate_non_finite(t, values, non_finite);
}

/* out = o / l, lse = m + log l; a row that saw nothing: 0 and -infinity. The added 0 turns -0,
   which may depend on what the tile skipped, into 0. */
static void finish_tile(const struct attend_tile *t)
{
    const struct running *s = &t->state;
    int columns = t->a->keys->value_width;
    float sums[LANES], lse[LANES], scale = masked_scale_of(t);
    for (int r = 0; r < t->rows; r++) sums[r] = vf_sum(vf_load(s->sums + r * LANES));
    vf l = vf_load_n(sums, t->rows, 1), max = vf_load_n(s->max, t->rows, 0);
    vf none = vf_splat(-INFINITY);
    vf_store(lse, vf_select(vf_equal(l, vf_zero()), none, vf_fma(max, vf_splat(scale), vf_log(l))));
    for (int r = 0; r < t->rows; r++) {
        const struct attend_row *row = t->row + r;
        bool fully_masked = sums[r] == 0;
        vf by = vf_splat(fully_masked ? 1 : sums[r]);
        if (row->lse) *row->lse = lse[r];
        for (int n = 0; n < columns; n += LANES) {
            vf o = vf_load(s->o + r * s->width + n);
            o = fully_masked ? vf_zero() : vf_add(vf_div(o, by), vf_zero());
            vf_store_n(row->out + n, o, rapt__min(columns - n, LANES));
        }
    }
}

/* Rows [row, end) as tile number i, its state set to the beginning. */
static void make_tile(const struct attend *a, int i, int row, int end, float *scores,
                      struct attend_tile *t)
{
    int depth = a->keys->key_width, width = rapt__padded(a->keys->value_width);
    const struct attend_layout at = rapt__attend_layout(depth, a->keys->value_width);
    float *sums = a->workspace + at.sums, *max = a->workspace + at.max, *o = a->workspace + at.out;
    float *q = a->workspace + at.q + slot_of(i, depth), sign = a->scale < 0 ? -1.f : 1.f;
    int rows = end - row;
    t->a = a;
    t->row = a->row + row;
    t->rows = rows;
    t->visible = visible_range_of(t->row, rows);
    t->state = (struct running){max + row, sums + row * LANES, o + row * width, width};
    t->q = q;
    t->part = a->workspace + at.part;
    t->scores = scores + row * ATTEND_BLOCK;
    const float *x[VF_ROWS];
    for (int r = 0; r < rows; r++) {
        x[r] = t->row[r].q;
        t->state.max[r] = -INFINITY;
    }
    pack_slot(x, rows, depth, sign, q);
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

static void attend(const struct attend *a)
{
    struct attend_tile tile[ATTEND_SLOTS / VF_ROWS];
    _Alignas(64) float scores[ATTEND_ROWS * ATTEND_BLOCK], lanes[LANES * LANES] = {0};
    int tiles = tiles_of(a->rows);
    struct visible_range visible = visible_range_of(a->row, a->rows);
    if (GUARDED) guard(a, false);
    for (int i = 0; i < tiles; i++)
        make_tile(a, i, tile_begin(a->rows, i), tile_begin(a->rows, i + 1), scores, tile + i);
    for (int key = visible.first / ATTEND_BLOCK * ATTEND_BLOCK; key < visible.last;
         key += ATTEND_BLOCK) {
        for (int i = 0; i < tiles; i++) score_block(tile + i, key, lanes);
        for (int i = 0; i < tiles; i++) exponentiate_block(tile + i);
        for (int i = 0; i < tiles; i++) accumulate_block(tile + i);
    }
    for (int i = 0; i < tiles; i++) finish_tile(tile + i);
    if (GUARDED) guard(a, true);
}
