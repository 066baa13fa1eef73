/* quantized.c - models of other projects in 8 bits: a file's own integers are kept as they are and
   never held as floats, and translations agree with those of the same numbers in floats. */
#include "../skips.h"
#include "model/small.h"

/* Composes the path of the folder of a file in RAPT_DATA. Returns false if it does not exist. */
static bool folder_of(const char *name, char path[DATA_PATH])
{
    if (!data_path("import/quantized", name, path)) return false;
    *strrchr(path, '/') = 0;
    return true;
}

static rapt_model *import(const char *path, rapt_precision precision)
{
    const rapt_load_options options = {.size = sizeof options, .precision = precision};
    rapt_model *model = NULL;
    rapt_message why = {""};
    if (rapt_model_import_with(&model, path, &options, NULL, NULL, NULL, &why))
        fail_msg("%s", why.text);
    return model;
}

/* Checks that the integers of the file were kept: each represents the same float as in the model
   that is opened in floats. */
static void check_tensor(const rapt_model *floats, const rapt_model *bytes, int i)
{
    rapt_tensor t = rapt_model_tensor(floats, i);
    float *old = small_read(floats, i), *new = small_read(bytes, i);
    for (int k = 0; k < t.rows * t.columns; k++)
        if (old[k] != new[k])
            fail_msg("%s: element %d is %g, not %g", t.name, k, (double)new[k], (double)old[k]);
    free(old), free(new);
}

static void test_integers_of_files(void **state)
{
    static const struct {
        const char *name;
        rapt_precision stored;
    } files[] = {{"ct2-aren/aren-transliteration/model.bin", RAPT_PRECISION_F32},
                 {"ct2-aren/aren-transliteration-i16/model.bin", RAPT_PRECISION_F32},
                 {"ct2-aren/aren-transliteration-i8/model.bin", RAPT_PRECISION_INT8},
                 {"firefox-tiny-enpt/model.enpt.intgemm.alphas.bin", RAPT_PRECISION_INT8}};
    char path[DATA_PATH];
    (void)state;
    for (int f = 0; f < COUNT(files); f++) {
        if (!folder_of(files[f].name, path)) continue;
        rapt_model *floats = import(path, RAPT_PRECISION_F32), *stored = import(path, 0);
        assert_int_equal(rapt_model_precision(floats), RAPT_PRECISION_F32);
        assert_int_equal(rapt_model_precision(stored), files[f].stored);
        for (int i = 0; i < rapt_model_tensors(floats); i++) check_tensor(floats, stored, i);
        assert_int_equal(rapt_model_set_precision(stored, RAPT_PRECISION_F32, 2, NULL), RAPT_OK);
        for (int i = 0; i < rapt_model_tensors(floats); i++) check_tensor(floats, stored, i);
        rapt_model_free(floats);
        rapt_model_free(stored);
    }
}

/* ---- memory ---- */

struct peak { /* bytes in use, and the most so far */
    size_t now, most;
};

static void *peak_take(void *user, size_t bytes)
{
    struct peak *p = user;
    p->now += bytes;
    if (p->now > p->most) p->most = p->now;
    return aligned_alloc(64, (bytes + 63) / 64 * 64);
}

static void peak_give(void *user, void *memory, size_t bytes)
{
    struct peak *p = user;
    p->now -= memory ? bytes : 0;
    free(memory);
}

/* Opening a file in 8 bits never holds its weights in floats, in which they would take four times
   the memory. */
static void test_memory(void **state)
{
    static const char *const files[] = {"firefox-tiny-enpt/model.enpt.intgemm.alphas.bin",
                                        "ct2-aren/aren-transliteration-i8/model.bin",
                                        "ct2-aren/aren-transliteration/model.bin"};
    char path[DATA_PATH];
    (void)state;
    for (int f = 0; f < COUNT(files); f++) {
        if (!folder_of(files[f], path)) continue;
        const rapt_load_options options = {.size = sizeof options,
                                           .precision = RAPT_PRECISION_INT8};
        struct peak peak = {0, 0};
        const rapt_allocator allocator = {peak_take, peak_give, &peak};
        rapt_model *model = NULL;
        assert_int_equal(
            rapt_model_import_with(&model, path, &options, NULL, NULL, &allocator, NULL), RAPT_OK);
        size_t parameters = rapt_model_parameters(model);
        print_message("%zu parameters, %zu bytes, at most %zu\n", parameters, peak.now, peak.most);
        assert_true(peak.most < 2 * parameters + (4u << 20));
        rapt_model_free(model);
        assert_int_equal(peak.now, 0);
    }
}

