/* flash_panels.c - register tiles of the matrix products of attention:

       scores  c[r][s]  = a[r].b[s]                    and each row's maximum in each lane
       merged  c[r][n]  = rescale[r] c[r][n] + sum over k of a[r][k] b[k][n]
       added   c[r][n] += sum over k of a[r][k] b[k][n]
       mean    c[r][n]  = inverse[r] (sum over k of a[r][k] b[k][n])
       plus    c[r][n]  = c[r][n] + (sum over k of a[r][k] b[k][n])

   for `rows` rows and `panels` panels of columns. `added` starts its chains of fmas with c, and
   `plus` adds finished chains to c. All functions are inlined, so that rows and panels are
   constants and the sums stay in registers. */
#include "kernel/flash.h"

enum {
    CHAIN = 32 /* number of terms of a score in one chain of fmas */
};

/* Returns the tile that begins at a panel. The tile does not prefetch, because its operands are in
   the cache or are read only once. */
static inline __attribute__((always_inline)) struct tile tile_near(const struct gemm_block *g,
                                                                   int panel)
{
    struct tile t = tile_at(PANEL_FLOAT, g, 0, panel);
    t.ahead = NULL;
    return t;
}

enum tiling_kind { TILE_SCORES, TILE_MERGED, TILE_ADDED, TILE_MEAN, TILE_PLUS };

struct tiling {
    struct gemm_block g; /* strides, depth and arrays; add and bias are not used */
    int panels;
    float *max;           /* scores: [rows][16] maximum in each lane */
    const float *rescale; /* merged: [rows] */
    const float *inverse; /* mean: [rows] */
};

/* Does the same as tile_sums for two consecutive chains of full length. When the two functions
   shared the code of a step, heads of width 32 were 2% slower (gcc 12). */
static inline __attribute__((always_inline)) void two_chains(int rows, int panels,
                                                             const struct gemm_block *g,
                                                             const struct tile *t, vf *first,
                                                             vf *second)
{
    const float *a = t->a, *b = t->b;
    for (int k = CHAIN; k > 0; k--, a += g->a_step, b += g->b_step) {
        UNROLL
        for (int chain = 0; chain < 2; chain++) {
            vf column[MAX_PANELS], *sum = chain ? second : first;
            UNROLL
            for (int q = 0; q < panels; q++)
                column[q] = vf_load(b + chain * CHAIN * g->b_step + q * g->b_panel);
            UNROLL
            for (int r = 0; r < rows; r++) {
                vf left = vf_splat(a[chain * CHAIN * g->a_step + r * g->a_row]);
                UNROLL
                for (int q = 0; q < panels; q++)
                    sum[r * panels + q] = vf_fma(left, column[q], sum[r * panels + q]);
            }
        }
    }
}

/* Adds one or two chains that start at term k to rows [row, row + rows) of a tile of scores. */
static inline __attribute__((always_inline)) void
score_rows(int row, int rows, int panels, int chains, const struct tiling *t, int n, int k)
{
    struct gemm_block part = t->g;
    struct tile at = tile_near(&t->g, n);
    vf first[VF_ROWS * VF_PANELS], second[VF_ROWS * VF_PANELS];
    bool last = k + chains * CHAIN >= t->g.depth;
    part.depth = rapt__min(t->g.depth - k, CHAIN);
    at.a += row * part.a_row + k * part.a_step;
    at.b = panel_at(PANEL_FLOAT, at.b, k * part.b_step);
    UNROLL
    for (int r = 0; r < rows; r++) {
        UNROLL
        for (int q = 0; q < panels; q++) first[r * panels + q] = second[r * panels + q] = vf_zero();
    }
    if (chains == 2)
        two_chains(rows, panels, &part, &at, first, second);
    else
        tile_sums(PANEL_FLOAT, rows, panels, &part, &at, first);
    UNROLL
    for (int r = 0; r < rows; r++) {
        vf max = vf_splat(-INFINITY);
        UNROLL
        for (int q = 0; q < panels; q++) {
            float *c = at.c + (row + r) * part.c_row + q * part.c_panel;
            vf s = first[r * panels + q];
            if (k > 0) s = vf_add(vf_load(c), s);
            if (chains == 2) s = vf_add(s, second[r * panels + q]);
            vf_store(c, s);
            max = vf_max(max, s);
        }
        if (!last || !t->max) continue;
        float *lanes = t->max + (row + r) * LANES;
        vf_store(lanes, n > 0 ? vf_max(max, vf_load(lanes)) : max);
    }
}

