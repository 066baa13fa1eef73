/* activation.c - the activation functions of feed-forward layers and gates, and a gated recurrent
   unit. The functions are

     relu(x) = max(x, 0)
     gelu(x) = x Phi(x), where Phi is the normal distribution function: Hendrycks and Gimpel 2016,
               "Gaussian error linear units", section 2, the exact form
     sigmoid(x) = 1 / (1 + e^-x)
     silu(x) = x sigmoid(x): Elfwing, Uchibe and Doya 2018, "Sigmoid-weighted linear units"
     gelu_tanh(x) = x (1 + tanh u) / 2 with u = sqrt(2 / pi) (x + 0.044715 x^3): Hendrycks
               and Gimpel 2016, the approximation, which equals x sigmoid(2 u)

   Their slopes, where phi is the normal density, are

     relu        1 if x > 0, else 0
     gelu        Phi(x) + x phi(x)
     sigmoid     s (1 - s)               with s = sigmoid(x)
     silu        s (1 + x (1 - s))       with s = sigmoid(x)
     gelu_tanh   s (1 + x (1 - s) 2 u')  with s = sigmoid(2 u) */

/* Returns min(|x|, limit). Callers pass limits at which their exponentials are already 0. */
static inline vf magnitude(vf x, float limit)
{
    return vf_min(vf_splat(limit), vf_abs(x));
}

/* For t >= 0, returns `tail` and stores E = e^(-t^2/2) in *e, where Phi(-t) = tail E and phi(t) = E
   / sqrt(2 pi). tail = q p(2q - 1), where p is a polynomial and q = 3 / (3 + t), so small tails are
   as precise as large ones. t^2 is computed as a sum of two floats, so that rounding it does not
   affect E. */
static inline vf normal_tail(vf t, vf *e)
{
    vf square = vf_mul(t, t), rest = vf_fma(t, t, vf_sub(vf_zero(), square));
    vf q = vf_div(vf_splat(3), vf_add(vf_splat(3), t)), u = vf_fma(q, vf_splat(2), vf_splat(-1));
    vf p = vf_fma(vf_splat(-0x1.21cdfp-16f), u, vf_splat(-0x1.1e936p-14f));

    *e = vf_exp(vf_mul(square, vf_splat(-0.5f)));
    *e = vf_fnma(*e, vf_mul(rest, vf_splat(0.5f)), *e);
    p = vf_fma(p, u, vf_splat(0x1.4b52d8p-12f));
    p = vf_fma(p, u, vf_splat(0x1.63dc44p-12f));
    p = vf_fma(p, u, vf_splat(-0x1.2f271p-9f));
    p = vf_fma(p, u, vf_splat(-0x1.c92076p-9f));
    p = vf_fma(p, u, vf_splat(0x1.021838p-6f));
    p = vf_fma(p, u, vf_splat(0x1.3a0d0ap-4f));
    p = vf_fma(p, u, vf_splat(0x1.5bb43ep-3f));
    p = vf_fma(p, u, vf_splat(0x1.f1b89cp-3f));
    return vf_mul(q, p);
}

static inline vf relu(vf x)
{
    return vf_max(vf_zero(), x);
}
static inline vf relu_slope(vf x)
{
    return vf_select(vf_less(vf_zero(), x), vf_splat(1), vf_zero());
}

static inline vf gelu(vf x) /* x Phi(x) = max(x, 0) - |x| Phi(-|x|) */
{
    vf t = magnitude(x, 14.5f), e, tail = normal_tail(t, &e);

    return vf_fnma(vf_mul(t, tail), e, vf_max(vf_zero(), x));
}

static inline vf gelu_slope(vf x) /* Phi(x) + x phi(x) = [x > 0] + sign(x) (t phi - Phi(-t)) */
{
    vf t = magnitude(x, 14.5f), e, tail = normal_tail(t, &e);
    vf change = vf_mul(e, vf_fma(t, vf_splat(0x1.988454p-2f), vf_sub(vf_zero(), tail)));

    return vf_select(vf_less(vf_zero(), x), vf_add(vf_splat(1), change), vf_sub(vf_zero(), change));
}

/* Returns 1 / (1 + e^-x), and stores 1 minus the result in *other. */
static inline vf logistic(vf x, vf *other)
{
    vf e = vf_exp(vf_sub(vf_zero(), vf_abs(x))), one = vf_splat(1);
    vf large = vf_div(one, vf_add(one, e)), little = vf_mul(e, large);
    vm below = vf_less(x, vf_zero());

    *other = vf_select(below, large, little);
    return vf_select(below, little, large);
}