/* ---- translations ---- */

static rapt_translator *translator_of(const char *path, rapt_precision precision)
{
    const rapt_translator_options options = {
        .size = sizeof options, .beams = 1, .threads = 1, .precision = precision};
    rapt_translator *t = NULL;
    rapt_message why = {""};
    if (rapt_translator_load(&t, path, &options, NULL, &why)) fail_msg("%s", why.text);
    return t;
}

/* At least 38 of 40 sentences get the same translation, with and without a shortlist. */
static void test_translations(void **state)
{
    enum { LINES = 40, SIZE = 1 << 12 };
    char path[DATA_PATH], texts[DATA_PATH], list[DATA_PATH], line[SIZE], out[2][SIZE];
    (void)state;
    if (!folder_of("firefox-tiny-enpt/model.enpt.intgemm.alphas.bin", path) ||
        !data_path("import/quantized", "firefox-tiny-enpt/expected.en", texts) ||
        !data_path("import/quantized", "firefox-tiny-enpt/lex.50.50.enpt.s2t.bin", list))
        return;
    for (int listed = 0; listed < 2; listed++) {
        rapt_translator *t[] = {translator_of(path, RAPT_PRECISION_F32),
                                translator_of(path, RAPT_PRECISION_INT8)};
        FILE *file = fopen(texts, "r");
        int equal = 0;
        assert_non_null(file);
        for (int i = 0; i < 2 && listed; i++)
            assert_int_equal(rapt_translator_load_shortlist(t[i], list, NULL), RAPT_OK);
        for (int n = 0; n < LINES; n++) {
            assert_non_null(fgets(line, sizeof line, file));
            line[strcspn(line, "\n")] = 0;
            for (int i = 0; i < 2; i++)
                assert_int_equal(rapt_translate(t[i], line, out[i], SIZE, NULL, NULL), RAPT_OK);
            equal += strcmp(out[0], out[1]) == 0;
        }
        print_message("%d of %d equal\n", equal, LINES);
        assert_true(equal >= 38);
        for (int i = 0; i < 2; i++)
            assert_int_equal(rapt_model_precision(rapt_translator_model(t[i])),
                             i ? RAPT_PRECISION_INT8 : RAPT_PRECISION_F32);
        fclose(file);
        rapt_translator_free(t[0]);
        rapt_translator_free(t[1]);
    }
}

static int never(void *user, const rapt_translation *translation)
{
    (void)user, (void)translation;
    fail_msg("translated");
    return 0;
}

/* The precision is an option of opening a model. */
static void test_refusals(void **state)
{
    char path[DATA_PATH];
    rapt_message why = {""};
    rapt_translator *t = NULL;
    (void)state;
    if (!folder_of("ct2-aren/aren-transliteration-i8/model.bin", path)) return;
    rapt_translator_options options = {.size = sizeof options, .precision = RAPT_PRECISION_INT8};
    rapt_model *model = import(path, RAPT_PRECISION_F32);
    assert_int_equal(rapt_translator_create(&t, model, NULL, NULL, &options, NULL, &why),
                     RAPT_BAD_ARGUMENT);
    assert_non_null(strstr(why.text, "rapt_model_set_precision"));
    options.precision = (rapt_precision)99;
    assert_int_equal(rapt_translator_load(&t, path, &options, NULL, &why), RAPT_BAD_ARGUMENT);
    assert_non_null(strstr(why.text, "precision"));
    t = translator_of(path, RAPT_PRECISION_INT8);
    options.precision = RAPT_PRECISION_INT8;
    options.beams = 1;
    const rapt_translate_call call = {.size = sizeof call, .options = &options};
    const rapt_text text = {"x", 1};
    assert_int_equal(rapt_translate_many_with(t, &text, 1, &call, never, NULL, &why),
                     RAPT_BAD_ARGUMENT);
    assert_non_null(strstr(why.text, "options.precision cannot change between calls"));
    rapt_translator_free(t);
    rapt_model_free(model);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_integers_of_files), cmocka_unit_test(test_memory),
        cmocka_unit_test(test_translations), cmocka_unit_test(test_refusals)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
