/* extremes.c - scores, vectors and temperatures at the limits of floats. */
#include "trial.h"

#include "roundings.h"
#include "skips.h"

#include <rapt/rapt.h>

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

/* ---- large scores: scores of any finite size: a single visible key has weight 1 and passes the
   gradient of the output to its value, rows of weights sum to one within 4 roundings, and neither
   the instruction set nor what forward saves changes a bit of weights and gradients. ---- */

enum { KINDS = 6, SIZES = 14 };
static const float sizes[SIZES] = {0.3f,   1.7f, 23.1f,  100.7f, 1.1e3f,  2.2e3f, 2.3e4f,
                                   7.3e5f, 2e6f, 1.4e8f, 1e10f,  3.3e15f, 1e24f,  1e30f};

/* Returns problems that are plain, capped, biased, biased by distance, have a negative scale, or
   need the general path. */
static struct choice choice_of(int kind, int queries, int keys, int width)
{
    struct choice c = {.batch = 1,
                       .heads = 2,
                       .queries = queries,
                       .keys = keys,
                       .key_width = width,
                       .value_width = 5,
                       .causal_alignment = RAPT_CAUSAL_ALIGNMENT_LOWER_RIGHT};
    if (kind == 1) c.cap = 77.7f;
    if (kind == 2) c.bias = SHARED | PER_HEAD | PER_ROW;
    if (kind == 3) c.slopes = true;
    if (kind == 4) c.scale = -0.37f;
    if (kind == 5) c.locality = RAPT_LOCALITY_LOCAL_P, c.radius = 1e30f, c.learned = true;
    return c;
}

/* Scores, or biases, become about `size`; no key is hidden. */
static struct trial make_large(int kind, int queries, int keys, int width, float size,
                               uint64_t seed)
{
    struct choice c = choice_of(kind, queries, keys, width);
    struct trial x = make_trial(&c, seed);
    for (size_t i = 0; i < x.nq; i++) x.q[i] *= kind == 2 ? 1 : sqrtf(size);
    for (size_t i = 0; i < x.nk; i++) x.k[i] *= kind == 2 ? 1 : sqrtf(size);
    for (size_t i = 0; i < x.nbias; i++) x.bias[i] = isfinite(x.bias[i]) ? x.bias[i] * size : 0;
    return x;
}

static float *weights_of(const struct trial *x, const rapt_attention_saved *saved)
{
    const rapt_attention *a = &x->a;
    size_t n = (size_t)a->queries * (size_t)a->keys;
    float *to = zeros(n * (size_t)a->heads);
    void *workspace = make_workspace(a);
    for (int h = 0; h < a->heads; h++)
        assert_int_equal(rapt_attention_weights(a, x->q, x->k, saved, 0, h, 0, a->queries,
                                                to + (size_t)h * n, workspace, NULL),
                         RAPT_OK);
    drop_workspace(a, workspace);
    return to;
}

/* kind 0: only lse; 1: only statistics; 2: both. */
static void save(struct trial *x, int kind, float *statistics)
{
    x->saved = (rapt_attention_saved){.size = sizeof x->saved,
                                      .lse = kind == 1 ? NULL : x->lse,
                                      .statistics = kind == 0 ? NULL : statistics};
}

/* Local-p weights scores by their distance, which is 0 here: the radius is 1e30. */
static void an_only_key(void **state)
{
    (void)state;
    rapt_isa sets[EQUAL_SETS + 1], used = rapt_isa_used();
    int count = equal_sets("attention/extremes, instruction sets", sets);
    sets[count++] = RAPT_ISA_SCALAR;
    for (int n = 0; n < count * KINDS * SIZES * 3; n++) {
        int kind = n / count % KINDS, width = 1 + n % 7 * 9;
        float size = sizes[n / count / KINDS % SIZES], statistics[4];
        assert_int_equal(rapt_isa_use(sets[n % count]), RAPT_OK);
        struct trial x = make_large(kind, 1, 1, width, size, (uint64_t)n);
        save(&x, n % 3, statistics);
        run_forward(&x), run_backward(&x);
        float *w = weights_of(&x, &x.saved);
        for (int h = 0; h < 2; h++) {
            if (w[h] != 1)
                fail_msg("kind %d, scores of %g: %.9g", kind, (double)size, (double)w[h]);
            for (int i = 0; i < x.a.value_width; i++)
                assert_true(x.dv[h * x.a.v.head + i] == x.dout[h * x.a.out.head + i]);
        }
        free(w);
        drop_trial(&x);
    }
    rapt_isa_use(used);
}

