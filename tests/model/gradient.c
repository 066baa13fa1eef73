/* gradient.c - compares the gradient of every parameter of whole models with central difference
   quotients of the definition (oracle/transformer.c), which has its own dropout and draws, with its
   own Philox and derivation of keys. */
#include "model/variants.h"

#include "oracle/attention.h"
#include "oracle/transformer.h"

#include <rapt/precision.h>

static const int source_lengths[] = {3, 1, 4}, target_lengths[] = {4, 5, 2}, ones[] = {1, 1, 1};

struct trial {
    const rapt_config *config;
    rapt_train_options options;
    rapt_model *model;
    rapt_trainer *trainer;
    struct oracle_model *oracle;
    struct oracle_drop *drop;
    struct small_batch source, target;
    double error; /* times the usual one is allowed */
};

static void begin(struct trial *t, const rapt_config *config, uint64_t seed)
{
    rapt_train_limits limits = {
        .size = sizeof limits, .batch = 3, .source_tokens = 8, .target_tokens = 11, .threads = 2};
    rapt_message why = {""};
    t->config = config;
    t->model = small_model(config, seed);
    if (rapt_trainer_create(&t->trainer, t->model, &t->options, &limits, NULL, &why))
        fail_msg("%s", why.text);
    t->oracle = oracle_model_read(t->model);
    t->oracle->noise = (double)t->options.monotonic_noise;
    t->error = 1;
    small_fill(&t->source, small_source_ids(config), source_lengths, 3, seed);
    small_fill(&t->target, config->target_vocab,
               config->pooling                          ? ones
               : config->kind == RAPT_KIND_ENCODER_ONLY ? source_lengths
                                                        : target_lengths,
               3, seed + 1);
    if (config->kind == RAPT_KIND_ENCODER_ONLY) t->target.ids[2] = t->target.ids[5] = -1;
}

static void end(struct trial *t)
{
    rapt_trainer_free(t->trainer);
    rapt_model_free(t->model);
    oracle_model_free(t->oracle);
}

/* Returns the loss, with the terms whose gradient is that of REINFORCE. */
static double loss(const struct trial *t)
{
    t->oracle->terms = 0;
    double loss = oracle_batch_loss(t->oracle, t->drop, &t->source.tokens, &t->target.tokens,
                                    (double)t->options.label_smoothing, NULL);
    return loss + t->oracle->terms;
}

/* Returns the derivative of the loss at x along direction[size]. */
static double slope(const struct trial *t, double *x, const double *direction, size_t size)
{
    double *at = small_copy(x, size * sizeof *x), h = 2e-6, above, below;
    for (size_t i = 0; i < size; i++) x[i] = at[i] + h * direction[i];
    above = loss(t);
    for (size_t i = 0; i < size; i++) x[i] = at[i] - h * direction[i];
    below = loss(t);
    memcpy(x, at, size * sizeof *x);
    free(at);
    return (above - below) / (2 * h);
}

static void judge_slope(const struct trial *t, const char *name, size_t i, double got,
                        double wanted, double limit)
{
    char text[160];
    if (!(fabs(got - wanted) <= limit))
        fail_msg("%s, %s[%zu]: got %.9g, wanted %.9g +- %g", variant_name(t->config, text), name, i,
                 got, wanted, limit);
}

enum { SINGLE = 6 };

/* Compares a few elements one by one, and all of them along a direction of random signs. A wrong
   element shows in the sum, while the errors of correct ones add up only as the root of their sum
   of squares. */
