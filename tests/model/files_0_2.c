/* files_0_2.c - model files, a checkpoint and translators written by version 0.2
   (files-0.2/write.c) still load, with the same parameters and metadata. What is computed from
   them agrees up to a few roundings. All this still holds after they are saved and loaded again. */
#include "model/small.h"

#include <math.h>
#include <stdlib.h>

static FILE *expected;

/* Reads the next line of expected.txt; false at the end. */
static bool next_line(char line[4096])
{
    return fgets(line, 4096, expected) != NULL;
}

static uint64_t bits_sum(const rapt_model *model)
{
    uint64_t sum = 0xCBF29CE484222325u;
    size_t count = rapt_model_parameters(model);
    float *all = small_parameters(model);
    for (size_t i = 0; i < count; i++) {
        uint32_t bits;
        memcpy(&bits, all + i, sizeof bits);
        sum = (sum ^ bits) * 0x100000001B3u;
    }
    free(all);
    return sum;
}

static void check_sum(const char *line, const rapt_model *model)
{
    size_t count;
    unsigned long long sum;
    assert_int_equal(sscanf(line, "parameters %zu %llx", &count, &sum), 2);
    assert_int_equal(rapt_model_parameters(model), count);
    if (bits_sum(model) != sum)
        fail_msg("%s: got %016llx", line, (unsigned long long)bits_sum(model));
}

/* The values that version 0.2 computed, to be compared with those of several models. */
struct bits {
    size_t count;
    uint32_t word[128];
};

static struct bits read_bits(const char *line)
{
    struct bits b = {0};
    assert_true(sscanf(line, "%*s %zu", &b.count) == 1 && b.count <= 128);
    for (size_t i = 0; i < b.count; i++) {
        unsigned word;
        assert_int_equal(fscanf(expected, "%x", &word), 1);
        b.word[i] = word;
    }
    assert_int_equal(fgetc(expected), '\n');
    return b;
}

static const int32_t ids[] = {1, 4, 2, 6, 3, 5, 0, 2};
static const int source_starts[] = {0, 5, 8}, target_starts[] = {0, 4, 7};

static void check_use(const struct bits *wanted, const rapt_model *model)
{
    const rapt_config *c = rapt_model_config(model);
    rapt_limits limits = {.size = sizeof limits,
                          .batch = 2,
                          .source_tokens = 8,
                          .target_length = 8,
                          .target_tokens = 8,
                          .threads = 2};
    rapt_session *session = NULL;
    rapt_tokens source = {.batch = 2, .ids = ids, .starts = source_starts},
                target = {.batch = 2, .ids = ids, .starts = target_starts};
    const float *got = NULL;
    if (c->kind == RAPT_KIND_DECODER_ONLY) source = (rapt_tokens){.batch = 2};
    assert_int_equal(rapt_session_create(&session, model, &limits, NULL, NULL), RAPT_OK);
    assert_int_equal(rapt_encode(session, &source, &got, NULL), RAPT_OK);
    if (c->kind != RAPT_KIND_ENCODER_ONLY)
        assert_int_equal(rapt_decode(session, &target, &got, NULL), RAPT_OK);
    for (size_t i = 0; i < wanted->count; i++) {
        float then;
        memcpy(&then, wanted->word + i, sizeof then);
        if (!(fabsf(got[i] - then) <= 0x1p-20f * fmaxf(1, fabsf(then))))
            fail_msg("value %zu: %a, by version 0.2 %a", i, (double)got[i], (double)then);
    }
    rapt_session_free(session);
}

static rapt_model *load(const char *path)
{
    rapt_model *model = NULL;
    rapt_message why = {""};
    if (rapt_model_load(&model, path, NULL, &why)) fail_msg("%s", why.text);
    return model;
}

static rapt_model *saved_again(const rapt_model *model, const char *path)
{
    assert_int_equal(rapt_model_save(model, path, NULL, 0, NULL), RAPT_OK);
    return load(path);
}