static void rows_sum_to_one(void **state)
{
    (void)state;
    for (int n = 0; n < KINDS * SIZES; n++) {
        int kind = n % KINDS, queries = 61, keys = 700;
        float size = sizes[n / KINDS], *statistics = zeros(2 * 2 * 61);
        struct trial x = make_large(kind, queries, keys, 16, size, (uint64_t)n);
        for (int s = 1; s < keys; s += 2) /* pairs of equal keys: several share the maximum */
            for (int h = 0; h < 2; h++)
                memcpy(x.k + h * x.a.k.head + s * x.a.k.row,
                       x.k + h * x.a.k.head + (s - 1) * x.a.k.row, 16 * sizeof(float));
        save(&x, 2, statistics);
        run_forward(&x);
        float *w = weights_of(&x, &x.saved);
        for (int t = 0; t < 2 * queries; t++) {
            double sum = 0;
            for (int s = 0; s < keys; s++) sum += (double)w[t * keys + s];
            if (!within_roundings(sum, 1, 4, 1))
                fail_msg("kind %d, scores of %g: a row sums to 1 + %g roundings", kind,
                         (double)size, (sum - 1) / ROUNDING);
        }
        free(w), free(statistics);
        drop_trial(&x);
    }
}

static float *gradients_and_weights(struct trial *x, size_t *n)
{
    size_t rows = (size_t)x->a.heads * (size_t)x->a.queries * (size_t)x->a.keys;
    float *of = results(x, n), *w = weights_of(x, &x->saved);
    of = realloc(of, (*n + rows) * sizeof *of);
    memcpy(of + *n, w, rows * sizeof *of);
    *n += rows;
    free(w);
    return of;
}

static void same_bits_everywhere(void **state)
{
    (void)state;
    rapt_isa sets[EQUAL_SETS], used = rapt_isa_used();
    int count = equal_sets("attention/extremes, instruction sets", sets);
    for (int n = 0; n < KINDS * SIZES; n++) {
        struct trial x = make_large(n % KINDS, 70, 300, 24, sizes[n / KINDS], (uint64_t)n);
        float *first = NULL, *statistics = zeros(2 * 2 * 70);
        size_t floats = 0;
        for (int run = 0; run < 2 * count; run++) {
            assert_int_equal(rapt_isa_use(sets[run % count]), RAPT_OK);
            save(&x, run < count ? 0 : 2, statistics);
            float *now = gradients_and_weights(&x, &floats);
            for (size_t i = 0; i < floats; i++)
                if (isnan(now[i]))
                    fail_msg("kind %d, scores of %g: NaN at %zu", n % KINDS,
                             (double)sizes[n / KINDS], i);
            if (first && !same_bits(first, now, floats))
                fail_msg("kind %d, scores of %g: run %d differs", n % KINDS,
                         (double)sizes[n / KINDS], run);
            if (first)
                free(now);
            else
                first = now;
        }
        free(first), free(statistics);
        drop_trial(&x);
    }
    rapt_isa_use(used);
}

enum {
    ONE = 3,
    ALL = 4,
    KEY = 5
}; /* a query with one infinite score, of key 5, and one with all */

/* Returns a problem with the score 1e40 * sign for these two queries, or if size is 0 with 0. */
static struct trial make_overflowing(const struct choice *c, float size, float sign)
{
    struct trial x = make_trial(c, 77);
    for (int t = 0; t < c->queries; t++) {
        x.q[t * x.a.q.row] = t == ONE ? size : 0;
        x.q[t * x.a.q.row + 1] = t == ALL ? size : 0;
    }
    for (int s = 0; s < c->keys; s++) {
        x.k[s * x.a.k.row] = s == KEY ? sign * 1e20f : 0;
        x.k[s * x.a.k.row + 1] = sign * 1e20f;
    }
    return x;
}

