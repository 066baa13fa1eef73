/* flash_scores.c - a tile of attention scores, at most VF_ROWS queries by 128 keys, and the
   operations around it: packing rows into slots, soft cap, biases, masks, exponentials, sigmoids,
   sinks, dropout of weights, and sums over visible keys. Forward and backward share this code, so
   scores and weights are bit-identical in both. */
#include "kernel/flash.h"

#include <float.h>
#include <math.h>
#include <string.h>

enum { BLOCK_PANELS = ATTEND_BLOCK / LANES };

_Static_assert((int)VF_ROWS <= (int)LANES, "a row of a slot fits into a vector");
_Static_assert(LANES == 16, "struct seen keeps a bit for each key of a panel in 16 bits");
_Static_assert(ATTEND_BLOCK % (4 * LANES) == 0, "dropout factors come in runs of 64 keys");

/* Rows are divided into tiles whose heights differ by at most one; tile i begins at row
   tile_begin(rows, i). */
static int tiles_of(int rows)
{
    return rapt__ceil_div(rows, VF_ROWS);
}
static int tile_begin(int rows, int i)
{
    return rows * i / tiles_of(rows);
}

/* Returns true if all elements are finite. If one is infinite or NaN, the sum of all elements times
   0 is NaN; otherwise it is 0. Four independent sums hide the latency of the multiply-add. */
static bool rows_finite(const float *x, ptrdiff_t ld, int rows, int width)
{
    enum { CHAINS = 4 };
    int whole = width - width % LANES, r = 0;
    vf sum[CHAINS], zero = vf_zero();
    for (int i = 0; i < CHAINS; i++) sum[i] = zero;
    for (; r + CHAINS <= rows; r += CHAINS)
        for (int n = 0; n < whole; n += LANES) {
            UNROLL
            for (int i = 0; i < CHAINS; i++)
                sum[i] = vf_fma(vf_load(x + (r + i) * ld + n), zero, sum[i]);
        }
    for (; r < rows; r++)
        for (int n = 0; n < whole; n += LANES)
            sum[0] = vf_fma(vf_load(x + r * ld + n), zero, sum[0]);
    for (r = 0; r < rows && whole < width; r++)
        sum[0] = vf_fma(vf_load_n(x + r * ld + whole, width - whole, 0), zero, sum[0]);
    vf all = vf_add(vf_add(sum[0], sum[1]), vf_add(sum[2], sum[3]));
    return vm_bits(vf_equal(all, zero)) == 0xffff;
}

static bool pad_rows(const float *x, ptrdiff_t ld, int rows, int width, float *to)
{
    vf infinity = vf_splat(INFINITY);
    unsigned finite = 0xffff;
    for (int r = 0; r < rows; r++, x += ld)
        for (int n = 0; n < width; n += LANES, to += LANES) {
            vf v = vf_load_partial(x + n, (size_t)(width - n), 0);
            vf_store(to, v);
            finite &= vm_bits(vf_less(vf_abs(v), infinity));
        }
    return finite != 0xffff;
}

/* Returns the offset of a tile's slot. The left operands of products are stored in slots
   [depth][VF_ROWS], one per tile. */
static ptrdiff_t slot_offset(int tile, int depth)
{
    return (ptrdiff_t)tile * depth * VF_ROWS;
}

/* Multiplies rows x[r] by factor and packs them into a slot. Stores whole vectors, but nothing past
   the end of the slot. */
static void pack_slot(const float *const x[VF_ROWS], int rows, int depth, float factor, float *slot)
{
    for (int k = 0; k < depth; k += LANES) {
        vf block[LANES];
        int n = rapt__min(depth - k, LANES), left = (depth - k) * VF_ROWS;
        for (int r = 0; r < LANES; r++) block[r] = vf_zero();
        for (int r = 0; r < rows; r++)
            block[r] = vf_mul(vf_load_partial(x[r] + k, (size_t)n, 0), vf_splat(factor));
        vf_transpose(block);
        for (int i = 0; i < n; i++, slot += VF_ROWS, left -= VF_ROWS)
            vf_store_partial(slot, block[i], left < LANES ? VF_ROWS : LANES);
    }
}