static void check_metadata(const rapt_model *a, const rapt_model *b)
{
    assert_int_equal(rapt_model_metadata_count(a), rapt_model_metadata_count(b));
    for (int i = 0; i < rapt_model_metadata_count(a); i++) {
        rapt_metadata x = rapt_model_metadata_at(a, i), y = rapt_model_metadata_at(b, i);
        assert_string_equal(x.key, y.key);
        assert_string_equal(x.value, y.value);
    }
}

/* The trainer continues with the step that version 0.2 would have made. */
static void check_step(const char *line, const char *path, rapt_model *model)
{
    rapt_train_options options;
    rapt_train_limits limits = {
        .size = sizeof limits, .batch = 2, .source_tokens = 8, .target_tokens = 8, .threads = 2};
    rapt_trainer *trainer = NULL;
    rapt_report report = {.size = sizeof report};
    rapt_tokens source = {.batch = 2}, target = {.batch = 2, .ids = ids, .starts = target_starts};
    rapt_message why = {""};
    rapt_train_options_default(&options, sizeof options);
    options.warmup = 3, options.seed = 9, options.attention_dropout = 0.1f;
    if (rapt_trainer_create(&trainer, model, &options, &limits, NULL, &why))
        fail_msg("%s", why.text);
    if (rapt_trainer_load(trainer, path, &why)) fail_msg("%s", why.text);
    assert_int_equal(rapt_train_gradient(trainer, &source, &target, &report, &why), RAPT_OK);
    assert_int_equal(rapt_train_step(trainer, &report, &why), RAPT_OK);
    check_sum(line, model);
    rapt_trainer_free(trainer);
}

static void check_translation(const char *line, const char *path)
{
    rapt_translator *translator = NULL;
    rapt_message why = {""};
    char text[512], hex[2048] = "translation";
    if (rapt_translator_load(&translator, path, NULL, NULL, &why)) fail_msg("%s", why.text);
    assert_int_equal(rapt_translate(translator, "the cat sat", text, sizeof text, NULL, &why),
                     RAPT_OK);
    for (const char *at = text; *at; at++)
        snprintf(hex + strlen(hex), 8, " %02x", (unsigned)(unsigned char)*at);
    strcat(hex, "\n");
    assert_string_equal(line, hex);
    rapt_translator_free(translator);
}

static void check_file(const char *name)
{
    char path[512], again[256], line[4096];
    snprintf(path, sizeof path, "%s/model/files-0.2/%s", RAPT_UNPACKED_DIR, name);
    rapt_model *model = load(path), *second = saved_again(model, small_path(again, "again"));
    assert_true(next_line(line));
    check_sum(line, model);
    check_sum(line, second);
    check_metadata(model, second);
    assert_memory_equal(rapt_model_config(model), rapt_model_config(second), sizeof(rapt_config));
    assert_true(next_line(line));
    if (line[0] == 't') {
        check_translation(line, path);
        check_translation(line, again);
    } else if (line[0] == 'p') {
        assert_string_equal(rapt_model_metadata(second, "order"), "1 2 3");
        check_step(line, path, model);
    } else {
        const struct bits wanted = read_bits(line);
        assert_string_equal(rapt_model_metadata(second, "note"), "kept \xC3\xA9");
        check_use(&wanted, model);
        check_use(&wanted, second);
    }
    unlink(again);
    rapt_model_free(model);
    rapt_model_free(second);
}

static void test_files(void **state)
{
    (void)state;
    char line[4096], name[256];
    int files = 0;
    expected = fopen(RAPT_UNPACKED_DIR "/model/files-0.2/expected.txt", "r");
    assert_non_null(expected);
    for (; next_line(line); files++) {
        assert_int_equal(sscanf(line, "file %255s", name), 1);
        check_file(name);
    }
    fclose(expected);
    assert_int_equal(files, 10);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_files)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
