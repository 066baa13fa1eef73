/* export_metadata.c - tests the tokenizers in a model's metadata when it is exported: names of any
   bytes are read back. A model that is not an encoder-decoder, and tokenizers that are missing, do
   not fit or lack what a project needs, are refused by name. */
#include "import/ct2_configs.h"
#include "import/pieces.h"

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
           "source_vocab must be target_vocab, since there is one tokenizer");
    refuse(model_with(unlike, NULL, nine, eight), RAPT_EXPORT_CT2,
           "rapt.target_tokenizer must be a vocabulary of 7 tokens, one per row of the embeddings, "
           "not 8");
    refuse(model_with(unlike, NULL, nine, NULL), RAPT_EXPORT_CT2,
           "CTranslate2 cannot hold this model: rapt.target_tokenizer must be in the model's "
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
           "cannot hold this model: rapt.tokenizer must be a vocabulary with the token <unk>; "
           "rapt.tokenizer must be a SentencePiece model");
    rapt_config other = *like; /* all reasons at once, also those of vocabularies */
    other.decoder_recurrence = RAPT_RECURRENCE_SSRU;
    refuse(model_with(&other, NULL, NULL, nine), RAPT_EXPORT_CT2,
           "cannot hold this model: rapt.source_tokenizer must be in the model's metadata; "
           "rapt.target_tokenizer must be a vocabulary of 8 tokens, one per row of the embeddings, "
           "not 9; decoder_recurrence must be its default");
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_names),
        cmocka_unit_test(test_refusals),
        cmocka_unit_test(test_many_reasons),
        cmocka_unit_test(test_long_path),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