/* The result is x / (1 + e) with e = e^-|x|, times e if x is negative. For x below -80, 1 + e
   rounds to 1, so the result is x e. In that range e may be denormal, so its significand is
   multiplied by x before the product is scaled by a power of two. */
static inline vf silu(vf x)
{
    vf n, t = magnitude(x, 110), p = vf_exp_parts(vf_sub(vf_zero(), t), &n), e = vf_ldexp(p, n);
    vf large = vf_div(vf_splat(1), vf_add(vf_splat(1), e));
    vf share = vf_select(vf_less(x, vf_zero()), vf_mul(e, large), large);
    vf far = vf_sub(vf_zero(), vf_ldexp(vf_mul(t, p), n));

    return vf_select(vf_less(x, vf_splat(-80)), far, vf_mul(x, share));
}

static inline vf silu_slope(vf x)
{
    vf other, s = logistic(x, &other), t = vf_sign(magnitude(x, 110), x);

    return vf_mul(s, vf_fma(t, other, vf_splat(1)));
}

/* Returns 2 u, with u as in the definition of gelu_tanh. */
static inline vf twice_inner(vf x)
{
    return vf_mul(x, vf_fma(vf_mul(x, x), vf_splat(0x1.2444f2p-4f), vf_splat(0x1.988454p+0f)));
}

/* If |x| is 12 or more, e^(-2 u) is 0. Limiting |x| to 12 also keeps x^2 finite and avoids
   -infinity times 0. */
static inline vf gelu_tanh(vf x)
{
    vf other, t = magnitude(x, 12), s = logistic(twice_inner(t), &other);

    return vf_select(vf_less(x, vf_zero()), vf_mul(vf_sub(vf_zero(), t), other), vf_mul(x, s));
}

static inline vf gelu_tanh_slope(vf x)
{
    vf other, t = vf_sign(magnitude(x, 12), x), s = logistic(twice_inner(t), &other);
    vf steep = vf_fma(vf_mul(t, t), vf_splat(0x1.b6676cp-3f), vf_splat(0x1.988454p+0f));

    return vf_mul(s, vf_fma(vf_mul(t, steep), other, vf_splat(1)));
}

static inline vf sigmoid(vf x)
{
    vf other;

    return logistic(x, &other);
}

static inline vf sigmoid_slope(vf x)
{
    vf other, s = logistic(x, &other);

    return vf_mul(s, other);
}

static void activate(enum activation kind, const float *x, float *y, size_t n)
{
    size_t i;

    switch (kind) {
    case ACTIVATION_RELU:
        for (i = 0; i < n; i += 16)
            vf_store_partial(y + i, relu(vf_load_partial(x + i, n - i, 0)), n - i);
        break;
    case ACTIVATION_GELU:
        for (i = 0; i < n; i += 16)
            vf_store_partial(y + i, gelu(vf_load_partial(x + i, n - i, 0)), n - i);
        break;
    case ACTIVATION_GELU_TANH:
        for (i = 0; i < n; i += 16)
            vf_store_partial(y + i, gelu_tanh(vf_load_partial(x + i, n - i, 0)), n - i);
        break;
    case ACTIVATION_SIGMOID:
        for (i = 0; i < n; i += 16)
            vf_store_partial(y + i, sigmoid(vf_load_partial(x + i, n - i, 0)), n - i);
        break;
    default:
        for (i = 0; i < n; i += 16)
            vf_store_partial(y + i, silu(vf_load_partial(x + i, n - i, 0)), n - i);
    }
}

static inline void slope_16(const float *dy, vf slope, float *dx, size_t left)
{
    vf_store_partial(dx, vf_mul(vf_load_partial(dy, left, 0), slope), left);
}

