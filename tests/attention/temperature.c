/* temperature.c - Gumbel-softmax at temperatures so low that their inverse, or scores divided by
   them, are infinite: all weight goes to the key that argmax chooses, and outputs and gradients are
   finite. Large queries are used only with dot products: they saturate hidden layers, so that keys
   tie. */
#include "trial.h"

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
    const struct CMUnitTest tests[] = {cmocka_unit_test(low)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
