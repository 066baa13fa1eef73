/* firefox_export.c - tests folders for Firefox: their files under Mozilla's names, the settings and
   metadata in them, and that they are opened again with the same integers and alphas. A model that
   Firefox's engines do not compute is refused with all reasons. */
#include "import/folder.h"

#include <jansson.h>

static const char *const files[] = {"model.ende.intgemm.alphas.bin",
                                    "vocab.ende.spm",
                                    "srcvocab.ende.spm",
                                    "trgvocab.ende.spm",
                                    "lex.50.50.ende.s2t.bin",
                                    "config.yml",
                                    "metadata.json",
                                    "model.bin",
                                    "vocab.spm",
                                    "vocab.src.spm",
                                    "vocab.trg.spm"};
static const rapt_text texts[] = {{"t3 t4", 5}, {"t5t6t7", 6}, {"t2", 2}};

/* Returns a configuration that Firefox's engines compute, with one vocabulary or two. */
static rapt_config student(bool two)
{
    rapt_config c = marian_configs[0];
    c.source_vocab = c.target_vocab = 16;
    if (two) c.source_vocab = 9, c.tie = RAPT_TIE_OUTPUT;
    return c;
}

static rapt_model *calibrated(const rapt_config *c, uint64_t seed)
{
    rapt_message why = {""};
    rapt_model *model = pieces_model(c, seed, 0);
    if (rapt_model_calibrate(model, texts, COUNT(texts), 1, &why)) fail_msg("%s", why.text);
    return model;
}

static rapt_shortlist *shortlist_of(const rapt_config *c)
{
    const rapt_lexical_pair pairs[] = {{3, 4, 0.5f}, {5, 6, 0.25f}, {8, 15, 1}};
    char *source = pieces_text(c->source_vocab, 0), *target = pieces_text(c->target_vocab, 0);
    rapt_tokenizer *from = NULL, *to = NULL;
    rapt_shortlist *list = NULL;
    rapt_message why = {""};
    assert_int_equal(rapt_tokenizer_create(&from, source, strlen(source), NULL, NULL), RAPT_OK);
    assert_int_equal(rapt_tokenizer_create(&to, target, strlen(target), NULL, NULL), RAPT_OK);
    if (rapt_shortlist_create(&list, pairs, COUNT(pairs), 2, 3, from, to, NULL, &why))
        fail_msg("%s", why.text);
    rapt_tokenizer_free(from);
    rapt_tokenizer_free(to);
    free(source);
    free(target);
    return list;
}

static rapt_export_options options_of(const rapt_shortlist *list)
{
    return (rapt_export_options){.size = sizeof(rapt_export_options),
                                 .source_language = "en",
                                 .target_language = "de",
                                 .shortlist = list};
}

static void read_file(const char *folder, const char *name, struct bytes *b)
{
    char path[600];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *file = fopen(path, "rb");
    if (!file) fail_msg("%s is missing", name);
    b->size = fread(b->data, 1, sizeof b->data - 1, file);
    b->data[b->size] = 0;
    assert_int_equal(fclose(file), 0);
}

static bool exists(const char *folder, const char *name)
{
    char path[600];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    return access(path, F_OK) == 0;
}

static void check_settings(const char *folder, bool two, bool list)
{
    static struct bytes b;
    read_file(folder, "config.yml", &b);
    const char *text = (const char *)b.data;
    const char *const wanted[] = {"models:\n  - model.ende.intgemm.alphas.bin\n",
                                  two ? "vocabs:\n  - srcvocab.ende.spm\n  - trgvocab.ende.spm\n"
                                      : "vocabs:\n  - vocab.ende.spm\n  - vocab.ende.spm\n",
                                  "gemm-precision: int8shiftAlphaAll\n",
                                  "max-length-factor: 2.0\n"};
    for (int i = 0; i < COUNT(wanted); i++)
        if (!strstr(text, wanted[i])) fail_msg("%s is not in %s", wanted[i], text);
    assert_int_equal(strstr(text, "shortlist:\n  - lex.50.50.ende.s2t.bin\n  - false\n") != NULL,
                     list);
}

