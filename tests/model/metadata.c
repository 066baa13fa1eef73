/* metadata.c - metadata of a model, in model files and in checkpoints: it is enumerated, kept when
   a loaded model is saved, and replaced or dropped by the caller. The library's own keys are
   refused. */
#include "model/small.h"

static char path[256];

static rapt_model *reload(rapt_model *model, const rapt_metadata *metadata, int count)
{
    rapt_message why = {""};
    if (rapt_model_save(model, path, metadata, count, &why)) fail_msg("%s", why.text);
    rapt_model_free(model);
    model = NULL;
    if (rapt_model_load(&model, path, NULL, &why)) fail_msg("%s", why.text);
    return model;
}

static void holds(const rapt_model *model, const rapt_metadata *wanted, int count)
{
    assert_int_equal(rapt_model_metadata_count(model), count);
    for (int i = 0; i < count; i++) {
        rapt_metadata m = rapt_model_metadata_at(model, i);
        assert_string_equal(m.key, wanted[i].key);
        assert_string_equal(m.value, wanted[i].value);
        assert_string_equal(rapt_model_metadata(model, wanted[i].key), wanted[i].value);
    }
    assert_null(rapt_model_metadata_at(model, -1).key);
    assert_null(rapt_model_metadata_at(model, count).key);
    assert_non_null(strstr(rapt_model_metadata(model, "rapt.config"), "\"version\":2"));
}

static void test_models(void **state)
{
    (void)state;
    const rapt_metadata first[] = {{"b", "two"}, {"a", "one \xE2\x82\xAC"}, {"c", ""}};
    const rapt_metadata second[] = {{"b", NULL}, {"c", "three"}, {"d", "four"}, {"none", NULL}};
    rapt_model *model = small_model(&small_configs[0], 1);
    holds(model, NULL, 0);
    model = reload(model, first, 3);
    const rapt_metadata sorted[] = {first[1], first[0], first[2]};
    holds(model, sorted, 3);
    model = reload(model, NULL, 0);
    holds(model, sorted, 3);
    model = reload(model, second, 4);
    const rapt_metadata merged[] = {first[1], second[1], second[2]};
    holds(model, merged, 3);
    for (int i = 0; i < 3; i++) { /* the enumerated entries can be passed to a save */
        rapt_metadata m = rapt_model_metadata_at(model, i);
        char *key = small_copy(m.key, strlen(m.key) + 1),
             *value = small_copy(m.value, strlen(m.value) + 1);
        model = reload(model, &(rapt_metadata){key, value}, 1);
        free(key);
        free(value);
    }
    holds(model, merged, 3);
    rapt_model_free(model);
    unlink(path);
}

/* A checkpoint keeps metadata, too. A model saved from a checkpoint has none of the trainer's. */
static void test_checkpoints(void **state)
{
    (void)state;
    const rapt_metadata kept = {"kept", "yes"}, more = {"more", "1"};
    rapt_train_options options;
    rapt_train_limits limits = {
        .size = sizeof limits, .batch = 1, .source_tokens = 4, .target_tokens = 4, .threads = 1};
    rapt_model *model = reload(small_model(&small_configs[0], 1), &kept, 1);
    rapt_trainer *trainer = NULL;
    rapt_message why = {""};
    rapt_train_options_default(&options, sizeof options);
    if (rapt_trainer_create(&trainer, model, &options, &limits, NULL, &why))
        fail_msg("%s", why.text);
    assert_int_equal(rapt_trainer_save(trainer, path, &more, 1, &why), RAPT_OK);
    assert_int_equal(rapt_trainer_load(trainer, path, &why), RAPT_OK);
    rapt_model *loaded = NULL;
    assert_int_equal(rapt_model_load(&loaded, path, NULL, &why), RAPT_OK);
    const rapt_metadata both[] = {kept, more};
    holds(loaded, both, 2);
    loaded = reload(loaded, NULL, 0);
    holds(loaded, both, 2);
    assert_int_equal(rapt_trainer_load(trainer, path, &why), RAPT_BAD_FILE);
    rapt_trainer_free(trainer);
    rapt_model_free(model);
    rapt_model_free(loaded);
    unlink(path);
}

/* A line with the bits of three rows' scales, and lines that are damaged. */
static void read_own_scales(rapt_model **model, char *text)
{
    static const char *const damaged[] = {"#3f8000004000000",          "#3f80000040000000g",
                                          "#3f800000400000007f800000", "#3f800000400000008f800000",
                                          "#3f800000400000003F000000", "#"};
    int index = 0;
    while (rapt_model_tensor(*model, index).rows < 5) index++;
    char name[100]; /* reloading frees the model's */
    snprintf(name, sizeof name, "%s", rapt_model_tensor(*model, index).name);
    const int rows = rapt_model_tensor(*model, index).rows;
    float *scales = malloc(2 * (size_t)rows * sizeof *scales), *alphas = scales + rows;
    sprintf(text, "%s 1 3 #3f800000000000003dcccccd 2.5\n", name);
    *model = reload(*model, &(const rapt_metadata){"rapt.scales", text}, 1);
    assert_int_equal(rapt_model_scales(*model, index, scales, alphas, NULL), RAPT_OK);
    for (int row = 0; row < rows; row++) {
        assert_true(scales[row] == (row == 1 ? 1 : row == 3 ? 0.1f : 0));
        assert_true(alphas[row] == (row >= 1 && row <= 3 ? 2.5f : 0));
    }
    free(scales);
    for (size_t i = 0; i < sizeof damaged / sizeof *damaged; i++) {
        rapt_message why = {""};
        sprintf(text, "%s 0 1 1 1\n%s 1 3 %s 2.5\n", name, name, damaged[i]);
        *model = reload(*model, &(const rapt_metadata){"rapt.scales", text}, 1);
        assert_int_equal(rapt_model_scales(*model, index, NULL, NULL, &why), RAPT_BAD_FILE);
        if (!strstr(why.text, "line 2 is damaged")) fail_msg("%s: %s", damaged[i], why.text);
    }
}

