/* quotients.c - every gradient of every score against central difference quotients in double-double
   arithmetic, where step and rounding cost about 2^-70. The analytic gradients in double, by which
   the other tests judge the library, must agree to 1e-12 (1e-7 would suffice), and those of the
   library to a few roundings or, if a sum cancels, to the error of the plain loops in float. The
   definition used here must give the objective of oracle/attention.h. */
#include "contest.h"

#include "oracle/dd.h"
#include "roundings.h"

struct dd_net { /* as in naive.h */
    const struct double_net *d;
    struct dd *in[NET_ARRAYS], *p, qh[32];
};

static struct dd dot(const struct dd *x, const struct dd *y, int n)
{
    struct dd sum = dd_of(0);
    for (int i = 0; i < n; i++) sum = dd_add(sum, dd_mul(x[i], y[i]));
    return sum;
}

static struct dd feature(const struct dd_net *n, const struct dd *before, int c, int s)
{
    struct dd sum = dd_of(0);
    for (int j = 0; before && j < n->d->J; j++) {
        int at = s + j - n->d->J / 2;
        if (at >= 0 && at < n->d->S)
            sum = dd_add(sum, dd_mul(n->in[NET_F][c * n->d->J + j], before[at]));
    }
    return sum;
}

/* Returns v . tanh(W q + U k + b + L f + w c). */
static struct dd hidden_score(const struct dd_net *n, const struct dd *k, int t, int s)
{
    const struct double_net *d = n->d;
    const struct dd *before = t ? n->p + (t - 1) * d->S : NULL;
    struct dd sum = dd_of(0), coverage = dd_of(0);
    for (int u = 0; u < t; u++) coverage = dd_add(coverage, n->p[u * d->S + s]);
    for (int i = 0; i < d->N; i++) {
        struct dd z =
            dd_add(dd_add(n->qh[i], dot(n->in[NET_U] + i * d->K, k, d->K)), n->in[NET_B][i]);
        for (int c = 0; d->score == RAPT_SCORE_LOCATION_AWARE && c < d->C; c++)
            z = dd_add(z, dd_mul(n->in[NET_L][i * d->C + c], feature(n, before, c, s)));
        if (d->score == RAPT_SCORE_COVERAGE)
            z = dd_add(z, dd_mul(n->in[NET_COVERAGE][i], coverage));
        sum = dd_add(sum, dd_mul(n->in[NET_Z][i], dd_tanh(z)));
    }
    return sum;
}

static struct dd score_of(const struct dd_net *n, int t, int s)
{
    int K = n->d->K;
    const struct dd *q = n->in[NET_Q] + t * K, *k = n->in[NET_K] + s * K;
    switch (n->d->score) {
    case RAPT_SCORE_SCALED_DOT:
        return dd_div(dot(q, k, K), dd_sqrt(dd_of(K)));
    case RAPT_SCORE_GENERAL:
        return dot(n->qh, k, K);
    case RAPT_SCORE_COSINE:
        return dd_div(dd_mul(n->in[NET_BETA][0], dot(q, k, K)),
                      dd_mul(dd_sqrt(dot(q, q, K)), dd_sqrt(dot(k, k, K))));
    case RAPT_SCORE_LOCATION:
        return dot(q, n->in[NET_P] + s * K, K);
    case RAPT_SCORE_ADDITIVE:
    case RAPT_SCORE_LOCATION_AWARE:
    case RAPT_SCORE_COVERAGE:
        return hidden_score(n, k, t, s);
    default:
        return dot(q, k, K);
    }
}

/* Computes p of query t. */
static void softmax(const struct dd_net *n, int t)
{
    struct dd *p = n->p + t * n->d->S, sum = dd_of(0);
    double max = -INFINITY;
    for (int s = 0; s < n->d->S; s++) p[s] = score_of(n, t, s), max = fmax(max, p[s].hi);
    for (int s = 0; s < n->d->S; s++)
        p[s] = dd_exp(dd_sub(p[s], dd_of(max))), sum = dd_add(sum, p[s]);
    for (int s = 0; s < n->d->S; s++) p[s] = dd_div(p[s], sum);
}

/* Returns the sum of out * dout. */
static struct dd objective(struct dd_net *n)
{
    const struct double_net *d = n->d;
    int outs = d->score == RAPT_SCORE_GENERAL ? d->K : d->N;
    struct dd sum = dd_of(0);
    for (int t = 0; t < d->T; t++) {
        for (int i = 0; i < outs && n->in[NET_W]; i++)
            n->qh[i] = dot(n->in[NET_W] + i * d->K, n->in[NET_Q] + t * d->K, d->K);
        softmax(n, t);
        for (int s = 0; s < d->S; s++)
            sum = dd_add(sum, dd_mul(n->p[t * d->S + s], dot(n->in[NET_V] + s * d->V,
                                                             n->in[NET_OUT] + t * d->V, d->V)));
    }
    return sum;
}

