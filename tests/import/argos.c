/* argos.c - unpacked packages of Argos Translate: a folder with metadata.json, sentencepiece.model
   and a folder of CTranslate2. The model is opened with the pieces and with Argos' settings for
   decoding; packages that need more are refused. */
#include "import/ct2_craft.h"
#include "import/pieces.h"

#include <rapt/translator.h>

static void write_package(char package[256], const rapt_model *model)
{
    static const struct change none = {.name = NULL};
    static struct bytes b;
    char inner[300];
    folder_make(package, "argos");
    snprintf(inner, sizeof inner, "%s/model", package);
    assert_int_equal(mkdir(inner, 0700), 0);
    write_folder(inner, 6, model, &none);
    put_pieces(&b, 12, 0);
    folder_write(package, "sentencepiece.model", &b);
    folder_text(package, "metadata.json",
                "{\"package_version\": \"1.0\", \"from_code\": \"en\", \"to_code\": \"de\", "
                "\"links\": []}");
}

static void clear(const char *package)
{
    char inner[300];
    snprintf(inner, sizeof inner, "%s/model", package);
    folder_remove(inner, files, COUNT(files));
    folder_remove(package, (const char *const[]){"sentencepiece.model", "metadata.json"}, 2);
    assert_int_not_equal(access(package, F_OK), 0);
}

static void test_opened(void **state)
{
    (void)state;
    char package[256];
    rapt_model *model = model_of(0);
    write_package(package, model);
    folder_is(package, model);
    rapt_model *read = folder_import(package);
    rapt_translator_options o = {.size = sizeof o};
    rapt_translator_options_default(&o, sizeof o, read);
    assert_int_equal(o.beams, 4);
    assert_true(fabsf(o.length_penalty - 0.2f) < 1e-6f);
    assert_non_null(strstr(rapt_model_metadata(read, "rapt.ignored_settings"), "replace_unknowns"));
    for (int side = 0; side < 2; side++) {
        const char *text =
            rapt_model_metadata(read, side ? "rapt.target_tokenizer" : "rapt.source_tokenizer");
        rapt_tokenizer *t = NULL;
        assert_non_null(text);
        assert_int_equal(rapt_tokenizer_create(&t, text, strlen(text), NULL, NULL), RAPT_OK);
        assert_true(rapt_tokenizer_file(t).size > 0);
        rapt_tokenizer_free(t);
    }
    rapt_model_free(read);
    folder_without_memory(package);
    rapt_model_free(model);
    clear(package);
}

static void test_refused(void **state)
{
    (void)state;
    char package[256], path[400];
    rapt_model *model = model_of(0);
    write_package(package, model);
    folder_text(package, "metadata.json", "{\"target_prefix\": \">>pt<<\"}");
    folder_refused(package, "target_prefix is >>pt<<, which is not supported");
    folder_text(package, "metadata.json", "{\"type\": \"sbd\", \"target_prefix\": \"\"}");
    folder_refused(package, "type is sbd, not translate");
    folder_text(package, "metadata.json", "[");
    folder_refused(package, "metadata.json is not a JSON object");
    snprintf(path, sizeof path, "%s/sentencepiece.model", package);
    assert_int_equal(unlink(path), 0);
    folder_refused(package, "the package has no sentencepiece.model");
    folder_text(package, "x.argosmodel", "PK\003\004 and more of a zip file");
    snprintf(path, sizeof path, "%s/x.argosmodel", package);
    folder_refused(path, "unpack this package of Argos with unzip");
    assert_int_equal(unlink(path), 0);
    rapt_model_free(model);
    clear(package);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_opened),
                                       cmocka_unit_test(test_refused)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