/* A line for each row of each parameter, in an order that mixes them. The index of the lines is
   memory of the model, which metadata under another key does not have. */
static void test_scales(void **state)
{
    (void)state;
    rapt_model *model = small_model(&small_configs[1], 1);
    const int tensors = rapt_model_tensors(model);
    char *text = malloc(1 << 20);
    size_t at = 0, lines = 0;
    for (int row = 0; row < 64; row++)
        for (int i = tensors; i-- > 0;) {
            const rapt_tensor t = rapt_model_tensor(model, i);
            if (row % 7 == 3 || row >= t.rows) continue;
            at += (size_t)sprintf(text + at, "%s %d 1 %d %d\n", t.name, row, 1 + i, 1 + row);
            lines++;
        }
    model = reload(model, &(const rapt_metadata){"rapt.Scales", text}, 1);
    const size_t bytes = rapt_model_bytes(model);
    model = reload(model, (const rapt_metadata[]){{"rapt.Scales", NULL}, {"rapt.scales", text}}, 2);
    assert_int_equal(rapt_model_bytes(model), bytes + lines * sizeof(size_t));
    for (int i = 0; i < tensors; i++) {
        const int rows = rapt_model_tensor(model, i).rows;
        float *scales = malloc(2 * (size_t)rows * sizeof *scales), *alphas = scales + rows;
        assert_int_equal(rapt_model_scales(model, i, scales, alphas, NULL), RAPT_OK);
        for (int row = 0; row < rows; row++) {
            const bool is_there = row < 64 && row % 7 != 3;
            assert_true(scales[row] == (is_there ? (float)(1 + i) : 0));
            assert_true(alphas[row] == (is_there ? (float)(1 + row) : 0));
        }
        free(scales);
    }
    read_own_scales(&model, text);
    const char *name = rapt_model_tensor(model, 1).name;
    const int rows = rapt_model_tensor(model, 1).rows;
    sprintf(text, "a 0 1 2 3\n%s 0 %d 1 1\n%s 0 1 1 1\n", name, rows, name); /* one row too many */
    model = reload(model, &(const rapt_metadata){"rapt.scales", text}, 1);
    rapt_message why = {""};
    assert_int_equal(rapt_model_scales(model, 1, NULL, NULL, &why), RAPT_BAD_FILE);
    assert_non_null(strstr(why.text, "line 3 is damaged"));
    assert_int_equal(rapt_model_scales(model, 0, NULL, NULL, NULL), RAPT_OK);
    rapt_model_free(model);
    free(text);
    unlink(path);
}

static void test_refused(void **state)
{
    (void)state;
    static const struct {
        rapt_metadata metadata[2];
        int count;
        const char *word;
    } cases[] = {
        {{{"rapt.config", "{}"}}, 1, "rapt.config"},
        {{{"rapt.config", NULL}}, 1, "rapt.config"},
        {{{"rapt.trainer", "steps 1"}}, 1, "rapt.trainer"},
        {{{NULL, "value"}}, 1, "NULL"},
        {{{"double", "1"}, {"double", "2"}}, 2, "double"},
        {{{"double", NULL}, {"double", "2"}}, 2, "double is given twice"},
        {{{"bad", "\xFF"}}, 1, "UTF-8"},
        {{{"a", "b"}}, -1, "-1"},
    };
    rapt_model *model = small_model(&small_configs[0], 1);
    for (int i = 0; i < COUNT(cases); i++) {
        rapt_message why = {""};
        assert_int_equal(rapt_model_save(model, path, cases[i].metadata, cases[i].count, &why),
                         RAPT_BAD_ARGUMENT);
        if (!strstr(why.text, cases[i].word)) fail_msg("%d: %s", i, why.text);
        assert_int_not_equal(access(path, F_OK), 0);
    }
    assert_int_equal(rapt_model_save(model, path, NULL, 1, NULL), RAPT_BAD_ARGUMENT);
    rapt_model_free(model);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_models),
        cmocka_unit_test(test_checkpoints),
        cmocka_unit_test(test_scales),
        cmocka_unit_test(test_refused),
    };
    small_path(path, "metadata");
    return cmocka_run_group_tests(tests, NULL, NULL);
}
