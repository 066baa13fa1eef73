/* checkpoint.c - training continued from a checkpoint, and damaged ones. */
#include "model/small_file.h"
#include "model/variants.h"
#include "train/small_train.h"

/* ---- checkpoint: training continued from a checkpoint has the same bits, whatever the trainer did
   before; a file that is not a checkpoint of this trainer's model is refused. ---- */

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

/* 0 buckets are not the 32 of other biases with DeBERTa, but a vector for each distance. At a
   maximum distance of 31, both have parameters of the same shapes. */
static void test_buckets(void **state)
{
    (void)state;
    char path[256];
    rapt_config configs[2] = {small_configs[0], small_configs[0]};
    rapt_model *models[2];
    rapt_trainer *trainers[2];
    rapt_train_options o = dropout_and_clipping();
    rapt_message why = {""};
    for (int i = 0; i < 2; i++) {
        configs[i].relative_bias = RAPT_RELATIVE_BIAS_DEBERTA;
        configs[i].relative_distance = 31, configs[i].relative_buckets = 32 * i;
        models[i] = small_model(&configs[i], 1);
        trainers[i] = trainer_of(models[i], &o, 1);
    }
    assert_int_equal(rapt_model_parameters(models[0]), rapt_model_parameters(models[1]));
    for (int i = 0; i < 2; i++) {
        if (rapt_trainer_save(trainers[i], small_path(path, "buckets"), NULL, 0, &why) ||
            rapt_trainer_load(trainers[i], path, &why))
            fail_msg("%s", why.text);
        assert_int_equal(rapt_trainer_load(trainers[1 - i], path, &why), RAPT_BAD_FILE);
        assert_non_null(strstr(why.text, "configuration"));
        assert_int_equal(unlink(path), 0);
    }
    for (int i = 0; i < 2; i++) rapt_trainer_free(trainers[i]), rapt_model_free(models[i]);
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

/* ---- checkpoint damage: checkpoints with one value out of range: every counter of the trainer,
   parameters, moments. Each is refused by name and value, and leaves every bit of the trainer as it
   was. ---- */

/* A field, the value that replaces its own, and part of the message. */
static const struct {
    const char *key, *value;
    const char *says;
} fields[] = {
    {"steps", "-1", "steps is -1"},
    {"steps", "", "steps is "},
    {"steps", "x", "steps is x"},
    {"steps", "1e3", "steps is 1e3"},
    {"steps", "9007199254740993", "steps is 9007199254740993"},
    {"steps", "18446744073709551617", "steps is 18446744073709551617"},
    {"calls", "-1", "calls is -1"},
    {"calls", "+1", "calls is +1"},
    {"calls", "9223372036854775808", "calls is 9223372036854775808"},
    {"calls", "0x7", "calls is 0x7"},
    {"rate", "bf800000", "rate is bf800000"}, /* -1 */
    {"rate", "7f800000", "rate is 7f800000"}, /* infinity */
    {"rate", "7fc00000", "rate is 7fc00000"}, /* NaN */
    {"rate", "71c9f2ca", "rate is 71c9f2ca"}, /* 2e30 */
    {"rate", "13f800000", "rate is 13f800000"},
    {"rate", "-3f80000", "rate is -3f80000"},
    {"expected", "bff0000000000000", "expected is bff0000000000000"},
    {"expected", "7ff0000000000000", "expected is 7ff0000000000000"},
    {"expected", "7ff8000000000000", "expected is 7ff8000000000000"},
    {"expected", "47f0000000000001", "expected is 47f0000000000001"}, /* above 2^128 */
    {"expected", "4000000000000000 more 7", "unknown field more 7"},
};

/* Returns the configuration of a model that samples keys. Its checkpoint has every field. */
static rapt_config sampling(void)
{
    rapt_config c = small_configs[0];
    c.self_normalizer = c.cross_normalizer = RAPT_NORMALIZER_SAMPLE;
    return c;
}

static struct file checkpoint_of(const rapt_trainer *trainer, const char *name)
{
    char path[256];
    rapt_message why = {""};
    if (rapt_trainer_save(trainer, small_path(path, name), NULL, 0, &why)) fail_msg("%s", why.text);
    return file_at(path);
}

static rapt_trainer *trained(rapt_model *model, const rapt_config *c, int steps)
{
    rapt_train_options o = dropout_and_clipping();
    rapt_trainer *trainer = trainer_of(model, &o, 2);
    for (int i = 0; i < steps; i++) one_step(trainer, c, i);
    return trainer;
}

/* The trainer refuses the file, says why, and then saves the bytes that it saved before. */
static void refused(rapt_trainer *trainer, const struct file *damaged, const char *says)
{
    rapt_message why = {""};
    struct file before = checkpoint_of(trainer, "before");
    put(damaged);
    assert_int_equal(rapt_trainer_load(trainer, damaged->path, &why), RAPT_BAD_FILE);
    if (!strstr(why.text, says) || !strstr(why.text, damaged->path))
        fail_msg("\"%s\" does not say \"%s\"", why.text, says);
    struct file after = checkpoint_of(trainer, "after");
    assert_int_equal(before.size, after.size);
    assert_memory_equal(before.bytes, after.bytes, after.size);
    drop(&before);
    drop(&after);
}

/* Copies the text of the counters from the file. */
static void counters(const struct file *f, char text[256])
{
    static const char key[] = "\"rapt.trainer\":\"";
    size_t at = 8, n = header_size(f);
    while (at + strlen(key) < n && memcmp(f->bytes + at, key, strlen(key)) != 0) at++;
    assert_true(at + strlen(key) < n);
    assert_int_equal(sscanf((const char *)f->bytes + at + strlen(key), "%255[^\"]", text), 1);
}

static void test_fields(void **state)
{
    (void)state;
    rapt_config c = sampling();
    rapt_model *model = small_model(&c, 11), *other = small_model(&c, 12);
    rapt_trainer *trainer = trained(model, &c, 3), *target = trained(other, &c, 2);
    struct file good = checkpoint_of(trainer, "counters");
    char text[256], key[32], value[32], word[96], wrong[128];
    int at = 0, length, seen = 0;
    counters(&good, text);
    for (; sscanf(text + at, "%31s %31s%n", key, value, &length) == 2; at += length, seen++) {
        int cases = 0;
        for (int i = 0; i < COUNT(fields); i++) {
            if (strcmp(fields[i].key, key) != 0) continue;
            snprintf(word, sizeof word, "%s %s", key, value);
            snprintf(wrong, sizeof wrong, "%s %s", key, fields[i].value);
            struct file e = edited(&good, word, wrong);
            refused(target, &e, fields[i].says);
            free(e.bytes);
            cases++;
        }
        if (cases < 3) fail_msg("%s is not in the table", key); /* add rows for a new field */
        snprintf(word, sizeof word, "%s %s", key, value);
        struct file missing = edited(&good, word, seen ? "x 1" : "x 1");
        snprintf(wrong, sizeof wrong, "%s is missing", key);
        refused(target, &missing, wrong);
        free(missing.bytes);
    }
    assert_int_equal(seen, 4);
    put(&good);
    assert_int_equal(rapt_trainer_load(target, good.path, NULL), RAPT_OK);
    small_same_models(model, other);
    drop(&good);
    rapt_trainer_free(trainer);
    rapt_trainer_free(target);
    rapt_model_free(model);
    rapt_model_free(other);
}

static void test_numbers(void **state)
{
    (void)state;
    static const struct {
        const char *tensor;
        float value;
        const char *says;
    } cases[] = {
        {"output.weight", NAN, "nan"},
        {"output.weight", INFINITY, "inf"},
        {"decoder.layers.0.self_attn.qkv.weight", -INFINITY, "inf"},
        {"adam.m.output.weight", NAN, "nan"},
        {"adam.m.output.weight", INFINITY, "inf"},
        {"adam.m.encoder.embedding.weight", -INFINITY, "inf"},
        {"adam.v.output.weight", NAN, "nan"},
        {"adam.v.output.weight", INFINITY, "inf"},
        {"adam.v.output.weight", -1, "-1"},
        {"adam.v.encoder.embedding.weight", -1e-45f, "-1.4013e-45"},
    };
    const rapt_config *c = &small_configs[0];
    rapt_model *model = small_model(c, 11), *other = small_model(c, 12);
    rapt_trainer *trainer = trained(model, c, 3), *target = trained(other, c, 2);
    struct file good = checkpoint_of(trainer, "numbers");
    for (int i = 0; i < COUNT(cases); i++) {
        unsigned char kept[sizeof(float)], *at = number_of(&good, cases[i].tensor);
        memcpy(kept, at, sizeof kept);
        memcpy(at, &cases[i].value, sizeof(float));
        refused(target, &good, cases[i].says);
        refused(target, &good, cases[i].tensor);
        memcpy(at, kept, sizeof kept);
    }
    put(&good);
    assert_int_equal(rapt_trainer_load(target, good.path, NULL), RAPT_OK);
    small_same_models(model, other);
    drop(&good);
    rapt_trainer_free(trainer);
    rapt_trainer_free(target);
    rapt_model_free(model);
    rapt_model_free(other);
}

/* A checkpoint can hold every state that a trainer can reach: the highest rate, and a huge loss. */
static void test_edges(void **state)
{
    (void)state;
    rapt_config c = sampling();
    rapt_model *model = small_model(&c, 11);
    rapt_train_options o = dropout_and_clipping();
    rapt_trainer *trainer = trainer_of(model, &o, 1);
    small_shake(model, 3, 1e12f);
    struct small_batch source, target;
    rapt_report report = {.size = sizeof report};
    batch_of(&c, 0, &source, &target);
    rapt_status status =
        rapt_train_gradient(trainer, &source.tokens, &target.tokens, &report, NULL);
    if (status == RAPT_OK) {
        assert_true(report.loss > 1e7 * (double)report.tokens);
        (void)rapt_train_step(trainer, NULL, NULL);
    }
    assert_int_equal(status, RAPT_OK);
    rapt_trainer_set_rate(trainer, 1e30f);
    struct file f = checkpoint_of(trainer, "edges");
    rapt_message why = {""};
    if (rapt_trainer_load(trainer, f.path, &why)) fail_msg("%s", why.text);
    drop(&f);
    rapt_trainer_free(trainer);
    rapt_model_free(model);
}

/* A state that could not be loaded is not saved, and the existing checkpoint stays. */
static void test_refused_saves(void **state)
{
    (void)state;
    static const float rates[] = {-1, NAN, INFINITY, 2e30f};
    rapt_config c = sampling();
    rapt_model *model = small_model(&c, 11);
    rapt_trainer *trainer = trained(model, &c, 1);
    struct file good = checkpoint_of(trainer, "refused");
    rapt_message why;
    for (int i = 0; i < COUNT(rates); i++) {
        rapt_trainer_set_rate(trainer, rates[i]);
        assert_int_equal(rapt_trainer_save(trainer, good.path, NULL, 0, &why), RAPT_BAD_ARGUMENT);
        assert_non_null(strstr(why.text, "rate is "));
    }
    rapt_trainer_set_rate(trainer, 0.01f);
    rapt_tensor tensor = rapt_model_tensor(model, 3);
    size_t count = (size_t)tensor.rows * (size_t)tensor.columns;
    float *data = malloc(count * sizeof *data);
    assert_int_equal(rapt_model_read(model, 3, data, NULL), RAPT_OK);
    data[count - 1] = NAN;
    assert_int_equal(rapt_model_write(model, 3, data, NULL), RAPT_OK);
    assert_int_equal(rapt_trainer_save(trainer, good.path, NULL, 0, &why), RAPT_NOT_FINITE);
    assert_non_null(strstr(why.text, "NaN"));
    struct file after = file_at(good.path);
    assert_true(after.size == good.size && memcmp(after.bytes, good.bytes, good.size) == 0);
    assert_int_equal(rapt_trainer_load(trainer, good.path, NULL), RAPT_OK);
    free(data);
    free(after.bytes);
    drop(&good);
    rapt_trainer_free(trainer);
    rapt_model_free(model);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_resume),
        cmocka_unit_test(test_forgets),
        cmocka_unit_test(test_gradient_of_no_token),
        cmocka_unit_test(test_buckets),
        cmocka_unit_test(test_wrong_files),
        cmocka_unit_test(test_fields),
        cmocka_unit_test(test_numbers),
        cmocka_unit_test(test_edges),
        cmocka_unit_test(test_refused_saves),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
