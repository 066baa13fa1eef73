/* hf_encoder.c - folders of BERT, DistilBERT, RoBERTa, XLM-RoBERTa and MPNet as Hugging Face and
   sentence-transformers lay them out: every parameter is found under its name, also under older
   names and beside heads of pre-training; how a folder pools, normalizes and cuts texts is kept;
   the rest is refused by name. exchange/encoders.py compares with models that transformers
   made. */
#include "import/hf_encoder_craft.h"

static void test_parameters(void **state)
{
    (void)state;
    static const struct kind kinds[] = {
        {BERT, false, false, 0, NULL},
        {BERT, true, false, 0, "embeddings.position_ids"},
        {BERT, false, true, 0, "cls.predictions.bias"},
        {BERT, true, true, 0, "pooler.dense.bias"},
        {BERT, false, false, 3, "bert.embeddings.position_ids"},
        {DISTILBERT, false, false, 0, "vocab_projector.bias"},
        {DISTILBERT, true, false, 0, NULL},
        {ROBERTA, false, false, 0, "lm_head.bias"},
        {ROBERTA, true, false, 0, "pooler.dense.bias"},
        {ROBERTA, false, true, 0, "lm_head.bias"},
        {XLM_ROBERTA, false, false, 2, "roberta.embeddings.position_ids"},
        {MPNET, true, false, 0, "pooler.dense.bias"},
        {MPNET, false, false, 3, NULL},
    };
    for (int i = 0; i < COUNT(kinds); i++) {
        char folder[256];
        rapt_model *model = write_folder(folder, &kinds[i]);
        folder_is(folder, model);
        rapt_model *read = folder_import(folder);
        assert_string_equal(rapt_model_metadata(read, "rapt.source_begin"), "1");
        assert_null(rapt_model_metadata(read, "rapt.normalize"));
        assert_null(rapt_model_metadata(read, "rapt.max_tokens"));
        rapt_model_free(read);
        rapt_model_free(model);
        clear(folder);
    }
}

/* Tables of positions begin after the pad token, whose id is therefore known. */
static void test_padding(void **state)
{
    (void)state;
    const struct kind k = {.family = ROBERTA};
    char folder[256];
    rapt_model *model = write_folder(folder, &k);
    write_config(folder, &k, "\"pad_token_id\": 0");
    folder_refused(folder, "pad_token_id is 0, not 1");
    write_config(folder, &k, "\"max_position_embeddings\": 2");
    folder_refused(folder, "max_position_embeddings is 2");
    rapt_model_free(model);
    clear(folder);
}

/* A classifier of tokens has no pooler, whatever the file has. */
static void test_token_classes(void **state)
{
    (void)state;
    const struct kind k = {.classes = 3};
    char folder[256];
    rapt_model *model = write_folder(folder, &k);
    write_config(folder, &k, "\"architectures\": [\"BertForTokenClassification\"]");
    rapt_model *read = folder_import(folder);
    assert_int_equal(rapt_model_config(read)->pooling, RAPT_POOLING_NONE);
    assert_int_equal(rapt_model_config(read)->pooler, 0);
    assert_int_equal(rapt_model_config(read)->target_vocab, 3);
    rapt_model_free(read);
    rapt_model_free(model);
    clear(folder);
}

/* Encodes a text with the tokenizer of the folder. */
static void check_words(const char *folder, const char *text, const int32_t *ids, size_t count)
{
    rapt_encoder *e = NULL;
    rapt_message why = {""};
    int32_t got[16];
    size_t size;
    if (rapt_encoder_load(&e, folder, NULL, NULL, &why)) fail_msg("%s", why.text);
    assert_int_equal(rapt_tokenizer_encode(rapt_encoder_tokenizer(e),
                                           (rapt_text){text, strlen(text)}, got, NULL, 16, &size,
                                           NULL),
                     RAPT_OK);
    assert_int_equal(size, count);
    assert_memory_equal(got, ids, count * sizeof *ids);
    rapt_encoder_free(e);
}

/* Special tokens of BART, which RoBERTa and MPNet have, stand for those of BERT where a vocabulary
   has both, and two </s> separate the texts of a pair. */
