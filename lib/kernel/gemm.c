/* gemm.c - the matrix product of one thread: register tiles over panels.

   The sums of a tile stay in registers while k runs; every element is its own chain of fma in
   the order of k, so tile shape and place never change a bit. Few rows get more panels, to have
   enough independent sums in flight. Goto and van de Geijn 2008, "Anatomy of high-performance
   matrix multiplication"; here b is packed once for all and a is read where it lies. */

/* Panels of a tile with that many rows: as many sums as registers allow. */
static inline __attribute__((always_inline)) int tile_panels(int rows)
{
    int panels = VF_ROWS * VF_PANELS / rows;
    int most = VF_PANELS * 4;
    return panels < most ? panels : most;
}

struct tile { /* where one register tile reads and writes */
    const float *a, *b, *bias;
    float *c;
};

/* The sums of a tile: sum[r * panels + q]. rows and panels are constants where this is inlined. */
static inline __attribute__((always_inline)) void tile_sums(int rows, int panels,
                                                            const struct product *p,
                                                            const struct tile *t, vf *sum)
{
    const float *a = t->a, *b = t->b;
    ptrdiff_t a_row = p->a_row, a_step = p->a_step, b_panel = p->b_panel, b_step = p->b_step;
    for (int k = p->depth; k > 0; k--) {
        vf column[8];
UNROLL
        for (int q = 0; q < panels; q++) column[q] = vf_load(b + q * b_panel);
UNROLL
        for (int r = 0; r < rows; r++) {
            vf left = vf_all(a[r * a_row]);
UNROLL
            for (int q = 0; q < panels; q++)
                sum[r * panels + q] = vf_fma(left, column[q], sum[r * panels + q]);
        }
        a += a_step;
        b += b_step;
    }
}

/* A tile of whole panels. */
static inline __attribute__((always_inline)) void tile_whole(int rows, int panels,
                                                             const struct product *p,
                                                             const struct tile *t)
{
    vf sum[VF_ROWS * VF_PANELS];
UNROLL
    for (int r = 0; r < rows; r++)
UNROLL
        for (int q = 0; q < panels; q++)
            sum[r * panels + q] = p->add    ? vf_load(t->c + r * p->c_row + q * p->c_panel)
                                  : t->bias ? vf_load(t->bias + q * LANES)
                                            : vf_zero();
    tile_sums(rows, panels, p, t, sum);
UNROLL
    for (int r = 0; r < rows; r++)
UNROLL
        for (int q = 0; q < panels; q++)
            vf_store(t->c + r * p->c_row + q * p->c_panel, sum[r * panels + q]);
}

/* A tile of the last panel, of which only n < 16 columns exist. */
static void tile_rest(int rows, int n, const struct product *p, const struct tile *t)
{
    for (int r = 0; r < rows; r++) {
        float *c = t->c + r * p->c_row;
        const float *a = t->a + r * p->a_row, *b = t->b;
        vf sum = p->add ? vf_load_n(c, n, 0) : t->bias ? vf_load_n(t->bias, n, 0) : vf_zero();
        for (int k = 0; k < p->depth; k++)
            sum = vf_fma(vf_all(a[k * p->a_step]), vf_load_n(b + k * p->b_step, n, 0), sum);
        vf_store_n(c, sum, n);
    }
}

static inline __attribute__((always_inline)) struct tile tile_at(const struct product *p, int row,
                                                                 int panel)
{
    return (struct tile){p->a + row * p->a_row, p->b + panel * p->b_panel,
                         p->bias ? p->bias + panel * LANES : NULL,
                         p->c + row * p->c_row + panel * p->c_panel};
}

/* Rows [row, row + rows) over panels [first, last). */
static inline __attribute__((always_inline)) void tile_row(int rows, const struct product *p,
                                                           int row, int first, int last)
{
    int panels = tile_panels(rows), n = first;
    for (; n + panels <= last; n += panels) {
        struct tile t = tile_at(p, row, n);
        tile_whole(rows, panels, p, &t);
    }
    for (; n < last; n++) {
        struct tile t = tile_at(p, row, n);
        tile_whole(rows, 1, p, &t);
    }
}

/* Of `left` rows, how many the next tile takes. */
static inline int tile_take(int left)
{
    if (left >= VF_ROWS) return VF_ROWS;
    return left >= 8 ? 8 : left >= 4 ? 4 : left >= 2 ? 2 : 1;
}

/* All rows over panels [first, last), which stay in the nearest cache meanwhile. */
static void tile_column(const struct product *p, int first, int last)
{
    for (int row = 0, take; row < p->rows; row += take) {
        take = tile_take(p->rows - row);
        switch (take) {
        case 1: tile_row(1, p, row, first, last); break;
        case 2: tile_row(2, p, row, first, last); break;
        case 4: tile_row(4, p, row, first, last); break;
        case 8: tile_row(VF_ROWS < 8 ? 1 : 8, p, row, first, last); break;
        default: tile_row(VF_ROWS, p, row, first, last);
        }
    }
}

/* Panels that are walked together: for one row many, so that its sums hide the latency of fma;
   else as many as leave b in the nearest cache. */
static int column_width(const struct product *p)
{
    return p->rows < VF_ROWS ? tile_panels(p->rows < 2 ? 1 : 2) : VF_PANELS;
}

static void product(const struct product *p)
{
    int whole = p->columns / LANES, rest = p->columns % LANES, width = column_width(p);
    for (int n = 0; n < whole; n += width)
        tile_column(p, n, n + width < whole ? n + width : whole);
    if (rest) {
        struct tile t = tile_at(p, 0, whole);
        tile_rest(p->rows, rest, p, &t);
    }
}

static int smaller(int a, int b) { return a < b ? a : b; }

/* A block of 16 x 16 of w, whose panel is [depth][16], turned: out[k][n] = w[n][k]. */
static void turn_panels(const float *w, int columns, int depth, int k0, int ks, int first,
                        int count, float *out)
{
    ptrdiff_t w_panel = (ptrdiff_t)columns * LANES;
    for (int p = first; p < first + count; p++)
        for (int k = k0; k < k0 + ks; k++) {
            const float *from = w + k / LANES * w_panel + k % LANES + (ptrdiff_t)p * LANES * LANES;
            float *to = out + ((ptrdiff_t)(p - first) * ks + (k - k0)) * LANES;
            int n = smaller(columns - p * LANES, LANES);
            for (int j = 0; j < n; j++) to[j] = from[j * LANES];
            for (int j = n; j < LANES; j++) to[j] = 0;
        }
    (void)depth;
}

static void pack_rows(const float *x, ptrdiff_t ld, int columns, int depth, int first, int count,
                      float *out)
{
    for (int p = first; p < first + count; p++) {
        int n = smaller(columns - p * LANES, LANES);
        const float *from = x + (ptrdiff_t)p * LANES;
        for (int k = 0; k < depth; k++, from += ld, out += LANES)
            vf_store(out, n == LANES ? vf_load(from) : vf_load_n(from, n, 0));
    }
}

static void pack_columns(const float *x, ptrdiff_t ld, int columns, int depth, float scale,
                         int first, int count, float *out)
{
    for (int p = first; p < first + count; p++, out += (ptrdiff_t)depth * LANES) {
        int n = smaller(columns - p * LANES, LANES);
        const float *from = x + (ptrdiff_t)p * LANES * ld;
        for (int k = 0; k < depth; k++) {
            for (int j = 0; j < n; j++) out[k * LANES + j] = from[j * ld + k] * scale;
            for (int j = n; j < LANES; j++) out[k * LANES + j] = 0;
        }
    }
}