static void check_metadata(const char *folder, const rapt_model *model)
{
    static struct bytes b, file;
    json_error_t error;
    const char *source, *target, *cell, *depth, *hash;
    int bytes, parameters, width, list[2];
    size_t wanted = 0;
    read_file(folder, "metadata.json", &b);
    read_file(folder, "model.ende.intgemm.alphas.bin", &file);
    json_t *json = json_loadb((const char *)b.data, b.size, 0, &error);
    if (!json) fail_msg("%s: %s", error.text, (const char *)b.data);
    if (json_unpack_ex(json, &error, 0,
                       "{s:s, s:s, s:i, s:s, s:{s:i}, s:{s:s, s:i, s:[i, i], s:s}}",
                       "sourceLanguage", &source, "targetLanguage", &target, "byteSize", &bytes,
                       "hash", &hash, "modelStatistics", "parameters", &parameters, "modelConfig",
                       "dec-cell", &cell, "dim-emb", &width, "dim-vocabs", &list[0], &list[1],
                       "transformer-guided-alignment-layer", &depth))
        fail_msg("%s", error.text);
    assert_string_equal(source, "en");
    assert_string_equal(target, "de");
    assert_string_equal(cell, "ssru");
    assert_string_equal(depth, "last");
    assert_int_equal(bytes, file.size);
    assert_int_equal(strspn(hash, "0123456789abcdef"), 64);
    assert_null(json_object_get(json, "architecture")); /* none of Mozilla's sizes */
    for (int i = 0; i < rapt_model_tensors(model); i++) wanted += small_size(model, i);
    assert_int_equal(parameters, wanted);
    assert_int_equal(width, rapt_model_config(model)->width);
    assert_int_equal(list[0], rapt_model_config(model)->source_vocab);
    assert_int_equal(list[1], rapt_model_config(model)->target_vocab);
    json_decref(json);
}

/* The model has the bytes of an export with Marian's names. */
static void check_model(const char *folder, const rapt_model *model)
{
    static struct bytes one, other;
    char plain[256];
    folder_make(plain, "firefox-plain");
    assert_int_equal(rapt_model_export(model, RAPT_EXPORT_BERGAMOT, plain, NULL), RAPT_OK);
    read_file(folder, "model.ende.intgemm.alphas.bin", &one);
    read_file(plain, "model.bin", &other);
    assert_int_equal(one.size, other.size);
    assert_memory_equal(one.data, other.data, one.size);
    folder_remove(plain, files, COUNT(files));
}

/* The folder is opened with its alphas, and can be written again. */
static void check_opened(const char *folder, const rapt_model *model, rapt_export_options options)
{
    rapt_message why = {""};
    rapt_model *read = folder_import(folder);
    const char *factor = rapt_model_metadata(read, "rapt.max_length_factor");
    assert_non_null(factor);
    assert_string_equal(factor, "2");
    assert_null(rapt_model_metadata(read, "rapt.ignored_settings"));
    for (int i = 0; i < rapt_model_tensors(model); i++) {
        float alphas[2][64];
        assert_true(rapt_model_tensor(model, i).rows <= 64);
        assert_int_equal(rapt_model_scales(model, i, NULL, alphas[0], NULL), RAPT_OK);
        assert_int_equal(rapt_model_scales(read, i, NULL, alphas[1], NULL), RAPT_OK);
        for (int r = 0; r < rapt_model_tensor(model, i).rows; r++)
            assert_true(alphas[0][r] == alphas[1][r]);
    }
    if (rapt_model_export_with(read, RAPT_EXPORT_FIREFOX, folder, &options, &why))
        fail_msg("%s", why.text);
    rapt_model_free(read);
}

static void test_files(void **state)
{
    (void)state;
    char folder[256];
    for (int i = 0; i < 4; i++) {
        bool two = i & 1, listed = i & 2;
        rapt_message why = {""};
        const rapt_config c = student(two);
        rapt_model *model = calibrated(&c, (uint64_t)i + 1);
        rapt_shortlist *list = listed ? shortlist_of(&c) : NULL;
        const rapt_export_options options = options_of(list);
        folder_make(folder, "firefox");
        if (rapt_model_export_with(model, RAPT_EXPORT_FIREFOX, folder, &options, &why))
            fail_msg("%s", why.text);
        const bool wanted[] = {true, !two, two, two, listed, true, true};
        for (int f = 0; f < COUNT(files); f++)
            if (exists(folder, files[f]) != (f < COUNT(wanted) && wanted[f]))
                fail_msg("%d: %s", i, files[f]);
        check_settings(folder, two, listed);
        check_metadata(folder, model);
        check_model(folder, model);
        check_opened(folder, model, options);
        folder_remove(folder, files, COUNT(files));
        rapt_shortlist_free(list);
        rapt_model_free(model);
    }
}

