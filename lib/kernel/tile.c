/* tile.c - attention of a few queries over their keys, with a running softmax:

       m' = max(m, max_s x[s])      x[s] = scale q.k[s] + bias[s]
       l' = l e^(m-m') + sum_s e^(x[s]-m')
       o' = o e^(m-m') + sum_s e^(x[s]-m') v[s]          out = o / l,  lse = m + log l

   over blocks of 128 keys (Milakov and Gimelshein 2018, "Online normalizer calculation for
   softmax"; Rabe and Staats 2021, "Self-attention does not need O(n^2) memory"). Blocks begin
   at multiples of 128 whatever a row sees, q.k and the sums of a block are chains of fma in the
   order of elements and keys, l is sixteen sums: so a row's bits depend on no other row. A hidden
   key has x = -infinity and weight 0, which adds nothing to o unless its value is not finite; only
   such panels are weighed row by row. */
#include "kernel/tile.h"

#include <math.h>
#include <string.h>

enum {
    BLOCK_PANELS = ATTEND_BLOCK / LANES,
    CHAIN = 32 /* products of a score that are summed in one go */
};

static int lesser(int a, int b)
{
    return a < b ? a : b;
}
static int greater(int a, int b)
{
    return a > b ? a : b;
}

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

/* x[r][s] += y[r][s] over whole panels; rows ATTEND_BLOCK apart. */
static void add_tile(int rows, float *x, const float *y, int panels)
{
    for (int r = 0; r < rows; r++)
        for (int n = r * ATTEND_BLOCK; n < r * ATTEND_BLOCK + panels * LANES; n += LANES)
            vf_store(x + n, vf_add(vf_load(x + n), vf_load(y + n)));
}

/* scores[r][s] = q[r].k[s]; q [depth][VF_ROWS], of which `rows` are used; keys [panels][depth][16].
   Chains of 32 fma are added up one after the other: half the error of one chain of 128. */
static void score_tile(int rows, const float *q, const float *keys, int depth, int panels,
                       float *scores)
{
    _Alignas(64) float more[VF_ROWS * ATTEND_BLOCK];
    for (int k = 0; k < depth; k += CHAIN) {
        const struct product p = {.depth = lesser(depth - k, CHAIN),
                                  .a = q + k * VF_ROWS,
                                  .a_row = 1,
                                  .a_step = VF_ROWS,
                                  .b = keys + k * LANES,
                                  .b_panel = (ptrdiff_t)depth * LANES,
                                  .b_step = LANES,
                                  .c = k ? more : scores,
                                  .c_row = ATTEND_BLOCK,
                                  .c_panel = LANES};
        tile_rows(rows, &p, 0, 0, panels);
        if (k) add_tile(rows, scores, more, panels);
    }
}

/* o[r] = (or, if add, +=) the sum of weights[r][s] values[s] over `keys` keys; rows of width
   floats. */
static void weigh_tile(int rows, const float *weights, const float *values, int keys, int width,
                       bool add, float *o)
{
    const struct product p = {.depth = keys,
                              .a = weights,
                              .a_row = ATTEND_BLOCK,
                              .a_step = 1,
                              .b = values,
                              .b_panel = LANES,
                              .b_step = width,
                              .c = o,
                              .c_row = width,
                              .c_panel = LANES,
                              .add = add};
    tile_rows(rows, &p, 0, 0, width / LANES);
}

