/* simplex.c - sparsemax and entmax of a row of scores. Sparsemax (power 1: Martins and Astudillo
   2016) and 1.5-entmax (power 2: Peters, Niculae and Martins 2019) are p = max(0, (x - max x) /
   power - tau)^power, with tau chosen so that the sum of p is 1.

   The norm N = (sum of p)^(1/power) is convex and falls as tau rises, so Newton's method for N = 1,
   started at tau = -1, approaches the solution from below. It takes few steps, each of which reads
   the row once. Finally, p is divided by its sum, which removes the remaining rounding error.

   Entmax with 1 < alpha <= 2 (Correia, Niculae and Martins 2019) is p = u^(1/order), where order =
   alpha - 1 and u = max(0, order (x - max x) - tau), and N = (sum of p)^order. Each step needs a
   logarithm and an exponential for each element. If alpha is at most 1.5, N'' is bounded, so
   Halley's method is used to save steps, and the last step usually updates p instead of recomputing
   it. If order is small, u is close to 1 and log u is multiplied by a large number, so tau is
   stored as two floats, and a correction for the rounding error of u (Dekker 1971) is added to the
   logarithm. */

static inline vf above_threshold(const float *x, size_t left, float max, float share, float tau)
{
    vf u = vf_fma(vf_sub(vf_load_partial(x, left, -INFINITY), vf_splat(max)), vf_splat(share),
                  vf_splat(-tau));
    return vf_max(vf_zero(), u); /* NaN if u is NaN */
}

/* Returns the sum of p, and sets *slope to the sum of p^(1 - 1/power). */
static inline __attribute__((always_inline)) float
simplex_sums(const float *x, int n, int power, float max, float share, float tau, float *slope)
{
    enum { CHAINS = 2 };
    vf sum[CHAINS] = {vf_zero(), vf_zero()}, less[CHAINS] = {vf_zero(), vf_zero()};
    vf zero = vf_zero(), one = vf_splat(1);
    for (int i = 0; i < n; i += LANES) {
        int chain = i / LANES % CHAINS;
        vf u = above_threshold(x + i, (size_t)(n - i), max, share, tau);
        sum[chain] = power == 1 ? vf_add(sum[chain], u) : vf_fma(u, u, sum[chain]);
        less[chain] = vf_add(less[chain], power == 1 ? vf_select(vf_less(zero, u), one, zero) : u);
    }
    *slope = vf_sum(vf_add(less[0], less[1]));
    return vf_sum(vf_add(sum[0], sum[1]));
}

static inline __attribute__((always_inline)) float simplex_threshold(const float *x, int n,
                                                                     int power, float max)
{
    enum { STEPS = 60 }; /* more than are ever needed */
    float tau = -1, step = 1, slope;
    for (int i = 0; i < STEPS && step > 0x1p-22f; i++) {
        float sum = simplex_sums(x, n, power, max, power == 1 ? 1 : 0.5f, tau, &slope);
        step = (sum - (power == 1 ? 1 : sqrtf(sum))) / slope;
        tau += step;
    }
    return tau;
}

/* Handles a row whose maximum is -infinity: scores of hidden keys become 0, and those of visible
   keys, which are all NaN, do not change. Returns true if any key is visible. */
static bool simplex_without_max(float *x, int n)
{
    bool visible = false;
    for (int i = 0; i < n; i++) {
        visible |= x[i] != -INFINITY;
        if (x[i] == -INFINITY) x[i] = 0;
    }
    return visible;
}

static bool simplex_row(float *x, int n, int power)
{
    float max = max_row(x, n), share = power == 1 ? 1 : 0.5f, slope;
    if (max == -INFINITY) return simplex_without_max(x, n);
    float tau = power == 1 ? simplex_threshold(x, n, 1, max) : simplex_threshold(x, n, 2, max);
    float sum = power == 1 ? simplex_sums(x, n, 1, max, share, tau, &slope)
                           : simplex_sums(x, n, 2, max, share, tau, &slope);
    vf inverse = vf_splat(1 / sum), min = vf_splat(-INFINITY);
    for (int i = 0; i < n; i += LANES) {
        size_t left = (size_t)(n - i);
        vf u = above_threshold(x + i, left, max, share, tau);
        vf p = vf_mul(power == 1 ? u : vf_mul(u, u), inverse);
        p = vf_select(vf_equal(vf_load_partial(x + i, left, 0), min), vf_zero(), p);
        vf_store_partial(x + i, p, left);
    }
    return true;
}

