/* weights.c - the weights rebuilt: what the definition says, rows that sum to one, and out from
   them. */
#include "trial.h"

static void judge(struct trial *x, const char *text)
{
    const rapt_attention *a = &x->a;
    double *q = doubles(x->q, x->nq), *k = doubles(x->k, x->nk);
    double *bias = x->bias ? doubles(x->bias, x->nbias) : NULL;
    const struct oracle_inputs in = {q, k, NULL, bias};
    double *wanted = calloc((size_t)a->keys + 1, sizeof *wanted);
    void *scratch = make_scratch(a);
    for (int b = 0; b < a->batch; b++)
        for (int h = 0; h < a->heads; h++) {
            int rows = oracle_queries(a, b), keys = oracle_keys(a, b), first = rows / 3;
            float *got = zeros((size_t)(rows * keys));
            assert_int_equal(rapt_attention_weights(a, x->q, x->k, x->lse, b, h, first,
                                                    rows - first, got, scratch),
                             RAPT_OK);
            for (int t = first; t < rows; t++) {
                double lse, size, sum = 0;
                const float *row = got + (t - first) * keys;
                oracle_row(a, &in, b, h, t, wanted, &lse, &size);
                double allowed = 0x1p-23 * (4 + 2 * size);
                for (int s = 0; s < keys; s++, sum += (double)row[s - 1])
                    if (!(fabs((double)row[s] - wanted[s]) <= allowed * fmax(wanted[s], 1e-3)))
                        fail_msg("%s: weight %d of row %d is %.9g, not %.9g", text, s, t,
                                 (double)row[s], wanted[s]);
                assert_true(lse == -INFINITY ? sum == 0 : fabs(sum - 1) <= allowed);
            }
            free(got);
        }
    free(q), free(k), free(bias), free(wanted), free(scratch);
}

static void weights(void **state)
{
    (void)state;
    for (int kinds = 0; kinds < 32; kinds++) {
        const struct choice c = {.batch = 2,
                                 .heads = 4,
                                 .key_heads = kinds & 1 ? 2 : 0,
                                 .queries = 1 + kinds * 5,
                                 .keys = 1 + kinds * 37 % 300,
                                 .key_width = 1 + kinds,
                                 .value_width = 4,
                                 .corner = RAPT_CORNER_BOTTOM_RIGHT,
                                 .causal = kinds & 2,
                                 .allowed = kinds & 4 ? SHARED | kinds % 8 : NONE,
                                 .bias = kinds & 8 ? SHARED | kinds / 4 : NONE,
                                 .ragged = kinds & 16,
                                 .counts = kinds % 3 == 0,
                                 .dropout = 0.5f,
                                 .scale = kinds % 5 == 0 ? -1.5f : 0};
        struct trial x = make_trial(&c, (uint64_t)kinds);
        run_forward(&x);
        judge(&x, choice_text(&c));
        drop_trial(&x);
    }
}

static void misuse(void **state)
{
    (void)state;
    const struct choice c = {
        .batch = 2, .heads = 2, .queries = 5, .keys = 6, .key_width = 3, .value_width = 3};
    struct trial x = make_trial(&c, 1);
    float to[30];
    void *scratch = make_scratch(&x.a);
    const int wrong[][4] = {{-1, 0, 0, 1}, {2, 0, 0, 1}, {0, -1, 0, 1}, {0, 2, 0, 1},
                            {0, 0, -1, 1}, {0, 0, 6, 0}, {0, 0, 3, 3},  {0, 0, 0, -1}};
    for (int i = 0; i < 8; i++)
        assert_int_equal(rapt_attention_weights(&x.a, x.q, x.k, x.lse, wrong[i][0], wrong[i][1],
                                                wrong[i][2], wrong[i][3], to, scratch),
                         RAPT_BAD_ARGUMENT);
    assert_int_equal(rapt_attention_weights(&x.a, x.q, x.k, NULL, 0, 0, 0, 1, to, scratch),
                     RAPT_BAD_ARGUMENT);
    assert_int_equal(rapt_attention_weights(&x.a, x.q, x.k, x.lse, 1, 1, 5, 0, NULL, scratch),
                     RAPT_OK);
    free(scratch);
    drop_trial(&x);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(weights), cmocka_unit_test(misuse)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