/* Metadata is written whole, however long it is. */
static void test_long_factor(void **state)
{
    (void)state;
    enum { ZEROS = 5000 };
    static char factor[2 + ZEROS + 1], line[ZEROS + 64], saved[1 << 18];
    static struct bytes b;
    const rapt_metadata metadata = {"rapt.max_length_factor", factor};
    size_t size;
    char folder[256];
    rapt_message why = {""};
    const rapt_config c = student(false);
    rapt_model *plain = calibrated(&c, 1), *model = NULL;
    const rapt_export_options options = options_of(NULL);
    memcpy(factor, "3.", 2);
    memset(factor + 2, '0', ZEROS);
    if (rapt_model_save_memory(plain, saved, sizeof saved, &size, &metadata, 1, &why) ||
        rapt_model_load_memory(&model, saved, size, NULL, NULL, &why))
        fail_msg("%s", why.text);
    folder_make(folder, "firefox-long");
    if (rapt_model_export_with(model, RAPT_EXPORT_FIREFOX, folder, &options, &why))
        fail_msg("%s", why.text);
    read_file(folder, "config.yml", &b);
    snprintf(line, sizeof line, "max-length-factor: %s\ngemm-precision: int8shiftAlphaAll\n",
             factor);
    assert_non_null(strstr((const char *)b.data, line));
    folder_remove(folder, files, COUNT(files));
    rapt_model_free(model);
    rapt_model_free(plain);
}

/* ---- refusals ---- */

static void refused(const rapt_model *model, const rapt_export_options *options, const char *phrase)
{
    char folder[256];
    rapt_message why = {""};
    folder_make(folder, "firefox-refused");
    assert_int_equal(rapt_model_export_with(model, RAPT_EXPORT_FIREFOX, folder, options, &why),
                     RAPT_BAD_ARGUMENT);
    if (!strstr(why.text, phrase)) fail_msg("\"%s\" does not say %s", why.text, phrase);
    assert_int_equal(rmdir(folder), 0); /* nothing was written */
}

static void test_refused(void **state)
{
    (void)state;
    rapt_config c = student(false);
    rapt_export_options options = options_of(NULL);
    rapt_model *model = pieces_model(&c, 1, 0);
    refused(model, &options,
            "cannot export this model to Firefox: alphas must be in the model's metadata");
    char folder[256];
    rapt_message why = {""};
    options.check_only = 1; /* not calibrated yet, and nothing is written */
    folder_make(folder, "firefox-checked");
    if (rapt_model_export_with(model, RAPT_EXPORT_FIREFOX, folder, &options, &why))
        fail_msg("%s", why.text);
    assert_int_equal(rmdir(folder), 0);
    assert_int_equal(rapt_model_export_with(model, RAPT_EXPORT_FIREFOX, NULL, &options, NULL),
                     RAPT_OK);
    refused(model, NULL,
            "source_language must be a code such as en; target_language must be a code "
            "such as de; alphas must be");
    const char *const codes[] = {"", "e", "a/b", "..", "thirteenchars"};
    for (int i = 0; i < COUNT(codes); i++) {
        options.source_language = codes[i];
        refused(model, &options, "source_language must be a code such as en");
    }
    options = options_of(NULL);
    const rapt_config two = student(true);
    rapt_shortlist *list = shortlist_of(&two);
    options.shortlist = list, options.check_only = 1;
    refused(model, &options,
            "shortlist must be made for vocabularies of 16 and 16 tokens, not of 9 "
            "and 16");
    rapt_shortlist_free(list);
    rapt_model_free(model);
    options = options_of(NULL);
    c.norm_order = RAPT_NORM_ORDER_PRE, c.norm_type = RAPT_NORM_TYPE_RMS, c.width = 24;
    c.activation = RAPT_ACTIVATION_SILU, c.decoder_recurrence = RAPT_RECURRENCE_NONE;
    model = small_model(&c, 1);
    refused(model, &options,
            "cannot export this model to Firefox: "
            "rapt.source_tokenizer must be in the model's metadata; "
            "rapt.target_tokenizer must be in the model's metadata; "
            "width must be a multiple of 16, such as 16 or 32, not 24; "
            "activation must be relu; norm_order must be post; norm_type must be layer; "
            "decoder_recurrence must be ssru; alphas must be");
    rapt_model_free(model);
}

