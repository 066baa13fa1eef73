/* bf16_gemm.c - the product of bf16 matrices, as defined in bf16.h. Rows of a are rounded and
   packed in groups, and each group is multiplied by the packed panels of b. Each variant (enum
   bf16_form) except AMX implements these operations in the file named by RAPT_BF16_HEADER:

     vp                      sixteen pairs
     vp_load(p) vp_splat(p)  loads sixteen pairs; repeats one pair sixteen times
     vp_step(&x,&y,a,b,&c)   adds the products of the odd elements to y, then those of the even ones
                             to x; with BF16_STEPS, x and y are the same sum
     vp_check                records whether all steps of a tile were exact
     vp_check_none()         its initial value
     vp_check_sum(&c,sum)    records a sum that vp_step did not compute
     vp_check_end(&c,sum)    records a finished sum
     vp_check_failed(&c)     true if the tile has to be computed again, step by step
     VP_FORM, VP_SUMS        the enum bf16_form and the enum bf16_sums
     VP_ROWS, VP_MAX_PANELS  the register tile
     VP_GROUP                maximum number of rows in a group, a multiple of VP_ROWS, at most 16

   This file is compiled once for vdpbf16ps and, for each instruction set, twice for the emulation:
   once per kind of sums, which is then named by RAPT_BF16_SUMS. The build also defines RAPT_BF16
   (such as avx512bf16), RAPT_SIMD_HEADER (such as "simd_avx512.h") and RAPT_BF16_HEADER (such as
   "kernel/bf16_avx512.h"). The table at the end is its only global symbol. */
#include "kernel/bf16.h"
#include "kernel/simd.h"

#include <assert.h>
#include <math.h>
#include <string.h>

#include RAPT_BF16_HEADER

#include "bf16_pack.c"

/* Rows of a are packed in groups of at most VP_GROUP rows, as [pairs][16]. */
enum { VP_SLOTS = LANES, VP_GROUPS = (BF16_ROWS + VP_GROUP - 1) / VP_GROUP };

_Static_assert(VP_ROWS <= 14, "kernel/tile_rows.def lists the heights below 14");
_Static_assert((int)VP_GROUP <= (int)VP_SLOTS, "a group has a slot for each row");

/* ---- one element, exactly ---- */

static inline bool bf16_nan(float x)
{
    return (half_bits_of(x) & 0x7fffffff) > 0x7f800000;
}

static inline float bf16_quiet(float x)
{
    return half_float_of(half_bits_of(x) | 0x00400000);
}

static inline float bf16_flush(float x)
{
    uint32_t bits = half_bits_of(x);
    return (bits & 0x7f800000) == 0 ? half_float_of(bits & 0x80000000) : x;
}

/* Computes step(a, b, c) as defined in bf16.h. If the result of the fused multiply-add has a
   magnitude of at most 2^-126, it may have been rounded to a multiple of 2^-149 instead of to 24
   bits. The sum in double precision then decides: if its magnitude is below 2^-126 by more than
   2^-151, half a unit in the 24th bit, the result is zero. The significand of a product is 16 bits
   long, so a sum near that bound needs at most 41 bits and is exact. */
static float bf16_step(float a, float b, float c)
{
    a = bf16_flush(a), b = bf16_flush(b), c = bf16_flush(c);
    float sum = fmaf(a, b, c);
    if (bf16_nan(sum))
        return bf16_nan(a)   ? bf16_quiet(a)
               : bf16_nan(b) ? bf16_quiet(b)
               : bf16_nan(c) ? bf16_quiet(c)
                             : half_float_of(0xffc00000);
    if (fabsf(sum) > 0x1p-126f) return sum;
    double exact = (double)a * (double)b + (double)c;
    return fabs(exact) < 0x1p-126 - 0x1p-151 ? copysignf(0, sum) : copysignf(0x1p-126f, sum);
}