static void test_pairs(void **state)
{
    (void)state;
    const struct kind k = {.family = MPNET, .classes = 2};
    static const char *const both = "<s>\n<pad>\n</s>\n<unk>\n[UNK]\n[CLS]\n[SEP]\na\nb\n";
    const rapt_text a = {"a", 1}, b = {"b [UNK]", 7};
    const int32_t ids[] = {0, 7, 2, 2, 8, 4, 2};
    const int starts[] = {0, 7};
    char folder[256];
    rapt_model *model = write_folder(folder, &k);
    rapt_encoder *e = NULL;
    rapt_message why = {""};
    float got[2];
    folder_text(folder, "vocab.txt", both);
    if (rapt_encoder_load(&e, folder, NULL, NULL, &why)) fail_msg("%s", why.text);
    check_words(folder, "a[CLS]</s>", (const int32_t[]){7, 4, 4, 4, 2}, 5);
    assert_int_equal(rapt_encoder_classify(e, &a, &b, 1, got, &why), RAPT_OK);
    rapt_session *session = NULL;
    const rapt_limits limits = {
        .size = sizeof limits, .batch = 1, .source_tokens = 7, .target_length = 1};
    const rapt_tokens tokens = {.batch = 1, .ids = ids, .starts = starts};
    const float *wanted;
    assert_int_equal(rapt_session_create(&session, rapt_encoder_model(e), &limits, NULL, &why), 0);
    assert_int_equal(rapt_classify(session, &tokens, &wanted, &why), RAPT_OK);
    assert_memory_equal(got, wanted, sizeof got);
    rapt_session_free(session);
    rapt_encoder_free(e);
    rapt_model_free(model);
    clear(folder);
}

static void test_tokenizers(void **state)
{
    (void)state;
    const struct kind k = {.bare = true};
    char folder[256];
    rapt_model *model = write_folder(folder, &k);
    check_words(folder, "ab \303\211", (const int32_t[]){4, 7, 8}, 3);
    folder_text(folder, "tokenizer_config.json", "{\"do_lower_case\": false}");
    check_words(folder, "E \303\251", (const int32_t[]){6, 5}, 2);
    folder_text(folder, "tokenizer_config.json", "{\"strip_accents\": false}");
    check_words(folder, "E \303\211", (const int32_t[]){8, 5}, 2);
    rapt_model_free(model);
    clear(folder);
}

/* Replaces vocab.txt by a tokenizer.json with these steps and members of the model. */
static void write_json(const char *folder, const char *normalizer, const char *splitter,
                       const char *more)
{
    static struct bytes b;
    b.size = 0;
    folder_remove(folder, (const char *const[]){"vocab.txt"}, 1);
    put_text(&b, "{\"added_tokens\": [{\"id\": 1, \"content\": \"[UNK]\"}], \"normalizer\": ");
    put_text(&b, normalizer), put_text(&b, ", \"pre_tokenizer\": "), put_text(&b, splitter);
    put_text(&b, ", \"model\": {\"type\": \"WordPiece\", \"unk_token\": \"[UNK]\", "
                 "\"continuing_subword_prefix\": \"##\", \"max_input_chars_per_word\": 100, "
                 "\"vocab\": {\"[PAD]\": 0, \"[UNK]\": 1, \"[CLS]\": 2, \"[SEP]\": 3, "
                 "\"a\": 4, \"\\u00e9\": 5, \"E\": 6, \"##b\": 7, \"e\": 8}");
    put_text(&b, more), put_text(&b, "}}");
    folder_write(folder, "tokenizer.json", &b);
}

#define BERT_STEP(more) "{\"type\": \"BertNormalizer\"" more "}"

/* A folder needs no vocab.txt if it has tokenizer.json. */
static void test_json(void **state)
{
    (void)state;
    static const char splitter[] = "{\"type\": \"BertPreTokenizer\"}";
    const struct kind k = {.bare = true};
    char folder[256];
    rapt_model *model = write_folder(folder, &k);
    write_json(folder, BERT_STEP(", \"lowercase\": true, \"strip_accents\": null"), splitter, "");
    check_words(folder, "ab \303\211", (const int32_t[]){4, 7, 8}, 3);
    folder_without_memory(folder);
    write_json(folder, BERT_STEP(", \"lowercase\": false"), splitter, "");
    check_words(folder, "E \303\251", (const int32_t[]){6, 5}, 2);
    write_json(folder, BERT_STEP(", \"lowercase\": true, \"strip_accents\": false"), splitter, "");
    check_words(folder, "E \303\211", (const int32_t[]){8, 5}, 2);
    write_json(folder, BERT_STEP(", \"clean_text\": false"), splitter, "");
    folder_refused(folder, "clean_text is false");
    write_json(folder, "null", splitter, "");
    folder_refused(folder, "there is no normalizer BertNormalizer");
    write_json(folder, BERT_STEP(""), "{\"type\": \"Whitespace\"}", "");
    folder_refused(folder, "pre_tokenizer Whitespace is not supported");
    write_json(folder, BERT_STEP(""), splitter, ", \"max_input_chars_per_word\": 50");
    folder_refused(folder, "max_input_chars_per_word differs from BERT's");
    write_json(folder, BERT_STEP(""), splitter, ", \"type\": \"WordLevel\"");
    folder_refused(folder, "the model is WordLevel, not WordPiece");
    rapt_model_free(model);
    clear(folder);
}

static void write_pooling(const char *folder, const char *text)
{
    char path[300];
    snprintf(path, sizeof path, "%s/1_Pooling", folder);
    mkdir(path, 0700);
    folder_text(path, "config.json", text);
}

