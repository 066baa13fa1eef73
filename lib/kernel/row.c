/* row.c - dot products, sums of squares, elementwise sums of two rows, sums down columns, weighted
   sums of rows, and rank-1 updates.

   The terms of a sum along a row are added in a fixed order. A block of BLOCK floats is summed in
   four vectors of sixteen lanes, which are added pairwise. The lanes are added as 8+8, 4+4, 2+2,
   1+1, and the sums of blocks are added in double precision, so the error hardly grows with the
   length. column_sum is compensated (W. Kahan 1965, "Further remarks on reducing truncation
   errors"). */

enum { BLOCK = 2048 };

static inline size_t block_length(size_t left)
{
    return rapt__min_size(left, BLOCK);
}

static inline vf fold_4(vf a, vf b, vf c, vf d)
{
    return vf_add(vf_add(a, b), vf_add(c, d));
}

static inline float dot_block(const float *x, const float *y, size_t n)
{
    vf a = vf_zero(), b = a, c = a, d = a;
    size_t i = 0;

    for (; i + 64 <= n; i += 64) {
        a = vf_fma(vf_load(x + i), vf_load(y + i), a);
        b = vf_fma(vf_load(x + i + 16), vf_load(y + i + 16), b);
        c = vf_fma(vf_load(x + i + 32), vf_load(y + i + 32), c);
        d = vf_fma(vf_load(x + i + 48), vf_load(y + i + 48), d);
    }
    for (; i < n; i += 16)
        a = vf_fma(vf_load_partial(x + i, n - i, 0), vf_load_partial(y + i, n - i, 0), a);
    return vf_sum(fold_4(a, b, c, d));
}

static float dot_row(const float *x, const float *y, int n)
{
    double sum = 0;
    size_t end = (size_t)n;

    for (size_t i = 0; i < end; i += BLOCK)
        sum += (double)dot_block(x + i, y + i, block_length(end - i));
    return (float)sum;
}

static float square_sum(const float *x, size_t n)
{
    double sum = 0;

    for (size_t i = 0; i < n; i += BLOCK)
        sum += (double)dot_block(x + i, x + i, block_length(n - i));
    return (float)sum;
}

static void add_row(float *y, const float *x, size_t n)
{
    size_t i = 0;

    for (; i + 16 <= n; i += 16) vf_store(y + i, vf_add(vf_load(y + i), vf_load(x + i)));
    if (i == n) return;
    int rest = (int)(n - i);
    vf_store_n(y + i, vf_add(vf_load_n(y + i, rest, 0), vf_load_n(x + i, rest, 0)), rest);
}

struct kahan { /* compensated sums, one per lane; the total is sum - excess */
    vf sum, excess;
};

static inline struct kahan kahan_zero(void)
{
    return (struct kahan){vf_zero(), vf_zero()};
}

static inline void kahan_add(struct kahan *k, vf x)
{
    vf y = vf_sub(x, k->excess), sum = vf_add(k->sum, y);

    k->excess = vf_sub(vf_sub(sum, k->sum), y);
    k->sum = sum;
}

static inline void kahan_end(const struct kahan *k, float *y, size_t left) /* y += the total */
{
    vf_store_partial(y, vf_add(vf_load_partial(y, left, 0), vf_sub(k->sum, k->excess)), left);
}

static void column_sum(float *y, const float *x, ptrdiff_t ld, int rows, int n)
{
    int j = 0;

    for (; j + 64 <= n; j += 64) {
        struct kahan a = kahan_zero(), b = a, c = a, d = a;
        for (int r = 0; r < rows; r++) {
            const float *row = x + r * ld + j;
            kahan_add(&a, vf_load(row));
            kahan_add(&b, vf_load(row + 16));
            kahan_add(&c, vf_load(row + 32));
            kahan_add(&d, vf_load(row + 48));
        }
        kahan_end(&a, y + j, 16);
        kahan_end(&b, y + j + 16, 16);
        kahan_end(&c, y + j + 32, 16);
        kahan_end(&d, y + j + 48, 16);
    }
    for (; j < n; j += 16) {
        struct kahan a = kahan_zero();
        for (int r = 0; r < rows; r++)
            kahan_add(&a, vf_load_partial(x + r * ld + j, (size_t)(n - j), 0));
        kahan_end(&a, y + j, (size_t)(n - j));
    }
}

/* ---- gemv: weighted sums of rows and their gradients. Rows with weight 0 are skipped and may
   contain infinity or NaN. Every element is a chain of fmas in the order of the rows. ---- */

/* Computes the sums for 16 * `vectors` columns. Inlined, so that `vectors` is a constant. */
static inline __attribute__((always_inline)) void
gemv_columns(const float *w, int n, const float *x, ptrdiff_t ld, int vectors, float *y)
{
    vf sum[4];
    UNROLL
    for (int i = 0; i < vectors; i++) sum[i] = vf_load(y + i * LANES);
    for (int s = 0; s < n; s++, x += ld) {
        if (w[s] == 0) continue;
        vf by = vf_splat(w[s]);
        UNROLL
        for (int i = 0; i < vectors; i++) sum[i] = vf_fma(by, vf_load(x + i * LANES), sum[i]);
    }
    UNROLL
    for (int i = 0; i < vectors; i++) vf_store(y + i * LANES, sum[i]);
}

static void gemv(const float *w, int n, const float *x, ptrdiff_t ld, int width, float *y)
{
    int j = 0;
    for (; j + 4 * LANES <= width; j += 4 * LANES) gemv_columns(w, n, x + j, ld, 4, y + j);
    for (; j + LANES <= width; j += LANES) gemv_columns(w, n, x + j, ld, 1, y + j);
    if (j == width) return;
    vf sum = vf_load_n(y + j, width - j, 0);
    for (int s = 0; s < n; s++)
        if (w[s] != 0) sum = vf_fma(vf_splat(w[s]), vf_load_n(x + s * ld + j, width - j, 0), sum);
    vf_store_n(y + j, sum, width - j);
}

static void rank1_update(const float *w, int n, const float *x, int width, float *y, ptrdiff_t ld)
{
    for (int s = 0; s < n; s++, y += ld) {
        if (w[s] == 0) continue;
        vf by = vf_splat(w[s]);
        for (int j = 0; j < width; j += LANES) {
            size_t left = (size_t)(width - j);
            vf_store_partial(
                y + j, vf_fma(by, vf_load_partial(x + j, left, 0), vf_load_partial(y + j, left, 0)),
                left);
        }
    }
}
