/* export.c - exports in general: metadata of tokenizers, and folders that already have a model. */
#include "import/folder.h"

/* ---- export metadata: tests the tokenizers in a model's metadata when it is exported: names of
   any bytes are read back. A model that is not an encoder-decoder, and tokenizers that are missing,
   do not fit or lack what a project needs, are refused by name. ---- */

enum { NAMES = 9 };

static const rapt_config classifier = {.size = sizeof classifier,
                                       .kind = RAPT_KIND_ENCODER_ONLY,
                                       .source_vocab = 8,
                                       .target_vocab = 8,
                                       .positions = 12,
                                       .width = 8,
                                       .heads = 2,
                                       .ffn_width = 8,
                                       .encoder_layers = 1};
static const rapt_config marian_mt = {.size = sizeof marian_mt,
                                      .source_vocab = 8,
                                      .target_vocab = 8,
                                      .positions = 12,
                                      .width = 8,
                                      .heads = 4,
                                      .ffn_width = 12,
                                      .encoder_layers = 1,
                                      .decoder_layers = 2,
                                      .position = RAPT_POSITION_CONCATENATED,
                                      .tie = RAPT_TIE_OUTPUT,
                                      .norm_epsilon = 1e-5f,
                                      .plain_embedding = 1,
                                      .decoder_start = RAPT_DECODER_START_END};

/* Returns the text of a tokenizer with this list of names, which the caller frees. */
static char *list_text(const char *const *names, int count)
{
    rapt_text texts[NAMES];
    rapt_tokenizer *t = NULL;
    size_t size;
    assert_true(count <= NAMES);
    for (int i = 0; i < count; i++) texts[i] = (rapt_text){names[i], strlen(names[i])};
    assert_int_equal(rapt_tokenizer_create_list(&t, texts, count, NULL, NULL, NULL), RAPT_OK);
    assert_int_equal(rapt_tokenizer_write(t, NULL, 0, &size, NULL), RAPT_OK);
    char *text = malloc(size);
    assert_int_equal(rapt_tokenizer_write(t, text, size, &size, NULL), RAPT_OK);
    rapt_tokenizer_free(t);
    return text;
}

/* Makes a random model with this metadata; a NULL text is left out. */
static rapt_model *model_with(const rapt_config *c, const char *joint, const char *source,
                              const char *target)
{
    static char bytes[1 << 18];
    const rapt_metadata all[] = {{"rapt.tokenizer", joint},
                                 {"rapt.source_tokenizer", source},
                                 {"rapt.target_tokenizer", target}};
    rapt_metadata pairs[3];
    int count = 0;
    size_t size;
    rapt_model *plain = small_model(c, 1), *model = NULL;
    for (int i = 0; i < COUNT(all); i++)
        if (all[i].value) pairs[count++] = all[i];
    assert_int_equal(rapt_model_save_memory(plain, bytes, sizeof bytes, &size, pairs, count, NULL),
                     RAPT_OK);
    assert_int_equal(rapt_model_load_memory(&model, bytes, size, NULL, NULL, NULL), RAPT_OK);
    rapt_model_free(plain);
    return model;
}

/* ---- names ---- */

static void same_names(const rapt_tokenizer *t, const char *const *names, int count)
{
    assert_int_equal(rapt_tokenizer_vocab(t), count);
    for (int id = 0; id < count; id++) {
        const rapt_text name = rapt_tokenizer_name(t, id);
        assert_int_equal(name.size, strlen(names[id]));
        assert_memory_equal(name.bytes, names[id], name.size);
    }
}

/* Control characters, quotes and backslashes are escaped in JSON. A row without a name gets one. */
static void test_names(void **state)
{
    (void)state;
    static const char *const files[] = {"model.bin", "config.json", "source_vocabulary.json",
                                        "target_vocabulary.json"};
    static const char *source[] = {"<unk>", "</s>",     "a\x01",    "\x1F", "\"q\"",
                                   "\\n",   "\t\x7F\n", "\xC3\xA4", ""};
    static const char *const target[] = {"<s>", "</s>", "<unk>", "\x02\\\"", "\r", "c", "/"};
    char folder[256],
        *texts[] = {list_text(source, COUNT(source)), list_text(target, COUNT(target))};
    rapt_model *model = model_with(&ct2_configs[0], NULL, texts[0], texts[1]);
    rapt_translator *read = NULL;
    rapt_message why = {""};
    folder_make(folder, "export-names");
    if (rapt_model_export(model, RAPT_EXPORT_CT2, folder, &why)) fail_msg("%s", why.text);
    if (rapt_translator_load(&read, folder, NULL, NULL, &why)) fail_msg("%s", why.text);
    source[8] = "<unused 8>";
    same_names(rapt_translator_source(read), source, COUNT(source));
    same_names(rapt_translator_target(read), target, COUNT(target));
    rapt_translator_free(read);
    rapt_model_free(model);
    folder_remove(folder, files, COUNT(files));
    for (int i = 0; i < 2; i++) free(texts[i]);
}

