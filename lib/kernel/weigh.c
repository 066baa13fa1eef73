/* weigh.c - weighted sums of rows and their gradient. A row whose weight is 0 is not looked at: it
   may hold infinity or NaN. Every element is a chain of fma in the order of rows. */

static void weigh_row(const float *w, int n, const float *x, ptrdiff_t ld, int width, float *y)
{
    int j = 0;
    for (; j + 4 * LANES <= width; j += 4 * LANES) {
        vf a = vf_load(y + j), b = vf_load(y + j + 16), c = vf_load(y + j + 32),
           d = vf_load(y + j + 48);
        for (int s = 0; s < n; s++) {
            if (w[s] == 0) continue;
            const float *row = x + s * ld + j;
            vf by = vf_all(w[s]);
            a = vf_fma(by, vf_load(row), a);
            b = vf_fma(by, vf_load(row + 16), b);
            c = vf_fma(by, vf_load(row + 32), c);
            d = vf_fma(by, vf_load(row + 48), d);
        }
        vf_store(y + j, a);
        vf_store(y + j + 16, b);
        vf_store(y + j + 32, c);
        vf_store(y + j + 48, d);
    }
    for (; j < width; j += LANES) {
        size_t left = (size_t)(width - j);
        vf sum = vf_load_up(y + j, left, 0);
        for (int s = 0; s < n; s++)
            if (w[s] != 0) sum = vf_fma(vf_all(w[s]), vf_load_up(x + s * ld + j, left, 0), sum);
        vf_store_up(y + j, sum, left);
    }
}

static void spread_row(const float *w, int n, const float *x, int width, float *y, ptrdiff_t ld)
{
    for (int s = 0; s < n; s++, y += ld) {
        if (w[s] == 0) continue;
        vf by = vf_all(w[s]);
        for (int j = 0; j < width; j += LANES) {
            size_t left = (size_t)(width - j);
            vf_store_up(y + j, vf_fma(by, vf_load_up(x + j, left, 0), vf_load_up(y + j, left, 0)),
                        left);
        }
    }
}
