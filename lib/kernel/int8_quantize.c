/* int8_quantize.c - quantizes rows of floats and panels of weights, as defined in int8.h.
   Magnitudes are compared by their bits, as integers, so infinities and NaNs are larger than all
   numbers, and floating-point modes do not matter. */

/* Sets the scale of a row, given the bits of its largest magnitude. Returns the factor for its
   elements, or 0 if all of them become 0. */
static float quantize_factor(int32_t bits, float *scale)
{
    const int32_t infinity = 0x7f800000, least = (127 - 118) << 23; /* 2^-118 */
    float max;
    memcpy(&max, &bits, sizeof max);
    *scale = bits >= infinity ? NAN : bits < least ? 0 : max / 127;
    return bits >= infinity || bits < least ? 0 : 127 / max;
}

/* Quantizes a row as one term or as the sum of two. Inlined, so that `terms` is a constant. */
static inline __attribute__((always_inline)) void
quantize_terms(int terms, const float *x, int n, int8_t *const *q, float *scale, int32_t *sum)
{
    const float least = 0x1p-117f; /* a scale of at least this remains a normal float when divided
                                      by 254 */
    const size_t bytes = rapt__round_up_size((size_t)n, LANES);
    vi max = vi_zero(), total = vi_zero(), rest_total = vi_zero();
    for (int k = 0; k < n; k += LANES)
        max = vi_max_magnitude(max, vf_load_partial(x + k, (size_t)(n - k), 0));
    float factor = quantize_factor(vi_reduce_max(max), scale);
    float rest_factor = scale[0] >= least ? 254 : 0;
    for (int i = 0; i < terms; i++) sum[i] = 0;
    if (terms > 1) scale[1] = rest_factor > 0 ? scale[0] / 254 : 0;
    if (!(factor > 0)) {
        for (int i = 0; i < terms; i++) memset(q[i], 0, bytes);
        return;
    }
    for (int k = 0; k < n; k += LANES) {
        vf scaled = vf_mul(vf_load_partial(x + k, (size_t)(n - k), 0), vf_splat(factor));
        vi nearest = vi_nearest(scaled);
        total = vi_add(total, nearest);
        vi_store_bytes(q[0] + k, nearest);
        if (terms == 1) continue;
        vf rest = vf_mul(vf_sub(scaled, vi_float(nearest)), vf_splat(rest_factor));
        nearest = vi_nearest(rest);
        rest_total = vi_add(rest_total, nearest);
        vi_store_bytes(q[1] + k, nearest);
    }
    sum[0] = vi_sum(total);
    if (terms > 1) sum[1] = vi_sum(rest_total);
}

static void int8_quantize_row(const float *x, int n, int8_t *q, float *scale, int32_t *sum)
{
    quantize_terms(1, x, n, &q, scale, sum);
}

static void int8_quantize_twice(const float *x, int n, int8_t *const q[2], float scale[2],
                                int32_t sum[2])
{
    quantize_terms(2, x, n, q, scale, sum);
}

/* Like quantize_factor, but uses the given factor unless it is 0 or too large for the row. */
static float given_factor(int32_t bits, float given, float *scale)
{
    float max;
    memcpy(&max, &bits, sizeof max);
    if (!(given > 0 && given * max < 127.5f)) return quantize_factor(bits, scale);
    *scale = 1 / given;
    return given;
}

/* Each lane of the vectors belongs to one row of weights. */
static void int8_quantize_panel(const float *w, int depth, const float *factors, int8_t *q,
                                float *scale)
{
    float factor[LANES];
    int32_t bits[LANES];
    vi max = vi_zero();
    for (int k = 0; k < depth; k++) max = vi_max_magnitude(max, vf_load(w + k * LANES));
    vi_store(bits, max);
    for (int n = 0; n < LANES; n++)
        factor[n] = given_factor(bits[n], factors ? factors[n] : 0, scale + n);
    for (int k = 0; k < depth; k += INT8_GROUP) {
        vi group[INT8_GROUP];
        UNROLL
        for (int i = 0; i < INT8_GROUP; i++) {
            vf row = k + i < depth ? vf_load(w + (k + i) * LANES) : vf_zero();
            /* 0 times NaN is NaN, so rows with factor 0 are replaced with 0 before the
               multiplication. */
            vm some = vf_less(vf_zero(), vf_load(factor));
            group[i] = vi_nearest(vf_mul(vf_select(some, row, vf_zero()), vf_load(factor)));
        }
        vi_store_groups(q + k * LANES, group);
    }
}