static void compare_tensor(const struct trial *t, int index)
{
    struct oracle_tensor *x = &t->oracle->tensors[index];
    size_t size = (size_t)x->rows * (size_t)x->columns, step = size / SINGLE + 1;
    float *got = malloc(size * sizeof *got);
    double *signs = calloc(size, sizeof *signs), sum = 0, max = 0;
    assert_int_equal(rapt_trainer_read_gradient(t->trainer, index, got, NULL), RAPT_OK);
    for (size_t i = 0; i < size; i++) max = fmax(max, fabs((double)got[i]));
    double limit = 5e-6 * (1 + max) * t->error;
    for (size_t i = (size_t)index % step; i < size; i += step) {
        signs[i] = 1;
        judge_slope(t, x->name, i, (double)got[i], slope(t, x->data, signs, size), limit);
        signs[i] = 0;
    }
    for (size_t i = 0; i < size; i++) {
        signs[i] = small_random((uint64_t)index, i) % 2 ? 1 : -1;
        sum += signs[i] * (double)got[i];
    }
    judge_slope(t, x->name, size, sum, slope(t, x->data, signs, size), limit * sqrt((double)size));
    free(got);
    free(signs);
}

static void compare(struct trial *t)
{
    rapt_report report = {.size = sizeof report};
    rapt_message why = {""};
    if (rapt_train_gradient(t->trainer, &t->source.tokens, &t->target.tokens, &report, &why))
        fail_msg("%s", why.text);
    oracle_model_hold(t->oracle);
    double likelihood;
    t->oracle->terms = 0;
    double wanted = oracle_batch_loss(t->oracle, t->drop, &t->source.tokens, &t->target.tokens,
                                      (double)t->options.label_smoothing, &likelihood);
    assert_true(fabs(report.loss - wanted) <= 1e-5 * wanted * t->error);
    assert_true(fabs(report.likelihood - likelihood) <= 1e-5 * likelihood * t->error);
    if (t->oracle->coverage > 0)
        assert_true(fabs(report.coverage - t->oracle->terms) <= 1e-5 * t->oracle->terms);
    int tokens = t->config->pooling ? 2 : t->config->kind == RAPT_KIND_ENCODER_ONLY ? 6 : 8;
    assert_int_equal(report.tokens, tokens);
    for (int i = 0; i < t->oracle->count; i++) compare_tensor(t, i);
}

static void test_every_parameter(void **state)
{
    (void)state;
    for (int i = 0; i < COUNT(small_configs); i++) {
        struct trial t = {0};
        rapt_train_options_default(&t.options, sizeof t.options);
        t.options.dropout = 0;
        t.options.label_smoothing = i % 3 ? 0.1f : 0;
        struct oracle_drop none = {0, 0, 0, t.options.seed, 0};
        t.drop = &none;
        begin(&t, &small_configs[i], (uint64_t)i + 1);
        compare(&t);
        end(&t);
    }
}

static void test_dropout(void **state)
{
    (void)state;
    static const int which[] = {0, 1, 3, 7, 10};
    for (int i = 0; i < COUNT(which); i++) {
        struct trial t = {0};
        rapt_train_options_default(&t.options, sizeof t.options);
        t.options.dropout = 0.3f, t.options.attention_dropout = 0.2f, t.options.ffn_dropout = 0.4f;
        t.options.seed = 77 + (uint64_t)i;
        struct oracle_drop drop = {0.3f, 0.2f, 0.4f, t.options.seed, 0};
        t.drop = &drop;
        begin(&t, &small_configs[which[i]], (uint64_t)i + 50);
        compare(&t);
        end(&t);
    }
}

/* Tests a score, locality and normalizer with dropout, noise and draws. */
static void judge_variant(const rapt_config *config, int i)
{
    struct trial t = {0};
    rapt_train_options_default(&t.options, sizeof t.options);
    t.options.dropout = 0;
    t.options.attention_dropout = i % 4 ? 0.2f : 0;
    t.options.seed = (uint64_t)i;
    struct oracle_drop drop = {0, t.options.attention_dropout, 0, t.options.seed, 0};
    t.drop = &drop;
    /* With these seeds, no score is near the threshold of a sparse normalizer. */
    begin(&t, config, (uint64_t)i + 201);
    t.oracle->expected = log((double)config->target_vocab);
    compare(&t);
    end(&t);
}