static void make_dd(struct dd_net *n, const struct contest *c)
{
    *n = (struct dd_net){.d = &c->d, .p = calloc((size_t)(c->d.T * c->d.S), sizeof *n->p)};
    for (int i = 0; i < NET_ARRAYS; i++) {
        if (c->array[i].n == 0) continue;
        n->in[i] = calloc(c->array[i].n, sizeof **n->in);
        for (size_t e = 0; e < c->array[i].n; e++) n->in[i][e] = dd_of(c->d.in[i][e]);
    }
}

static double quotient(struct dd_net *n, struct dd *x)
{
    const double step = 0x1p-36;
    struct dd was = *x, side[2];
    for (int k = 0; k < 2; k++) {
        *x = dd_add(was, dd_of(k ? step : -step));
        side[k] = objective(n);
    }
    *x = was;
    return dd_sub(side[1], side[0]).hi / (2 * step);
}

struct worst {                 /* errors relative to the greatest gradient of an array */
    double analytic, computed; /* of the definition and of lib/, against the quotients */
};

static void judge_array(const struct contest *c, struct dd_net *n, int array, struct worst *worst)
{
    double size = 0, analytic = 0, library = 0, naive = 0;
    for (size_t e = 0; e < c->array[array].n; e++) {
        double right = quotient(n, n->in[array] + e);
        size = fmax(size, fabs(right));
        analytic = fmax(analytic, fabs(c->d.to[array][e] - right));
        naive = fmax(naive, fabs((double)c->f.to[array][e] - right));
        library = fmax(library, fabs((double)c->array[array].to[in_trial(c, array, e)] - right));
    }
    if (size == 0) { /* the score does not read it */
        assert_true(analytic == 0 && library == 0);
        return;
    }
    worst->analytic = fmax(worst->analytic, analytic / size);
    worst->computed = fmax(worst->computed, library / size);
    if (!(analytic <= 1e-12 * size && library <= fmax(24 * ROUNDING * size, naive)))
        fail_msg("%s: %s is off by %.3g, the library's by %.1f roundings",
                 rapt_score_name((rapt_score)c->d.score), net_names[array], analytic / size,
                 library / size / ROUNDING);
}

static void gradients(void **state)
{
    (void)state;
    for (int score = 0; score < RAPT_SCORE_COUNT; score++) {
        struct worst worst = {0, 0};
        for (uint64_t seed = 1; seed <= 4; seed++) {
            const struct choice choice = {.batch = 1,
                                          .heads = 1,
                                          .queries = 3,
                                          .keys = 5 + (int)seed,
                                          .key_width = 4,
                                          .value_width = 3,
                                          .score = (rapt_score)score,
                                          .learned = true,
                                          .query_size = seed % 2 ? 1 : 3};
            struct contest c = make_contest(&choice, 100 * (uint64_t)score + seed);
            struct dd_net n;
            make_dd(&n, &c);
            double wanted = 0;
            for (size_t e = 0; e < c.array[NET_OUT].n; e++)
                wanted += c.d.to[NET_OUT][e] * c.d.in[NET_OUT][e];
            assert_true(fabs(objective(&n).hi - wanted) <= 1e-13 * (1 + fabs(wanted)));
            for (int i = NET_Q; i < NET_ARRAYS; i++)
                if (n.in[i]) judge_array(&c, &n, i, &worst);
            for (int i = 0; i < NET_ARRAYS; i++) free(n.in[i]);
            free(n.p);
            drop_contest(&c);
        }
        print_message("%s: analytic gradients to %.2g, the library's to %.1f roundings\n",
                      rapt_score_name((rapt_score)score), worst.analytic,
                      worst.computed / ROUNDING);
    }
}

/* Compares with long double if that has more bits, and checks identities otherwise. */
static void arithmetic(void **state)
{
    (void)state;
    uint64_t r = 3;
    for (int i = 0; i < 2000; i++) {
        struct dd x = {(double)draw_float(&r) * 3, 0}, y = {(double)draw_float(&r) + 5, 0};
        x = dd_quick_two_sum(x.hi, (double)draw_float(&r) * 0x1p-55);
        struct dd back = dd_sub(dd_mul(dd_div(x, y), y), x);
        assert_true(fabs(back.hi) <= 0x1p-100 * (1 + fabs(x.hi)));
        struct dd root = dd_sqrt(y);
        assert_true(fabs(dd_sub(dd_mul(root, root), y).hi) <= 0x1p-98);
        struct dd one = dd_mul(dd_exp(x), dd_exp(dd_neg(x)));
        assert_true(fabs(dd_sub(one, dd_of(1)).hi) <= 0x1p-94);
        assert_true(fabs(dd_exp(x).hi - exp(x.hi)) <= 0x1p-51 * exp(x.hi));
        assert_true(fabs(dd_tanh(x).hi - tanh(x.hi)) <= 0x1p-51);
        struct dd sum = dd_exp(dd_add(x, y)), product = dd_mul(dd_exp(x), dd_exp(y));
        assert_true(fabs(dd_sub(sum, product).hi) <= 0x1p-94 * sum.hi);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(arithmetic),
        cmocka_unit_test(gradients),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
