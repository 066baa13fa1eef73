/* gemm.c - the matrix product of one thread: register tiles over panels.

   The sums of a tile stay in registers while k runs; every element is its own chain of fma in
   the order of k, so tile shape and place never change a bit. Few rows get more panels, to have
   enough independent sums in flight. Goto and van de Geijn 2008, "Anatomy of high-performance
   matrix multiplication"; here b is packed once for all and a is read where it lies. */
#include <string.h>

static inline int smaller(int a, int b)
{
    return a < b ? a : b;
}

/* The most panels of a tile with that many rows: its sums, a vector of each panel and one of a fit
   into the registers, as those of the largest tile do. */
static inline __attribute__((always_inline)) int tile_panels(int rows)
{
    int panels = (VF_ROWS + 1) * VF_PANELS / (rows + 1), max = VF_PANELS * 4;
    return panels < max ? panels : max;
}

struct tile { /* where one register tile reads and writes */
    const float *a, *b, *bias;
    const float *ahead; /* a panel that will be read soon, fetched along with b */
    float *c;
};

enum {
    FEW_ROWS = 4,    /* with so few, b comes from afar faster than it is used: */
    FETCH_STEPS = 16 /* it is asked for so many steps before */
};

/* The sums of a tile: sum[r * panels + q]. rows and panels are constants where this is inlined. */
static inline __attribute__((always_inline)) void
tile_sums(int rows, int panels, const struct product *p, const struct tile *t, vf *sum)
{
    const float *a = t->a, *b = t->b, *ahead = t->ahead;
    ptrdiff_t a_row = p->a_row, a_step = p->a_step, b_panel = p->b_panel, b_step = p->b_step;
    for (int k = p->depth; k > 0; k--) {
        vf column[8];
        __builtin_prefetch(ahead, 0, 2);
        ahead += b_step;
        UNROLL
        for (int q = 0; q < panels && rows <= FEW_ROWS; q++)
            __builtin_prefetch(b + q * b_panel + FETCH_STEPS * b_step);
        UNROLL
        for (int q = 0; q < panels; q++) column[q] = vf_load(b + q * b_panel);
        UNROLL
        for (int r = 0; r < rows; r++) {
            vf left = vf_splat(a[r * a_row]);
            UNROLL
            for (int q = 0; q < panels; q++)
                sum[r * panels + q] = vf_fma(left, column[q], sum[r * panels + q]);
        }
        a += a_step;
        b += b_step;
    }
}

/* A tile of whole panels. */
static inline __attribute__((always_inline)) void
tile_whole(int rows, int panels, const struct product *p, const struct tile *t)
{
    vf sum[VF_ROWS * VF_PANELS];
    UNROLL
    for (int r = 0; r < rows; r++) UNROLL
    for (int q = 0; q < panels; q++)
        sum[r * panels + q] = p->add    ? vf_load(t->c + r * p->c_row + q * p->c_panel)
                              : t->bias ? vf_load(t->bias + q * LANES)
                                        : vf_zero();
    tile_sums(rows, panels, p, t, sum);
    UNROLL
    for (int r = 0; r < rows; r++) UNROLL
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
            sum = vf_fma(vf_splat(a[k * p->a_step]), vf_load_n(b + k * p->b_step, n, 0), sum);
        vf_store_n(c, sum, n);
    }
}

static inline __attribute__((always_inline)) struct tile tile_at(const struct product *p, int row,
                                                                 int panel)
{
    const float *b = p->b + panel * p->b_panel;
    return (struct tile){p->a + row * p->a_row, b, p->bias ? p->bias + panel * LANES : NULL, b,
                         p->c + row * p->c_row + panel * p->c_panel};
}

/* Tiles of so many panels from panel n on; returns where the next one would start. The tile
   number `order` of its column (-1: alone) fetches one of the panels of the columns to come. */
static inline __attribute__((always_inline)) int
tile_run(int rows, int panels, const struct product *p, int row, int n, int last, int order)
{
    for (; n + panels <= last; n += panels) {
        struct tile t = tile_at(p, row, n);
        int next = panels + order;
        if (order >= 0 && n + next < p->columns / LANES) t.ahead += next * p->b_panel;
        tile_whole(rows, panels, p, &t);
    }
    return n;
}

/* Rows [row, row + rows) over panels [n, last): the widest tiles first. */
static inline __attribute__((always_inline)) void tile_row(int rows, const struct product *p,
                                                           int row, int n, int last, int order)
{
    int max = tile_panels(rows);
    n = tile_run(rows, max, p, row, n, last, order);
    if (max > 4) n = tile_run(rows, 4, p, row, n, last, order);
    if (max > 2) n = tile_run(rows, 2, p, row, n, last, order);
    if (max > 1) tile_run(rows, 1, p, row, n, last, order);
}

