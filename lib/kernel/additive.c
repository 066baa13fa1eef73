/* additive.c - additive attention scores of a query and keys in panels (Bahdanau, Cho and Bengio
   2015, appendix A.1.2):

     x[s] = sum over n of v[n] h[n][s],   h[n][s] = tanh(q[n] + k[n][s])

   The sum is computed in the order of n, as chains of 32 fmas that are added one after another. In
   the backward pass, with g[n][s] = dx[s] v[n] (1 - h[n][s]^2):

     dq[n] += sum over s of g[n][s]     dk[n][s] += g[n][s]     dv[n] += sum over s of dx[s] h[n][s]

   Sums over s are accumulated in 16 lanes, panel by panel, and the lanes are added at the end. If
   dx[s] = 0, h[n][s] is treated as 0, so that a NaN in it does not reach the gradients. */

/* Returns the scores of a panel. If `keep` is true, stores h in a->hidden. */
static inline __attribute__((always_inline)) vf additive_panel(const struct additive *a, int p,
                                                               bool keep)
{
    const float *q = a->q, *v = a->vector;
    ptrdiff_t at = (ptrdiff_t)p * a->width * LANES;
    const float *k = a->keys + at;
    float *hidden = keep ? a->hidden + at : NULL;
    vf x = vf_zero();
    for (int n = 0, end, width = a->width; n < width;) {
        vf chain = vf_zero();
        for (end = width - n < 32 ? width : n + 32; n < end; n++) {
            vf h = vf_tanh(vf_add(vf_splat(q[n]), vf_load(k + n * LANES)));
            if (keep) vf_store(hidden + n * LANES, h);
            chain = vf_fma(vf_splat(v[n]), h, chain);
        }
        x = vf_add(x, chain);
    }
    return x;
}

static void additive_row(const struct additive *a, float *x)
{
    for (int p = 0; p < a->panels && !a->hidden; p++)
        vf_store(x + p * LANES, additive_panel(a, p, false));
    for (int p = 0; p < a->panels && a->hidden; p++)
        vf_store(x + p * LANES, additive_panel(a, p, true));
}

/* Adds to the gradients of elements n .. n + count - 1. Inlined, so that count is a constant. */
static inline __attribute__((always_inline)) void
additive_elements(const struct additive *a, const float *dx, const struct additive_gradients *d,
                  int n, int count)
{
    ptrdiff_t panel = (ptrdiff_t)a->width * LANES;
    const float *hidden = a->hidden + n * LANES;
    float *dk = d->keys + n * d->keys_step;
    vf v[4], query[4], vector[4], one = vf_splat(1);
    UNROLL
    for (int i = 0; i < count; i++) {
        v[i] = vf_splat(a->vector[n + i]);
        query[i] = vector[i] = vf_zero();
    }
    for (int p = 0; p < a->panels; p++, hidden += panel, dk += d->keys_panel) {
        vf by = vf_load(dx + p * LANES);
        vm none = vf_equal(by, vf_zero());
        UNROLL
        for (int i = 0; i < count; i++) {
            vf h = vf_select(none, vf_zero(), vf_load(hidden + i * LANES));
            vf g = vf_mul(vf_mul(by, v[i]), vf_fnma(h, h, one));
            float *to = dk + i * d->keys_step;
            query[i] = vf_add(query[i], g);
            vector[i] = vf_fma(by, h, vector[i]);
            vf_store(to, vf_add(vf_load(to), g));
        }
    }
    UNROLL
    for (int i = 0; i < count; i++) {
        d->q[n + i] += vf_sum(query[i]);
        d->vector[n + i] += vf_sum(vector[i]);
    }
}

static void additive_row_backward(const struct additive *a, const float *dx,
                                  const struct additive_gradients *d)
{
    int n = 0;
    for (; n + 4 <= a->width; n += 4) additive_elements(a, dx, d, n, 4);
    for (; n < a->width; n++) additive_elements(a, dx, d, n, 1);
}
