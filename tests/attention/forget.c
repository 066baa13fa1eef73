/* forget.c - forget gates of long sequences: weights and gradients are as precise as if the sums of
   log f between a key and a query had been computed by themselves, however large the sums over all
   keys are. tests/attention/product.c compares short sequences of all kinds with the definition. */
#include "roundings.h"
#include "trial.h"

enum { KEYS = 3000, QUERIES = 3, WIDTH = 8, LAST = 60 };

struct scene {
    rapt_attention a;
    float q[QUERIES * WIDTH], k[KEYS * WIDTH], v[KEYS], log_forget[KEYS], dout[QUERIES];
    float out[QUERIES], statistics[2 * QUERIES], dlog_forget[KEYS];
    void *workspace;
};

static struct scene *make_scene(rapt_score score, rapt_normalizer normalizer, float first)
{
    struct scene *s = calloc(1, sizeof *s);
    uint64_t r = 5 + (uint64_t)normalizer;
    rapt_attention_init(&s->a, sizeof s->a, 1, 1, QUERIES, KEYS, WIDTH);
    s->a.score = score, s->a.normalizer = normalizer;
    s->a.value_width = 1, s->a.v = (rapt_stride){KEYS, KEYS, 1};
    s->a.out = (rapt_stride){QUERIES, QUERIES, 1}, s->a.threads = 1;
    s->a.mask.causal = 1, s->a.mask.causal_alignment = RAPT_CAUSAL_ALIGNMENT_LOWER_RIGHT;
    s->a.log_forget = s->log_forget, s->a.log_forget_stride = (rapt_stride){KEYS, KEYS, 1};
    for (int i = 0; i < QUERIES * WIDTH; i++) s->q[i] = draw_float(&r);
    for (int i = 0; i < KEYS * WIDTH; i++) s->k[i] = draw_float(&r);
    for (int i = 0; i < KEYS; i++) s->v[i] = draw_float(&r), s->log_forget[i] = -0.7f;
    for (int i = 0; i < KEYS; i++) s->log_forget[i] *= fabsf(draw_float(&r));
    for (int i = 0; i < QUERIES; i++) s->dout[i] = draw_float(&r);
    s->log_forget[0] = first;
    s->workspace = make_workspace(&s->a);
    return s;
}

static void drop_scene(struct scene *s)
{
    drop_workspace(&s->a, s->workspace);
    free(s);
}

/* Computes the scores of query t in double, given log f. */
static void scores_of(const struct scene *s, const double *log_forget, int t, double *x)
{
    int position = KEYS - QUERIES + t;
    double between = 0;
    for (int key = position; key >= 0; key--) {
        double dot = 0;
        for (int i = 0; i < WIDTH; i++)
            dot += (double)s->q[t * WIDTH + i] * (double)s->k[key * WIDTH + i];
        x[key] = dot / (s->a.score == RAPT_SCORE_SCALED_DOT ? sqrt(WIDTH) : 1) + between;
        between += log_forget[key];
    }
}

/* Computes the weights of query t in double. Returns the number of keys that it sees. */
static int weights_of(const struct scene *s, const double *log_forget, int t, double *w)
{
    int keys = KEYS - QUERIES + t + 1;
    double sum = 0;
    scores_of(s, log_forget, t, w);
    for (int i = 0; i < keys; i++) {
        bool sigmoid = s->a.normalizer == RAPT_NORMALIZER_SIGMOID;
        w[i] = sigmoid ? 1 / (1 + exp(-w[i])) : exp(w[i]);
        sum += sigmoid ? 0 : w[i];
    }
    if (s->a.normalizer == RAPT_NORMALIZER_SINK_SOFTMAX) sum += 1;
    for (int i = 0; i < keys && sum > 0; i++) w[i] /= sum;
    return keys;
}

static double objective(const struct scene *s, const double *log_forget)
{
    static double w[KEYS];
    double sum = 0;
    for (int t = 0; t < QUERIES; t++)
        for (int i = weights_of(s, log_forget, t, w); i-- > 0;)
            sum += w[i] * (double)s->v[i] * (double)s->dout[t];
    return sum;
}

