/* checkpoint.c - training continued from a checkpoint has the same bits, whatever the trainer did
   before; a file that is not a checkpoint of this trainer's model is refused. */
#include "train/small_train.h"

static void resume(const rapt_config *c, int threads, int before, int after)
{
    char path[256];
    rapt_train_options o = dropout_and_clipping();
    rapt_metadata metadata[] = {{"epoch", "7"}, {"order", "\"quoted\" \\ \xc3\xa4\n"}};
    double straight, resumed = 0;
    small_path(path, "resume");
    float *wanted = train(c, &o, threads, before + after, &straight);
    rapt_model *model = small_model(c, 11);
    rapt_trainer *trainer = trainer_of(model, &o, threads);
    for (int i = 0; i < before; i++) one_step(trainer, c, i);
    rapt_trainer_set_rate(trainer, o.rate);
    assert_int_equal(rapt_trainer_save(trainer, path, metadata, 2, NULL), RAPT_OK);
    rapt_trainer_free(trainer);
    rapt_model *loaded;
    rapt_message why = {""};
    if (rapt_model_load(&loaded, path, NULL, &why)) fail_msg("%s", why.text);
    small_same_models(model, loaded);
    rapt_model_free(model);
    assert_string_equal(rapt_model_metadata(loaded, "order"), metadata[1].value);
    assert_null(rapt_model_metadata(loaded, "ord"));
    trainer = trainer_of(loaded, &o, threads);
    small_shake(loaded, 5, 1); /* overwritten by the file's parameters */
    if (rapt_trainer_load(trainer, path, &why)) fail_msg("%s", why.text);
    for (int i = before; i < before + after; i++) resumed = one_step(trainer, c, i);
    float *got = small_parameters(loaded);
    assert_true(resumed == straight);
    assert_memory_equal(got, wanted, rapt_model_parameters(loaded) * sizeof *got);
    free(got);
    free(wanted);
    rapt_trainer_free(trainer);
    rapt_model_free(loaded);
    assert_int_equal(unlink(path), 0);
}

static void test_resume(void **state)
{
    (void)state;
    for (int i = 0; i < COUNT(small_configs); i++)
        resume(&small_configs[i], 1 + i % 3, i % 4, 1 + i % 3);
    resume(&wide, 2, 3, 3);
}

/* Loading a checkpoint drops a gradient that waits for its step. */
static void forgets(const rapt_config *c, int shard)
{
    char path[256];
    double straight, resumed = 0;
    struct small_batch source, target;
    rapt_shard record = {.size = sizeof record};
    rapt_train_limits limits = small_limits;
    const rapt_train_options o = dropout_and_clipping();
    rapt_trainer *trainer = NULL;
    float *wanted = train(c, &o, 2, 3, &straight);
    rapt_model *model = small_model(c, 11);
    limits.shards = 2, limits.threads = 2;
    assert_int_equal(rapt_trainer_create(&trainer, model, &o, &limits, NULL, NULL), RAPT_OK);
    one_step(trainer, c, 0);
    assert_int_equal(rapt_trainer_save(trainer, small_path(path, "waits"), NULL, 0, NULL), RAPT_OK);
    batch_of(c, 3, &source, &target);
    rapt_status status =
        shard < 0 ? rapt_train_gradient(trainer, &source.tokens, &target.tokens, NULL, NULL)
                  : rapt_train_shard(trainer, shard, &source.tokens, &target.tokens, &record, NULL);
    assert_int_equal(status, RAPT_OK);
    assert_int_equal(rapt_trainer_load(trainer, path, NULL), RAPT_OK);
    assert_int_equal(rapt_train_shard_sums(trainer, NULL, 0), 0);
    for (int i = 1; i < 3; i++) resumed = one_step(trainer, c, i);
    float *got = small_parameters(model);
    assert_true(resumed == straight);
    assert_memory_equal(got, wanted, rapt_model_parameters(model) * sizeof *got);
    free(got);
    free(wanted);
    rapt_trainer_free(trainer);
    rapt_model_free(model);
    assert_int_equal(unlink(path), 0);
}

static void test_forgets(void **state)
{
    (void)state;
    for (int shard = -1; shard < 2; shard++) { /* -1: not a shard */
        forgets(&small_configs[0], shard);
        forgets(&wide, shard);
    }
}

