/* talking.c - talking heads: with identity matrices, results are those of separate heads on the
   general path, unless heads share keys, whose gradients are then summed in another order; a head
   without visible keys still receives the weights of others; memory does not depend on the product
   of queries and keys; refusals. tests/attention/product.c compares every kind of problem with the
   definition. */
#include "trial.h"

enum { HEADS = 4 };

static struct choice choice_of(rapt_score score, rapt_normalizer normalizer)
{
    return (struct choice){.batch = 3,
                           .heads = HEADS,
                           .queries = 30,
                           .keys = 75,
                           .key_width = 12,
                           .value_width = 20,
                           .ragged = true,
                           .causal_alignment = RAPT_CAUSAL_ALIGNMENT_LOWER_RIGHT,
                           .causal = true,
                           .score = score,
                           .normalizer = normalizer,
                           .cap = 3,
                           .slopes = true,
                           .learned = true};
}

/* Compares all results but those of the matrices, with which `talking` has one or both. */
static void compare(const struct choice *c, int talking)
{
    struct choice mixed = *c;
    mixed.talking = talking;
    struct trial x = make_trial(c, 3), y = make_trial(c, 3);
    const float identity[HEADS * HEADS] = {[0] = 1, [5] = 1, [10] = 1, [15] = 1};
    size_t n = 0, m = 0;
    if (talking & TALKING_SCORES) y.a.talking_scores = identity;
    if (talking & TALKING_WEIGHTS) y.a.talking_weights = identity;
    float *plain = results(&x, &n), *other = results(&y, &m);
    assert_int_equal(n, m);
    for (size_t i = 0; i < n; i++) /* 0 equals -0 */
        if (plain[i] != other[i])
            fail_msg("%s, result %zu: %.9g, then %.9g", choice_text(&mixed), i, (double)plain[i],
                     (double)other[i]);
    free(plain), free(other);
    drop_trial(&x), drop_trial(&y);
}

static void identity(void **state)
{
    (void)state;
    static const rapt_normalizer normalizers[] = {RAPT_NORMALIZER_SPARSEMAX, RAPT_NORMALIZER_ENTMAX,
                                                  RAPT_NORMALIZER_GUMBEL_SOFTMAX};
    for (int i = 0; i < 3; i++)
        for (int talking = 1; talking <= TALKING; talking++) {
            const struct choice dot = choice_of(RAPT_SCORE_SCALED_DOT, normalizers[i]);
            const struct choice additive = choice_of(RAPT_SCORE_ADDITIVE, normalizers[i]);
            compare(&dot, talking);
            compare(&additive, talking);
        }
}

/* Results have the same bits for any number of threads and every instruction set. */
static void bits(void **state)
{
    (void)state;
    static const struct choice choices[] = {
        {.batch = 3,
         .heads = 6,
         .key_heads = 2,
         .queries = 50,
         .keys = 170,
         .key_width = 16,
         .value_width = 24,
         .ragged = true,
         .causal_alignment = RAPT_CAUSAL_ALIGNMENT_LOWER_RIGHT,
         .causal = true,
         .bias = PER_HEAD | PER_ROW,
         .dropout = 0.1f,
         .forget = true,
         .talking = TALKING},
        {.batch = 5,
         .heads = 3,
         .queries = 30,
         .keys = 600,
         .key_width = 8,
         .value_width = 20,
         .causal_alignment = RAPT_CAUSAL_ALIGNMENT_LOWER_RIGHT,
         .window = true,
         .before = 9,
         .after = 9,
         .score = RAPT_SCORE_ADDITIVE,
         .learned = true,
         .normalizer = RAPT_NORMALIZER_ENTMAX,
         .cap = 4,
         .slopes = true,
         .talking = TALKING},
    };
    for (int i = 0; i < 2; i++) {
        struct trial x = make_trial(&choices[i], (uint64_t)i);
        assert_same_results(&x, choice_text(&choices[i]), NULL);
        drop_trial(&x);
    }
}

/* The second head sees no key, and gets twice the weights of the first, which sees both. */
static void silent_head(void **state)
{
    (void)state;
    static const float q[] = {1, 1}, k[] = {1, 1, 2, 2}, v[] = {3, 5, 7, 11};
    static const float weights[] = {1, 0, 2, 1};
    static const uint8_t allowed[] = {1, 1, 0, 0};
    rapt_attention a;
    float out[2], lse[2];
    rapt_attention_init(&a, sizeof a, 1, 2, 1, 2, 1);
    a.mask.allowed = allowed, a.mask.allowed_stride.head = 2, a.threads = 1;
    a.talking_weights = weights;
    const rapt_attention_saved saved = {.size = sizeof saved, .lse = lse};
    void *workspace = make_workspace(&a);
    assert_int_equal(rapt_attention_forward(&a, q, k, v, out, &saved, workspace, NULL), RAPT_OK);
    assert_true(out[0] == 4 && out[1] == 18); /* means of 3 and 5, and of 7 and 11 */
    assert_true(lse[1] == -INFINITY);
    drop_workspace(&a, workspace);
}

