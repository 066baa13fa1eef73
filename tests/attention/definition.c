/* definition.c - results, weights and gradients against the definition in double. */
#include "judge.h"

/* ---- forward: out and lse against the definition in double, over shapes, masks and layouts. ----
 */

static void judge_out(const struct trial *x, const char *text)
{
    struct judge j;
    assert_true(make_judge(&j, x, text));
    judge_forward(&j);
    drop_judge(&j);
}

static void try_choice_forward(const struct choice *c, uint64_t seed)
{
    struct trial x = make_trial(c, seed);
    run_forward(&x);
    judge_out(&x, choice_text(c));
    drop_trial(&x);
}

static void forward_shapes(void **state)
{
    (void)state;
    const int lengths[] = {0, 1, 2, 13, 15, 16, 17, 57, 127, 130, 300};
    const int widths[] = {1, 3, 16, 31, 64, 70, 128};
    enum { LENGTHS = sizeof lengths / sizeof *lengths, WIDTHS = sizeof widths / sizeof *widths };
    uint64_t seed = 1;
    for (int t = 0; t < LENGTHS; t++)
        for (int s = 0; s < LENGTHS; s++, seed++) {
            const struct choice c = {.batch = 2,
                                     .heads = 2,
                                     .queries = lengths[t],
                                     .keys = lengths[s],
                                     .key_width = widths[seed % WIDTHS],
                                     .value_width = widths[seed / 2 % WIDTHS]};
            try_choice_forward(&c, seed);
        }
}

static void widths(void **state)
{
    (void)state;
    for (int k = 1; k <= 72; k++) {
        const struct choice c = {.batch = 1,
                                 .heads = 1,
                                 .queries = 5,
                                 .keys = 19,
                                 .key_width = k,
                                 .value_width = 73 - k};
        try_choice_forward(&c, (uint64_t)k);
    }
}

/* Every kind of mask and combinations of them, ragged or not, with grouped heads and dropout. */
static void forward_masks(void **state)
{
    (void)state;
    uint64_t seed = 0;
    for (int causal_alignment = 0; causal_alignment <= RAPT_CAUSAL_ALIGNMENT_LOWER_RIGHT;
         causal_alignment++)
        for (int kinds = 0; kinds < 64; kinds++) {
            bool placed = causal_alignment != RAPT_CAUSAL_ALIGNMENT_NONE;
            if (!placed && kinds & 3) continue;
            const struct choice c = {.batch = 3,
                                     .heads = 4,
                                     .key_heads = kinds & 32 ? 2 : 0,
                                     .queries = 3 + (int)(seed * 7 % 60),
                                     .keys = 5 + (int)(seed * 29 % 150),
                                     .key_width = 9,
                                     .value_width = 20,
                                     .causal_alignment = (rapt_causal_alignment)causal_alignment,
                                     .causal = kinds & 1,
                                     .window = kinds & 2,
                                     .before = 4 + (int)(seed % 30),
                                     .after = 3,
                                     .counts = kinds & 4,
                                     .allowed = kinds & 8 ? 8 + (int)(seed % 8) : NONE,
                                     .bias = kinds & 16 ? 8 + (int)(seed / 3 % 8) : NONE,
                                     .ragged = kinds & 32,
                                     .dropout = seed % 3 == 0 ? 0.25f : 0};
            try_choice_forward(&c, ++seed);
        }
}

/* Each dimension of mask and bias is its own or shared. */
static void broadcasts(void **state)
{
    (void)state;
    for (int own = 0; own < 64; own++) {
        const struct choice c = {.batch = 2,
                                 .heads = 3,
                                 .queries = 18,
                                 .keys = 35,
                                 .key_width = 8,
                                 .value_width = 8,
                                 .allowed = SHARED | own % 8,
                                 .bias = SHARED | own / 8};
        try_choice_forward(&c, (uint64_t)own);
    }
}

static void scores(void **state)
{
    (void)state;
    const float scales[] = {0, 1, 0.3f, -0.5f, 4};
    for (int score = 0; score < RAPT_SCORE_COUNT; score++)
        for (int i = 0; i < 5; i++)
            for (int bias = 0; bias < 2; bias++) {
                const struct choice c = {.batch = 1,
                                         .heads = 2,
                                         .queries = 30,
                                         .keys = 140,
                                         .key_width = 24,
                                         .value_width = 16,
                                         .score = (rapt_score)score,
                                         .learned = true,
                                         .scale = scales[i],
                                         .bias = bias ? SHARED : NONE};
                try_choice_forward(&c, (uint64_t)(score * 10 + i));
            }
    assert_string_equal(rapt_score_name(RAPT_SCORE_SCALED_DOT), "scaled-dot");
    assert_string_equal(rapt_score_name(RAPT_SCORE_DOT), "dot");
    assert_null(rapt_score_name(RAPT_SCORE_COUNT));
}

/* All sequences, all heads, or both read the same keys: strides of 0. */
static void repeated_rows(void **state)
{
    (void)state;
    for (int i = 0; i < 8; i++) {
        const struct choice c = {
            .batch = 2, .heads = 3, .queries = 20, .keys = 33, .key_width = 10, .value_width = 12};
        struct trial x = make_trial(&c, (uint64_t)i);
        if (i & 1) x.a.k.batch = x.a.v.batch = 0;
        if (i & 2) x.a.k.head = x.a.v.head = 0;
        if (i & 4) x.a.q.row = 0;
        run_forward(&x);
        judge_out(&x, "repeated rows");
        drop_trial(&x);
    }
}

/* With weights beyond the range of float the largest decides and the others are 0; nothing
   overflows. */
