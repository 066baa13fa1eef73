/* reward.c - the mean loss is a running mean over the batches that gave gradients, and rewards are
   the losses from a row on. model/gradient.c judges the gradient made from them. */
#include "skips.h"
#include "train/small_train.h"

#include "train/train.h"

static const rapt_config sampling = {.size = sizeof(rapt_config),
                                     .source_vocab = 7,
                                     .target_vocab = 9,
                                     .positions = 12,
                                     .width = 8,
                                     .heads = 2,
                                     .encoder_layers = 1,
                                     .decoder_layers = 1,
                                     .cross_normalizer = RAPT_NORMALIZER_SAMPLE};

static void test_expected(void **state)
{
    (void)state;
    rapt_train_options o = dropout_and_clipping();
    rapt_model *model = small_model(&sampling, 3);
    rapt_trainer *trainer = trainer_of(model, &o, 2);
    struct small_batch source, target;
    rapt_report report = {.size = sizeof report};
    double wanted = log(9);
    assert_true(fabs(trainer->state.mean_loss - wanted) < 1e-12);
    for (int i = 0; i < 3; i++) {
        rapt_report one = {.size = sizeof one};
        batch_of(&sampling, i, &source, &target);
        assert_int_equal(
            rapt_train_evaluate(trainer, &source.tokens, &target.tokens, &report, NULL), RAPT_OK);
        assert_true(fabs(trainer->state.mean_loss - wanted) < 1e-12);
        assert_int_equal(rapt_train_gradient(trainer, &source.tokens, &target.tokens, &one, NULL),
                         RAPT_OK);
        wanted = 0.95 * wanted + 0.05 * one.loss / (double)one.tokens;
        assert_true(fabs(trainer->state.mean_loss - wanted) < 1e-12);
    }
    rapt_trainer_free(trainer);
    rapt_model_free(model);
}

/* A row's own loss counts fully and later ones less, in rewards and in baselines. */
static void test_reductions(void **state)
{
    (void)state;
    rapt_train_options o = dropout_and_clipping();
    o.baseline = RAPT_BASELINE_EXPECTED, o.reward_scale = 2, o.reward_decay = 0.5f;
    rapt_model *model = small_model(&sampling, 3);
    rapt_trainer *t = trainer_of(model, &o, 1);
    static const int source_starts[] = {0, 2, 3}, target_starts[] = {0, 3, 3};
    const struct rows source = {2, 3, source_starts, 2}, target = {2, 3, target_starts, 3};
    for (int r = 0; r < 3; r++) t->losses[r] = (float)(r + 1), t->labels[r] = r;
    for (int r = 0; r < 3; r++) t->expected_losses[r] = (float)(4 << r);
    rapt__rewards_fill(t, &source, &target);
    static const float later[] = {-5.5f, -7, -6}, expected[] = {-24, -32, -32},
                       whole[] = {-12, -12, 0}, whole_expected[] = {-56, -56, 0};
    for (int h = 0; h < 2; h++)
        for (int r = 0; r < 3; r++) {
            assert_true(t->decoder_reward[3 * h + r] == later[r]);
            assert_true(t->decoder_baseline[3 * h + r] == expected[r]);
            assert_true(t->encoder_reward[3 * h + r] == whole[r]);
            assert_true(t->encoder_baseline[3 * h + r] == whole_expected[r]);
        }
    rapt_trainer_free(t);
    rapt_model_free(model);
}

/* Over many batches, the expected share of sequences attends to expected values. */
static void test_share(void **state)
{
    (void)state;
    rapt_train_options o = dropout_and_clipping();
    o.expected_share = 0.25f;
    rapt_model *model = small_model(&sampling, 3);
    rapt_trainer *t = trainer_of(model, &o, 1);
    int count = 0;
    for (uint64_t key = 0; key < 1000; key++) {
        rapt__expected_draw(t, BATCH, key);
        for (int b = 0; b < BATCH; b++) count += t->expected[b];
    }
    assert_true(abs(count - 1000) < 4 * 28); /* four standard deviations of 4000 draws */
    rapt_trainer_free(t);
    rapt_model_free(model);
}

/* The same bits with any number of threads and on any instruction set. */
static void test_bits(void **state)
{
    (void)state;
    rapt_isa sets[EQUAL_SETS], used = rapt_isa_used();
    int count = equal_sets("train/reward, instruction sets", sets);
    for (int i = 0; i < 2; i++) {
        rapt_config c = sampling;
        rapt_train_options o = dropout_and_clipping();
        if (i == 0) o.baseline = RAPT_BASELINE_EXPECTED, o.expected_share = 0.5f;
        if (i == 0) o.reward_scale = 0.1f, o.reward_decay = 0.5f, o.reward_entropy = 0.1f;
        if (i == 1) c.cross_normalizer = RAPT_NORMALIZER_ARGMAX, o.anneal = 9, o.anneal_steps = 5;
        double loss, first_loss;
        rapt_model *model = small_model(&c, 1);
        size_t size = rapt_model_parameters(model) * sizeof(float);
        float *first = train(&c, &o, 1, 7, &first_loss);
        for (int k = 0; k < 3 * count; k++) {
            assert_int_equal(rapt_isa_use(sets[k / 3]), RAPT_OK);
            float *now = train(&c, &o, 1 + 3 * (k % 3), 7, &loss);
            assert_true(loss == first_loss);
            assert_memory_equal(now, first, size);
            free(now);
        }
        rapt_isa_use(used);
        rapt_model_free(model);
        free(first);
    }
}

static void test_rewards(void **state)
{
    (void)state;
    rapt_train_options o = dropout_and_clipping();
    rapt_model *model = small_model(&sampling, 3);
    rapt_trainer *t = trainer_of(model, &o, 1);
    static const int source_starts[] = {0, 2, 3}, target_starts[] = {0, 3, 3};
    const struct rows source = {2, 3, source_starts, 2}, target = {2, 3, target_starts, 3};
    for (int r = 0; r < 3; r++) t->losses[r] = (float)(r + 1), t->labels[r] = r;
    t->state.mean_loss = 2;
    rapt__rewards_fill(t, &source, &target);
    static const float later[] = {-6, -5, -3}, as_expected[] = {-6, -4, -2}, whole[] = {-6, -6, 0};
    for (int h = 0; h < 2; h++)
        for (int r = 0; r < 3; r++) {
            assert_true(t->decoder_reward[3 * h + r] == later[r]);
            assert_true(t->decoder_baseline[3 * h + r] == as_expected[r]);
            assert_true(t->encoder_reward[3 * h + r] == whole[r]);
            assert_true(t->encoder_baseline[3 * h + r] == whole[r]);
        }
    rapt_trainer_free(t);
    rapt_model_free(model);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_expected),   cmocka_unit_test(test_rewards),
        cmocka_unit_test(test_reductions), cmocka_unit_test(test_share),
        cmocka_unit_test(test_bits),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