#define MODULE(name, path)                                                                         \
    "{\"idx\": 0, \"name\": \"0\", \"path\": \"" path                                              \
    "\", \"type\": \"sentence_transformers.models." name "\"}"

static void test_sentences(void **state)
{
    (void)state;
    const struct kind k = {.bare = true};
    char folder[256];
    rapt_model *model = write_folder(folder, &k);
    folder_text(folder, "modules.json",
                "[" MODULE("Transformer", "") ", " MODULE("Pooling", "1_Pooling") ", " MODULE(
                    "Normalize", "2_Normalize") "]");
    write_pooling(folder, "{\"word_embedding_dimension\": 8, \"pooling_mode_cls_token\": true, "
                          "\"pooling_mode_mean_tokens\": false}");
    folder_text(folder, "sentence_bert_config.json",
                "{\"max_seq_length\": 7, \"do_lower_case\": false}");
    rapt_model *read = folder_import(folder);
    assert_int_equal(rapt_model_config(read)->pooling, RAPT_POOLING_FIRST);
    assert_string_equal(rapt_model_metadata(read, "rapt.normalize"), "1");
    assert_string_equal(rapt_model_metadata(read, "rapt.max_tokens"), "7");
    folder_without_memory(folder);
    rapt_model_free(read);
    rapt_model_free(model);
    clear(folder);
}

static void test_settings_refused(void **state)
{
    (void)state;
    static const struct {
        const char *line, *phrase;
    } settings[] = {
        {"\"model_type\": \"electra\"", "model_type is electra"},
        {"\"position_embedding_type\": \"relative_key\"",
         "position_embedding_type is relative_key"},
        {"\"hidden_act\": \"tanh\"", "hidden_act is tanh"},
        {"\"is_decoder\": true", "is_decoder is true"},
        {"\"layer_norm_eps\": \"x\"", "layer_norm_eps is x"},
        {"\"hidden_size\": 10", "shape"},
        {"\"vocab_size\": 12", "shape"},
    };
    const struct kind k = {.bare = true}, distil = {.family = DISTILBERT,
                                                    .bare = true,
                                                    .classes = 2,
                                                    .more = "pre_classifier.weight"};
    char folder[256];
    rapt_model *model = write_folder(folder, &k);
    for (int i = 0; i < COUNT(settings); i++) {
        write_config(folder, &k, settings[i].line);
        folder_refused(folder, settings[i].phrase);
    }
    write_config(folder, &k, NULL);
    folder_remove(folder, (const char *const[]){"vocab.txt"}, 1);
    folder_refused(folder, "its folder has none of vocab.txt, ");
    rapt_model_free(model);
    clear(folder);
    model = write_folder(folder, &distil);
    folder_refused(folder, "pre_classifier.weight belongs to a layer that is not supported");
    rapt_model_free(model);
    clear(folder);
    struct kind shaped = distil;
    shaped.classes = 0;
    model = write_folder(folder, &shaped);
    shaped.more = "unknown.weight";
    write_model(folder, &shaped, model);
    folder_refused(folder, "unknown.weight belongs to a layer that is not supported");
    shaped.more = "classifier.weight";
    write_model(folder, &shaped, model);
    folder_refused(folder, "classifier.weight is not a matrix of at most 2^24 rows, one per class");
    rapt_model_free(model);
    clear(folder);
}

static void test_sentences_refused(void **state)
{
    (void)state;
    static const char *const both =
        "{\"pooling_mode_cls_token\": true, \"pooling_mode_mean_tokens\": true}";
    const struct kind k = {.bare = true};
    char folder[256];
    rapt_model *model = write_folder(folder, &k);
    folder_text(folder, "modules.json", "[" MODULE("Dense", "2_Dense") "]");
    folder_refused(folder, "module sentence_transformers.models.Dense is not supported");
    folder_text(folder, "modules.json", "[" MODULE("Pooling", "../1_Pooling") "]");
    folder_refused(folder, "modules.json: path ../1_Pooling is not a folder name");
    folder_text(folder, "modules.json", "{}");
    folder_refused(folder, "modules.json is not a list of modules");
    folder_text(folder, "modules.json", "[" MODULE("Pooling", "1_Pooling") "]");
    write_pooling(folder, both);
    folder_refused(folder, "more than one pooling mode");
    write_pooling(folder, "{}");
    folder_refused(folder, "no pooling mode");
    write_pooling(folder, "{\"pooling_mode_max_tokens\": true}");
    folder_refused(folder, "pooling_mode_max_tokens is true");
    rapt_model_free(model);
    clear(folder);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_parameters),
        cmocka_unit_test(test_padding),
        cmocka_unit_test(test_pairs),
        cmocka_unit_test(test_token_classes),
        cmocka_unit_test(test_json),
        cmocka_unit_test(test_tokenizers),
        cmocka_unit_test(test_sentences),
        cmocka_unit_test(test_settings_refused),
        cmocka_unit_test(test_sentences_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