/* A vocabulary that is a list of names has no SentencePiece model. */
static void test_lists(void **state)
{
    (void)state;
    static char bytes[1 << 18];
    static const char *const names[] = {"</s>", "<unk>", "c", "d", "e", "f", "g", "h"};
    rapt_text list[COUNT(names)];
    rapt_config c = student(false);
    rapt_tokenizer *t = NULL;
    char text[512];
    size_t size;
    c.source_vocab = c.target_vocab = COUNT(names);
    for (int i = 0; i < COUNT(names); i++) list[i] = (rapt_text){names[i], strlen(names[i])};
    assert_int_equal(rapt_tokenizer_create_list(&t, list, COUNT(names), NULL, NULL, NULL), RAPT_OK);
    assert_int_equal(rapt_tokenizer_write(t, text, sizeof text, &size, NULL), RAPT_OK);
    const rapt_metadata note = {"rapt.tokenizer", text};
    rapt_model *bare = small_model(&c, 1), *model = NULL;
    assert_int_equal(rapt_model_save_memory(bare, bytes, sizeof bytes, &size, &note, 1, NULL),
                     RAPT_OK);
    assert_int_equal(rapt_model_load_memory(&model, bytes, size, NULL, NULL, NULL), RAPT_OK);
    rapt_export_options options = options_of(NULL);
    options.check_only = 1;
    refused(model, &options,
            "cannot export this model to Firefox: rapt.tokenizer must be a SentencePiece "
            "model");
    rapt_model_free(model);
    rapt_model_free(bare);
    rapt_tokenizer_free(t);
}

/* A folder of another model is left alone. */
static void test_others(void **state)
{
    (void)state;
    char folder[256];
    rapt_message why = {""};
    const rapt_config c = student(false);
    const rapt_export_options options = options_of(NULL);
    rapt_model *model = calibrated(&c, 1);
    folder_make(folder, "firefox-others");
    assert_int_equal(rapt_model_export(model, RAPT_EXPORT_MARIAN, folder, NULL), RAPT_OK);
    assert_int_equal(rapt_model_export_with(model, RAPT_EXPORT_FIREFOX, folder, &options, &why),
                     RAPT_BAD_ARGUMENT);
    assert_non_null(strstr(why.text, "is a file of another model"));
    folder_remove(folder, files, COUNT(files));
    rapt_model_free(model);
}

/* Each allocation fails once: RAPT_NO_MEMORY, and nothing leaks. */
static void test_memory(void **state)
{
    (void)state;
    static char bytes[1 << 18];
    char folder[256];
    struct counting counting = {.fails = -1};
    const rapt_allocator allocator = counting_allocator(&counting);
    const rapt_config c = student(true);
    rapt_model *plain = calibrated(&c, 1), *model = NULL;
    rapt_shortlist *list = shortlist_of(&c);
    const rapt_export_options options = options_of(list);
    size_t size;
    assert_int_equal(rapt_model_save_memory(plain, bytes, sizeof bytes, &size, NULL, 0, NULL),
                     RAPT_OK);
    assert_int_equal(rapt_model_load_memory(&model, bytes, size, NULL, &allocator, NULL), RAPT_OK);
    folder_make(folder, "firefox-memory");
    long living = counting.living;
    rapt_status status = RAPT_NO_MEMORY;
    for (long fails = 0; status; fails++) {
        rapt_message why = {""};
        counting.calls = 0, counting.fails = fails;
        status = rapt_model_export_with(model, RAPT_EXPORT_FIREFOX, folder, &options, &why);
        if (status != RAPT_OK && status != RAPT_NO_MEMORY) fail_msg("%ld: %s", fails, why.text);
        assert_int_equal(status == RAPT_OK, !why.text[0]);
        assert_int_equal(counting.living, living);
    }
    folder_remove(folder, files, COUNT(files));
    rapt_shortlist_free(list);
    rapt_model_free(model);
    rapt_model_free(plain);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_files),   cmocka_unit_test(test_long_factor),
        cmocka_unit_test(test_refused), cmocka_unit_test(test_lists),
        cmocka_unit_test(test_others),  cmocka_unit_test(test_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
