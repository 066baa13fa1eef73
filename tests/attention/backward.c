/* backward.c - every gradient against difference quotients of the definition in double. */
#include "judge.h"

/* Compares with the definition along one direction through each array, and in up to `max` elements
   of each. */
static void try_choice(const struct choice *c, uint64_t seed, int max)
{
    struct trial x = make_trial(c, seed);
    struct judge j;
    run_forward(&x);
    run_backward(&x);
    assert_true(make_judge(&j, &x, choice_text(c)));
    judge_backward(&j, 1, max);
    drop_judge(&j);
    drop_trial(&x);
}

static void shapes(void **state)
{
    (void)state;
    const int lengths[] = {0, 1, 3, 17};
    for (int t = 0; t < 4; t++)
        for (int s = 0; s < 4; s++) {
            const struct choice c = {.batch = 1,
                                     .heads = 2,
                                     .queries = lengths[t],
                                     .keys = lengths[s],
                                     .key_width = 1 + 3 * t,
                                     .value_width = 17 - 4 * s};
            try_choice(&c, (uint64_t)(4 * t + s), 60);
        }
}

/* More than one block of queries and of keys. */
static void blocks(void **state)
{
    (void)state;
    const struct choice c = {.batch = 1,
                             .heads = 2,
                             .key_heads = 1,
                             .queries = 119,
                             .keys = 270,
                             .key_width = 5,
                             .value_width = 3,
                             .causal_alignment = RAPT_CAUSAL_ALIGNMENT_LOWER_RIGHT,
                             .causal = true};
    try_choice(&c, 1, 12);
    struct choice d = c;
    d.causal = false, d.bias = PER_HEAD | PER_ROW, d.dropout = 0.2f;
    try_choice(&d, 2, 12);
}

static void masks(void **state)
{
    (void)state;
    uint64_t seed = 0;
    for (int kinds = 0; kinds < 128; kinds++) {
        const struct choice c = {.batch = 2,
                                 .heads = 2,
                                 .key_heads = kinds & 1 ? 1 : 0,
                                 .queries = 3 + kinds % 5,
                                 .keys = 2 + kinds % 7,
                                 .key_width = 3,
                                 .value_width = 2,
                                 .causal_alignment = kinds & 2 ? RAPT_CAUSAL_ALIGNMENT_UPPER_LEFT
                                                               : RAPT_CAUSAL_ALIGNMENT_LOWER_RIGHT,
                                 .causal = kinds & 4,
                                 .window = kinds & 8,
                                 .before = 2,
                                 .after = 1,
                                 .counts = kinds & 16,
                                 .allowed = kinds & 32 ? SHARED | kinds % 8 : NONE,
                                 .bias = kinds & 64 ? SHARED | kinds / 3 % 8 : NONE,
                                 .ragged = kinds % 3 == 0,
                                 .dropout = kinds % 5 == 0 ? 0.3f : 0,
                                 .score = (rapt_score)(kinds % RAPT_SCORE_COUNT),
                                 .learned = true,
                                 .scale = kinds % 11 == 0 ? -0.7f : 0};
        try_choice(&c, ++seed, 25);
    }
}

/* The gradient of the bias is summed over every dimension that it does not have. */
static void bias_broadcasts(void **state)
{
    (void)state;
    for (int own = 0; own < 8; own++)
        for (int key_heads = 0; key_heads < 2; key_heads++) {
            const struct choice c = {.batch = 2,
                                     .heads = 2,
                                     .key_heads = key_heads,
                                     .queries = 5,
                                     .keys = 6,
                                     .key_width = 3,
                                     .value_width = 3,
                                     .bias = SHARED | own};
            try_choice(&c, (uint64_t)own, 60);
        }
}

/* Gradients are added to what the arrays hold, and only where they are wanted. */
static void adds(void **state)
{
    (void)state;
    const struct choice c = {
        .batch = 2, .heads = 3, .queries = 20, .keys = 30, .key_width = 8, .value_width = 9};
    struct trial x = make_trial(&c, 1);
    run_forward(&x);
    run_backward(&x);
    float *dq = zeros(x.nq), *dv = zeros(x.nv);
    for (size_t i = 0; i < x.nq; i++) dq[i] = 2;
    void *workspace = make_workspace(&x.a);
    assert_int_equal(
        rapt_attention_backward(&x.a, x.q, x.k, x.v, x.out, &x.saved, x.dout, NULL,
                                &(rapt_gradients){.size = sizeof(rapt_gradients), .q = dq},
                                workspace, NULL),
        RAPT_OK);
    assert_int_equal(
        rapt_attention_backward(&x.a, x.q, x.k, x.v, x.out, &x.saved, x.dout, NULL,
                                &(rapt_gradients){.size = sizeof(rapt_gradients), .v = dv},
                                workspace, NULL),
        RAPT_OK);
    for (size_t i = 0; i < x.nq; i++) assert_true(dq[i] == 2 + x.dq[i]);
    assert_true(same_bits(dv, x.dv, x.nv));
    free(dq), free(dv), free(workspace);
    drop_trial(&x);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(shapes),          cmocka_unit_test(blocks), cmocka_unit_test(masks),
        cmocka_unit_test(bias_broadcasts), cmocka_unit_test(adds),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