static void test_variants(void **state)
{
    (void)state;
    for (int i = 0; i < VARIANTS; i += 2) { /* the other half is in cross-attention */
        const rapt_config config = variant(i);
        judge_variant(&config, i);
    }
    for (int n = 0; n < VARIANTS / RAPT_NORMALIZER_COUNT; n++) { /* sampled keys, with any score and
                                                                    locality */
        int i = n * RAPT_NORMALIZER_COUNT + RAPT_NORMALIZER_SAMPLE;
        const rapt_config half =
            variant_half(i, n % 2 ? RAPT_KIND_ENCODER_ONLY : RAPT_KIND_DECODER_ONLY);
        assert_int_equal(half.self_normalizer, RAPT_NORMALIZER_SAMPLE);
        judge_variant(&half, i);
    }
}

/* Tests one label per sequence, also with sampled keys, which are rewarded for that label. */
static void test_pooled(void **state)
{
    (void)state;
    for (int i = 0; i < 6; i++) {
        rapt_config c = i < 4 ? small_configs[7 + i / 2]
                              : variant_half(RAPT_NORMALIZER_SAMPLE, RAPT_KIND_ENCODER_ONLY);
        c.pooling = i % 2 ? RAPT_POOLING_MEAN : RAPT_POOLING_FIRST;
        c.pooler = i % 3 == 0, c.embedding_norm = i % 4 == 0, c.token_types = i;
        judge_variant(&c, i);
    }
}

/* Tests sampled keys mixed with expected values, with every option of the rewards. */
static void judge_reductions(const rapt_config *config, int i)
{
    struct trial t = {0};
    rapt_train_options *o = &t.options;
    rapt_train_options_default(o, sizeof *o);
    o->dropout = i % 2 ? 0.2f : 0, o->seed = (uint64_t)i + 5;
    o->baseline = i % 3 ? RAPT_BASELINE_EXPECTED : RAPT_BASELINE_MEAN;
    o->expected_share = i % 4 ? 0.5f : 0;
    o->reward_scale = 0.7f, o->reward_decay = i % 4 == 1 ? 1 : 0.25f;
    o->reward_entropy = i % 2 ? 0.3f : -0.2f;
    struct oracle_drop drop = {o->dropout, 0, 0, o->seed, 0};
    t.drop = &drop;
    begin(&t, config, (uint64_t)i + 300);
    struct oracle_model *m = t.oracle;
    m->expected = log((double)config->target_vocab);
    m->share = (double)o->expected_share, m->entropy = (double)o->reward_entropy;
    m->scale = (double)o->reward_scale, m->decay = (double)o->reward_decay;
    double *expected = oracle_expected_losses(m, &drop, &t.source.tokens, &t.target.tokens,
                                              (double)o->label_smoothing);
    if (o->baseline) m->expected_losses = expected;
    compare(&t);
    free(expected);
    end(&t);
}

static void test_reductions(void **state)
{
    (void)state;
    for (int i = 0; i < 12; i++) {
        rapt_config c = i % 6 > 3
                            ? variant_half(RAPT_NORMALIZER_SAMPLE,
                                           i % 2 ? RAPT_KIND_ENCODER_ONLY : RAPT_KIND_DECODER_ONLY)
                            : variant(i);
        if (i % 6 <= 3) c.cross_normalizer = RAPT_NORMALIZER_SAMPLE;
        if (i == 5) c.pooling = RAPT_POOLING_MEAN;
        judge_reductions(&c, i);
    }
}

/* An annealed arg-max is a softmax that becomes sharper with each step. At its end it has no
   gradient. */
