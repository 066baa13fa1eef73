/* argos.c - packages of Argos Translate, unpacked and in zip files: a folder with metadata.json,
   sentencepiece.model or bpe.model, and a folder of CTranslate2. The model is opened with the
   pieces or merges and with Argos' settings for decoding; packages that need more are refused. The
   seeds of the fuzz target archive are zip files of the package that write_package writes, made by
   Python's zipfile (also to a stream), Info-ZIP 3.0 and 7-Zip. */
#include "import/ct2_craft.h"

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

/* The target's prefix is the first token of every translation. */
static void test_prefix(void **state)
{
    (void)state;
    char package[256];
    rapt_model *model = model_of(0);
    write_package(package, model);
    folder_text(package, "metadata.json", "{\"target_prefix\": \"t5\"}");
    folder_is(package, model);
    rapt_model *read = folder_import(package);
    assert_string_equal(rapt_model_metadata(read, "rapt.first_token"), "5");
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
    folder_refused(package, "target_prefix is >>pt<<, which is not in the target's vocabulary");
    folder_text(
        package, "metadata.json",
        "{\"target_prefix\": \"0123456789012345678901234567890123456789012345678901234567890123"
        "\"}");
    folder_refused(package, "it must have fewer than 64 bytes");
    folder_text(package, "metadata.json", "{\"type\": \"sbd\", \"target_prefix\": \"\"}");
    folder_refused(package, "type is sbd, not translate");
    folder_text(package, "metadata.json", "[");
    folder_refused(package, "metadata.json is not a JSON object");
    snprintf(path, sizeof path, "%s/sentencepiece.model", package);
    assert_int_equal(unlink(path), 0);
    folder_refused(package, "the package has neither sentencepiece.model nor bpe.model");
    folder_text(package, "x.argosmodel", "PK\003\004 and more of a zip file");
    snprintf(path, sizeof path, "%s/x.argosmodel", package);
    folder_refused(path, "x.argosmodel: the end of the zip directory is missing");
    assert_int_equal(unlink(path), 0);
    rapt_model_free(model);
    clear(package);
}

/* ---- bpe.model ---- */

static void use_merges(const char *package, const char *merges)
{
    char path[400];
    snprintf(path, sizeof path, "%s/sentencepiece.model", package);
    unlink(path);
    folder_text(package, "bpe.model", merges);
}

static void clear_merges(const char *package)
{
    char path[400];
    snprintf(path, sizeof path, "%s/bpe.model", package);
    assert_int_equal(unlink(path), 0);
    clear(package);
}

/* The tokenizers of both sides have the same merges and the words of their languages. */
static void test_merges(void **state)
{
    (void)state;
    char package[256];
    rapt_model *model = model_of(0);
    write_package(package, model);
    use_merges(package, "#version: 0.2\nt 5</w>\n");
    folder_is(package, model);
    rapt_model *read = folder_import(package);
    for (int side = 0; side < 2; side++) {
        const char *text =
            rapt_model_metadata(read, side ? "rapt.target_tokenizer" : "rapt.source_tokenizer");
        rapt_tokenizer *t = NULL;
        int32_t ids[4];
        size_t count;
        assert_non_null(text);
        assert_int_equal(strncmp(text, "rapt-moses 1 ", 13), 0);
        assert_non_null(strstr(text, side ? " 2 ZGU= " : " 2 ZW4= ")); /* de, en */
        assert_int_equal(rapt_tokenizer_create(&t, text, strlen(text), NULL, NULL), RAPT_OK);
        assert_int_equal(
            rapt_tokenizer_encode(t, (rapt_text){" t5 t5", 6}, ids, NULL, 4, &count, NULL),
            RAPT_OK);
        assert_int_equal(count, 2);
        assert_int_equal(ids[0], 5);
        assert_int_equal(ids[1], 5);
        rapt_tokenizer_free(t);
    }
    rapt_model_free(read);
    folder_without_memory(package);
    rapt_model_free(model);
    clear_merges(package);
}

static void test_merges_refused(void **state)
{
    (void)state;
    char package[256];
    rapt_model *model = model_of(0);
    write_package(package, model);
    use_merges(package, "#version: 0.2\nt\n");
    folder_refused(package, "bpe.model, line 2: a merge must be two symbols");
    use_merges(package, "");
    folder_text(package, "metadata.json", "{\"from_code\": \"en\"}");
    folder_refused(package, "metadata.json: to_code must be a string of 1 to 15 bytes");
    folder_text(package, "metadata.json", "{\"from_code\": \"0123456789abcdef\"}");
    folder_refused(package, "metadata.json: from_code must be a string of 1 to 15 bytes");
    rapt_model_free(model);
    clear_merges(package);
}

/* ---- zip files ---- */

static const char *zip_of(const char *name)
{
    static char path[4096];
    snprintf(path, sizeof path, RAPT_UNPACKED_DIR "/fuzz/seeds/archive/%s.argosmodel", name);
    return path;
}