static float bf16_chain(float sum, const uint32_t *a, const uint32_t *b, int pairs)
{
    for (int j = 0; j < pairs; j++, a += VP_SLOTS, b += LANES) {
        sum = bf16_step(half_float_of(*a & 0xffff0000), half_float_of(*b & 0xffff0000), sum);
        sum = bf16_step(half_float_of(*a << 16), half_float_of(*b << 16), sum);
    }
    return sum;
}

/* Adds the products of at most one slice. Steps that add a zero replace the padding: they only turn
   -0 into +0. A sum of two floats is a step whose second factor is 1. */
static float bf16_slice(float sum, const uint32_t *a, const uint32_t *b, int pairs)
{
    float even = 0, odd = 0;
    for (int j = 0; j < pairs; j++, a += VP_SLOTS, b += LANES) {
        even = bf16_step(half_float_of(*a << 16), half_float_of(*b << 16), even);
        odd = bf16_step(half_float_of(*a & 0xffff0000), half_float_of(*b & 0xffff0000), odd);
    }
    if (pairs < BF16_SLICE) even = bf16_step(0, 0, even), odd = bf16_step(0, 0, odd);
    return bf16_step(bf16_step(odd, 1, even), 1, sum);
}

/* Adds the products of all pairs. */
static float bf16_element(float sum, const uint32_t *a, const uint32_t *b, int pairs)
{
    if ((enum bf16_sums)VP_SUMS == BF16_STEPS) return bf16_chain(sum, a, b, pairs);
    for (int j = 0; j < pairs; j += BF16_SLICE)
        sum = bf16_slice(sum, a + j * VP_SLOTS, b + j * LANES, rapt__min(pairs - j, BF16_SLICE));
    return bf16_nan(sum) ? half_float_of(0xffc00000) : sum;
}

/* ---- packing ---- */

/* Packs row-major rows, sixteen elements of each row at a time. */
static void bf16_pack_rows(const float *x, ptrdiff_t row, int rows, int depth, uint32_t *group)
{
    for (int k = 0; k < depth; k += LANES) {
        float lines[LANES][LANES];
        vf columns[LANES];
        const int count = rapt__min(depth - k, LANES);
        for (int r = 0; r < LANES; r++)
            columns[r] = r < rows ? vf_load_partial(x + r * row + k, (size_t)count, 0) : vf_zero();
        vf_transpose(columns);
        for (int i = 0; i < LANES; i++) vf_store(lines[i], columns[i]);
        for (int i = 0; i < count; i += 2, group += VP_SLOTS)
            bf16_join(lines[i], lines[i + 1], group);
    }
}

/* Packs rows [row, row + rows) of a as a group. */
static void bf16_pack_group(const struct bf16_block *b, int row, int rows, uint32_t *group)
{
    const float *a = b->a + row * b->a_row;
    if (b->a_step == 1)
        bf16_pack_rows(a, b->a_row, rows, b->depth, group);
    else
        bf16_pack(a, b->a_step, rows, b->depth, group);
}

/* ---- multiplying ---- */

/* One register tile: `rows` rows starting at `row`, and `columns` columns starting at panel
   `panel`. */
struct bf16_place {
    const uint32_t *a; /* the packed rows */
    int row, rows, panel, columns;
};

/* Returns the address of the first sum in row r and panel q of a tile. */
static inline float *bf16_sums(const struct bf16_block *g, const struct bf16_place *at, int r,
                               int q)
{
    return g->c + (at->row + r) * g->c_row + (at->panel + q) * g->c_panel;
}

/* Computes a tile element by element. */
static void bf16_tile_exact(const struct bf16_block *g, const struct bf16_place *at)
{
    for (int r = 0; r < at->rows; r++)
        for (int n = 0; n < at->columns; n++) {
            const int q = n / LANES, lane = n % LANES;
            const uint32_t *b = g->b + (at->panel + q) * g->b_panel + lane;
            float *c = bf16_sums(g, at, r, q) + lane;
            float start = g->add ? *c : g->bias ? g->bias[(ptrdiff_t)at->panel * LANES + n] : 0;
            *c = bf16_element(start, at->a + r, b, rapt__ceil_div(g->depth, 2));
        }
}

