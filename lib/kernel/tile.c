/* tile.c - the register tile of matrix products. Its sums stay in registers during the loop over k.
   Every element is a separate chain of fmas in the order of k, so the shape and position of a tile
   do not affect the results. Tiles with few rows span more panels, because it takes many
   independent sums to hide the latency of the fma. */

enum { MAX_PANELS = 4 * VF_PANELS }; /* number of panels of the widest tile, which has few rows */

_Static_assert(VF_ROWS <= 14, "kernel/tile_rows.def lists the heights below 14");

/* Returns the number of panels of the widest tile with `rows` rows: the largest number, at most
   MAX_PANELS, for which the registers hold the sums, a vector of each panel and a vector of `a`. */
static inline __attribute__((always_inline)) int tile_panels(int rows)
{
    int panels = (VF_ROWS + 1) * VF_PANELS / (rows + 1);
    return rapt__min(panels, MAX_PANELS);
}

enum panel_type { PANEL_FLOAT, PANEL_BF16, PANEL_F16 }; /* type of the elements of b */

struct tile { /* operands and results of one register tile */
    const float *a, *bias;
    const void *b;
    const void *ahead;    /* memory that will be read soon, prefetched along with b; or NULL */
    ptrdiff_t ahead_step; /* distance in `ahead` from one k to the next, in elements */
    float *c;
};

/* Returns the address of element n. These functions are inlined, so that `type` is a constant. */
static inline const void *panel_at(enum panel_type type, const void *b, ptrdiff_t n)
{
    return type == PANEL_FLOAT ? (const void *)((const float *)b + n) : (const uint16_t *)b + n;
}

/* Loads 16 elements as floats, starting at element n. */
static inline vf panel_load(enum panel_type type, const void *b, ptrdiff_t n)
{
    const void *at = panel_at(type, b, n);
    return type == PANEL_FLOAT  ? vf_load(at)
           : type == PANEL_BF16 ? vf_load_bf16(at)
                                : vf_load_f16(at);
}

enum {
    FEW_ROWS = VF_ROWS > 8 ? 8 : 4, /* with at most this many rows, reading b limits the speed, so b
                                       is prefetched */
    FETCH_STEPS = 16                /* distance of these prefetches in steps of k; they may reach
                                       into the next tile */
};

/* Computes the sums of a tile, sum[r * panels + q]. Inlined, so that type, rows and panels are
   constants. 16-bit elements are widened as they are loaded. */
static inline __attribute__((always_inline)) void tile_sums(enum panel_type type, int rows,
                                                            int panels, const struct gemm_block *g,
                                                            const struct tile *t, vf *sum)
{
    const float *a = t->a;
    const void *b = t->b, *ahead = t->ahead, *fetch = panel_at(type, b, FETCH_STEPS * g->b_step);
    ptrdiff_t a_row = g->a_row, a_step = g->a_step, b_panel = g->b_panel, b_step = g->b_step;
    for (int k = g->depth; k > 0; k--) {
        vf column[MAX_PANELS];
        if (ahead) {
            __builtin_prefetch(ahead, 0, 2);
            ahead = panel_at(type, ahead, t->ahead_step);
        }
        if (rows <= FEW_ROWS && k == FETCH_STEPS) fetch = panel_at(type, t->b, panels * b_panel);
        UNROLL_FETCH
        for (int q = 0; q < panels && rows <= FEW_ROWS; q++)
            __builtin_prefetch(panel_at(type, fetch, q * b_panel));
        fetch = panel_at(type, fetch, b_step);
        UNROLL
        for (int q = 0; q < panels; q++) column[q] = panel_load(type, b, q * b_panel);
        UNROLL
        for (int r = 0; r < rows; r++) {
            vf left = vf_splat(a[r * a_row]);
            UNROLL
            for (int q = 0; q < panels; q++)
                sum[r * panels + q] = vf_fma(left, column[q], sum[r * panels + q]);
        }
        a += a_step;
        b = panel_at(type, b, b_step);
    }
}

/* Computes a tile of full panels. */
static inline __attribute__((always_inline)) void tile_whole(enum panel_type type, int rows,
                                                             int panels, const struct gemm_block *g,
                                                             const struct tile *t)
{
    vf sum[VF_ROWS * VF_PANELS];
    UNROLL
    for (int r = 0; r < rows; r++) {
        UNROLL
        for (int q = 0; q < panels; q++)
            sum[r * panels + q] = g->add    ? vf_load(t->c + r * g->c_row + q * g->c_panel)
                                  : t->bias ? vf_load(t->bias + q * LANES)
                                            : vf_zero();
    }
    tile_sums(type, rows, panels, g, t, sum);
    UNROLL
    for (int r = 0; r < rows; r++) {
        UNROLL
        for (int q = 0; q < panels; q++)
            vf_store(t->c + r * g->c_row + q * g->c_panel, sum[r * panels + q]);
    }
}

/* Returns row k of the last panel, which has n columns; panels of 16-bit elements are padded. */
static inline vf rest_row(enum panel_type type, const struct gemm_block *g, const struct tile *t,
                          int k, int n)
{
    if (type != PANEL_FLOAT) return panel_load(type, t->b, k * g->b_step);
    return vf_load_n(panel_at(type, t->b, k * g->b_step), n, 0);
}

/* Computes a tile of the last panel, which has only n < 16 columns. */
static void tile_rest(enum panel_type type, int rows, int n, const struct gemm_block *g,
                      const struct tile *t)
{
    for (int r = 0; r < rows; r++) {
        float *c = t->c + r * g->c_row;
        const float *a = t->a + r * g->a_row;
        vf sum = g->add ? vf_load_n(c, n, 0) : t->bias ? vf_load_n(t->bias, n, 0) : vf_zero();
        for (int k = 0; k < g->depth; k++)
            sum = vf_fma(vf_splat(a[k * g->a_step]), rest_row(type, g, t, k, n), sum);
        vf_store_n(c, sum, n);
    }
}

static inline __attribute__((always_inline)) struct tile
tile_at(enum panel_type type, const struct gemm_block *g, int row, int panel)
{
    const void *b =
        panel_at(type, type == PANEL_FLOAT ? (const void *)g->b : g->half, panel * g->b_panel);
    ptrdiff_t a_row = g->a_tiles ? g->depth : g->a_row; /* tiles are packed one after another */
    return (struct tile){.a = g->a + row * a_row,
                         .b = b,
                         .bias = g->bias ? g->bias + panel * LANES : NULL,
                         .ahead = b,
                         .ahead_step = g->b_step,
                         .c = g->c + row * g->c_row + panel * g->c_panel};
}