static size_t workspace_of(int queries, int keys)
{
    static const float matrix[HEADS * HEADS];
    rapt_attention a;
    rapt_attention_init(&a, sizeof a, 1, HEADS, queries, keys, 8);
    a.talking_scores = matrix, a.threads = 1;
    size_t bytes = rapt_attention_workspace(&a);
    assert_true(bytes > 0);
    return bytes;
}

static void memory(void **state)
{
    (void)state;
    assert_true((double)workspace_of(1 << 20, 4096) < 1.1 * (double)workspace_of(64, 4096));
    assert_true((double)workspace_of(64, 8 * 4096) < 8.5 * (double)workspace_of(64, 4096));
}

static void refuse(const rapt_attention *a, const char *text)
{
    rapt_message why = {""};
    assert_int_equal(rapt_attention_check(a, &why), RAPT_BAD_ARGUMENT);
    if (!strstr(why.text, text)) fail_msg("%s does not say %s", why.text, text);
}

static void refused(void **state)
{
    (void)state;
    static const rapt_score scores[] = {RAPT_SCORE_LOCATION_AWARE, RAPT_SCORE_COVERAGE};
    const float matrix[HEADS * HEADS] = {0};
    for (int i = 0; i < 2; i++) {
        const struct choice c = choice_of(scores[i], RAPT_NORMALIZER_SOFTMAX);
        struct trial x = make_trial(&c, 1);
        assert_int_equal(rapt_attention_check(&x.a, NULL), RAPT_OK);
        x.a.talking_weights = matrix;
        refuse(&x.a, i ? "talking_weights must be NULL if score is coverage"
                       : "talking_weights must be NULL if score is location-aware");
        x.a.talking_scores = matrix;
        refuse(&x.a, "talking_scores must be NULL");
        drop_trial(&x);
    }
    rapt_attention a;
    rapt_attention_init(&a, sizeof a, 1, 65537, 1, 1, 1);
    a.talking_scores = matrix;
    refuse(&a, "heads is 65537");
}

/* Each array of distances is refused by itself, with either matrix. */
static void refused_distances(void **state)
{
    (void)state;
    const float matrix[HEADS * HEADS] = {0}, vectors[HEADS * 64] = {0};
    struct choice c = choice_of(RAPT_SCORE_DOT, RAPT_NORMALIZER_SOFTMAX);
    c.causal_alignment = RAPT_CAUSAL_ALIGNMENT_UPPER_LEFT;
    struct trial x = make_trial(&c, 1);
    for (int i = 0; i < 8; i++) {
        rapt_attention a = x.a;
        const float **arrays[] = {&a.distances.keys, &a.distances.queries, &a.distances.values,
                                  &a.distances.content_bias};
        *arrays[i / 2] = vectors;
        assert_int_equal(rapt_attention_check(&a, NULL), RAPT_OK);
        *(i % 2 ? &a.talking_scores : &a.talking_weights) = matrix;
        refuse(&a, "talking heads cannot be combined with distance vectors");
    }
    drop_trial(&x);
}

/* Gradients can only be requested for matrices that the problem has. */
static void absent_matrices(void **state)
{
    (void)state;
    rapt_message why;
    const struct choice c = choice_of(RAPT_SCORE_DOT, RAPT_NORMALIZER_SOFTMAX);
    struct trial x = make_trial(&c, 1);
    float to[HEADS * HEADS];
    void *workspace = make_workspace(&x.a);
    for (int i = 0; i < 2; i++) {
        rapt_gradients d = {.size = sizeof d};
        *(i ? &d.talking_weights : &d.talking_scores) = to;
        assert_int_equal(rapt_attention_backward(&x.a, x.q, x.k, x.v, x.out, &x.saved, x.dout, NULL,
                                                 &d, workspace, &why),
                         RAPT_BAD_ARGUMENT);
        assert_non_null(strstr(why.text, i ? "talking_weights" : "talking_scores"));
    }
    free(workspace);
    drop_trial(&x);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(identity),        cmocka_unit_test(bits),
        cmocka_unit_test(silent_head),     cmocka_unit_test(memory),
        cmocka_unit_test(refused),         cmocka_unit_test(refused_distances),
        cmocka_unit_test(absent_matrices),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