/* Adds the products of `pairs` pairs, starting at pair `first`. Inlined, so that rows and panels
   are constants. */
static inline __attribute__((always_inline)) void
bf16_pairs(int rows, int panels, const struct bf16_block *g, const struct bf16_place *at, int first,
           int pairs, vf *even, vf *odd, vp_check *check)
{
    const uint32_t *a = at->a + first * VP_SLOTS;
    const uint32_t *b = g->b + at->panel * g->b_panel + first * LANES;
    for (int j = 0; j < pairs; j++) {
        vp right[VP_MAX_PANELS];
        UNROLL
        for (int q = 0; q < panels; q++) right[q] = vp_load(b + q * g->b_panel);
        UNROLL
        for (int r = 0; r < rows; r++) {
            vp left = vp_splat(a + r);
            UNROLL
            for (int q = 0; q < panels; q++) {
                const int i = r * panels + q;
                vp_step(&even[i], &odd[i], left, right[q], check);
            }
        }
        a += VP_SLOTS;
        b += LANES;
    }
}

/* Adds the products of all pairs, slice by slice, as bf16_slice does. */
static inline __attribute__((always_inline)) void bf16_slices(int rows, int panels,
                                                              const struct bf16_block *g,
                                                              const struct bf16_place *at, vf *sum,
                                                              vp_check *check)
{
    const int pairs = rapt__ceil_div(g->depth, 2);
    for (int j = 0; j < pairs; j += BF16_SLICE) {
        const int count = rapt__min(pairs - j, BF16_SLICE);
        vf even[VP_ROWS * VP_MAX_PANELS], odd[VP_ROWS * VP_MAX_PANELS];
        UNROLL
        for (int i = 0; i < rows * panels; i++) even[i] = odd[i] = vf_zero();
        bf16_pairs(rows, panels, g, at, j, count, even, odd, check);
        UNROLL
        for (int i = 0; i < rows * panels; i++) {
            if (count < BF16_SLICE) {
                even[i] = vf_add(even[i], vf_zero());
                odd[i] = vf_add(odd[i], vf_zero());
            }
            vf both = vf_add(odd[i], even[i]);
            sum[i] = vf_add(both, sum[i]);
            vp_check_sum(check, both), vp_check_sum(check, sum[i]);
        }
    }
}

/* Computes a tile. Inlined, so that rows and panels are constants. */
static inline __attribute__((always_inline)) void
bf16_tile(int rows, int panels, const struct bf16_block *g, const struct bf16_place *at)
{
    const float *bias = g->bias ? g->bias + (ptrdiff_t)at->panel * LANES : NULL;
    const bool whole = at->columns == panels * LANES; /* otherwise panels is 1 */
    vf sum[VP_ROWS * VP_MAX_PANELS];
    vp_check check = vp_check_none();
    UNROLL
    for (int r = 0; r < rows; r++) {
        UNROLL
        for (int q = 0; q < panels; q++) {
            const float *from = bias ? bias + q * LANES : bf16_sums(g, at, r, q);
            vf start = vf_zero();
            if (g->add || bias) start = whole ? vf_load(from) : vf_load_n(from, at->columns, 0);
            vp_check_sum(&check, start);
            sum[r * panels + q] = start;
        }
    }
    if ((enum bf16_sums)VP_SUMS == BF16_STEPS)
        bf16_pairs(rows, panels, g, at, 0, rapt__ceil_div(g->depth, 2), sum, sum, &check);
    else
        bf16_slices(rows, panels, g, at, sum, &check);
    UNROLL
    for (int i = 0; i < rows * panels; i++) vp_check_end(&check, sum[i]);
    if (vp_check_failed(&check)) {
        bf16_tile_exact(g, at);
        return;
    }
    UNROLL
    for (int r = 0; r < rows; r++) {
        UNROLL
        for (int q = 0; q < panels; q++) {
            float *to = bf16_sums(g, at, r, q);
            if (whole)
                vf_store(to, sum[r * panels + q]);
            else
                vf_store_n(to, sum[r * panels + q], at->columns);
        }
    }
}