static void test_wrong_files(void **state)
{
    (void)state;
    char path[256];
    rapt_model *model = small_model(&small_configs[0], 1),
               *other = small_model(&small_configs[1], 1);
    rapt_train_options o = dropout_and_clipping();
    rapt_trainer *trainer = trainer_of(model, &o, 1), *other_trainer = trainer_of(other, &o, 1);
    struct small_batch source, target;
    rapt_report report = {.size = sizeof report};
    rapt_message why = {""};
    small_path(path, "checkpoint");
    assert_int_equal(rapt_trainer_load(trainer, path, &why), RAPT_NO_FILE);
    assert_int_equal(rapt_model_save(model, path, NULL, 0, NULL), RAPT_OK);
    float *before = small_parameters(model);
    assert_int_equal(rapt_trainer_load(trainer, path, &why), RAPT_BAD_FILE);
    one_step(other_trainer, &small_configs[1], 0);
    assert_int_equal(rapt_trainer_save(other_trainer, path, NULL, 0, NULL), RAPT_OK);
    assert_int_equal(rapt_trainer_load(trainer, path, &why), RAPT_BAD_FILE);
    float *after = small_parameters(model);
    assert_memory_equal(before, after, rapt_model_parameters(model) * sizeof *before);
    /* a trainer whose gradients wait for a step cannot be saved */
    batch_of(&small_configs[0], 0, &source, &target);
    assert_int_equal(rapt_train_gradient(trainer, &source.tokens, &target.tokens, &report, NULL),
                     RAPT_OK);
    assert_int_equal(rapt_trainer_save(trainer, path, NULL, 0, &why), RAPT_BAD_ARGUMENT);
    assert_int_equal(rapt_train_step(trainer, &report, NULL), RAPT_OK);
    char missing[TEMPORARY];
    temporary_missing(missing);
    assert_int_equal(rapt_trainer_save(trainer, missing, NULL, 0, &why), RAPT_NO_FILE);
    assert_non_null(strstr(why.text, strrchr(missing, '-')));
    rapt_metadata twice[] = {{"a", "1"}, {"a", "2"}}, ours[] = {{"rapt.trainer", "1"}};
    assert_int_equal(rapt_trainer_save(trainer, path, twice, 2, &why), RAPT_BAD_ARGUMENT);
    assert_int_equal(rapt_trainer_save(trainer, path, ours, 1, &why), RAPT_BAD_ARGUMENT);
    assert_int_equal(rapt_trainer_save(trainer, path, twice, -1, &why), RAPT_BAD_ARGUMENT);
    assert_int_equal(rapt_trainer_save(trainer, path, NULL, 1, &why), RAPT_BAD_ARGUMENT);
    unlink(path);
    free(before);
    free(after);
    rapt_trainer_free(trainer);
    rapt_trainer_free(other_trainer);
    rapt_model_free(model);
    rapt_model_free(other);
}

/* A reward for entropy has a gradient even if no token has a label. */
static void test_gradient_of_no_token(void **state)
{
    (void)state;
    const rapt_config c = {.size = sizeof c,
                           .kind = RAPT_KIND_ENCODER_ONLY,
                           .source_vocab = 10,
                           .target_vocab = 5,
                           .positions = 16,
                           .width = 8,
                           .heads = 2,
                           .ffn_width = 8,
                           .encoder_layers = 1,
                           .tie = RAPT_TIE_NONE,
                           .self_normalizer = RAPT_NORMALIZER_SAMPLE};
    const rapt_train_limits limits = {
        .size = sizeof limits, .batch = 1, .source_tokens = 4, .threads = 1, .shards = 1};
    int32_t ids[] = {1, 2, 3, 4}, labels[] = {-1, -1, -1, -1};
    const int starts[] = {0, 4};
    const rapt_tokens source = {.batch = 1, .ids = ids, .starts = starts},
                      target = {.batch = 1, .ids = labels, .starts = starts};
    rapt_train_options o;
    rapt_shard record = {.size = sizeof record};
    rapt_trainer *trainer;
    char path[256];
    small_path(path, "no_token");
    rapt_train_options_default(&o, sizeof o);
    o.reward_entropy = 1;
    rapt_model *model = small_model(&c, 1);
    assert_int_equal(rapt_trainer_create(&trainer, model, &o, &limits, NULL, NULL), RAPT_OK);
    assert_int_equal(rapt_train_gradient(trainer, &source, &target, NULL, NULL), RAPT_OK);
    assert_int_equal(rapt_trainer_save(trainer, path, NULL, 0, NULL), RAPT_BAD_ARGUMENT);
    assert_int_equal(rapt_train_shard(trainer, 0, &source, &target, &record, NULL),
                     RAPT_BAD_ARGUMENT);
    labels[0] = 1;
    assert_int_equal(rapt_train_gradient(trainer, &source, &target, NULL, NULL), RAPT_OK);
    assert_int_equal(rapt_train_step(trainer, NULL, NULL), RAPT_OK);
    assert_int_equal(rapt_trainer_save(trainer, path, NULL, 0, NULL), RAPT_OK);
    rapt_trainer_free(trainer);
    rapt_model_free(model);
    assert_int_equal(unlink(path), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_resume),
        cmocka_unit_test(test_forgets),
        cmocka_unit_test(test_gradient_of_no_token),
        cmocka_unit_test(test_wrong_files),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