/* ---- entmax ---- */

struct entmax {
    float max, order, exponent; /* exponent = log2(e) / order */
    float tau, rest;            /* the threshold is tau + rest */
};

struct entmax_sums { /* sums of p, p / u and p / u^2 */
    float sum, slope, curve;
};

static inline vf entmax_least(void)
{
    return vf_splat(0x1p-60f); /* below this, p is 0 */
}

/* Returns u, and sets *lost to its rounding error and *inverse to 1 / u where p is not 0. */
static inline vf entmax_above(vf x, const struct entmax *e, vf *lost, vf *inverse)
{
    const vf tau = vf_splat(e->tau);
    vf h = vf_mul(vf_sub(x, vf_splat(e->max)), vf_splat(e->order));
    vf u = vf_sub(h, tau);
    *lost = vf_sub(vf_sub(h, vf_add(u, tau)), vf_splat(e->rest));
    *inverse = vf_div(vf_splat(1), vf_max(entmax_least(), u));
    return u;
}

/* Returns log2 p, which is -infinity where p is 0. */
static inline vf entmax_log(vf u, vf lost, vf inverse, const struct entmax *e)
{
    vf above = vf_max(entmax_least(), u); /* NaN if u is NaN */
    vf log = vf_fma(lost, inverse, vf_log_normal(above));
    return vf_select(vf_less(u, entmax_least()), vf_splat(-INFINITY),
                     vf_mul(log, vf_splat(e->exponent)));
}

/* Returns p, and sets *inverse to 1 / u where p is not 0. */
static inline vf entmax_of(vf x, const struct entmax *e, vf *inverse)
{
    vf lost, u = entmax_above(x, e, &lost, inverse);
    return vf_exp2(entmax_log(u, lost, *inverse, e));
}

/* p is the result of a chain of about fifty dependent instructions, and a processor overlaps only a
   few such chains. Blocks of scores are therefore computed in three short loops over their vectors,
   for u, log2 p and p. */
enum { ENTMAX_BLOCK = 8 * LANES };

/* Sets p[ENTMAX_BLOCK] to log2 p, and inverse[ENTMAX_BLOCK] as entmax_above does. */
static inline void entmax_log_block(const float *x, const struct entmax *e, float *p,
                                    float *inverse)
{
    float lost[ENTMAX_BLOCK];
    for (int i = 0; i < ENTMAX_BLOCK; i += LANES) {
        vf rest, divided;
        vf_store(p + i, entmax_above(vf_load(x + i), e, &rest, &divided));
        vf_store(lost + i, rest);
        vf_store(inverse + i, divided);
    }
    for (int i = 0; i < ENTMAX_BLOCK; i += LANES)
        vf_store(p + i, entmax_log(vf_load(p + i), vf_load(lost + i), vf_load(inverse + i), e));
}

struct entmax_lanes {
    vf sum, slope, curve;
};

static inline void entmax_add(struct entmax_lanes *s, vf p, vf inverse)
{
    vf share = vf_mul(p, inverse);
    s->sum = vf_add(s->sum, p);
    s->slope = vf_add(s->slope, share);
    s->curve = vf_fma(share, inverse, s->curve);
}

/* Sets p and returns its sums. */
static struct entmax_sums entmax_sums(const float *x, int n, const struct entmax *e, float *p)
{
    struct entmax_lanes s = {vf_zero(), vf_zero(), vf_zero()};
    float inverse[ENTMAX_BLOCK];
    int i = 0;
    for (; i + ENTMAX_BLOCK <= n; i += ENTMAX_BLOCK) {
        entmax_log_block(x + i, e, p + i, inverse);
        for (int j = 0; j < ENTMAX_BLOCK; j += LANES) {
            vf v = vf_exp2(vf_load(p + i + j));
            vf_store(p + i + j, v);
            entmax_add(&s, v, vf_load(inverse + j));
        }
    }
    for (; i < n; i += LANES) {
        const size_t left = (size_t)(n - i);
        vf divided, v = entmax_of(vf_load_partial(x + i, left, -INFINITY), e, &divided);
        vf_store_partial(p + i, v, left);
        entmax_add(&s, v, divided);
    }
    return (struct entmax_sums){vf_sum(s.sum), vf_sum(s.slope), vf_sum(s.curve)};
}

static float lane_of(vf v)
{
    float lanes[LANES];
    vf_store(lanes, v);
    return lanes[0];
}

