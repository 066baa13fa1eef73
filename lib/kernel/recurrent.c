/* recurrent.c - a row of the simpler simple recurrent unit (SSRU: Kim et al. 2019, "From Research
   to Production and Back: Ludicrously Fast Neural Machine Translation", section 3.1), and its
   gradient:

       f = 1 / (1 + e^-z),   cell = f before + (1 - f) x,   y = max(cell, 0) */

static inline vf earlier(const float *before, size_t i, size_t n)
{
    return before ? vf_load_partial(before + i, n - i, 0) : vf_zero();
}

static void ssru_row(const float *x, const float *z, const float *before, float *cell, float *y,
                     size_t n)
{
    for (size_t i = 0; i < n; i += 16) {
        vf other, f = logistic(vf_load_partial(z + i, n - i, 0), &other);
        vf next = vf_mul(other, vf_load_partial(x + i, n - i, 0));
        next = vf_fma(f, earlier(before, i, n), next);
        vf_store_partial(cell + i, next, n - i);
        vf_store_partial(y + i, relu(next), n - i);
    }
}

/* d is the gradient of cell. Sets dx = d (1 - f) and dz = d (before - x) f (1 - f), and then
   multiplies d by f. */
static void ssru_row_backward(const float *x, const float *z, const float *before, float *d,
                              float *dx, float *dz, size_t n)
{
    for (size_t i = 0; i < n; i += 16) {
        vf other, f = logistic(vf_load_partial(z + i, n - i, 0), &other);
        vf from = vf_load_partial(d + i, n - i, 0);
        vf step = vf_sub(earlier(before, i, n), vf_load_partial(x + i, n - i, 0));
        vf through = vf_mul(from, f);
        vf_store_partial(dx + i, vf_mul(from, other), n - i);
        vf_store_partial(dz + i, vf_mul(vf_mul(through, other), step), n - i);
        vf_store_partial(d + i, through, n - i);
    }
}
