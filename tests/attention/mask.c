/* mask.c - hidden keys and values may hold NaN; a visible NaN reaches the queries that see it and
   no others; fully masked queries output 0, and neither pass on nor receive a gradient. */
#include "trial.h"

static bool is_visible(const struct trial *x, int b, int h, int t, int s)
{
    const rapt_stride *bias = &x->a.mask.bias_stride;
    if (!oracle_sees(&x->a, b, h, t, s)) return false;
    return !x->bias || x->bias[b * bias->batch + h * bias->head + t * bias->row + s] != -INFINITY;
}

static bool sees_any(const struct trial *x, int b, int h, int t)
{
    for (int s = 0; s < oracle_keys(&x->a, b); s++)
        if (is_visible(x, b, h, t, s)) return true;
    return false;
}

static float *row_at(float *x, const rapt_stride *s, const int *starts, int b, int h, int row)
{
    if (starts) return x + h * s->head + (starts[b] + row) * s->row;
    return x + b * s->batch + h * s->head + row * s->row;
}

static struct choice random_choice(uint64_t *r)
{
    struct choice c = {
        .batch = 2, .heads = 2, .key_heads = draw_below(r, 2), .key_width = 6, .value_width = 19};
    c.queries = 1 + draw_below(r, 70), c.keys = 1 + draw_below(r, 170);
    c.ragged = draw_below(r, 2), c.counts = draw_below(r, 3) == 0;
    c.causal_alignment = 1 + (rapt_causal_alignment)draw_below(r, 2);
    c.causal = draw_below(r, 2), c.window = draw_below(r, 3) == 0;
    c.before = draw_below(r, 40), c.after = draw_below(r, 20);
    if (draw_below(r, 3) == 0) c.allowed = SHARED | draw_below(r, 8);
    if (draw_below(r, 3) == 0) c.bias = SHARED | draw_below(r, 8);
    if (draw_below(r, 4) == 0) c.dropout = 0.2f;
    return c;
}

static bool all_nan(const float *x, int n)
{
    for (int i = 0; i < n; i++)
        if (!isnan(x[i])) return false;
    return true;
}

static bool equal(const float *x, const float *y, int n) /* 0 equals -0 */
{
    for (int i = 0; i < n; i++)
        if (!(x[i] == y[i])) return false;
    return true;
}

static float *copy(const float *x, size_t n)
{
    float *y = zeros(n);
    if (n) memcpy(y, x, n * sizeof *y);
    return y;
}

/* Whether NaN in key s of sequence b0 and key head g touches row (b, h, t). */
static bool touched(const struct trial *x, int b, int h, int t, int b0, int g, int s)
{
    int group = x->a.heads / (x->a.key_heads ? x->a.key_heads : x->a.heads);
    return b == b0 && h / group == g && is_visible(x, b, h, t, s);
}

/* Compares results after a key and value became NaN with those before. */
static void compare_rows(struct trial *x, const float *out, const float *lse, const float *dq,
                         int b0, int g, int s, bool key)
{
    const rapt_attention *a = &x->a;
    size_t n = 0;
    for (int h = 0; h < a->heads; h++)
        for (int b = 0; b < a->batch; b++)
            for (int t = 0; t < oracle_queries(a, b); t++, n++) {
                float *o = row_at(x->out, &a->out, a->query_starts, b, h, t);
                float *d = row_at(x->dq, &a->q, a->query_starts, b, h, t);
                if (touched(x, b, h, t, b0, g, s)) {
                    assert_true(all_nan(o, a->value_width));
                    assert_true(!key || isnan(x->lse[n]));
                    continue;
                }
                assert_true(same_bits(o, out + (o - x->out), (size_t)a->value_width));
                assert_true(same_bits(x->lse + n, lse + n, 1));
                assert_true(equal(d, dq + (d - x->dq), a->key_width));
            }
}

static bool reached(const struct trial *x, int b, int g, int key, int b0, int s) /* whether
                                                                                    gradients reach
                                                                                    it */
{
    int group = x->a.heads / (x->a.key_heads ? x->a.key_heads : x->a.heads);
    if (b != b0) return false;
    for (int h = g * group; h < (g + 1) * group; h++)
        for (int t = 0; t < oracle_queries(&x->a, b); t++)
            if (is_visible(x, b, h, t, s) && is_visible(x, b, h, t, key)) return true;
    return false;
}

static void compare_keys(struct trial *x, const float *dk, const float *dv, int b0, int g0, int s)
{
    const rapt_attention *a = &x->a;
    int key_heads = a->key_heads ? a->key_heads : a->heads;
    for (int b = 0; b < a->batch; b++)
        for (int g = 0; g < key_heads; g++)
            for (int key = 0; key < oracle_keys(a, b); key++) {
                if (g == g0 && reached(x, b, g, key, b0, s)) continue;
                float *k = row_at(x->dk, &a->k, a->key_starts, b, g, key);
                float *v = row_at(x->dv, &a->v, a->key_starts, b, g, key);
                assert_true(equal(k, dk + (k - x->dk), a->key_width));
                assert_true(equal(v, dv + (v - x->dv), a->value_width));
            }
}