/* ---- masks ---- */

struct visible_range {
    int first, last;           /* no key outside first .. last - 1 is visible to any row */
    int all_first, all_last;   /* keys all_first .. all_last - 1 are visible to all rows, unless
                                  `allowed`, a bias or `sparse` hides them */
    int near_first, near_last; /* sparse attention hides none of the keys near_first ..
                                  near_last - 1 from any row */
};

static struct visible_range visible_range_of(const struct attend_row *row, int rows)
{
    struct visible_range s = {INT32_MAX, 0, 0, INT32_MAX, 0, INT32_MAX};
    for (int r = 0; r < rows; r++) {
        if (row[r].low < row[r].high) {
            s.first = rapt__min(s.first, row[r].low);
            s.last = rapt__max(s.last, row[r].high);
        }
        s.all_first = rapt__max(s.all_first, row[r].low);
        s.all_last = rapt__min(s.all_last, row[r].high);
        if (!row[r].sparse.given) continue;
        s.near_first = rapt__max(s.near_first, row[r].sparse.near);
        s.near_last = rapt__min(s.near_last, row[r].sparse.near_end);
    }
    return s;
}

/* The keys of a block that are visible to each row of a tile, one bit per key. */
struct seen {
    bool all;    /* all keys of the panels are visible to all rows; `bits` is then unspecified */
    bool sparse; /* sparse attention hides keys: in panel p, only keys whose bit is set in panel
                    `first` + p of open[r] can be visible to row r. If false, `open` is
                    unspecified */
    int first;
    struct sparse_bits open[VF_ROWS];
    unsigned short bits[VF_ROWS][BLOCK_PANELS];
};

static unsigned open_keys(const struct seen *seen, int r, int p)
{
    return seen->sparse ? rapt__panel_bits(seen->open + r, seen->first + p) : 0xffff;
}

/* Sets seen->open for keys [key, end), and returns the keys that are visible to at least one row.
   Adjacent rows with the same blocks have the same far keys, which are found only once. */
static struct sparse_bits open_rows(const struct attend_row *row, int rows, int key, int end,
                                    struct seen *seen)
{
    struct sparse_bits far, any = {{0}};
    const struct sparse_keys *known = NULL;
    for (int r = 0; r < rows; r++) {
        const struct sparse_keys *k = &row[r].sparse;
        struct sparse_bits *open = seen->open + r;
        if (k->given) {
            if (!known || known->blocks != k->blocks) far = rapt__far_bits(k, key, end);
            known = k, *open = far;
            rapt__add_near(k, key, open);
        } else {
            for (int w = 0; w < SPARSE_WORDS; w++) open->words[w] = UINT64_MAX;
        }
        for (int w = 0; w < SPARSE_WORDS; w++) any.words[w] |= open->words[w];
    }
    return any;
}

/* Finds the keys in [begin, end) that are visible to the rows of a tile, as a range that may
   include other keys. Sets *key to its first key, a multiple of 16, and *keys to its length, which
   may be 0. `begin` must be a multiple of 16. */
static void seen_keys(const struct attend_row *row, int rows, const struct visible_range *visible,
                      int begin, int end, int *key, int *keys, struct seen *seen)
{
    *key = rapt__max(begin, visible->first / LANES * LANES);
    *keys = rapt__max(0, rapt__min(end, visible->last) - *key);
    seen->sparse = visible->near_first > *key || visible->near_last < *key + *keys;
    seen->first = 0;
    if (!seen->sparse || *keys == 0) return;
    int first = 0, last = rapt__ceil_div(*keys, LANES);
    const struct sparse_bits any = open_rows(row, rows, *key, *key + *keys, seen);
    while (first < last && !rapt__panel_bits(&any, first)) first++;
    while (first < last && !rapt__panel_bits(&any, last - 1)) last--;
    *keys = rapt__min(*keys, last * LANES) - first * LANES;
    *key += first * LANES, seen->first = first;
    if (first == last) *keys = 0;
}