/* Compares all outputs with those of a problem whose infinite scores are 0 and hidden by a mask.
   Where scores are +infinity, they must be NaN instead. */
static void check_overflow(const struct choice *c, float sign)
{
    struct trial large = make_overflowing(c, 1e20f, sign), hidden = make_overflowing(c, 0, sign);
    uint8_t *allowed = calloc((size_t)c->queries, (size_t)c->keys);
    for (int i = 0; i < c->queries * c->keys; i++)
        allowed[i] = i / c->keys != ALL && i != ONE * c->keys + KEY;
    hidden.a.mask.allowed = allowed;
    hidden.a.mask.allowed_stride = (rapt_stride){0, 0, c->keys};
    run_forward(&large), run_forward(&hidden);
    for (int t = 0; t < c->queries; t++) {
        const float *out = large.out + t * large.a.out.row, lse = large.lse[t];
        bool infinite = sign > 0 && (t == ONE || t == ALL);
        for (int i = 0; i < c->value_width; i++)
            if (infinite ? !isnan(out[i]) : out[i] != hidden.out[t * hidden.a.out.row + i])
                fail_msg("%s, sign %g: query %d, output %g", choice_text(c), (double)sign, t,
                         (double)out[i]);
        if (infinite ? !isnan(lse) : lse != hidden.lse[t])
            fail_msg("%s, sign %g: query %d, lse %g", choice_text(c), (double)sign, t, (double)lse);
    }
    free(allowed);
    drop_trial(&large), drop_trial(&hidden);
}

/* A product that overflows makes its query NaN, or hides its key. */
static void products_overflow(void **state)
{
    (void)state;
    static const int keys[3] = {9, 128, 300};
    for (int n = 0; n < 6; n++) {
        struct choice c = choice_of(n % 2 ? 5 : 0, 7, keys[n / 2], 16);
        c.heads = 1;
        check_overflow(&c, -1), check_overflow(&c, 1);
    }
}

/* Fails unless two problems, which differ by a power of two in q and its inverse in the scale, have
   finite results with equal bits. */
static void same_scores(int kind, struct trial *x, struct trial *y)
{
    save(x, 0, NULL), save(y, 0, NULL);
    run_forward(x), run_backward(x), run_forward(y), run_backward(y);
    float *weights = weights_of(x, &x->saved), *other = weights_of(y, &y->saved);
    const float *a[] = {x->out, x->lse, x->dk, x->dv, weights},
                *b[] = {y->out, y->lse, y->dk, y->dv, other};
    const size_t floats[] = {x->no, x->nlse, x->nk, x->nv, x->nlse * (size_t)x->a.keys};
    for (int i = 0; i < 5; i++) {
        for (size_t n = 0; n < floats[i]; n++) assert_true(isfinite(a[i][n]));
        if (!same_bits(a[i], b[i], floats[i])) fail_msg("kind %d: array %d differs", kind, i);
    }
    free(weights), free(other);
}

/* Dot products of 1e42 do no harm if the scaled scores are finite. */
static void products_are_scaled(void **state)
{
    (void)state;
    static const int keys[3] = {9, 128, 300};
    for (int n = 0; n < 3 * KINDS; n++) {
        struct choice c = choice_of(n % KINDS, 40, keys[n / KINDS], 16);
        struct trial x = make_trial(&c, (uint64_t)n), y = make_trial(&c, (uint64_t)n);
        float scale = c.scale != 0 ? c.scale : 0.25f;
        for (size_t i = 0; i < x.nq; i++) x.q[i] *= 1e18f, y.q[i] = ldexpf(x.q[i], 20);
        for (size_t i = 0; i < x.nk; i++) x.k[i] *= 1e18f, y.k[i] = x.k[i];
        x.a.scale = scale, y.a.scale = ldexpf(scale, -20);
        same_scores(n % KINDS, &x, &y);
        drop_trial(&x), drop_trial(&y);
    }
}

