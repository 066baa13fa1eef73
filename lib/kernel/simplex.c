/* simplex.c - sparsemax and 1.5-entmax of a row of scores (Martins and Astudillo 2016; Peters,
   Niculae and Martins 2019): p = max(0, (x - max x) / power - tau)^power, where tau makes the
   sum 1.

   The norm N = (sum of p)^(1/power) is convex and falls as tau rises. Newton's method for N = 1,
   started at tau = -1, approaches the solution from below, and takes few steps, each of which reads
   the row once. Finally p is divided by its sum, which removes the remaining rounding error.

   Entmax of any alpha (Correia, Niculae and Martins 2019) has the same form: p = u^(1/order) of u =
   order (x - max x) - tau, where order = alpha - 1, and needs a logarithm and an exponential for
   each element and step. If order is small, u is close to 1 and log u is multiplied by a large
   number. Therefore the rounding error of u is computed (Dekker 1971) and its effect on the
   logarithm is added, and tau is stored as two floats. */

static inline vf above_threshold(const float *x, size_t left, float max, float share, float tau)
{
    vf u = vf_fma(vf_sub(vf_load_partial(x, left, -INFINITY), vf_splat(max)), vf_splat(share),
                  vf_splat(-tau));
    return vf_max(vf_zero(), u); /* NaN if u is NaN */
}

/* Returns the sum of p, and the sum of p^(1 - 1/power) through *slope. */
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
    enum { STEPS = 60 }; /* more than ever needed */
    float tau = -1, step = 1, slope;
    for (int i = 0; i < STEPS && step > 0x1p-22f; i++) {
        float sum = simplex_sums(x, n, power, max, power == 1 ? 1 : 0.5f, tau, &slope);
        step = (sum - (power == 1 ? 1 : sqrtf(sum))) / slope;
        tau += step;
    }
    return tau;
}

/* Handles a row whose maximum is -infinity: hidden keys get 0, and visible keys, whose scores are
   all NaN, remain NaN. Returns true if any key is visible. */
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

/* Returns p, and 1 / u through *inverse where p is not 0. */
static inline vf entmax_of(vf x, const struct entmax *e, vf *inverse)
{
    const vf least = vf_splat(0x1p-60f), tau = vf_splat(e->tau);
    vf h = vf_mul(vf_sub(x, vf_splat(e->max)), vf_splat(e->order));
    vf u = vf_sub(h, tau), lost = vf_sub(vf_sub(h, vf_add(u, tau)), vf_splat(e->rest));
    vf above = vf_max(least, u); /* NaN if u is NaN */
    *inverse = vf_div(vf_splat(1), above);
    vf log = vf_fma(lost, *inverse, vf_log_normal(above));
    vf p = vf_exp2(vf_mul(log, vf_splat(e->exponent)));
    return vf_select(vf_less(u, least), vf_zero(), p);
}

/* Sets p and returns its sum, and the sum of p / u through *slope. */
static float entmax_sums(const float *x, int n, const struct entmax *e, float *p, float *slope)
{
    enum { CHAINS = 2 };
    vf sum[CHAINS] = {vf_zero(), vf_zero()}, less[CHAINS] = {vf_zero(), vf_zero()};
    for (int i = 0; i < n; i += LANES) {
        const size_t left = (size_t)(n - i);
        const int chain = i / LANES % CHAINS;
        vf inverse, v = entmax_of(vf_load_partial(x + i, left, -INFINITY), e, &inverse);
        vf_store_partial(p + i, v, left);
        sum[chain] = vf_add(sum[chain], v);
        less[chain] = vf_fma(v, inverse, less[chain]);
    }
    *slope = vf_sum(vf_add(less[0], less[1]));
    return vf_sum(vf_add(sum[0], sum[1]));
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

/* Returns a threshold below the solution, from which Newton's method starts: the one that would
   solve N = 1 if all visible scores were equal to their mean. By the inequality of power means, N
   is at least 1 there. */
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

static bool entmax_row(const float *x, float *p, int n, float order)
{
    enum { STEPS = 60 }; /* more than ever needed */
    struct entmax e = {.max = max_row(x, n), .order = order, .exponent = 0x1.715476p0f / order};
    if (e.max == -INFINITY) {
        memcpy(p, x, (size_t)n * sizeof *p);
        return simplex_without_max(p, n);
    }
    double tau = (double)entmax_start(x, n, e.max, order);
    float sum = 1, before = INFINITY;
    for (int i = 0; i < STEPS; i++) {
        float slope;
        e.tau = (float)tau, e.rest = (float)(tau - (double)e.tau);
        sum = entmax_sums(x, n, &e, p, &slope);
        const float miss = fabsf(sum - 1);
        const bool stuck = miss < 0x1p-17f && miss > before / 2; /* the rest is rounding error */
        if (!(miss > 0x1p-22f) || stuck) break;
        before = miss;
        const float rise = entmax_rise(order * lane_of(vf_log(vf_splat(sum))));
        tau += (double)(sum * rise / slope);
    }
    const vf inverse = vf_splat(1 / sum), min = vf_splat(-INFINITY);
    for (int i = 0; i < n; i += LANES) {
        const size_t left = (size_t)(n - i);
        vf v = vf_mul(vf_load_partial(p + i, left, 0), inverse);
        vm hidden = vf_equal(vf_load_partial(x + i, left, 0), min);
        vf_store_partial(p + i, vf_select(hidden, vf_zero(), v), left);
    }
    return true;
}