/* Returns 1 - e^-x. */
static float entmax_rise(float x)
{
    if (fabsf(x) < 0x1p-5f) return x * (1 - x * (0.5f - x * (1.0f / 6)));
    return 1 - lane_of(vf_exp(vf_splat(-x)));
}

/* Returns the threshold from which the search starts: the one that would solve N = 1 if all visible
   scores were equal to their mean. By the power mean inequality, N is at least 1 there, so this
   threshold is not above the solution. */
static float entmax_start(const float *x, int n, float max, float order)
{
    const vf hidden = vf_splat(-INFINITY);
    vf sum = vf_zero(), count = vf_zero();
    for (int i = 0; i < n; i += LANES) {
        vf v = vf_load_partial(x + i, (size_t)(n - i), -INFINITY);
        vm none = vf_equal(v, hidden);
        sum = vf_add(sum, vf_select(none, vf_zero(), vf_sub(v, vf_splat(max))));
        count = vf_add(count, vf_select(none, vf_zero(), vf_splat(1)));
    }
    const float visible = vf_sum(count), mean = vf_sum(sum) / visible;
    const float tau =
        order * mean - lane_of(vf_exp(vf_splat(-order * lane_of(vf_log(vf_splat(visible))))));
    return tau < -1 ? -1 : tau;
}

/* Returns the next step of the threshold toward N = 1, given the sums at the current threshold:
   Halley's step if alpha is at most 1.5 and the step would not overshoot, otherwise Newton's. If
   alpha is larger, p / u^2, on which N'' depends, may be huge. */
static float entmax_step(const struct entmax *e, const struct entmax_sums *s)
{
    const float rise = entmax_rise(e->order * lane_of(vf_log(vf_splat(s->sum))));
    const float step = s->sum * rise / s->slope, power = 1 / e->order;
    if (e->order > 0.5f || !(rise > 0)) return step;
    const float spread = s->sum * s->curve / (s->slope * s->slope) - 1;
    const float h = rise * (power - 1) / 2 * spread;
    const float further = step / (1 - (h > 0 && h < 0.5f ? h : 0));
    return e->tau + further < 0 ? further : step;
}

/* Moves the threshold by a small step and updates p with its second-order Taylor polynomial in step
   / u, instead of computing new powers. Vectors in which the step exceeds an eighth of some u *
   order, so that the polynomial would be inaccurate, are recomputed by entmax_of. Returns the new
   sum of p. */
static float entmax_move(const float *x, int n, const struct entmax *from, double tau, float step,
                         float *p)
{
    struct entmax to = *from;
    const vf times = vf_splat(step / from->order);
    const vf second = vf_splat(0.5f * (1 - from->order)), one = vf_splat(1);
    vf sum = vf_zero();
    tau += (double)step;
    to.tau = (float)tau, to.rest = (float)(tau - (double)to.tau);
    for (int i = 0; i < n; i += LANES) {
        const size_t left = (size_t)(n - i);
        vf score = vf_load_partial(x + i, left, -INFINITY), v = vf_load_partial(p + i, left, 0);
        vf u = vf_sub(vf_mul(vf_sub(score, vf_splat(from->max)), vf_splat(from->order)),
                      vf_splat(from->tau));
        vf r = vf_div(times, vf_max(entmax_least(), u)), inverse;
        vm close = vm_and(vf_less(vf_splat(0.125f), r), vf_less(vf_zero(), v));
        v = vm_bits(close) ? entmax_of(score, &to, &inverse)
                           : vf_mul(v, vf_fnma(r, vf_fnma(r, second, one), one));
        vf_store_partial(p + i, v, left);
        sum = vf_add(sum, v);
    }
    return vf_sum(sum);
}

/* Solves N = 1, sets p to values whose sum is almost 1, and returns this sum. entmax_move usually
   takes the last step if alpha is at most 1.5. With a larger alpha, a step of Newton's method that
   begins near the solution may still end too far from it. */
static float entmax_solve(const float *x, float *p, int n, struct entmax *e)
{
    enum { STEPS = 60 }; /* more than are ever needed */
    const float near = e->order > 0.5f ? 0 : 0x1p-10f, found = 0x1p-22f, noise = 0x1p-17f;
    double tau = (double)entmax_start(x, n, e->max, e->order);
    float before = INFINITY;
    struct entmax_sums s = {.sum = 1};
    for (int i = 0; i < STEPS; i++) {
        e->tau = (float)tau, e->rest = (float)(tau - (double)e->tau);
        s = entmax_sums(x, n, e, p);
        const float miss = fabsf(s.sum - 1);
        const bool stuck = miss < noise && miss > before / 2; /* the rest is rounding error */
        if (!(miss > found) || stuck) break;
        before = miss;
        const float step = entmax_step(e, &s);
        if (step > 0 && miss < near) return entmax_move(x, n, e, tau, step, p);
        tau += (double)step;
    }
    return s.sum;
}