static const float lane_numbers[LANES] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};

/* Returns 1 where allowed[0 .. n) is not 0, and 0 elsewhere. */
static vf allowed_lanes(const uint8_t *allowed, int n)
{
    float open[LANES] = {0};
    for (int i = 0; i < n; i++) open[i] = allowed[i] ? 1 : 0;
    return vf_load(open);
}

/* Returns x + n, or NULL if x is NULL. */
static const float *moved(const float *x, ptrdiff_t n)
{
    return x ? x + n : NULL;
}

/* Returns true if anything is added to the scaled scores. */
static bool biased(const struct attend_row *row)
{
    return row->bias || row->relative || row->forget || has_distances(&row->distances);
}

/* Returns the values to add to the scores of n keys: bias + relative, or -infinity for keys that
   are hidden because a bias or the sum is -infinity or `allowed` is 0. Each of the three arrays may
   be NULL. */
static inline vf added_to_scores(const float *bias, const float *relative, const uint8_t *allowed,
                                 int n)
{
    vf min = vf_splat(-INFINITY), sum = vf_zero();
    if (bias) sum = vf_load_n(bias, n, 0);
    if (relative) {
        vf x = vf_load_n(relative, n, 0);
        vm hidden = vm_or(vf_equal(sum, min), vf_equal(x, min));
        sum = vf_select(hidden, min, bias ? vf_add(sum, x) : x);
    }
    if (allowed) sum = vf_select(vf_less(vf_zero(), allowed_lanes(allowed, n)), sum, min);
    return sum;
}

/* For each of the sixteen keys starting at `key`, a multiple of 16, returns `added` (the result of
   added_to_scores) plus the query's C (high + low) minus the key's C. The low parts hold the digits
   that C would lose as a single float. */
static inline vf add_forgotten(const float *forget, float high, float low, int key, vf added)
{
    const float *panel = forget + (ptrdiff_t)key / LANES * FORGET_PANEL;
    vf min = vf_splat(-INFINITY), of_high = vf_sub(vf_splat(high), vf_load(panel));
    vf of_low = vf_sub(vf_splat(low), vf_load(panel + LANES));
    vf sum = vf_add(added, vf_add(of_high, of_low));
    return vf_select(vf_equal(added, min), min, sum);
}

/* Returns a mask of the lanes whose bit is set. */
static vm lanes_of(unsigned bits)
{
    float open[LANES];
    for (int i = 0; i < LANES; i++) open[i] = (float)(bits >> i & 1);
    return vf_less(vf_zero(), vf_load(open));
}

/* Returns a mask of the lanes in [low, high) whose bit is set. These lanes are usually adjacent. */
static vm visible_lanes(int low, int high, unsigned bits)
{
    vf lanes = vf_load(lane_numbers);
    while (low < high && !(bits >> low & 1)) low++;
    while (low < high && !(bits >> (high - 1) & 1)) high--;
    vm range =
        vm_and(vf_less(lanes, vf_splat((float)high)), vf_less(vf_splat((float)low - 1), lanes));
    unsigned all = (1u << high) - (1u << low);
    return (bits & all) == all ? range : vm_and(range, lanes_of(bits));
}

/* Returns the scores s of the sixteen keys starting at `key` after masking: -infinity for hidden
   keys, including those whose bit in `open` is clear; for visible keys, scale s + bias, or s if
   there is no bias. Sets *seen to the bits of the visible keys. */
static vf apply_mask(const struct attend_row *row, int key, float scale, unsigned open, vf s,
                     unsigned *seen)
{
    vf min = vf_splat(-INFINITY), added = vf_zero();
    int n = rapt__max(0, rapt__min(row->high - key, LANES)),
        before = rapt__min(rapt__max(0, row->low - key), n);
    vm visible = visible_lanes(before, n, open);
    if ((biased(row) || row->allowed) && n > 0)
        added = added_to_scores(moved(row->bias, key), moved(row->relative, key),
                                row->allowed ? row->allowed + key : NULL, n);
    if (row->forget)
        added = add_forgotten(row->forget, row->forget_high, row->forget_low, key, added);
    if (has_distances(&row->distances)) added = add_distances(&row->distances, key, added);
    if (biased(row)) s = vf_fma(s, vf_splat(scale), added);
    vm hidden = vf_equal(added, min);
    *seen = vm_bits(visible) & ~vm_bits(hidden);
    return vf_select(hidden, min, vf_select(visible, s, min));
}