/* Adds chains of 32 fmas one after another; for 128 terms, this halves the error compared with a
   single chain. Chains are computed in pairs, for half of the rows at a time, if the sums of both
   chains then fit in the registers, so that scores are stored half as often. Where register tiles
   have only one panel, chains are computed one at a time, because half of the rows would have too
   few products per load. */
static inline __attribute__((always_inline)) void score_panels(int rows, int panels,
                                                               const struct tiling *t, int n)
{
    int half = (rows + 1) / 2, k = 0;
    bool two = VF_PANELS > 1 && rows > 1 && (2 * half + 1) * panels <= (VF_ROWS + 1) * VF_PANELS;
    for (; two && k + 2 * CHAIN <= t->g.depth; k += 2 * CHAIN) {
        score_rows(0, half, panels, 2, t, n, k);
        score_rows(half, rows - half, panels, 2, t, n, k);
    }
    for (; k < t->g.depth; k += CHAIN) score_rows(0, rows, panels, 1, t, n, k);
}

static inline __attribute__((always_inline)) void value_panels(int rows, int panels, bool add,
                                                               const struct tiling *t, int n)
{
    vf sum[VF_ROWS * VF_PANELS];
    struct tile at = tile_near(&t->g, n);
    UNROLL
    for (int r = 0; r < rows; r++) {
        UNROLL
        for (int q = 0; q < panels; q++)
            sum[r * panels + q] =
                add ? vf_load(at.c + r * t->g.c_row + q * t->g.c_panel) : vf_zero();
    }
    tile_sums(PANEL_FLOAT, rows, panels, &t->g, &at, sum);
    UNROLL
    for (int r = 0; r < rows; r++) {
        vf rescale = add ? vf_zero() : vf_splat(t->rescale[r]);
        UNROLL
        for (int q = 0; q < panels; q++) {
            float *c = at.c + r * t->g.c_row + q * t->g.c_panel;
            vf s = sum[r * panels + q];
            vf_store(c, add ? s : vf_fma(vf_load(c), rescale, s));
        }
    }
}

/* Computes the sums of the tile that starts at panel n, and returns the tile. */
static inline __attribute__((always_inline)) struct tile
sums_near(int rows, int panels, const struct gemm_block *g, int n, vf *sum)
{
    struct tile at = tile_near(g, n);
    UNROLL
    for (int r = 0; r < rows; r++) {
        UNROLL
        for (int q = 0; q < panels; q++) sum[r * panels + q] = vf_zero();
    }
    tile_sums(PANEL_FLOAT, rows, panels, g, &at, sum);
    return at;
}

/* Returns x, a sum of weighted values, times the inverse of the sum of weights. This rounds once
   more than a division, which is negligible compared with the rounding of each term of the sum.
   Adding 0 turns -0 into 0 (unless the host rounds downward). Without this, the sign of a zero
   could depend on how many terms of the sum are skipped. */
static inline vf mean_of(vf x, vf inverse)
{
    return vf_add(vf_mul(x, inverse), vf_zero());
}

static inline __attribute__((always_inline)) void mean_panels(int rows, int panels,
                                                              const struct tiling *t, int n)
{
    vf sum[VF_ROWS * VF_PANELS];
    struct tile at = sums_near(rows, panels, &t->g, n, sum);
    UNROLL
    for (int r = 0; r < rows; r++) {
        vf inverse = vf_splat(t->inverse[r]);
        UNROLL
        for (int q = 0; q < panels; q++)
            vf_store(at.c + r * t->g.c_row + q * t->g.c_panel,
                     mean_of(sum[r * panels + q], inverse));
    }
}

static inline __attribute__((always_inline)) void plus_panels(int rows, int panels,
                                                              const struct tiling *t, int n)
{
    vf sum[VF_ROWS * VF_PANELS];
    struct tile at = sums_near(rows, panels, &t->g, n, sum);
    UNROLL
    for (int r = 0; r < rows; r++) {
        UNROLL
        for (int q = 0; q < panels; q++) {
            float *c = at.c + r * t->g.c_row + q * t->g.c_panel;
            vf_store(c, vf_add(vf_load(c), sum[r * panels + q]));
        }
    }
}
