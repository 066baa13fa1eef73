/* rotary.c - tests rotary angles for longer sequences: outputs and gradients against the
   definition, with the same bits for any number of threads and every instruction set; the angle of
   each pair; arguments that are refused. */
#include "judge.h"
#include "skips.h"

static const struct choice choices[] = {
    {.rotary = RAPT_ROTARY_PAIRS, .rotary_scaling = RAPT_ROTARY_SCALING_LINEAR, .rotary_factor = 3},
    {.rotary = RAPT_ROTARY_HALVES,
     .rotary_scaling = RAPT_ROTARY_SCALING_NTK,
     .rotary_factor = 2.5f,
     .rotary_width = 6},
    {.rotary = RAPT_ROTARY_HALVES, .rotary_scaling = RAPT_ROTARY_SCALING_YARN, .rotary_factor = 4},
    {.rotary = RAPT_ROTARY_PAIRS,
     .rotary_scaling = RAPT_ROTARY_SCALING_YARN,
     .rotary_factor = 16,
     .rotary_positions = 700, /* some pairs are kept, some mixed, some divided */
     .rotary_width = 8,
     .score = RAPT_SCORE_GENERAL,
     .query_width = 10},
    {.rotary = RAPT_ROTARY_HALVES,
     .rotary_scaling = RAPT_ROTARY_SCALING_YARN,
     .rotary_factor = 2,
     .rotary_magnitude = 0.75f,
     .score = RAPT_SCORE_LOCATION,
     .query_width = 14},
};
enum { CHOICES = sizeof choices / sizeof *choices };

static struct trial make_one(int i, struct choice *c)
{
    *c = choices[i];
    c->batch = 2, c->heads = 4, c->key_heads = 2, c->queries = 9, c->keys = 21, c->ragged = i % 2;
    c->key_width = 12, c->value_width = 5, c->learned = true;
    c->causal_alignment = RAPT_CAUSAL_ALIGNMENT_LOWER_RIGHT;
    struct trial x = make_trial(c, (uint64_t)i);
    for (int k = RELATIVE_LEARNED; k < LEARNED; k++) {
        int array = k - RELATIVE_LEARNED;
        bool read =
            (c->score == RAPT_SCORE_GENERAL && array == RAPT_ATTENTION_PARAMETER_QUERY_WEIGHT) ||
            (c->score == RAPT_SCORE_LOCATION && array == RAPT_ATTENTION_PARAMETER_POSITION);
        if (!read) free(x.dlearned[k]), x.dlearned[k] = NULL;
    }
    return x;
}

static void by_definition(void **state)
{
    (void)state;
    for (int i = 0; i < CHOICES; i++) {
        struct choice c;
        struct trial x = make_one(i, &c);
        struct judge j;
        run_forward(&x);
        run_backward(&x);
        assert_true(make_judge(&j, &x, choice_text(&c)));
        judge_forward(&j);
        judge_weights(&j);
        judge_backward(&j, 2, 4);
        drop_judge(&j);
        drop_trial(&x);
    }
}

static void same_bits_everywhere(void **state)
{
    (void)state;
    for (int i = 0; i < CHOICES; i++) {
        struct choice c;
        struct trial x = make_one(i, &c);
        assert_same_results(&x, choice_text(&c), NULL);
        drop_trial(&x);
    }
}

/* ---- the angle of each pair ---- */

enum { WIDTH = 6, KEYS = 65 };

/* Returns the score of the key at position 0 minus that of the key at position `at`, for a query at
   position KEYS - 1. Query and keys are 1 in the first element of a pair, and 0 elsewhere. */
static double score_difference(const rapt_relative *relative, int pair, int at)
{
    rapt_attention a;
    float q[WIDTH] = {0}, k[KEYS * WIDTH] = {0}, v[KEYS * WIDTH] = {0}, out[WIDTH], lse;
    float weights[KEYS];
    const rapt_attention_saved saved = {.size = sizeof saved, .lse = &lse};
    uint8_t allowed[KEYS] = {0};
    rapt_attention_init(&a, sizeof a, 1, 1, 1, KEYS, WIDTH);
    a.score = RAPT_SCORE_DOT, a.relative = *relative, a.mask.allowed = allowed;
    a.mask.causal_alignment = RAPT_CAUSAL_ALIGNMENT_LOWER_RIGHT;
    q[2 * pair] = 1;
    k[2 * pair] = k[at * WIDTH + 2 * pair] = 1;
    allowed[0] = allowed[at] = 1;
    void *workspace = make_workspace(&a);
    assert_int_equal(rapt_attention_forward(&a, q, k, v, out, &saved, workspace, NULL), RAPT_OK);
    assert_int_equal(rapt_attention_weights(&a, q, k, &saved, 0, 0, 0, 1, weights, workspace, NULL),
                     RAPT_OK);
    free(workspace);
    return log((double)weights[0] / (double)weights[at]);
}