static void judge_weights(struct scene *s, const rapt_attention_saved *saved,
                          const double *log_forget)
{
    static float got[QUERIES * KEYS];
    static double wanted[KEYS];
    assert_int_equal(
        rapt_attention_weights(&s->a, s->q, s->k, saved, 0, 0, 0, QUERIES, got, s->workspace, NULL),
        RAPT_OK);
    for (int t = 0; t < QUERIES; t++) {
        int keys = weights_of(s, log_forget, t, wanted);
        for (int i = 0; i < KEYS; i++) {
            double w = i < keys ? wanted[i] : 0, x = (double)got[t * KEYS + i];
            /* a weight of e^-30 has a score of about -30, which is rounded several times */
            if (fabs(x - w) > 200 * ROUNDING * w + 1e-12)
                fail_msg("weight %d of query %d is %.9g, not %.9g", i, t, x, w);
        }
    }
}

static void judge_gradients(const struct scene *s, double *log_forget)
{
    static const double step = 1e-5;
    for (int i = KEYS - LAST; i < KEYS; i++) {
        double at = log_forget[i], side[2];
        for (int k = 0; k < 2; k++) {
            log_forget[i] = at + (k ? step : -step);
            side[k] = objective(s, log_forget);
        }
        log_forget[i] = at;
        double wanted = (side[1] - side[0]) / (2 * step), got = (double)s->dlog_forget[i];
        if (fabs(got - wanted) > 100 * ROUNDING)
            fail_msg("gradient %d is %.9g, not %.9g", i, got, wanted);
    }
    assert_true(s->dlog_forget[0] == 0); /* between no two keys */
}

static void judge_scene(struct scene *s)
{
    static double log_forget[KEYS];
    const rapt_attention_saved saved = {.size = sizeof saved, .statistics = s->statistics};
    const rapt_gradients d = {.size = sizeof d, .log_forget = s->dlog_forget};
    for (int i = 0; i < KEYS; i++) log_forget[i] = (double)s->log_forget[i];
    assert_int_equal(
        rapt_attention_forward(&s->a, s->q, s->k, s->v, s->out, &saved, s->workspace, NULL),
        RAPT_OK);
    judge_weights(s, &saved, log_forget);
    assert_int_equal(rapt_attention_backward(&s->a, s->q, s->k, s->v, s->out, &saved, s->dout, NULL,
                                             &d, s->workspace, NULL),
                     RAPT_OK);
    judge_gradients(s, log_forget);
}

/* The sums over all keys are about -1500, and then below -1,000,000. */
static void long_sums(void **state)
{
    (void)state;
    static const rapt_normalizer normalizers[] = {
        RAPT_NORMALIZER_SOFTMAX, RAPT_NORMALIZER_SINK_SOFTMAX, RAPT_NORMALIZER_SIGMOID,
        RAPT_NORMALIZER_GUMBEL_SOFTMAX /* on the general path */};
    for (int i = 0; i < 4; i++)
        for (int large = 0; large < 2; large++) {
            struct scene *s = make_scene(i % 2 ? RAPT_SCORE_DOT : RAPT_SCORE_SCALED_DOT,
                                         normalizers[i], large ? -1e6f : -1);
            s->a.noiseless = 1;
            judge_scene(s);
            drop_scene(s);
        }
}

/* Gates need a causal mask, whole rows, and an array of their own for gradients. */
static void refused(void **state)
{
    (void)state;
    rapt_message why;
    struct scene *s = make_scene(RAPT_SCORE_DOT, RAPT_NORMALIZER_SOFTMAX, -1);
    const rapt_attention_saved saved = {.size = sizeof saved, .statistics = s->statistics};
    const rapt_gradients d = {.size = sizeof d, .log_forget = s->dlog_forget};
    rapt_attention bad = s->a;
    bad.mask.causal = 0;
    assert_int_equal(rapt_attention_check(&bad, &why), RAPT_BAD_ARGUMENT);
    assert_non_null(strstr(why.text, "mask.causal is 0, but log_forget needs it"));
    bad = s->a, bad.log_forget_stride.row = PTRDIFF_MAX / 2;
    assert_int_equal(rapt_attention_check(&bad, &why), RAPT_BAD_ARGUMENT);
    assert_non_null(strstr(why.text, "log_forget_stride"));
    for (int i = 0; i < 2; i++) {
        bad = s->a;
        if (i == 0) bad.log_forget = NULL;
        bad.log_forget_stride.row = 0;
        assert_int_equal(rapt_attention_backward(&bad, s->q, s->k, s->v, s->out, &saved, s->dout,
                                                 NULL, &d, s->workspace, &why),
                         RAPT_BAD_ARGUMENT);
        assert_non_null(strstr(why.text, "log_forget"));
    }
    drop_scene(s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(long_sums), cmocka_unit_test(refused)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