/* Up to VF_ROWS rows over panels [n, last). Inlined, so that strides may be constants. */
static inline __attribute__((always_inline)) void tile_ordered(int rows, const struct product *p,
                                                               int row, int n, int last, int order)
{
    switch (rows) {
    case 1:
        tile_row(1, p, row, n, last, order);
        break;
    case 2:
        tile_row(2, p, row, n, last, order);
        break;
    case 3:
        tile_row(3, p, row, n, last, order);
        break;
    case 4:
        tile_row(4, p, row, n, last, order);
        break;
    case 5:
        tile_row(5, p, row, n, last, order);
        break;
    case 6:
        tile_row(6, p, row, n, last, order);
        break;
    case 7:
        tile_row(VF_ROWS < 7 ? 1 : 7, p, row, n, last, order);
        break;
    case 8:
        tile_row(VF_ROWS < 8 ? 1 : 8, p, row, n, last, order);
        break;
    case 9:
        tile_row(VF_ROWS < 9 ? 1 : 9, p, row, n, last, order);
        break;
    case 10:
        tile_row(VF_ROWS < 10 ? 1 : 10, p, row, n, last, order);
        break;
    case 11:
        tile_row(VF_ROWS < 11 ? 1 : 11, p, row, n, last, order);
        break;
    case 12:
        tile_row(VF_ROWS < 12 ? 1 : 12, p, row, n, last, order);
        break;
    case 13:
        tile_row(VF_ROWS < 13 ? 1 : 13, p, row, n, last, order);
        break;
    default:
        tile_row(VF_ROWS, p, row, n, last, order);
    }
}

/* The highest tile of a product. A row less than fits leaves the compiler registers for
   addresses: 13 rows run at 0.98 of the ceiling on Zen 5, 14 at 0.95. */
enum { TILE_ROWS = VF_ROWS < 13 ? VF_ROWS : 13 };

/* Fetches what a tile will add to. */
static inline void fetch_sums(const struct product *p, int row, int rows, int n, int last)
{
    for (; n < last; n++)
        for (int r = row; r < row + rows; r++)
            __builtin_prefetch(p->c + r * p->c_row + n * p->c_panel, 1);
}

/* All rows over panels [n, last), which stay in the nearest cache meanwhile; tiles of like height.
   Each tile fetches the sums of the one below, the lowest those of the first to the right. */
static inline __attribute__((always_inline)) void tile_column(const struct product *p, int n,
                                                              int last)
{
    int tiles = (p->rows + TILE_ROWS - 1) / TILE_ROWS, whole = p->columns / LANES;
    for (int row = 0, order = 0, take; row < p->rows; row += take, order++) {
        take = (p->rows - row + tiles - order - 1) / (tiles - order);
        int below = row + take, left = p->rows - below;
        if (p->add && left > 0)
            fetch_sums(p, below, left < take ? left : take, n, last);
        else if (p->add && tiles > 1)
            fetch_sums(p, 0, take, last, smaller(2 * last - n, whole));
        tile_ordered(take, p, row, n, last, order);
    }
}

/* The rows of a far apart, as they may be, or adjacent floats: a stride known to the compiler. */
static void column_apart(const struct product *p, int n, int last)
{
    tile_column(p, n, last);
}

static void column_adjacent(const struct product *p, int n, int last)
{
    struct product q = *p;
    q.a_row = 1;
    tile_column(&q, n, last);
}

static void product(const struct product *p)
{
    int whole = p->columns / LANES, rest = p->columns % LANES;
    int tiles = (p->rows + TILE_ROWS - 1) / TILE_ROWS;
    int width = tiles > 1 ? tile_panels((p->rows + tiles - 1) / tiles) : whole;
    for (int n = 0; n < whole; n += width) {
        int last = n + width < whole ? n + width : whole;
        if (p->a_row == 1)
            column_adjacent(p, n, last);
        else
            column_apart(p, n, last);
    }
    if (rest) {
        struct tile t = tile_at(p, 0, whole);
        tile_rest(p->rows, rest, p, &t);
    }
}

/* out[j][i] = in[i][j] for 16 x 16 floats back to back. */
static inline void transpose_block(const float *in, float *out)
{
    vf x[LANES];
    UNROLL
    for (int i = 0; i < LANES; i++) x[i] = vf_load(in + i * LANES);
    vf_transpose(x);
    UNROLL
    for (int i = 0; i < LANES; i++) vf_store(out + i * LANES, x[i]);
}

/* A block of which only rows of `in` exist, and only rows of `out` are wanted. */
static void transpose_rest(const float *in, int in_rows, float *out, int out_rows)
{
    float from[LANES * LANES] = {0}, to[LANES * LANES];
    memcpy(from, in, (size_t)(in_rows * LANES) * sizeof *in);
    transpose_block(from, to);
    memcpy(out, to, (size_t)(out_rows * LANES) * sizeof *out);
}

static void transpose_panels(const float *w, int columns, int depth, int k0, int ks, int first,
                             int count, float *out)
{
    ptrdiff_t w_panel = (ptrdiff_t)columns * LANES;
    for (int p = first; p < first + count; p++, out += (ptrdiff_t)ks * LANES) {
        int n = smaller(columns - p * LANES, LANES);
        const float *from = w + k0 / LANES * w_panel + (ptrdiff_t)p * LANES * LANES;
        for (int k = 0; k < ks; k += LANES, from += w_panel) {
            if (n == LANES && ks - k >= LANES)
                transpose_block(from, out + k * LANES);
            else
                transpose_rest(from, n, out + k * LANES, smaller(ks - k, LANES));
        }
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
    for (int p = first; p < first + count; p++) {
        const float *from = x + (ptrdiff_t)p * LANES * ld;
        int rows = smaller(columns - p * LANES, LANES);
        for (int k = 0, n; k < depth; k += LANES, out += n * LANES) {
            vf block[LANES];
            n = smaller(depth - k, LANES);
            for (int j = 0; j < LANES; j++) {
                block[j] = vf_zero();
                if (j < rows) block[j] = vf_load_partial(from + j * ld + k, (size_t)n, 0);
                block[j] = vf_mul(block[j], vf_splat(scale));
            }
            vf_transpose(block);
            for (int i = 0; i < n; i++) vf_store(out + i * LANES, block[i]);
        }
    }
}
