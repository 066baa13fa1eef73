/* random.c - Gumbel noise, dropout, and the random numbers for both: Philox 4x32-10 (Salmon,
   Moraes, Dror and Shaw 2011, "Parallel random numbers: as easy as 1, 2, 3"), computed for eight
   counters at a time. The words are the same as those of rapt__philox. */

struct philox {
    vu word[4]; /* word[w] holds word w for each of eight counters, in the low halves of the
                   lanes */
};

static inline struct philox philox_8(uint64_t key, uint64_t counter_low, uint64_t counter_high)
{
    uint32_t k0 = (uint32_t)key, k1 = (uint32_t)(key >> 32);
    vu c0 = vu_count(counter_low), c1 = vu_high(c0);
    vu c2 = vu_splat(counter_high), c3 = vu_high(c2);

    for (int round = 0; round < 10; round++) {
        vu a = vu_times(c0, 0xD2511F53u), b = vu_times(c2, 0xCD9E8D57u);
        c0 = vu_xor(vu_xor(vu_high(b), c1), vu_splat(k0));
        c2 = vu_xor(vu_xor(vu_high(a), c3), vu_splat(k1));
        c1 = b;
        c3 = a;
        k0 += 0x9E3779B9u;
        k1 += 0xBB67AE85u;
    }
    return (struct philox){{c0, c1, c2, c3}};
}

/* Sets to = x + g, where g = -log(-log u) and u = (floor(bits / 2^9) + 1/2) / 2^23. The bits of
   column s are word s % 4 of rapt__philox(key, s / 4, row). */
static void gumbel_row(uint64_t key, uint64_t row, int first, const float *x, float *to, int n)
{
    for (int i = 0; i < n; i += 2 * LANES) {
        struct philox words = philox_8(key, (uint64_t)(first + i) / 4, row);
        uint32_t bits[2 * LANES];
        float u[2 * LANES];
        vu_words(words.word, bits);
        for (int j = 0; j < 2 * LANES; j++)
            u[j] = ((float)(int32_t)(bits[j] >> 9) + 0.5f) * 0x1p-23f;
        for (int j = i; j < n && j < i + 2 * LANES; j += LANES) {
            vf minus_log = vf_sub(vf_zero(), vf_log_normal(vf_load(u + j - i)));
            vf value = vf_load_partial(x + j, (size_t)(n - j), 0);
            vf_store_partial(to + j, vf_sub(value, vf_log_normal(minus_log)), (size_t)(n - j));
        }
    }
}

/* ---- dropout: y = from + scale x for elements that are not dropped, and y = from for elements
   that are dropped. Srivastava et al. 2014, "Dropout". Whether an element is dropped depends only
   on key, row and column: its 32 random bits are word (column / 16) % 4 of rapt__philox(key, column
   / 64 * 16 + column % 16, row). Thus sixteen counters yield the bits of 64 columns. ---- */

/* Writes the factors for columns `column` to `column` + 63: scale, or 0 if the element is dropped.
   `column` must be a multiple of 64. */
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