static bool pad_rows(const float *x, ptrdiff_t ld, int rows, int width, float *to)
{
    vf endless = vf_all(INFINITY);
    unsigned finite = 0xffff;
    for (int r = 0; r < rows; r++, x += ld)
        for (int n = 0; n < width; n += LANES, to += LANES) {
            vf v = vf_load_up(x + n, (size_t)(width - n), 0);
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
    float block[LANES * LANES] = {0}, turned[LANES * LANES];
    for (int k = 0; k < depth; k += LANES) {
        int n = lesser(depth - k, LANES);
        for (int r = 0; r < rows; r++) {
            vf row = vf_load_up(x[r] + k, (size_t)n, 0);
            vf_store(block + r * LANES, vf_mul(row, vf_all(sign)));
        }
        turn_block(block, turned);
        for (int i = 0; i < n; i++, slot += VF_ROWS)
            vf_store_n(slot, vf_load(turned + i * LANES), VF_ROWS);
    }
}

/* ---- which keys are seen ---- */

struct sight {
    int first, last;         /* keys outside are seen by no row */
    int all_first, all_last; /* keys inside by all of them, as far as low and high say */
};

static struct sight sight_of(const struct attend_row *row, int rows)
{
    struct sight s = {INT32_MAX, 0, 0, INT32_MAX};
    for (int r = 0; r < rows; r++) {
        if (row[r].low < row[r].high) {
            s.first = lesser(s.first, row[r].low);
            s.last = greater(s.last, row[r].high);
        }
        s.all_first = greater(s.all_first, row[r].low);
        s.all_last = lesser(s.all_last, row[r].high);
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

/* The scores s of sixteen keys from `key` on as row sees them: hidden ones are -infinity; with a
   bias s becomes scale s + bias. *seen: a bit for each key that is seen. */
static vf look(const struct attend_row *row, int key, float scale, vf s, unsigned *seen)
{
    vf lanes = vf_load(lane_numbers), least = vf_all(-INFINITY), open = vf_all(1);
    int n = greater(0, lesser(row->high - key, LANES)), before = greater(-1, row->low - key - 1);
    vm see = vm_and(vf_less(lanes, vf_all((float)n)), vf_less(vf_all((float)before), lanes));
    if (row->allowed && n > 0) open = opened(row->allowed + key, n);
    if (row->bias && n > 0) {
        vf bias = vf_load_n(row->bias + key, n, 0);
        s = vf_fma(s, vf_all(scale), bias);
        open = vf_select(vf_equal(bias, least), vf_zero(), open);
    }
    see = vm_and(see, vf_less(vf_zero(), open));
    *seen = vm_bits(see);
    return vf_select(see, s, least);
}

/* What each row of a tile sees of each panel of a block: a bit for each key. */
struct seen {
    bool all; /* of all panels; bits are then not set */
    unsigned short bits[VF_ROWS][BLOCK_PANELS];
};

/* Hides what must be hidden in the scores of `panels` panels from `key` on, ld floats a row. */
static void look_tile(const struct attend_row *row, int rows, const struct sight *sight,
                      float scale, int key, int panels, float *scores, int ld, struct seen *seen)
{
    bool each = row->bias || row->allowed;
    seen->all = !each && key >= sight->all_first && key + panels * LANES <= sight->all_last;
    for (int p = 0; p < panels && !seen->all; p++, key += LANES) {
        bool whole = !each && key >= sight->all_first && key + LANES <= sight->all_last;
        for (int r = 0; r < rows; r++) {
            float *s = scores + r * ld + p * LANES;
            unsigned bits = 0xffff;
            if (!whole) vf_store(s, look(row + r, key, scale, vf_load(s), &bits));
            seen->bits[r][p] = (unsigned short)bits;
        }
    }
}

/* o[r] += sum of weights[r][s] values[s] over the keys of panel p that r sees, and only those:
   what weigh_tile does, one row at a time. */
static void weigh_seen(int rows, const struct seen *seen, int p, const float *weights,
                       const float *values, int keys, int width, float *o)
{
    for (int r = 0; r < rows; r++)
        for (int s = 0; s < keys; s++) {
            if (!(seen->bits[r][p] >> s & 1)) continue;
            vf w = vf_all(weights[r * ATTEND_BLOCK + s]);
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
    float *most; /* [rows] the greatest scaled score so far */
    float *sums; /* [rows][16] sums of exponentials, lane by lane */
    float *o;    /* [rows][width] weighted sum of values */
    int width;
};

/* The greatest score of each row, scaled, taken into state->most. base: what the exponents are
   taken from; fade: what earlier sums have to be multiplied with. */
static void raise_most(const struct running *state, int rows, const float *scores, int panels,
                       float scale, float base[LANES], float fade[LANES])
{
    float top[LANES];
    for (int r = 0; r < rows; r++) {
        const float *s = scores + r * ATTEND_BLOCK;
        vf m = vf_all(-INFINITY);
        for (int p = 0; p < panels; p++) m = vf_max(vf_load(s + p * LANES), m);
        top[r] = vf_most(m);
    }
    vf least = vf_all(-INFINITY), old = vf_load_n(state->most, rows, 0);
    vf most = vf_max(vf_mul(vf_load_n(top, rows, 0), vf_all(scale)), old);
    vf from = vf_select(vf_equal(most, least), vf_zero(), most);
    vf_store_n(state->most, most, rows);
    vf_store(base, from);
    vf_store(fade, vf_exp(vf_sub(old, from)));
}

/* Scores become weights relative to state->most, which is raised first. fade: see there. */
static void soften(const struct running *state, int rows, float *scores, int panels, float scale,
                   float fade[LANES])
{
    float base[LANES];
    raise_most(state, rows, scores, panels, scale, base, fade);
    vf times = vf_all(scale);
    for (int r = 0; r < rows; r++) {
        float *s = scores + r * ATTEND_BLOCK, *sums = state->sums + r * LANES;
        vf from = vf_all(-base[r]), sum = vf_zero();
        for (int p = 0; p < panels; p++) {
            vf e = vf_exp(vf_fma(vf_load(s + p * LANES), times, from));
            vf_store(s + p * LANES, e);
            sum = vf_add(sum, e);
        }
        vf_store(sums, vf_fma(vf_load(sums), vf_all(fade[r]), sum));
    }
}

/* o = o fade + part */
static void merge(const struct running *state, int rows, const float fade[LANES], const float *part)
{
    for (int r = 0; r < rows; r++)
        for (int n = r * state->width; n < (r + 1) * state->width; n += LANES)
            vf_store(state->o + n,
                     vf_fma(vf_load(state->o + n), vf_all(fade[r]), vf_load(part + n)));
}

/* ---- attend ---- */

struct attend_tile { /* some rows of an attend */
    const struct attend *a;
    const struct attend_row *row;
    int rows;
    struct sight sight;
    struct running state;
    const float *q; /* [key width][VF_ROWS] */
};

static bool any_wild(const unsigned char *wild, int panels)
{
    unsigned any = 0;
    for (int p = 0; p < panels; p++) any |= wild[p];
    return any;
}

/* o = weights x values of `keys` keys from `key` on. */
static void weigh_block(const struct attend_tile *t, const struct seen *seen, const float *weights,
                        int key, int keys, float *o)
{
    const struct attend_keys *from = t->a->keys;
    int width = t->state.width;
    const float *values = from->values + (ptrdiff_t)key * width;
    const unsigned char *wild = from->wild + key / LANES;
    if (seen->all || !any_wild(wild, (keys + LANES - 1) / LANES)) {
        weigh_tile(t->rows, weights, values, keys, width, false, o);
        return;
    }
    memset(o, 0, (size_t)(t->rows * width) * sizeof *o);
    for (int p = 0, n; p * LANES < keys; p++, values += n * width, weights += LANES) {
        n = lesser(keys - p * LANES, LANES);
        if (wild[p])
            weigh_seen(t->rows, seen, p, weights, values, n, width, o);
        else
            weigh_tile(t->rows, weights, values, n, width, true, o);
    }
}

/* One block of keys, as far as the tile sees it. */
static void attend_block(const struct attend_tile *t, int block, float *scores, float *part)
{
    const struct attend *a = t->a;
    int depth = a->keys->key_width;
    int key = greater(block, t->sight.first / LANES * LANES);
    int keys = lesser(block + ATTEND_BLOCK, t->sight.last) - key;
    if (keys <= 0) return;
    int panels = (keys + LANES - 1) / LANES;
    float size = a->scale < 0 ? -a->scale : a->scale, fade[LANES];
    struct seen seen;
    score_tile(t->rows, t->q, a->keys->keys + (ptrdiff_t)key * depth, depth, panels, scores);
    look_tile(t->row, t->rows, &t->sight, size, key, panels, scores, ATTEND_BLOCK, &seen);
    soften(&t->state, t->rows, scores, panels, t->row->bias ? 1 : size, fade);
    if (a->drop_below)
        drop_tile(t->row, t->rows, a->drop_below, a->drop_scale, key, panels, scores);
    weigh_block(t, &seen, scores, key, keys, part);
    merge(&t->state, t->rows, fade, part);
}

/* out = o / l, lse = m + log l; a row that saw nothing: 0 and -infinity. The added 0 turns -0,
   which may depend on what the tile skipped, into 0. */
static void finish_tile(const struct attend_tile *t)
{
    const struct running *s = &t->state;
    int columns = t->a->keys->value_width;
    float sums[LANES], lse[LANES];
    for (int r = 0; r < t->rows; r++) sums[r] = vf_sum(vf_load(s->sums + r * LANES));
    vf l = vf_load_n(sums, t->rows, 1), most = vf_load_n(s->most, t->rows, 0);
    vf none = vf_all(-INFINITY);
    vf_store(lse, vf_select(vf_equal(l, vf_zero()), none, vf_add(most, vf_log(l))));
    for (int r = 0; r < t->rows; r++) {
        const struct attend_row *row = t->row + r;
        bool blind = sums[r] == 0;
        vf by = vf_all(blind ? 1 : sums[r]);
        if (row->lse) *row->lse = lse[r];
        for (int n = 0; n < columns; n += LANES) {
            vf o = vf_load(s->o + r * s->width + n);
            o = blind ? vf_zero() : vf_add(vf_div(o, by), vf_zero());
            vf_store_n(row->out + n, o, lesser(columns - n, LANES));
        }
    }
}

/* Rows [row, end) as tile number i, its state set to the beginning. */
static void make_tile(const struct attend *a, int i, int row, int end, struct attend_tile *t)
{
    int depth = a->keys->key_width, width = rapt__padded(a->keys->value_width);
    float *sums = a->scratch, *o = sums + ATTEND_ROWS * LANES, *most = o + ATTEND_ROWS * width;
    float *q = most + ATTEND_ROWS + VF_ROWS * width + slot_of(i, depth),
          sign = a->scale < 0 ? -1.f : 1.f;
    int rows = end - row;
    *t = (struct attend_tile){a,
                              a->row + row,
                              rows,
                              sight_of(a->row + row, rows),
                              {most + row, sums + row * LANES, o + row * width, width},
                              q};
    const float *x[VF_ROWS];
    for (int r = 0; r < rows; r++) {
        x[r] = t->row[r].q;
        t->state.most[r] = -INFINITY;
    }
    pack_slot(x, rows, depth, sign, q);
    memset(t->state.sums, 0, (size_t)rows * LANES * sizeof(float));
    memset(t->state.o, 0, (size_t)(rows * width) * sizeof(float));
}

static void attend(const struct attend *a)
{
    struct attend_tile tile[ATTEND_SLOTS / VF_ROWS];
    _Alignas(64) float scores[VF_ROWS * ATTEND_BLOCK];
    int tiles = tiles_of(a->rows);
    struct sight sight = sight_of(a->row, a->rows);
    for (int i = 0; i < tiles; i++)
        make_tile(a, i, tile_begin(a->rows, i), tile_begin(a->rows, i + 1), tile + i);
    float *part = tile[0].state.most + ATTEND_ROWS;
    for (int key = sight.first / ATTEND_BLOCK * ATTEND_BLOCK; key < sight.last; key += ATTEND_BLOCK)
        for (int i = 0; i < tiles; i++) attend_block(tile + i, key, scores, part);
    for (int i = 0; i < tiles; i++) finish_tile(tile + i);
}