static void test_annealed(void **state)
{
    (void)state;
    const double sharp[] = {1, 2, 4, 0}; /* 8^(n/3) */
    rapt_config c = variant(RAPT_NORMALIZER_SOFTMAX);
    c.cross_normalizer = RAPT_NORMALIZER_ARGMAX;
    struct trial t = {0};
    rapt_train_options_default(&t.options, sizeof t.options);
    t.options.dropout = 0, t.options.attention_dropout = 0.3f;
    t.options.anneal = 8, t.options.anneal_steps = 3;
    begin(&t, &c, 9);
    for (int step = 0; step < 4; step++) {
        struct oracle_drop drop = {0, 0.3f, 0, t.options.seed, (uint64_t)step};
        t.drop = &drop;
        oracle_model_free(t.oracle);
        t.oracle = oracle_model_read(t.model);
        t.oracle->anneal = sharp[step];
        compare(&t);
        assert_int_equal(rapt_train_step(t.trainer, NULL, NULL), RAPT_OK);
    }
    end(&t);
}

/* Tests guided alignment in either layer with every score and locality: the loss also moves the
   weights of one head. */
static void judge_guided(rapt_config c, int i)
{
    static const int starts[] = {0, 1, 3, 3, 4, 4, 4, 5, 8}, sources[] = {2, 0, 1, 0, 0, 3, 1, 2};
    const rapt_alignment alignment = {starts, sources};
    struct trial t = {0};
    rapt_message why = {""};
    rapt_train_options_default(&t.options, sizeof t.options);
    t.options.dropout = 0, t.options.attention_dropout = i % 2 ? 0.3f : 0;
    t.options.seed = (uint64_t)i, t.options.guided_alignment = 0.7f;
    struct oracle_drop drop = {0, t.options.attention_dropout, 0, t.options.seed, 0};
    t.drop = &drop;
    c.alignment_layer = 1 + i % c.decoder_layers;
    begin(&t, &c, (uint64_t)i + 400);
    t.oracle->expected = log((double)c.target_vocab);
    t.error = 2; /* the loss divides by small weights */
    t.oracle->alignment = &alignment, t.oracle->guided = (double)t.options.guided_alignment;
    if (rapt_train_align(t.trainer, &alignment, &why)) fail_msg("%s", why.text);
    compare(&t);
    end(&t);
}

static void test_guided(void **state)
{
    (void)state;
    int judged = 0;
    for (int i = 0; i < VARIANTS; i += 4) {
        rapt_config c = variant(i);
        c.cross_normalizer = RAPT_NORMALIZER_SOFTMAX;
        judge_guided(c, judged++);
    }
    for (int i = 0; i < COUNT(small_configs); i++)
        if (small_configs[i].kind == RAPT_KIND_ENCODER_DECODER && !small_configs[i].differential &&
            !small_configs[i].talking_heads && !small_configs[i].monotonic)
            judge_guided(small_configs[i], judged++);
}

/* Tests the coverage loss, whose gradient flows through weights and through their sums. */
static void judge_coverage(const rapt_config *config, int i)
{
    struct trial t = {0};
    rapt_train_options_default(&t.options, sizeof t.options);
    t.options.dropout = 0, t.options.attention_dropout = i % 3 ? 0 : 0.3f;
    t.options.seed = (uint64_t)i, t.options.coverage_loss = 1.5f;
    struct oracle_drop drop = {0, t.options.attention_dropout, 0, t.options.seed, 0};
    t.drop = &drop;
    begin(&t, config, (uint64_t)i + 600);
    t.oracle->coverage = (double)t.options.coverage_loss;
    compare(&t);
    end(&t);
}

static void test_coverage(void **state)
{
    (void)state;
    for (int i = 0; i < VARIANTS; i++) {
        rapt_config c = variant(i);
        if (c.cross_score != RAPT_SCORE_COVERAGE) continue;
        if (c.cross_normalizer >= RAPT_NORMALIZER_ARGMAX &&
            c.cross_normalizer <= RAPT_NORMALIZER_STRAIGHT_THROUGH)
            continue;
        c.decoder_layers = 1 + i % 2;
        c.self_normalizer = RAPT_NORMALIZER_SOFTMAX; /* terms are those of the coverage loss only */
        judge_coverage(&c, i);
    }
}