static bool without_zlib(const char *path)
{
    rapt_model *model = NULL;
    rapt_message why = {""};
    rapt_status status = rapt_model_import(&model, path, NULL, &why);
    rapt_model_free(model);
    return status && strstr(why.text, "built without zlib");
}

static void count_file(void *user, const char *name, rapt_file_use use, const char *reason)
{
    int *counts = user;
    counts[use]++;
    assert_true(strlen(name) && reason);
}

static void test_zip(void **state)
{
    (void)state;
    static const char *const writers[] = {"streamed", "python", "infozip", "sevenzip", "flat"};
    rapt_model *model = model_of(0);
    for (int n = 0; n < COUNT(writers); n++) {
        const char *path = zip_of(writers[n]);
        int counts[8] = {0};
        if (n > 0 && without_zlib(path)) skip();
        folder_is(path, model);
        rapt_model *read = NULL;
        assert_int_equal(rapt_model_import_with(&read, path, NULL, count_file, counts, NULL, NULL),
                         RAPT_OK);
        assert_int_equal(counts[RAPT_FILE_USE_MODEL], 1);
        assert_int_equal(counts[RAPT_FILE_USE_VOCABULARY], 3); /* with the pieces */
        rapt_tokenizer *t = NULL;
        const char *text = rapt_model_metadata(read, "rapt.source_tokenizer");
        assert_int_equal(rapt_tokenizer_create(&t, text, strlen(text), NULL, NULL), RAPT_OK);
        assert_true(rapt_tokenizer_file(t).size > 0);
        rapt_tokenizer_free(t);
        rapt_model_free(read);
        folder_without_memory(path);
    }
    rapt_model_free(model);
}

/* Copies a zip file without compression, with one text replaced by another of the same size. */
static void refuse_changed(const char *from, const char *to, int times, const char *phrase)
{
    static struct bytes b;
    char folder[256], path[300];
    FILE *file = fopen(zip_of("streamed"), "rb");
    assert_non_null(file);
    b.size = fread(b.data, 1, sizeof b.data, file);
    fclose(file);
    const size_t size = strlen(from);
    assert_int_equal(strlen(to), size);
    for (size_t at = 0; at + size <= b.size && times > 0; at++)
        if (memcmp(b.data + at, from, size) == 0) memcpy(b.data + at, to, size), times--;
    assert_int_equal(times, 0);
    folder_make(folder, "argos-zip");
    folder_write(folder, "a.argosmodel", &b);
    snprintf(path, sizeof path, "%s/a.argosmodel", folder);
    folder_refused(path, phrase);
    folder_remove(folder, (const char *const[]){"a.argosmodel"}, 1);
}

static void test_zip_refused(void **state)
{
    (void)state;
    folder_refused(zip_of("encrypted"), "is encrypted");
    if (!without_zlib(zip_of("bomb"))) folder_refused(zip_of("bomb"), "more than any model needs");
    refuse_changed("metadata", "metadatA", 2, "it has no folder with a metadata.json");
    refuse_changed("model.bin", "../../bin", 2, "must be a relative path");
    refuse_changed("translate-en_de-1_0/metadata", "/ranslate-en_de-1_0/metadata", 2,
                   "must be a relative path");
    refuse_changed("model.bin", "model\\bin", 2, "must be a relative path");
    refuse_changed("source_vocab", "target_vocab", 2, "occurs twice");
    refuse_changed("model.bin", "model.bim", 2, "the folder has no weights file");
    refuse_changed("translate-en_de-1_0/sentencepiece.model",
                   "a-second-folder-like-this/metadata.json", 2,
                   "it has several folders with a metadata.json");
    refuse_changed("sentencepiece.model", "sentencepiece.mode1", 2,
                   "the package has neither sentencepiece.model nor bpe.model");
    folder_refused(zip_of("other"), "p/model/model.bin is not a CTranslate2 model");
}

/* A package that does not exist, and a path that is too long once a folder in it is appended. */
static void test_missing(void **state)
{
    (void)state;
    static char path[4096];
    rapt_model *none = NULL;
    assert_int_equal(rapt_model_import(&none, zip_of("absent"), NULL, NULL), RAPT_NO_FILE);
    const char *name = strrchr(zip_of("streamed"), '/');
    size_t size = (size_t)(name - zip_of("streamed"));
    memcpy(path, zip_of("streamed"), size);
    while (size + strlen(name) < sizeof path - 3) path[size] = '/', path[size + 1] = '.', size += 2;
    strcpy(path + size, name);
    folder_refused(path, "the path is too long");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_opened),         cmocka_unit_test(test_prefix),
        cmocka_unit_test(test_refused),        cmocka_unit_test(test_merges),
        cmocka_unit_test(test_merges_refused), cmocka_unit_test(test_zip),
        cmocka_unit_test(test_zip_refused),    cmocka_unit_test(test_missing)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