/* ---- refusals ---- */

static void refuse(rapt_model *model, rapt_export format, const char *phrase)
{
    char folder[256];
    rapt_message why = {""};
    folder_make(folder, "export-refused");
    assert_int_equal(rapt_model_export(model, format, folder, &why), RAPT_BAD_ARGUMENT);
    if (!strstr(why.text, phrase)) fail_msg("\"%s\" does not say %s", why.text, phrase);
    assert_int_equal(rmdir(folder), 0); /* nothing was written */
    rapt_model_free(model);
}

static void test_refusals(void **state)
{
    (void)state;
    static const char *const names[] = {"<s>", "</s>", "a", "b", "c", "d", "e", "f", "g"};
    static const char *const known[] = {"<unk>", "</s>", "<pad>", "b", "c", "d", "e", "f"};
    char *seven = pieces_text(7, PIECES_BEGIN), *eight = pieces_text(8, PIECES_BEGIN),
         *nine = pieces_text(9, PIECES_BEGIN), *list_8 = list_text(names, 8),
         *list_9 = list_text(names, 9), *list = list_text(known, COUNT(known)),
         *pieces = pieces_text(8, PIECES_PAD);
    const rapt_config *unlike = &ct2_configs[0], *like = &ct2_configs[1]; /* 9 and 7, 8 and 8 */
    refuse(model_with(&classifier, eight, NULL, NULL), RAPT_EXPORT_CT2,
           "kind must be encoder-decoder");
    refuse(model_with(like, nine, NULL, NULL), RAPT_EXPORT_CT2,
           "rapt.tokenizer must be a vocabulary of 8 tokens, one per row of the embeddings, not 9");
    refuse(model_with(unlike, nine, NULL, NULL), RAPT_EXPORT_CT2,
           "source_vocab must be equal to target_vocab, because there is only one tokenizer");
    refuse(model_with(unlike, NULL, nine, eight), RAPT_EXPORT_CT2,
           "rapt.target_tokenizer must be a vocabulary of 7 tokens, one per row of the embeddings, "
           "not 8");
    refuse(model_with(unlike, NULL, nine, NULL), RAPT_EXPORT_CT2,
           "cannot export this model to CTranslate2: rapt.target_tokenizer must be in the model's "
           "metadata");
    refuse(model_with(unlike, NULL, NULL, seven), RAPT_EXPORT_CT2,
           "rapt.source_tokenizer must be in the model's metadata");
    refuse(model_with(unlike, NULL, list_9, seven), RAPT_EXPORT_CT2,
           "rapt.source_tokenizer must be a vocabulary with the token <unk>");
    refuse(model_with(like, list_8, NULL, NULL), RAPT_EXPORT_CT2,
           "rapt.tokenizer must be a vocabulary with the token <unk>");
    refuse(model_with(&marian_mt, list, NULL, NULL), RAPT_EXPORT_HF,
           "rapt.tokenizer must be a SentencePiece model");
    refuse(model_with(&marian_mt, NULL, pieces, list), RAPT_EXPORT_HF,
           "rapt.target_tokenizer must be a SentencePiece model");
    refuse(model_with(&marian_mt, list_8, NULL, NULL), RAPT_EXPORT_HF,
           "cannot export this model to Hugging Face MarianMT: rapt.tokenizer must be a vocabulary "
           "with the token <unk>; rapt.tokenizer must be a SentencePiece model");
    rapt_config other = *like; /* all reasons at once, also those of vocabularies */
    other.decoder_recurrence = RAPT_RECURRENCE_SSRU;
    refuse(model_with(&other, NULL, NULL, nine), RAPT_EXPORT_CT2,
           "cannot export this model to CTranslate2: rapt.source_tokenizer must be in the model's "
           "metadata; rapt.target_tokenizer must be a vocabulary of 8 tokens, one per row of the "
           "embeddings, not 9; decoder_recurrence must be left at its default");
    char *const all[] = {seven, eight, nine, list_8, list_9, list, pieces};
    for (int i = 0; i < COUNT(all); i++) free(all[i]);
}