/* Replaces sixteen scores s with cap tanh(scale s / cap). slopes, unless NULL, receives the
   derivatives with respect to the product scale s. */
static inline void cap_scores(float scale, float cap, float *scores, float *slopes)
{
    vf inverse = vf_min(vf_splat(FLT_MAX), vf_splat(1 / cap));
    vf t = vf_tanh(vf_mul(vf_mul(vf_load(scores), vf_splat(scale)), inverse));
    vf_store(scores, vf_mul(t, vf_splat(cap)));
    if (slopes) vf_store(slopes, vf_fnma(t, t, vf_splat(1)));
}

static __attribute__((noinline)) void cap_tile(int rows, int panels, float scale, float cap,
                                               float *scores, float *slopes)
{
    for (int r = 0; r < rows; r++)
        for (int p = 0; p < panels; p++) {
            int at = r * ATTEND_BLOCK + p * LANES;
            cap_scores(scale, cap, scores + at, slopes ? slopes + at : NULL);
        }
}

/* Returns the factor by which scores must still be multiplied after cap_tile. */
static float capped_scale(float scale, float cap)
{
    return cap > 0 ? 1 : rapt__score_factor(scale);
}

/* Returns the factor by which scores must still be multiplied after cap_tile and mask_tile. If
   there is a bias, mask_tile has already scaled them. */
static float masked_scale(const struct attend_row *row, float scale, float cap)
{
    return rapt__statistics_scale(scale, cap, biased(row));
}

static const float LOG2_E = 0x1.715476p0f;

/* The origin of a row is times * max. It is subtracted from the row's exponents, times * x, so that
   the greatest exponential is about 1. The origin is rounded once for all keys. If it is large,
   this rounding would change the weights substantially, so the maximum is subtracted before scores
   are multiplied by `times`. */
enum { LARGE = 1 << 20 };

static bool large_origin(float max, float times)
{
    return !(fabsf(max * times) <= LARGE);
}

/* Returns the argument `origin` of exponentiate_scores: minus the row's origin, or max if the row's
   origin is large. Subtracts from 0, because a compiler may move a negation from the product to a
   factor, which reverses the direction of rounding if the host does not round to nearest. */
static float origin_of(float max, float times, bool large)
{
    return large ? max : 0 - max * times;
}

/* Returns 2^(times (x - max)) for 16 scores of a row, given the result of origin_of. The exponents
   are computed as times x + origin, or as times (x - origin) if `large`. */
static inline __attribute__((always_inline)) vf exponentiate_scores(vf x, vf times, vf origin,
                                                                    bool large)
{
    return vf_exp2(large ? vf_mul(vf_sub(x, origin), times) : vf_fma(x, times, origin));
}

/* Returns the factor that converts sums relative to the maximum `old` to sums relative to `new`: 2
   to the power of the difference between their origins, each of which is rounded unless it is
   large. */
static vf rescaled(vf old, vf new, vf times)
{
    vf limit = vf_splat(LARGE), from = vf_mul(old, times), to = vf_mul(new, times);
    vm large_from = vf_less(limit, vf_abs(from)), large_to = vf_less(limit, vf_abs(to));
    vf both = vf_mul(vf_sub(old, new), times), none = vf_sub(from, to);
    vf one =
        vf_select(large_to, vf_fnma(new, times, from), vf_fma(old, times, vf_sub(vf_zero(), to)));
    vf x = vf_select(vm_or(large_from, large_to), one, none);
    return vf_exp2(vf_select(vm_and(large_from, large_to), both, x));
}

/* Replaces the scores of a row with 1 / (1 + 2^-(times x + shift)), or 0 for hidden keys, and
   returns the sums of the results, lane by lane. Results below 2^-100 become 0. */