/* ---- cosine: the cosine score of queries and keys shorter than 1e-8, the smallest norm that
   divides them: gradients against the definition, written out for one query and two keys. ---- */

enum { WIDTH = 4, KEYS = 2 };
static const double MIN = 1e-8;

static double product(const float *x, const float *y)
{
    double sum = 0;
    for (int i = 0; i < WIDTH; i++) sum += (double)x[i] * (double)y[i];
    return sum;
}

static double norm_of(const float *x)
{
    return fmax(sqrt(product(x, x)), MIN);
}

/* Computes dq of the score u(q) . u(k) for ds = 1; u of a short row is q / 1e-8. */
static void slope(const float *q, const float *k, double dq[WIDTH])
{
    double m = norm_of(q), n = norm_of(k), along = m > MIN ? product(q, k) / (m * m) : 0;
    for (int i = 0; i < WIDTH; i++) dq[i] = ((double)k[i] - along * (double)q[i]) / (m * n);
}

static void judge(const float *q, const float k[KEYS][WIDTH])
{
    static const float v[KEYS][WIDTH] = {{1, 2, 3, 4}, {-2, 1, 0, 3}}, dout[WIDTH] = {1, -1, 2, 1};
    _Alignas(64) static unsigned char workspace[1 << 20];
    float out[WIDTH], lse[1], dq[WIDTH] = {0}, dk[KEYS][WIDTH] = {{0}}, dv[KEYS][WIDTH] = {{0}};
    double p[KEYS], mean = 0, want_q[WIDTH] = {0}, one[WIDTH];
    rapt_attention a;
    rapt_attention_saved saved = {.size = sizeof saved, .lse = lse};
    const rapt_gradients d = {.size = sizeof d, .q = dq, .k = dk[0], .v = dv[0]};
    assert_int_equal(rapt_attention_init(&a, sizeof a, 1, 1, 1, KEYS, WIDTH), RAPT_OK);
    a.score = RAPT_SCORE_COSINE, a.threads = 1;
    assert_true(rapt_attention_workspace(&a) <= sizeof workspace);
    assert_int_equal(rapt_attention_forward(&a, q, k[0], v[0], out, &saved, workspace, NULL),
                     RAPT_OK);
    assert_int_equal(
        rapt_attention_backward(&a, q, k[0], v[0], out, &saved, dout, NULL, &d, workspace, NULL),
        RAPT_OK);
    for (int s = 0; s < KEYS; s++) p[s] = exp(product(q, k[s]) / (norm_of(q) * norm_of(k[s])));
    for (int s = 0; s < KEYS; s++) mean += p[s] / (p[0] + p[1]) * product(dout, v[s]);
    for (int s = 0; s < KEYS; s++) {
        double ds = p[s] / (p[0] + p[1]) * (product(dout, v[s]) - mean);
        slope(q, k[s], one);
        for (int i = 0; i < WIDTH; i++) want_q[i] += ds * one[i];
        slope(k[s], q, one);
        for (int i = 0; i < WIDTH; i++)
            assert_true(fabs((double)dk[s][i] - ds * one[i]) <= 2e-6 * (1 + fabs(ds * one[i])));
    }
    for (int i = 0; i < WIDTH; i++)
        assert_true(fabs((double)dq[i] - want_q[i]) <= 2e-6 * (1 + fabs(want_q[i])));
}

static void test_short_rows(void **state)
{
    (void)state;
    static const float usual[WIDTH] = {1, 0.5f, -2, 0.25f}, zero[WIDTH] = {0},
                       tiny[WIDTH] = {3e-9f, 0, -2e-9f, 1e-9f};
    static const float keys[KEYS][WIDTH] = {{0.5f, 1, 0.25f, -1}, {1, -1, 2, 0.5f}},
                       none[KEYS][WIDTH] = {{0.5f, 1, 0.25f, -1}, {0}},
                       few[KEYS][WIDTH] = {{2e-9f, 1e-9f, 0, -1e-9f}, {1, -1, 2, 0.5f}};
    const float *const queries[] = {usual, zero, tiny};
    for (int i = 0; i < 3; i++)
        judge(queries[i], keys), judge(queries[i], none), judge(queries[i], few);
}