static void activate_backward(enum activation kind, const float *x, const float *dy, float *dx,
                              size_t n)
{
    size_t i;

    switch (kind) {
    case ACTIVATION_RELU:
        for (i = 0; i < n; i += 16)
            slope_16(dy + i, relu_slope(vf_load_partial(x + i, n - i, 0)), dx + i, n - i);
        break;
    case ACTIVATION_GELU:
        for (i = 0; i < n; i += 16)
            slope_16(dy + i, gelu_slope(vf_load_partial(x + i, n - i, 0)), dx + i, n - i);
        break;
    case ACTIVATION_GELU_TANH:
        for (i = 0; i < n; i += 16)
            slope_16(dy + i, gelu_tanh_slope(vf_load_partial(x + i, n - i, 0)), dx + i, n - i);
        break;
    case ACTIVATION_SIGMOID:
        for (i = 0; i < n; i += 16)
            slope_16(dy + i, sigmoid_slope(vf_load_partial(x + i, n - i, 0)), dx + i, n - i);
        break;
    default:
        for (i = 0; i < n; i += 16)
            slope_16(dy + i, silu_slope(vf_load_partial(x + i, n - i, 0)), dx + i, n - i);
    }
}

/* ---- gated: y = activation(x) gate (Shazeer 2020, "GLU variants improve Transformer") ---- */

static inline vf value_16(enum activation kind, vf x)
{
    return kind == ACTIVATION_RELU        ? relu(x)
           : kind == ACTIVATION_GELU      ? gelu(x)
           : kind == ACTIVATION_GELU_TANH ? gelu_tanh(x)
           : kind == ACTIVATION_SIGMOID   ? sigmoid(x)
                                          : silu(x);
}

static inline vf slope_of_16(enum activation kind, vf x)
{
    return kind == ACTIVATION_RELU        ? relu_slope(x)
           : kind == ACTIVATION_GELU      ? gelu_slope(x)
           : kind == ACTIVATION_GELU_TANH ? gelu_tanh_slope(x)
           : kind == ACTIVATION_SIGMOID   ? sigmoid_slope(x)
                                          : silu_slope(x);
}

static void gate(enum activation kind, const float *x, const float *gate, float *y, size_t n)
{
    for (size_t i = 0; i < n; i += 16) {
        vf value = value_16(kind, vf_load_partial(x + i, n - i, 0));
        vf_store_partial(y + i, vf_mul(value, vf_load_partial(gate + i, n - i, 0)), n - i);
    }
}

static void gate_backward(enum activation kind, const float *x, const float *gate, const float *dy,
                          float *dx, float *dgate, size_t n)
{
    for (size_t i = 0; i < n; i += 16) {
        vf at = vf_load_partial(x + i, n - i, 0), d = vf_load_partial(dy + i, n - i, 0);
        vf through = vf_mul(d, vf_load_partial(gate + i, n - i, 0));
        vf_store_partial(dgate + i, vf_mul(d, value_16(kind, at)), n - i);
        vf_store_partial(dx + i, vf_mul(through, slope_of_16(kind, at)), n - i);
    }
}

/* ---- recurrent: a row of the simpler simple recurrent unit (SSRU: Kim et al. 2019, "From Research
   to Production and Back: Ludicrously Fast Neural Machine Translation", section 3.1), and its
   gradient:

       f = 1 / (1 + e^-z),   cell = f before + (1 - f) x,   y = max(cell, 0) ---- */

static inline vf cell_before(const float *before, size_t i, size_t n)
{
    return before ? vf_load_partial(before + i, n - i, 0) : vf_zero();
}

static void ssru_row(const float *x, const float *z, const float *before, float *cell, float *y,
                     size_t n)
{
    for (size_t i = 0; i < n; i += 16) {
        vf other, f = logistic(vf_load_partial(z + i, n - i, 0), &other);
        vf next = vf_mul(other, vf_load_partial(x + i, n - i, 0));
        next = vf_fma(f, cell_before(before, i, n), next);
        vf_store_partial(cell + i, next, n - i);
        vf_store_partial(y + i, relu(next), n - i);
    }
}

/* On entry, d is the gradient of cell. Sets dx = d (1 - f) and dz = d (before - x) f (1 - f), and
   then multiplies d by f. */
static void ssru_row_backward(const float *x, const float *z, const float *before, float *d,
                              float *dx, float *dz, size_t n)
{
    for (size_t i = 0; i < n; i += 16) {
        vf other, f = logistic(vf_load_partial(z + i, n - i, 0), &other);
        vf from = vf_load_partial(d + i, n - i, 0);
        vf step = vf_sub(cell_before(before, i, n), vf_load_partial(x + i, n - i, 0));
        vf through = vf_mul(from, f);
        vf_store_partial(dx + i, vf_mul(from, other), n - i);
        vf_store_partial(dz + i, vf_mul(vf_mul(through, other), step), n - i);
        vf_store_partial(d + i, through, n - i);
    }
}
