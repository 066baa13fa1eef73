/* row.c - dot products, sums of squares, elementwise sums of two rows, and sums down columns.

   Sums along a row have a fixed order. A block of BLOCK floats is summed in one to four vectors of
   sixteen lanes, which are added pairwise. The lanes are added as 8+8, 4+4, 2+2, 1+1, and the sums
   of blocks are added in double precision, so the error hardly grows with the length. Sums down a
   column are compensated (W. Kahan 1965, "Further remarks on reducing truncation errors"). */

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
