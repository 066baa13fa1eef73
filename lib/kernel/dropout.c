/* dropout.c - y = from + scale x for elements that are not dropped, and y = from for elements that
   are dropped. Srivastava et al. 2014, "Dropout". Whether an element is dropped depends only on
   key, row and column: its 32 random bits are word (column / 16) % 4 of rapt__philox(key, column /
   64 * 16 + column % 16, row). Thus sixteen counters yield the bits of 64 columns. */

/* Writes the factors of columns column .. column + 63: scale, or 0 if the element is dropped.
   column must be a multiple of 64. */
static void dropout_factors(const struct dropout *d, uint64_t row, int column, float *factor)
{
    uint64_t counter = (uint64_t)column / 4;
    struct philox low = philox_8(d->key, counter, row), high = philox_8(d->key, counter + 8, row);

    UNROLL
    for (int w = 0; w < 4; w++) {
        vm dropped = vu_less(low.word[w], high.word[w], d->below);
        vf_store(factor + w * LANES, vf_select(dropped, vf_zero(), vf_splat(d->scale)));
    }
}

static void dropout_row(const struct dropout *d, uint64_t row, const float *x, const float *from,
                        float *y, int n)
{
    float factor[4 * LANES];

    for (int i = 0; i < n; i += 16) {
        size_t left = (size_t)(n - i);
        if (i % 64 == 0) dropout_factors(d, row, i, factor);
        vf f = vf_load(factor + i % 64), b = from ? vf_load_partial(from + i, left, 0) : vf_zero();
        vf kept = vf_fma(vf_load_partial(x + i, left, 0), f, b);
        vf_store_partial(y + i, vf_select(vf_less(vf_zero(), f), kept, b), left);
    }
}
