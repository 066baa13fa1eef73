/* trainer_memory.c - options, limits and batches that a trainer must refuse, and those at the edge
   that it must accept. */
#include "train/small_train.h"

static void refuse_options(rapt_model *model, rapt_train_options options, const char *field)
{
    rapt_trainer *trainer = (rapt_trainer *)(uintptr_t)1;
    rapt_message why = {""};
    assert_int_equal(rapt_trainer_create(&trainer, model, &options, &small_limits, NULL, &why),
                     RAPT_BAD_ARGUMENT);
    assert_true((uintptr_t)trainer == 1);
    if (!strstr(why.text, field)) fail_msg("\"%s\" does not name %s", why.text, field);
}

static void refuse_limits(rapt_model *model, rapt_train_limits l)
{
    rapt_trainer *trainer = (rapt_trainer *)(uintptr_t)1;
    rapt_train_options options;
    rapt_train_options_default(&options, sizeof options);
    rapt_message why = {""};
    assert_int_equal(rapt_trainer_create(&trainer, model, &options, &l, NULL, &why),
                     RAPT_BAD_ARGUMENT);
    assert_true((uintptr_t)trainer == 1 && why.text[0]);
    assert_int_equal(rapt_trainer_bytes(model, &l), 0);
}

static void test_options(void **state)
{
    (void)state;
    rapt_model *model = small_model(&small_configs[0], 1);
#define REFUSE(field, value)                                                                       \
    do {                                                                                           \
        rapt_train_options o;                                                                      \
        rapt_train_options_default(&o, sizeof o);                                                  \
        o.field = value;                                                                           \
        refuse_options(model, o, #field);                                                          \
    } while (0)
    REFUSE(rate, -1);
    REFUSE(rate, NAN);
    REFUSE(rate, INFINITY);
    REFUSE(rate, 3e38f);
    REFUSE(warmup, -1);
    REFUSE(steps, -1);
    REFUSE(schedule, (rapt_schedule)3);
    REFUSE(schedule, (rapt_schedule)-1);
    REFUSE(beta1, 1);
    REFUSE(beta1, -0.1f);
    REFUSE(beta2, NAN);
    REFUSE(epsilon, -1);
    REFUSE(epsilon, NAN);
    REFUSE(epsilon, INFINITY);
    REFUSE(epsilon, 0);
    REFUSE(weight_decay, -1);
    REFUSE(weight_decay, 1e7f);
    REFUSE(clip_norm, NAN);
    REFUSE(label_smoothing, 1);
    REFUSE(dropout, 1);
    REFUSE(dropout, NAN);
    REFUSE(attention_dropout, -1);
    REFUSE(ffn_dropout, 2);
    REFUSE(products, (rapt_products)(RAPT_PRODUCTS_BF16_TILES + 1));
    REFUSE(products, (rapt_products)-1);
    REFUSE(baseline, (rapt_baseline)2);
    REFUSE(expected_share, 1.5f);
    REFUSE(expected_share, 0.5f); /* the model does not sample */
    REFUSE(reward_scale, -1);
    REFUSE(reward_scale, 0.1f);
    REFUSE(reward_decay, NAN);
    REFUSE(reward_decay, 1);
    REFUSE(reward_entropy, -2e6f);
    REFUSE(reward_entropy, -1);
    REFUSE(anneal, 2);
    REFUSE(anneal_steps, 5);
    REFUSE(anneal_steps, -1);
    REFUSE(guided_alignment, -1);
    REFUSE(guided_alignment, 0.1f); /* the model has no alignment_layer */
    REFUSE(coverage_loss, -1);
    REFUSE(coverage_loss, 1); /* the model has no coverage */
    REFUSE(quantize_aware, 2);
    REFUSE(quantize_aware, -1);
#undef REFUSE
    enum { size = sizeof(rapt_train_limits) };
    static const rapt_train_limits wrong[] = {
        {size, 0, 4, 4, .threads = 0},         {size, -1, 4, 4, .threads = 0},
        {size, 2, -1, 4, .threads = 0},        {size, 2, 4, -1, .threads = 0},
        {size, 2, 4, 4, .threads = -1},        {size, 2, INT32_MAX, 4, .threads = 0},
        {size, 2, 4, INT32_MAX, .threads = 0}, {size, INT32_MAX, 4, 4, .threads = 0},
        {size, 2, INT32_MIN, 4, .threads = 0}, {size, 2, 4, 4, .threads = INT32_MIN},
    };
    for (int i = 0; i < COUNT(wrong); i++) refuse_limits(model, wrong[i]);
    rapt_model_free(model);
}

static void refuse_batch(rapt_trainer *trainer, const rapt_tokens *source,
                         const rapt_tokens *target)
{
    rapt_report report = {.size = sizeof report}, zero = report;
    rapt_message why = {""};
    size_t count;
    long long *tokens;
    const float *gradients = rapt_trainer_gradients(trainer, &count, &tokens);
    assert_int_equal(rapt_train_gradient(trainer, source, target, &report, &why),
                     RAPT_BAD_ARGUMENT);
    assert_true(why.text[0]);
    assert_int_equal(rapt_train_evaluate(trainer, source, target, &report, NULL),
                     RAPT_BAD_ARGUMENT);
    assert_memory_equal(&report, &zero, sizeof report);
    assert_int_equal(*tokens, 0);
    for (size_t i = 0; i < count; i++) assert_true(gradients[i] == 0);
}

static void test_wrong_batches(void **state)
{
    (void)state;
    rapt_model *model = small_model(&small_configs[0], 1);
    rapt_train_options o;
    rapt_train_options_default(&o, sizeof o);
    rapt_trainer *trainer = trainer_of(model, &o, 1);
    int32_t ids[40] = {1, 2, 3, 4, 5}, high[] = {12, 12}, low[] = {1, -1};
    rapt_tokens good = {.batch = 1, .ids = ids, .starts = (const int[]){0, 3}},
                two = {.batch = 2, .ids = ids, .starts = (const int[]){0, 3, 5}};
    const rapt_tokens wrong[] = {
        {.batch = 1, .ids = ids, .starts = (const int[]){1, 3}},
        {.batch = 1, .ids = ids, .starts = (const int[]){0, -1}},
        {.batch = 1, .ids = ids, .starts = (const int[]){0, 24}},
        {.batch = 1, .ids = ids},
        {.batch = 1, .starts = (const int[]){0, 3}},
        {.batch = -1, .ids = ids, .starts = (const int[]){0, 3}},
        {.batch = 5, .ids = ids, .starts = (const int[]){0, 1, 2, 3, 4, 5}},
        {.batch = 2, .ids = ids, .starts = (const int[]){0, 3, 2}},
        {.batch = 1, .ids = low, .starts = (const int[]){0, 2}},
        {.batch = 1,
         .ids = ids,
         .starts = (const int[]){0, 14}}, /* 12 positions; 13 target tokens are 12 inputs */
    };
    for (int i = 0; i < COUNT(wrong); i++) {
        rapt_tokens as_many = {
            .batch = wrong[i].batch, .ids = ids, .starts = (const int[]){0, 1, 2, 3, 4, 5}};
        refuse_batch(trainer, &wrong[i], &as_many);
        refuse_batch(trainer, &as_many, &wrong[i]);
    }
    refuse_batch(trainer, &good, &two);
    refuse_batch(trainer, &(rapt_tokens){.batch = 1, .ids = high, .starts = (const int[]){0, 2}},
                 &good);
    refuse_batch(trainer, &(rapt_tokens){.batch = 1, .ids = ids, .starts = (const int[]){0, 13}},
                 &good);
    refuse_batch(trainer, &(rapt_tokens){.batch = 1, .ids = ids, .starts = (const int[]){0, 0}},
                 &good);
    refuse_batch(trainer, NULL, &good);
    refuse_batch(trainer, &good, NULL);
    float data[1] = {7};
    assert_int_equal(rapt_trainer_read_gradient(trainer, -1, data, NULL), RAPT_BAD_ARGUMENT);
    assert_int_equal(rapt_trainer_read_gradient(trainer, rapt_model_tensors(model), data, NULL),
                     RAPT_BAD_ARGUMENT);
    assert_true(data[0] == 7);
    rapt_trainer_free(trainer);
    rapt_model_free(model);
    rapt_model *encoder = small_model(&small_configs[7], 1);
    trainer = trainer_of(encoder, &o, 1);
    refuse_batch(trainer, &good,
                 &(rapt_tokens){.batch = 1, .ids = ids, .starts = (const int[]){0, 2}});
    refuse_batch(trainer, &good, &(rapt_tokens){.batch = 1, .starts = (const int[]){0, 3}});
    refuse_batch(
        trainer, &good,
        &(rapt_tokens){.batch = 1, .ids = (int32_t[]){0, 4, 0}, .starts = (const int[]){0, 3}});
    rapt_trainer_free(trainer);
    rapt_model_free(encoder);
}

/* A batch may be empty, a sentence without anything to learn may not; the longest one fits. */
static void test_edges(void **state)
{
    (void)state;
    rapt_model *model = small_model(&small_configs[0], 1);
    rapt_train_options o;
    rapt_train_options_default(&o, sizeof o);
    rapt_trainer *trainer = trainer_of(model, &o, 2);
    int32_t ids[13] = {1, 2, 3, 4, 5};
    rapt_tokens nobody = {.batch = 0, .starts = (const int[]){0}},
                source = {.batch = 1, .ids = ids, .starts = (const int[]){0, 12}};
    rapt_tokens begins = {.batch = 1, .ids = ids, .starts = (const int[]){0, 1}},
                empty = {.batch = 1, .ids = ids, .starts = (const int[]){0, 0}},
                longest = {.batch = 1, .ids = ids, .starts = (const int[]){0, 13}};
    rapt_report report = {.size = sizeof report};
    assert_int_equal(rapt_train_gradient(trainer, &nobody, &nobody, &report, NULL), RAPT_OK);
    assert_true(report.loss == 0 && report.tokens == 0);
    refuse_batch(trainer, &source, &begins);
    refuse_batch(trainer, &source, &empty);
    assert_int_equal(rapt_train_step(trainer, &report, NULL), RAPT_BAD_ARGUMENT);
    assert_int_equal(rapt_train_gradient(trainer, &source, &longest, &report, NULL), RAPT_OK);
    assert_int_equal(report.tokens, 12);
    assert_int_equal(rapt_train_step(trainer, &report, NULL), RAPT_OK);
    float *before = small_parameters(model);
    static const float rates[] = {NAN, -1, INFINITY, 1e38f, 2e30f};
    assert_int_equal(rapt_train_gradient(trainer, &source, &longest, &report, NULL), RAPT_OK);
    for (int i = 0; i < COUNT(rates); i++) {
        rapt_message why = {""};
        rapt_trainer_set_rate(trainer, rates[i]);
        assert_int_equal(rapt_train_step(trainer, &report, &why), RAPT_BAD_ARGUMENT);
        assert_non_null(strstr(why.text, "rate is "));
    }
    float *after = small_parameters(model);
    assert_memory_equal(before, after, rapt_model_parameters(model) * sizeof *after);
    rapt_trainer_set_rate(trainer, 0);
    assert_int_equal(rapt_train_step(trainer, &report, NULL), RAPT_OK);
    free(after);
    after = small_parameters(model);
    assert_memory_equal(before, after, rapt_model_parameters(model) * sizeof *after);
    free(before);
    free(after);
    rapt_trainer_free(trainer);
    rapt_model_free(model);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_options),
        cmocka_unit_test(test_wrong_batches),
        cmocka_unit_test(test_edges),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