/* In 8 bits, gradients are those of the rounded parameters if what rounding adds to activations is
   held fixed. A second term that becomes the integer next to the oracle's is the largest error. */
static void judge_quantized(const rapt_config *config, int i)
{
    struct trial t = {0};
    rapt_message why = {""};
    rapt_model *bytes = small_model(config, (uint64_t)i + 500);
    rapt_train_options_default(&t.options, sizeof t.options);
    t.options.quantize_aware = 1, t.options.seed = (uint64_t)i + 3;
    t.options.dropout = i % 2 ? 0.2f : 0, t.options.ffn_dropout = i % 3 ? 0.3f : 0;
    struct oracle_drop drop = {t.options.dropout, 0, t.options.ffn_dropout, t.options.seed, 0};
    t.drop = &drop;
    begin(&t, config, (uint64_t)i + 500);
    oracle_model_free(t.oracle);
    if (rapt_model_set_precision(bytes, RAPT_PRECISION_INT8, 1, &why)) fail_msg("%s", why.text);
    t.oracle = oracle_model_read(bytes);
    t.oracle->noise = (double)t.options.monotonic_noise;
    t.oracle->int8 = 1, t.oracle->expected = log((double)config->target_vocab);
    t.error = 5;
    compare(&t);
    rapt_model_free(bytes);
    end(&t);
}

static void test_quantized(void **state)
{
    (void)state;
    for (int i = 0; i < COUNT(small_configs); i++) judge_quantized(&small_configs[i], i);
    rapt_config c = small_configs[7];
    c.pooling = RAPT_POOLING_MEAN, c.pooler = 1;
    judge_quantized(&c, 20);
}

/* Gradients of two batches must add up, and equal those of one batch with all sentences. */
static void test_sums(void **state)
{
    (void)state;
    struct trial t = {0};
    rapt_train_options_default(&t.options, sizeof t.options);
    rapt_report report = {.size = sizeof report};
    size_t count;
    long long *tokens;
    t.options.dropout = 0;
    begin(&t, &small_configs[0], 5);
    const float *gradients = rapt_trainer_gradients(t.trainer, &count, &tokens);
    for (int b = 0; b < 3; b++) {
        int s[2], u[2];
        rapt_tokens source = small_one(&t.source.tokens, b, s),
                    target = small_one(&t.target.tokens, b, u);
        assert_int_equal(rapt_train_gradient(t.trainer, &source, &target, &report, NULL), RAPT_OK);
    }
    assert_int_equal(*tokens, 8);
    float *apart = small_copy(gradients, count * sizeof *apart);
    assert_int_equal(rapt_train_step(t.trainer, &report, NULL), RAPT_OK);
    assert_int_equal(*tokens, 0);
    for (size_t i = 0; i < count; i++) assert_true(gradients[i] == 0);
    end(&t);
    begin(&t, &small_configs[0], 5);
    gradients = rapt_trainer_gradients(t.trainer, &count, &tokens);
    assert_int_equal(
        rapt_train_gradient(t.trainer, &t.source.tokens, &t.target.tokens, &report, NULL), RAPT_OK);
    for (size_t i = 0; i < count; i++)
        assert_true(fabs((double)(gradients[i] - apart[i])) <= 1e-5 * (1 + fabs((double)apart[i])));
    free(apart);
    end(&t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_parameter), cmocka_unit_test(test_dropout),
        cmocka_unit_test(test_variants),        cmocka_unit_test(test_pooled),
        cmocka_unit_test(test_reductions),      cmocka_unit_test(test_annealed),
        cmocka_unit_test(test_guided),          cmocka_unit_test(test_coverage),
        cmocka_unit_test(test_quantized),       cmocka_unit_test(test_sums),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