static vf sigmoid_row(float *s, int panels, vf times, vf shift)
{
    vf sum = vf_zero(), one = vf_splat(1), min = vf_splat(-INFINITY);
    for (int p = 0; p < panels; p++, s += LANES) {
        vf x = vf_load(s), y = vf_fma(x, times, shift);
        vf e = vf_exp2(vf_sub(vf_zero(), vf_abs(y)));
        vf w = vf_div(vf_select(vf_less(y, vf_zero()), e, one), vf_add(one, e));
        w = vf_select(vf_equal(x, min), vf_zero(), w);
        vf_store(s, w);
        sum = vf_add(sum, w);
    }
    return sum;
}

/* ---- sinks ---- */

/* Adds the sinks to the statistics max and l, as if each were the last key of its row. Returns the
   factors that convert weights from the previous maxima to the new ones. Fully masked rows do not
   change. */
static __attribute__((noinline)) vf add_sinks(vf sinks, vf times, vf *max, vf *l)
{
    vf top = vf_max(sinks, *max), keep = rescaled(*max, top, times);
    vf all = vf_fma(*l, keep, rescaled(sinks, top, times));
    vm none = vf_equal(*l, vf_zero());
    *max = vf_select(none, *max, top), *l = vf_select(none, *l, all);
    return vf_select(none, vf_splat(1), keep);
}

/* Returns the weights of sinks that add_sinks has added to these statistics. */
static __attribute__((noinline)) vf sink_weights(vf sinks, vf times, vf max, vf l)
{
    return vf_div(rescaled(sinks, max, times), l);
}

/* Returns true if sparse attention hides no key in the `panels` panels from any row. */
static bool all_open(const struct seen *seen, int rows, int panels)
{
    struct sparse_bits all = {{0}};
    rapt__set_bits(&all, seen->first * LANES, (seen->first + panels) * LANES);
    for (int r = 0; r < rows && seen->sparse; r++)
        for (int w = 0; w < SPARSE_WORDS; w++)
            if (all.words[w] & ~seen->open[r].words[w]) return false;
    return true;
}

/* In the `panels` panels starting at `key`, as found by seen_keys, sets the scores of hidden keys
   to -infinity and, if there are biases, scales the other scores and adds the biases. Sets
   seen->all and seen->bits. Rows are ld floats apart. */
static void mask_tile(const struct attend_row *row, int rows, const struct visible_range *visible,
                      float scale, int key, int panels, float *scores, int ld, struct seen *seen)
{
    bool each = biased(row) || row->allowed;
    seen->all = !each && key >= visible->all_first && key + panels * LANES <= visible->all_last &&
                all_open(seen, rows, panels);
    for (int p = 0; p < panels && !seen->all; p++, key += LANES) {
        bool whole = !each && key >= visible->all_first && key + LANES <= visible->all_last;
        for (int r = 0; r < rows; r++) {
            float *s = scores + r * ld + p * LANES;
            unsigned bits = 0xffff, open = open_keys(seen, r, p);
            if (!whole || open != 0xffff)
                vf_store(s, apply_mask(row + r, key, scale, open, vf_load(s), &bits));
            seen->bits[r][p] = (unsigned short)bits;
        }
    }
}

/* Like add_tile, but one row at a time and only for visible keys: o[r] += sum of weights[r][s]
   values[s] over the keys of panel p that are visible to row r. */
static void accumulate_seen(int rows, const struct seen *seen, int p, const float *weights,
                            const float *values, ptrdiff_t value_row, int keys, int width, float *o)
{
    for (int r = 0; r < rows; r++)
        for (int s = 0; s < keys; s++) {
            if (!(seen->bits[r][p] >> s & 1)) continue;
            vf w = vf_splat(weights[r * ATTEND_BLOCK + s]);
            for (int n = 0; n < width; n += LANES) {
                float *to = o + r * width + n;
                vf_store(to, vf_fma(w, vf_load(values + s * value_row + n), vf_load(to)));
            }
        }
}

/* Applies dropout to the weights of the keys starting at `key`. */
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