/* Reasons that do not fit the message are cut, which the message says. */
static void test_many_reasons(void **state)
{
    (void)state;
    char *text = pieces_text(8, PIECES_BEGIN);
    rapt_config c = ct2_configs[1];
    c.position = RAPT_POSITION_NONE, c.ffn_width = 0, c.cross_normalizer = RAPT_NORMALIZER_ARGMAX;
    c.self_score = c.cross_score = RAPT_SCORE_COSINE, c.score_cap = 2;
    c.rotary = RAPT_ROTARY_PAIRS, c.relative_bias = RAPT_RELATIVE_BIAS_ALIBI;
    c.decoder_recurrence = RAPT_RECURRENCE_SSRU;
    c.self_locality = c.cross_locality = RAPT_LOCALITY_LOCAL_M, c.self_radius = c.cross_radius = 3;
    c.self_normalizer = RAPT_NORMALIZER_ARGMAX;
    refuse(model_with(&c, text, NULL, NULL), RAPT_EXPORT_CT2, "; and more");
    free(text);
}

static void test_long_path(void **state)
{
    (void)state;
    static char folder[5000];
    rapt_message why = {""};
    char *text = pieces_text(8, PIECES_BEGIN);
    rapt_model *model = model_with(&ct2_configs[1], text, NULL, NULL);
    memset(folder, 'x', sizeof folder - 1);
    assert_int_equal(rapt_model_export(model, RAPT_EXPORT_CT2, folder, &why), RAPT_BAD_ARGUMENT);
    assert_non_null(strstr(why.text, "x: the path is too long"));
    rapt_model_free(model);
    free(text);
}

/* ---- others: tests the export to a folder that already has a model. A model of the same format is
   replaced. If there is a model of another format, or a file that would be read with the new ones,
   the message names it, and nothing is written. ---- */

static const char *const others_files[] = {"model.bin",
                                           "model.safetensors",
                                           "config.json",
                                           "generation_config.json",
                                           "tokenizer_config.json",
                                           "vocab.json",
                                           "vocab.spm",
                                           "source.spm",
                                           "target.spm",
                                           "shared_vocabulary.json",
                                           "source_vocabulary.json",
                                           "target_vocabulary.json",
                                           "decoder.yml",
                                           "added_tokens.json",
                                           "my.npz"};

/* clang-format off */
static const rapt_config of_hf = {.size = sizeof(rapt_config), .source_vocab = 9, .target_vocab = 9, .positions = 20, .width = 16,
    .heads = 2, .ffn_width = 24, .encoder_layers = 1, .decoder_layers = 1, .position = RAPT_POSITION_CONCATENATED,
    .tie = RAPT_TIE_ALL, .output_bias = 1, .decoder_start = RAPT_DECODER_START_PAD};
static const rapt_config of_marian = {.size = sizeof(rapt_config), .source_vocab = 8, .target_vocab = 8, .positions = 1024,
    .width = 16, .heads = 2, .ffn_width = 16, .encoder_layers = 1, .decoder_layers = 1,
    .position = RAPT_POSITION_CONCATENATED_N1, .tie = RAPT_TIE_ALL, .output_bias = 1, .norm_epsilon = 1e-6f,
    .decoder_start = RAPT_DECODER_START_ZERO, .alignment_layer = 1};
/* clang-format on */

static const struct {
    rapt_export format;
    const rapt_config *config;
    int specials;
    bool narrow; /* the imported parameters differ from the exported ones */
} others_all[] = {{RAPT_EXPORT_MARIAN, &of_marian, 0, false},
                  {RAPT_EXPORT_BERGAMOT, &of_marian, 0, true},
                  {RAPT_EXPORT_HF, &of_hf, PIECES_PAD, true}, /* bias of the pad token */
                  {RAPT_EXPORT_CT2, &ct2_configs[1], 0, false}};

static rapt_model *model_of(int which, uint64_t seed)
{
    return pieces_model(others_all[which].config, seed, others_all[which].specials);
}

static void export(const rapt_model *model, rapt_export format, const char *folder)
{
    rapt_message why = {""};
    if (rapt_model_export(model, format, folder, &why)) fail_msg("%s", why.text);
}

/* Returns a checksum of the names and bytes of the files. */
static uint64_t contents(const char *folder)
{
    uint64_t sum = 0;
    char path[600];
    for (int i = 0; i < COUNT(others_files); i++) {
        snprintf(path, sizeof path, "%s/%s", folder, others_files[i]);
        FILE *file = fopen(path, "rb");
        for (int c = 0; file && c != EOF; c = fgetc(file))
            sum = (sum + (unsigned)c + (unsigned)i) * 0x9E3779B97F4A7C15u;
        if (file) fclose(file);
    }
    return sum;
}

/* name: the file that the message must name; NULL: any. */
static void stays(const rapt_model *model, rapt_export format, const char *folder, const char *name)
{
    rapt_message why = {""};
    uint64_t before = contents(folder);
    assert_int_equal(rapt_model_export(model, format, folder, &why), RAPT_BAD_ARGUMENT);
    if (!strstr(why.text, "is a file of another model") || (name && !strstr(why.text, name)))
        fail_msg("\"%s\" does not name %s", why.text, name ? name : "a file");
    assert_true(contents(folder) == before);
}

