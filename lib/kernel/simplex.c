/* simplex.c - sparsemax and 1.5-entmax of a row of scores (Martins and Astudillo 2016; Peters,
   Niculae and Martins 2019): p = max(0, (x - max x) / power - tau)^power, where tau makes the
   sum 1.

   The norm N = (sum of p)^(1/power) is convex and falls as tau rises. Newton's method for N = 1,
   started at tau = -1, approaches the solution from below, and takes few steps, each of which reads
   the row once. Finally p is divided by its sum, which removes the error that rounding has left. */

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
   all NaN, keep them. Returns true if any key is visible. */
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
