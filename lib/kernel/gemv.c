/* gemv.c - weighted sums of rows and their gradient. Rows with weight 0 are skipped and may contain
   infinity or NaN. Every element is a chain of fma in the order of the rows. */

/* Computes the sums of `vectors` times sixteen columns. `vectors` is a constant where this is
   inlined. */
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