static void test_formats(void **state)
{
    (void)state;
    char folder[256];
    for (int a = 0; a < COUNT(others_all); a++)
        for (int b = 0; b < COUNT(others_all); b++) {
            rapt_model *first = model_of(a, 2), *second = model_of(b, 3);
            bool same = a == b || (a < 2 && b < 2); /* Marian in float and in 8 bits */
            folder_make(folder, "others-formats");
            export(first, others_all[a].format, folder);
            if (same)
                export(second, others_all[b].format, folder);
            else
                stays(second, others_all[b].format, folder, NULL);
            if (!others_all[same ? b : a].narrow) folder_is(folder, same ? second : first);
            rapt_model_free(folder_import(folder));
            folder_remove(folder, others_files, COUNT(others_files));
            rapt_model_free(first);
            rapt_model_free(second);
        }
}

/* Files of the same format that the new model does not have. */
static void test_left(void **state)
{
    (void)state;
    char folder[256];
    rapt_model *shared = model_of(3, 2), *separate = pieces_model(&ct2_configs[0], 3, PIECES_BEGIN);
    folder_make(folder, "others-left");
    export(shared, RAPT_EXPORT_CT2, folder);
    stays(separate, RAPT_EXPORT_CT2, folder, "shared_vocabulary.json");
    folder_remove(folder, others_files, COUNT(others_files));
    rapt_model *marian = model_of(0, 4);
    static const char *const names[] = {"decoder.yml", "my.npz", "source.spm", "vocab.json"};
    for (int i = 0; i < COUNT(names); i++) {
        folder_make(folder, "others-left");
        folder_text(folder, names[i], "x");
        stays(marian, RAPT_EXPORT_MARIAN, folder, names[i]);
        folder_remove(folder, others_files, COUNT(others_files));
    }
    rapt_model *hf = model_of(2, 4);
    folder_make(folder, "others-left");
    folder_text(folder, "added_tokens.json", "{}");
    stays(hf, RAPT_EXPORT_HF, folder, "added_tokens.json");
    folder_remove(folder, others_files, COUNT(others_files));
    rapt_model_free(hf);
    rapt_model_free(marian);
    rapt_model_free(shared);
    rapt_model_free(separate);
}

/* A file of tensors without the other files: of another format, of our own, or of none. */
static void test_tensors(void **state)
{
    (void)state;
    char folder[256], path[600];
    rapt_model *marian = model_of(0, 2), *ct2 = model_of(3, 3), *hf = model_of(2, 4);
    folder_make(folder, "others-tensors");
    export(ct2, RAPT_EXPORT_CT2, folder);
    for (int i = 0; i < COUNT(others_files); i++) {
        snprintf(path, sizeof path, "%s/%s", folder, others_files[i]);
        if (strcmp(others_files[i], "model.bin") != 0) unlink(path);
    }
    stays(marian, RAPT_EXPORT_MARIAN, folder, "model.bin");
    folder_text(folder, "model.bin", "nothing that is known");
    export(marian, RAPT_EXPORT_MARIAN, folder);
    folder_is(folder, marian);
    folder_remove(folder, others_files, COUNT(others_files));
    folder_make(folder, "others-tensors");
    snprintf(path, sizeof path, "%s/model.safetensors", folder);
    assert_int_equal(rapt_model_save(hf, path, NULL, 0, NULL), RAPT_OK);
    stays(hf, RAPT_EXPORT_HF, folder, "model.safetensors");
    folder_remove(folder, others_files, COUNT(others_files));
    rapt_model_free(marian);
    rapt_model_free(ct2);
    rapt_model_free(hf);
}

/* Folders that cannot be listed: one that does not exist, and one whose name is invalid on every
   system. */
static void test_folders(void **state)
{
    (void)state;
    char folder[256], name[600];
    rapt_model *marian = model_of(0, 2);
    for (int length = 4; length <= 300; length += 296) {
        rapt_message why = {""};
        folder_make(folder, "others-folders");
        snprintf(name, sizeof name, "%s/%0*d", folder, length, 7);
        assert_int_equal(rapt_model_export(marian, RAPT_EXPORT_MARIAN, name, &why), RAPT_NO_FILE);
        if (!strstr(why.text, folder)) fail_msg("\"%s\" does not name it", why.text);
        folder_remove(folder, others_files, COUNT(others_files));
    }
    rapt_model_free(marian);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_names),        cmocka_unit_test(test_refusals),
        cmocka_unit_test(test_many_reasons), cmocka_unit_test(test_long_path),
        cmocka_unit_test(test_formats),      cmocka_unit_test(test_left),
        cmocka_unit_test(test_tensors),      cmocka_unit_test(test_folders),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