/* Expects that a pair scores magnitude^2 cos(angle * distance). */
static void expect_angle(const rapt_relative *relative, int pair, double angle, double magnitude)
{
    for (int at = 1; at < KEYS; at += 21) {
        double wanted =
            magnitude * magnitude * (cos(angle * (KEYS - 1)) - cos(angle * (KEYS - 1 - at)));
        double is = score_difference(relative, pair, at);
        if (!(fabs(is - wanted) < 2e-6))
            fail_msg("scaling %d, pair %d, key %d: %.9g, not %.9g", (int)relative->rotary_scaling,
                     pair, at, is, wanted);
    }
}

/* With base 64, the angles of the three pairs are 1, 1/4 and 1/16. Interpolation divides all of
   them by the factor. NTK keeps the first and divides the last by the factor. YaRN keeps those of
   pairs that turn 32 times and divides those of pairs that turn less than once. */
static void angles_per_pair(void **state)
{
    (void)state;
    rapt_relative r = {.rotary = RAPT_ROTARY_PAIRS, .rotary_base = 64, .rotary_factor = 2};
    for (int i = 0; i < 3; i++) expect_angle(&r, i, pow(0.25, i), 1);
    r.rotary_scaling = RAPT_ROTARY_SCALING_LINEAR;
    for (int i = 0; i < 3; i++) expect_angle(&r, i, pow(0.25, i) / 2, 1);
    r.rotary_scaling = RAPT_ROTARY_SCALING_NTK;
    expect_angle(&r, 0, 1, 1);
    expect_angle(&r, 2, 1. / 32, 1);
    r.rotary_scaling = RAPT_ROTARY_SCALING_YARN;
    r.rotary_positions = 100; /* turns: 15.9, 3.98 and 0.995 */
    double by = 1 + 0.1 * log(2), turns = 25 / (2 * acos(-1)), kept = (turns - 1) / 31;
    expect_angle(&r, 1, kept / 4 + (1 - kept) / 8, by);
    expect_angle(&r, 2, 1. / 32, by);
    r.rotary_magnitude = 1.5f;
    r.rotary_positions = 300; /* turns: 47.7 */
    expect_angle(&r, 0, 1, 1.5);
    r.rotary_factor = 0, r.rotary_magnitude = 0;
    for (int i = 0; i < 3; i++) expect_angle(&r, i, pow(0.25, i), 1);
}

static void refuse(const rapt_relative *relative, const char *wanted)
{
    rapt_attention a;
    rapt_message why = {""};
    rapt_attention_init(&a, sizeof a, 1, 1, 1, 2, WIDTH);
    a.relative = *relative, a.mask.causal_alignment = RAPT_CAUSAL_ALIGNMENT_UPPER_LEFT;
    assert_int_equal(rapt_attention_check(&a, &why), RAPT_BAD_ARGUMENT);
    if (!strstr(why.text, wanted)) fail_msg("\"%s\" without \"%s\"", why.text, wanted);
}

static void refused(void **state)
{
    (void)state;
    static const float factors[] = {0.5f, -1, NAN, INFINITY};
    const rapt_relative yarn = {.rotary = RAPT_ROTARY_PAIRS,
                                .rotary_scaling = RAPT_ROTARY_SCALING_YARN,
                                .rotary_positions = 9};
    rapt_relative r = yarn;
    for (int i = 0; i < 4; i++) r.rotary_factor = factors[i], refuse(&r, "rotary_factor");
    for (int i = 1; i < 4; i++) {
        r = yarn, r.rotary_magnitude = factors[i];
        refuse(&r, "rotary_magnitude");
    }
    r = yarn, r.rotary_positions = 0;
    refuse(&r, "rotary_positions");
    r = yarn, r.rotary_scaling = RAPT_ROTARY_SCALING_NTK, r.rotary_width = 2;
    refuse(&r, "rotary_width");
    r = yarn, r.rotary_scaling = (rapt_rotary_scaling)-1;
    refuse(&r, "rotary_scaling");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(by_definition),
        cmocka_unit_test(same_bits_everywhere),
        cmocka_unit_test(angles_per_pair),
        cmocka_unit_test(refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