static void extremes(void **state)
{
    (void)state;
    const float sizes[] = {1e4f, 1e10f, 1e18f, 1e-30f, 1e-40f};
    for (int i = 0; i < 5; i++) {
        const struct choice c = {.batch = 1,
                                 .heads = 1,
                                 .queries = 20,
                                 .keys = 150,
                                 .key_width = 1,
                                 .value_width = 4,
                                 .query_size = sizes[i]};
        struct trial x = make_trial(&c, 1);
        run_forward(&x);
        judge_out(&x, "extremes");
        drop_trial(&x);
    }
}

/* A cosine divides by lengths, but never by less than 1e-8. */
static void short_rows(void **state)
{
    (void)state;
    const struct choice c = {.batch = 1,
                             .heads = 1,
                             .queries = 6,
                             .keys = 9,
                             .key_width = 5,
                             .value_width = 3,
                             .score = RAPT_SCORE_COSINE,
                             .learned = true};
    const float times[] = {0, 1e-10f, 3e-9f, 1e-8f, 1, 1e12f};
    struct trial x = make_trial(&c, 5);
    for (int t = 0; t < c.queries; t++)
        for (int i = 0; i < c.key_width; i++) {
            x.q[t * x.a.q.row + i] *= times[t];
            x.k[t * x.a.k.row + i] *= times[c.queries - 1 - t];
        }
    run_forward(&x);
    judge_out(&x, "short rows");
    drop_trial(&x);
}

/* Of equal scores, the lowest visible key wins. */
static void ties(void **state)
{
    (void)state;
    const int counts[] = {70};
    for (int normalizer = RAPT_NORMALIZER_ARGMAX; normalizer <= RAPT_NORMALIZER_STRAIGHT_THROUGH;
         normalizer++) {
        if (normalizer == RAPT_NORMALIZER_SAMPLE) continue;
        const struct choice c = {.batch = 1,
                                 .heads = 1,
                                 .queries = 80,
                                 .keys = 90,
                                 .key_width = 3,
                                 .value_width = 2,
                                 .causal_alignment = RAPT_CAUSAL_ALIGNMENT_UPPER_LEFT,
                                 .window = true,
                                 .before = 20,
                                 .after = 2,
                                 .normalizer = (rapt_normalizer)normalizer};
        struct trial x = make_trial(&c, 6);
        x.a.mask.key_counts = counts;
        for (int s = 0; s < c.keys; s++)
            memcpy(x.k + s * x.a.k.row, x.k, (size_t)c.key_width * sizeof(float));
        run_forward(&x);
        for (int t = 0; t < c.queries; t++) assert_int_equal(x.chosen[t], t < 20 ? 0 : t - 20);
        drop_trial(&x);
    }
}

/* Keys are drawn as often as the softmax says. */
static void frequencies(void **state)
{
    (void)state;
    enum { QUERIES = 6000, KEYS = 5 };
    const struct choice c = {.batch = 1,
                             .heads = 1,
                             .queries = QUERIES,
                             .keys = KEYS,
                             .key_width = 3,
                             .value_width = 1,
                             .normalizer = RAPT_NORMALIZER_SAMPLE};
    struct trial x = make_trial(&c, 7);
    struct judge j;
    double count[KEYS] = {0};
    x.a.q.row = 0; /* all rows are the same query */
    run_forward(&x);
    for (int t = 0; t < QUERIES; t++) count[x.chosen[t]] += 1;
    struct trial soft = x;
    soft.a.normalizer = RAPT_NORMALIZER_SOFTMAX, soft.chosen = NULL;
    assert_true(make_judge(&j, &soft, "frequencies"));
    for (int s = 0; s < KEYS; s++) {
        double p = j.r.weights[s];
        assert_true(p > 0.01 && fabs(count[s] / QUERIES - p) < 5 * sqrt(p * (1 - p) / QUERIES));
    }
    drop_judge(&j);
    drop_trial(&x);
}

/* ---- weights: rebuilt weights: they are those of the definition, rows sum to one, and they give
   out. ---- */

static void judge_rebuilt(const struct trial *x, const char *text)
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
        judge_rebuilt(&x, choice_text(&c));
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
    rapt_message why = {""};
    rapt_attention_weights(&x.a, x.q, x.k, &x.saved, 0, 0, -1, 1, to, workspace, &why);
    assert_string_equal(why.text, "first is -1 and rows is 1, but both must be 0 or more");
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

/* ---- backward: every gradient against difference quotients of the definition in double. ---- */

/* Compares with the definition along one direction through each array, and in up to `max` elements
   of each. */
static void try_choice_backward(const struct choice *c, uint64_t seed, int max)
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

static void backward_shapes(void **state)
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
            try_choice_backward(&c, (uint64_t)(4 * t + s), 60);
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
    try_choice_backward(&c, 1, 12);
    struct choice d = c;
    d.causal = false, d.bias = PER_HEAD | PER_ROW, d.dropout = 0.2f;
    try_choice_backward(&d, 2, 12);
}

static void backward_masks(void **state)
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
        try_choice_backward(&c, ++seed, 25);
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
            try_choice_backward(&c, (uint64_t)own, 60);
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
        cmocka_unit_test(forward_shapes),
        cmocka_unit_test(widths),
        cmocka_unit_test(forward_masks),
        cmocka_unit_test(broadcasts),
        cmocka_unit_test(scores),
        cmocka_unit_test(repeated_rows),
        cmocka_unit_test(extremes),
        cmocka_unit_test(short_rows),
        cmocka_unit_test(ties),
        cmocka_unit_test(frequencies),
        cmocka_unit_test(weights),
        cmocka_unit_test(misuse),
        cmocka_unit_test(backward_shapes),
        cmocka_unit_test(blocks),
        cmocka_unit_test(backward_masks),
        cmocka_unit_test(bias_broadcasts),
        cmocka_unit_test(adds),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