/* ---- temperature: Gumbel-softmax at temperatures so low that their inverse, or scores divided by
   them, are infinite: all weight goes to the key that argmax chooses, and outputs and gradients are
   finite. Large queries are used only with dot products: they saturate hidden layers, so that keys
   tie. ---- */

enum { TEMPERATURES = 6 };
static const float temperatures[TEMPERATURES] = {1e-6f,  1e-36f, 0x1p-126f,
                                                 1e-39f, 1e-40f, 0x1p-149f};

static void all_finite(const float *x, size_t n, const char *what, const struct choice *c)
{
    for (size_t i = 0; i < n; i++)
        if (!isfinite(x[i])) fail_msg("%s[%zu] is %g: %s", what, i, (double)x[i], choice_text(c));
}

/* Checks the weights of one head: 1 for the maximum, else 0. chosen: NULL if noise decides. */
static void one_hot(const struct trial *x, int head, const int *chosen)
{
    int keys = x->a.keys, queries = x->a.queries;
    float *w = zeros((size_t)(keys * queries));
    void *workspace = make_workspace(&x->a);
    assert_int_equal(rapt_attention_weights(&x->a, x->q, x->k, &x->saved, 0, head, 0, queries, w,
                                            workspace, NULL),
                     RAPT_OK);
    drop_workspace(&x->a, workspace);
    for (int t = 0; t < queries; t++) {
        int ones = 0, others = 0;
        for (int s = 0; s < keys; s++) {
            float weight = w[t * keys + s];
            ones += weight == 1, others += weight != 0 && weight != 1;
            if (weight == 1 && chosen) assert_int_equal(s, chosen[head * queries + t]);
        }
        assert_true(ones == 1 && others == 0);
    }
    free(w);
}

static void low(void **state)
{
    (void)state;
    for (int n = 0; n < TEMPERATURES * 8 * RAPT_SCORE_COUNT; n++) {
        struct choice c = {.batch = 1,
                           .heads = 2,
                           .queries = 7,
                           .keys = 21,
                           .key_width = 6,
                           .value_width = 5,
                           .query_size =
                               n % 8 < 4 || n / 8 / TEMPERATURES >= RAPT_SCORE_ADDITIVE ? 1 : 50,
                           .scale = n % 4 < 2 ? 0 : -0.7f,
                           .score = (rapt_score)(n / 8 / TEMPERATURES),
                           .normalizer = RAPT_NORMALIZER_GUMBEL_SOFTMAX,
                           .temperature = temperatures[n / 8 % TEMPERATURES],
                           .learned = true};
        struct trial x = make_trial(&c, (uint64_t)n);
        x.a.noiseless = n % 2;
        run_forward(&x), run_backward(&x);
        all_finite(x.out, x.no, "out", &c), all_finite(x.lse, x.nlse, "lse", &c);
        all_finite(x.dq, x.nq, "dq", &c), all_finite(x.dk, x.nk, "dk", &c);
        all_finite(x.dv, x.nv, "dv", &c);
        int chosen[14];
        rapt_attention hard = x.a;
        hard.normalizer = RAPT_NORMALIZER_ARGMAX;
        const rapt_attention_saved saved = {.size = sizeof saved, .chosen = chosen};
        void *workspace = make_workspace(&hard);
        float *out = zeros(x.no);
        assert_int_equal(rapt_attention_forward(&hard, x.q, x.k, x.v, out, &saved, workspace, NULL),
                         RAPT_OK);
        for (int h = 0; h < 2 && c.temperature < 1e-20f; h++)
            one_hot(&x, h, x.a.noiseless ? chosen : NULL);
        free(out), free(workspace);
        drop_trial(&x);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_only_key),
        cmocka_unit_test(rows_sum_to_one),
        cmocka_unit_test(same_bits_everywhere),
        cmocka_unit_test(products_overflow),
        cmocka_unit_test(products_are_scaled),
        cmocka_unit_test(test_short_rows),
        cmocka_unit_test(low),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