/* Computes tiles of `width` panels and `rows` rows as long as they fit, and advances `at`. */
static inline __attribute__((always_inline)) void
bf16_run(int rows, int width, const struct bf16_block *g, struct bf16_place *at, int last)
{
    for (; at->panel + width <= last; at->panel += width) {
        at->columns = rapt__min(width * LANES, g->columns - at->panel * LANES);
        if (width > 1 && at->columns < width * LANES) return; /* the last panel is not full */
        bf16_tile(rows, width, g, at);
    }
}

/* Computes panels [at->panel, last) for the rows of a tile, two at a time if there are enough
   registers. */
static inline __attribute__((always_inline)) void bf16_row(int rows, const struct bf16_block *g,
                                                           struct bf16_place *at, int last)
{
    if (VP_MAX_PANELS > 1) bf16_run(rows, VP_MAX_PANELS, g, at, last);
    bf16_run(rows, 1, g, at, last);
}

static void bf16_row_any(const struct bf16_block *g, struct bf16_place *at, int last)
{
    switch (at->rows < VP_ROWS ? at->rows : 0) {
#define TILE_CASE(rows, height)                                                                    \
    case rows:                                                                                     \
        if (rows < VP_ROWS) bf16_row(rows < VP_ROWS ? rows : 1, g, at, last);                      \
        break;
#include "kernel/tile_rows.def"
#undef TILE_CASE
    default:
        bf16_row(VP_ROWS, g, at, last);
    }
}

/* Multiplies a group by panels [first, last), tile by tile. */
static void bf16_group(const struct bf16_block *g, const uint32_t *group, int row, int rows,
                       int first, int last)
{
    for (int r = 0; r < rows; r += VP_ROWS) {
        struct bf16_place at = {
            .a = group + r, .row = row + r, .rows = rapt__min(rows - r, VP_ROWS), .panel = first};
        bf16_row_any(g, &at, last);
    }
}

/* Divides the rows into groups whose sizes differ by at most one, and multiplies all groups by a
   few panels before reading the next panels. */
static void bf16_gemm(const struct bf16_block *g)
{
    _Alignas(64) uint32_t packed[VP_GROUPS * BF16_PAIRS * VP_SLOTS];
    const int groups = rapt__ceil_div(g->rows, VP_GROUP);
    const int height = g->rows / groups, tall = g->rows % groups;
    const int panels = rapt__ceil_div(g->columns, LANES);
    const ptrdiff_t size = (ptrdiff_t)rapt__ceil_div(g->depth, 2) * VP_SLOTS;
    assert(g->rows <= BF16_ROWS && g->depth <= BF16_DEPTH);
    for (int i = 0, row = 0, rows; i < groups; i++, row += rows) {
        rows = height + (i < tall);
        bf16_pack_group(g, row, rows, packed + i * size);
    }
    for (int n = 0; n < panels; n += VP_MAX_PANELS)
        for (int i = 0, row = 0, rows; i < groups; i++, row += rows) {
            rows = height + (i < tall);
            bf16_group(g, packed + i * size, row, rows, n, rapt__min(n + VP_MAX_PANELS, panels));
        }
}

extern const struct bf16_kernels TABLE_NAME(rapt__bf16_, RAPT_BF16);
const struct bf16_kernels TABLE_NAME(rapt__bf16_, RAPT_BF16) = {
    .name = TABLE_TEXT(RAPT_BF16),
    .form = (enum bf16_form)VP_FORM,
    .sums = (enum bf16_sums)VP_SUMS,
    .gemm = bf16_gemm,
    .pack = bf16_pack,
};
