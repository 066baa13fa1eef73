/* weights.c - rebuilt weights: they are those of the definition, rows sum to one, and they give
   out. */
#include "judge.h"

static void judge(const struct trial *x, const char *text)
{
    struct judge j;
    assert_true(make_judge(&j, x, text));
    judge_weights(&j);
    drop_judge(&j);
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
                                 .causal_alignment = RAPT_CAUSAL_ALIGNMENT_LOWER_RIGHT,
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
    void *workspace = make_workspace(&x.a);
    const int wrong[][4] = {{-1, 0, 0, 1}, {2, 0, 0, 1}, {0, -1, 0, 1}, {0, 2, 0, 1},
                            {0, 0, -1, 1}, {0, 0, 6, 0}, {0, 0, 3, 3},  {0, 0, 0, -1}};
    for (int i = 0; i < 8; i++)
        assert_int_equal(rapt_attention_weights(&x.a, x.q, x.k, &x.saved, wrong[i][0], wrong[i][1],
                                                wrong[i][2], wrong[i][3], to, workspace, NULL),
                         RAPT_BAD_ARGUMENT);
    assert_int_equal(
        rapt_attention_weights(&x.a, x.q, x.k,
                               &(rapt_attention_saved){.size = sizeof(rapt_attention_saved)}, 0, 0,
                               0, 1, to, workspace, NULL),
        RAPT_BAD_ARGUMENT);
    assert_int_equal(
        rapt_attention_weights(&x.a, x.q, x.k, &x.saved, 1, 1, 5, 0, NULL, workspace, NULL),
        RAPT_OK);
    free(workspace);
    drop_trial(&x);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(weights), cmocka_unit_test(misuse)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
