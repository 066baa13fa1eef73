/* dropout.c - y = from + x scale where an element stays, y = from where it is dropped.

   Srivastava et al. 2014, "Dropout". Whether an element stays is a function of key, row and
   column alone: its 32 random bits are word (column / 16) % 4 of rapt__philox(key,
   column / 64 * 16 + column % 16, row), so sixteen lanes make the bits of 64 columns. */

struct philox { /* the state of sixteen lanes, four words each */
    uint32_t word[4][LANES];
};

static inline void philox_round(struct philox *s, uint32_t k0, uint32_t k1)
{
    for (int i = 0; i < LANES; i++) {
        uint64_t a = (uint64_t)s->word[0][i] * 0xD2511F53u,
                 b = (uint64_t)s->word[2][i] * 0xCD9E8D57u;
        s->word[0][i] = (uint32_t)(b >> 32) ^ s->word[1][i] ^ k0;
        s->word[1][i] = (uint32_t)b;
        s->word[2][i] = (uint32_t)(a >> 32) ^ s->word[3][i] ^ k1;
        s->word[3][i] = (uint32_t)a;
    }
}

/* Factors of columns column .. column + 63: scale, or 0 for those that are dropped. */
static void dropout_factors(const struct dropout *d, uint64_t row, int column, float *factor)
{
    struct philox s;
    uint32_t k0 = (uint32_t)d->key, k1 = (uint32_t)(d->key >> 32);

    for (int i = 0; i < LANES; i++) {
        s.word[0][i] = (uint32_t)(column / 4 + i);
        s.word[1][i] = 0;
        s.word[2][i] = (uint32_t)row;
        s.word[3][i] = (uint32_t)(row >> 32);
    }
    for (int round = 0; round < 10; round++) {
        philox_round(&s, k0, k1);
        k0 += 0x9E3779B9u;
        k1 += 0xBB67AE85u;
    }
    for (int w = 0; w < 4; w++)
        for (int i = 0; i < LANES; i++)
            factor[w * LANES + i] = s.word[w][i] < d->below ? 0 : d->scale;
}

static void dropout_row(const struct dropout *d, uint64_t row, const float *x, const float *from,
                        float *y, int n)
{
    float factor[4 * LANES];

    for (int i = 0; i < n; i += 16) {
        size_t left = (size_t)(n - i);
        if (i % 64 == 0) dropout_factors(d, row, i, factor);
        vf f = vf_load(factor + i % 64), b = from ? vf_load_up(from + i, left, 0) : vf_zero();
        vf kept = vf_fma(vf_load_up(x + i, left, 0), f, b);
        vf_store_up(y + i, vf_select(vf_less(vf_zero(), f), kept, b), left);
    }
}