static void one_nan(struct trial *x, uint64_t *r)
{
    const rapt_attention *a = &x->a;
    int b = draw_below(r, a->batch), g = draw_below(r, a->key_heads ? a->key_heads : a->heads);
    if (oracle_keys(a, b) == 0) return;
    int s = draw_below(r, oracle_keys(a, b));
    bool key = draw_below(r, 2);
    run_forward(x);
    run_backward(x);
    float *out = copy(x->out, x->no), *lse = copy(x->lse, x->nlse), *dq = copy(x->dq, x->nq);
    float *dk = copy(x->dk, x->nk), *dv = copy(x->dv, x->nv);
    float *k = row_at(x->k, &a->k, a->key_starts, b, g, s);
    float *v = row_at(x->v, &a->v, a->key_starts, b, g, s);
    for (int i = 0; i < a->key_width && key; i++) k[i] = NAN;
    for (int i = 0; i < a->value_width; i++) v[i] = NAN;
    run_forward(x);
    run_backward(x);
    if (a->dropout > 0 && !key) key = false; /* a dropped NaN is still 0 times NaN */
    compare_rows(x, out, lse, dq, b, g, s, key);
    compare_keys(x, dk, dv, b, g, s);
    free(out), free(lse), free(dq), free(dk), free(dv);
}

static void nan_reaches_those_who_see_it(void **state)
{
    (void)state;
    uint64_t r = 77;
    for (int i = 0; i < 400; i++) {
        struct choice c = random_choice(&r);
        struct trial x = make_trial(&c, (uint64_t)i);
        one_nan(&x, &r);
        drop_trial(&x);
    }
}

/* NaN in a query appears only in its own row and in the gradients of its visible keys. */
static void nan_query(void **state)
{
    (void)state;
    uint64_t r = 5;
    for (int i = 0; i < 100; i++) {
        struct choice c = random_choice(&r);
        c.ragged = false;
        struct trial x = make_trial(&c, (uint64_t)i);
        int b0 = draw_below(&r, 2), h0 = draw_below(&r, 2), t0 = draw_below(&r, c.queries);
        run_forward(&x);
        run_backward(&x);
        float *out = copy(x.out, x.no), *dv = copy(x.dv, x.nv), *dk = copy(x.dk, x.nk);
        row_at(x.q, &x.a.q, NULL, b0, h0, t0)[c.key_width - 1] = NAN;
        run_forward(&x);
        run_backward(&x);
        for (int b = 0; b < 2; b++)
            for (int h = 0; h < 2; h++)
                for (int t = 0; t < c.queries; t++) {
                    float *o = row_at(x.out, &x.a.out, NULL, b, h, t);
                    bool hit = b == b0 && h == h0 && t == t0 && sees_any(&x, b, h, t);
                    if (hit)
                        assert_true(all_nan(o, c.value_width));
                    else
                        assert_true(same_bits(o, out + (o - x.out), (size_t)c.value_width));
                }
        for (int b = 0; b < 2; b++)
            for (int g = 0; g < (c.key_heads ? c.key_heads : 2); g++)
                for (int s = 0; s < c.keys; s++) {
                    bool own = c.key_heads == 1 || g == h0;
                    if (b == b0 && own && is_visible(&x, b, h0, t0, s)) continue;
                    float *k = row_at(x.dk, &x.a.k, NULL, b, g, s);
                    float *v = row_at(x.dv, &x.a.v, NULL, b, g, s);
                    assert_true(equal(k, dk + (k - x.dk), c.key_width));
                    assert_true(equal(v, dv + (v - x.dv), c.value_width));
                }
        free(out), free(dv), free(dk);
        drop_trial(&x);
    }
}

static void fully_masked_rows(void **state)
{
    (void)state;
    uint64_t r = 3;
    int fully_masked = 0;
    for (int i = 0; i < 200; i++) {
        struct choice c = random_choice(&r);
        struct trial x = make_trial(&c, (uint64_t)i);
        size_t n = 0;
        for (size_t j = 0; j < x.no; j++) x.out[j] = NAN;
        run_forward(&x);
        run_backward(&x);
        for (int h = 0; h < 2; h++)
            for (int b = 0; b < 2; b++)
                for (int t = 0; t < oracle_queries(&x.a, b); t++, n++) {
                    if (sees_any(&x, b, h, t)) {
                        assert_true(isfinite(x.lse[n]));
                        continue;
                    }
                    const float *o = row_at(x.out, &x.a.out, x.query_starts, b, h, t);
                    const float *d = row_at(x.dq, &x.a.q, x.query_starts, b, h, t);
                    for (int j = 0; j < c.value_width; j++)
                        assert_true(o[j] == 0 && !signbit(o[j]));
                    for (int j = 0; j < c.key_width; j++) assert_true(d[j] == 0);
                    assert_true(x.lse[n] == -INFINITY);
                    fully_masked++;
                }
        drop_trial(&x);
    }
    assert_true(fully_masked > 100);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nan_reaches_those_who_see_it),
        cmocka_unit_test(nan_query),
        cmocka_unit_test(fully_masked_rows),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