static bool entmax_row(const float *x, float *p, int n, float order)
{
    struct entmax e = {.max = max_row(x, n), .order = order, .exponent = 0x1.715476p0f / order};
    if (e.max == -INFINITY) {
        memcpy(p, x, (size_t)n * sizeof *p);
        return simplex_without_max(p, n);
    }
    const vf inverse = vf_splat(1 / entmax_solve(x, p, n, &e)), min = vf_splat(-INFINITY);
    for (int i = 0; i < n; i += LANES) {
        const size_t left = (size_t)(n - i);
        vf v = vf_mul(vf_load_partial(p + i, left, 0), inverse);
        vm hidden = vf_equal(vf_load_partial(x + i, left, 0), min);
        vf_store_partial(p + i, vf_select(hidden, vf_zero(), v), left);
    }
    return true;
}

/* ---- gradients ---- */

/* Returns z log(z)^2 (e^y - 1 - y) / y^2 with y = -order log z, given g = z e^y. If y is small, a
   polynomial in y avoids the cancellation. */
static inline vf entmax_curve(vf z, vf log, vf g, float order)
{
    const vf y = vf_mul(log, vf_splat(-order));
    vf q = vf_fma(vf_splat(1.0f / 40320), y, vf_splat(1.0f / 5040));
    q = vf_fma(q, y, vf_splat(1.0f / 720));
    q = vf_fma(q, y, vf_splat(1.0f / 120));
    q = vf_fma(q, y, vf_splat(1.0f / 24));
    q = vf_fma(q, y, vf_splat(1.0f / 6));
    q = vf_fma(q, y, vf_splat(0.5f));
    const vf small = vf_mul(z, vf_mul(vf_mul(log, log), q));
    const vf large = vf_fnma(z, vf_add(y, vf_splat(1)), g);
    return vf_select(vf_less(y, vf_splat(0.5f)), small,
                     vf_mul(large, vf_splat(1 / (order * order))));
}

/* Returns g = z^(1 - order). If `curve` is not NULL, sets *curve to the factor that the gradient of
   alpha needs (entmax_curve). */
static inline vf entmax_root(vf z, float order, vf *curve)
{
    if (!curve) return order == 1 ? vf_splat(1) : vf_sqrt(z);
    const vf log = vf_log_normal(vf_max(vf_splat(0x1p-110f), z));
    vf g = vf_exp2(vf_mul(log, vf_splat((1 - order) * 0x1.715476p0f)));
    g = vf_select(vf_equal(z, z), g, z); /* NaN if z is NaN */
    *curve = entmax_curve(z, log, g, order);
    return g;
}

static float entmax_row_backward(const float *z, float *dz, int n, float order, float *roots,
                                 float *curves)
{
    vf sum = vf_zero(), products = vf_zero(), dalpha = vf_zero(), zero = vf_zero();
    for (int i = 0; i < n; i += LANES) {
        const size_t left = (size_t)(n - i);
        vf p = vf_load_partial(z + i, left, 0), curve = zero;
        vm none = vf_equal(p, zero);
        vf g = vf_select(none, zero, entmax_root(p, order, curves ? &curve : NULL));
        vf_store_partial(roots + i, g, left);
        if (curves) vf_store_partial(curves + i, vf_select(none, zero, curve), left);
        sum = vf_add(sum, g);
        products = vf_fma(g, vf_select(none, zero, vf_load_partial(dz + i, left, 0)), products);
    }
    const vf mean = vf_splat(vf_sum(products) / vf_sum(sum));
    for (int i = 0; i < n; i += LANES) {
        const size_t left = (size_t)(n - i);
        vm none = vf_equal(vf_load_partial(z + i, left, 0), zero);
        vf d = vf_select(none, zero, vf_sub(vf_load_partial(dz + i, left, 0), mean));
        if (curves) dalpha = vf_fnma(vf_load_partial(curves + i, left, 0), d, dalpha);
        vf_store_partial(dz + i, vf_mul(vf_load_partial(roots + i, left, 0), d), left);
    }
    return vf_sum(dalpha);
}
