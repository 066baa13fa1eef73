/* hf_mbart.c - folders of mBART-50 and mBART-25 as Hugging Face lays them out. Their tensors and
   settings are listed in golden/bart.txt with the logits of transformers, which the imported models
   must give. Also tests the ids of the tokenizer, languages, tokens that are forced at the
   beginning, and what is refused. exchange/encoder_decoders.py compares with larger models. */
#include "import/recorded.h"

enum { VOCAB = 64, FIRST = PIECES + 1 }; /* FIRST: id of mBART's first language */

static int read_all(void **state)
{
    (void)state;
    return read_records(RAPT_TESTS_DIR "/golden/bart.txt", note) ? 0 : -1;
}

static void write_folder(char folder[256], const struct model *m, const struct change *c)
{
    static const struct change none;
    folder_make(folder, "bart");
    write_tensors(folder, m, c ? c : &none);
    write_pieces(folder, PIECES);
    write_settings(folder, m, c ? c->setting : NULL);
}

static void clear(const char *folder)
{
    static const char *const files[] = {"model.safetensors", "config.json",
                                        "sentencepiece.bpe.model", "generation_config.json",
                                        "tokenizer_config.json"};
    folder_remove(folder, files, COUNT(files));
}

static const struct family family = {VOCAB, write_folder, clear};

static void test_logits(void **state)
{
    (void)state;
    static const struct change none = {.more = NULL};
    judge_changed(&family, "mbart", &none, 1);
    judge_changed(&family, "mbart_relu", &none, 1);
}

/* Other names of the tied table, numbers of old files and flags of old configurations change
   nothing. */
static void test_other_files(void **state)
{
    (void)state;
    static const char table[] = "model.shared.weight";
    static const struct change changes[] = {
        {.shared = "model.encoder.embed_tokens.weight 64 8", .table = table, .without = table},
        {.shared = "lm_head.weight 64 8", .table = table},
        {.more = "model.encoder.version 1"},
        {.more = "model.decoder.version 1"},
        {.setting = "\"normalize_before\":true"},
        {.setting = "\"add_final_layer_norm\":true"},
        {.setting = "\"normalize_embedding\":true"},
        {.setting = "\"static_position_embeddings\":false"},
    };
    judge_changed(&family, "mbart", changes, COUNT(changes));
}

/* ---- the tokenizer and languages ---- */

static void test_mbart_tokenizer(void **state)
{
    (void)state;
    char folder[256];
    write_folder(folder, find_model("mbart"), NULL);
    rapt_translator *translator = load(folder, NULL, NULL);
    const rapt_tokenizer *t = rapt_translator_source(translator);
    check_ids(t, "ab  a", (const int32_t[]){4, 8, 5}, 3);
    check_ids(t, "ar_ARa sl_SI", (const int32_t[]){FIRST, 5, FIRST + 51}, 3);
    check_ids(t, "en_xx", (const int32_t[]){4, 3}, 2);
    check_token(t, 1, "<pad>", 0);
    check_token(t, 3, "<unk>", 0);
    check_token(t, FIRST + 3, "en_XX", 0);
    check_token(t, FIRST + 52, "<mask>", 6);
    check_token(t, FIRST + 53, "", 0);
    rapt_translator_free(translator);
    folder_without_memory(folder);
    clear(folder);
}

/* The language of the source precedes its tokens, and that of the target is its first token. */
static void test_languages(void **state)
{
    (void)state;
    static const char *const names[][2] = {
        {"en_XX", "de_DE"}, {"English", "de"}, {"EN_xx", "GERMAN"}};
    const int32_t wanted[] = {FIRST + 3, 4, 8, 5};
    char folder[256];
    write_folder(folder, find_model("mbart"), NULL);
    for (int i = 0; i < COUNT(names); i++) {
        rapt_translator *t = load(folder, names[i][0], names[i][1]);
        const struct seen seen = translate(t, "ab a");
        assert_int_equal(seen.source_count, COUNT(wanted));
        assert_memory_equal(seen.source, wanted, sizeof wanted);
        assert_true(seen.target_count >= 1);
        assert_int_equal(seen.target[0], FIRST + 2);
        rapt_translator_free(t);
    }
    languages_refused(folder, "Chin", "en", "similar: Chinese (zh), ");
    languages_refused(folder, "en_YY", "en",
                      "source_language is en_YY, which the model does not have");
    languages_refused(folder, "Breton", "en", "source_language is Breton");
    clear(folder);
}

/* Models into one language force its token, unless the caller names another. */
static void test_forced(void **state)
{
    (void)state;
    static const struct {
        const char *settings, *language;
        int32_t first;
    } cases[] = {{"{\"forced_bos_token_id\": 11}", NULL, 11},
                 {"{\"forced_bos_token_id\": 11}", "en", FIRST + 3},
                 {"{\"forced_bos_token_id\": 0}", NULL, 0}};
    char folder[256];
    rapt_translator *t;
    rapt_message why = {""};
    write_folder(folder, find_model("mbart"), NULL);
    for (int i = 0; i < COUNT(cases); i++) {
        folder_text(folder, "generation_config.json", cases[i].settings);
        t = load(folder, "en", cases[i].language);
        assert_int_equal(translate(t, "ab").target[0], cases[i].first);
        rapt_translator_free(t);
    }
    folder_text(folder, "generation_config.json", "{\"forced_bos_token_id\": 64}");
    if (rapt_translator_load(&t, folder, NULL, NULL, &why)) fail_msg("%s", why.text);
    assert_non_null(strstr(rapt_model_metadata(rapt_translator_model(t), "rapt.ignored_settings"),
                           "forced_bos_token_id 64"));
    rapt_translator_free(t);
    clear(folder);
}

/* In mBART-25, which the name of the tokenizer tells apart, the language follows the end of a
   source. The language of the target is the first input of the decoder, and therefore not in the
   target. */
static void test_older(void **state)
{
    (void)state;
    static const struct {
        const char *start, *language;
    } cases[] = {{"\"decoder_start_token_id\":20", NULL}, /* FIRST + 11 */
                 {"\"decoder_start_token_id\":9", "ja_XX"},
                 {"\"decoder_start_token_id\":null", "Japanese"}};
    const int32_t wanted[] = {4, 8, 5, 2}; /* without the language */
    char folder[256];
    int32_t first[COUNT(cases)];
    for (int i = 0; i < COUNT(cases); i++) {
        const struct change change = {.setting = cases[i].start};
        write_folder(folder, find_model("mbart"), &change);
        folder_text(folder, "tokenizer_config.json", "{\"tokenizer_class\": \"MBartTokenizer\"}");
        rapt_translator *t = load(folder, "English", cases[i].language);
        const struct seen seen = translate(t, "ab a");
        assert_int_equal(seen.source_count, COUNT(wanted));
        assert_memory_equal(seen.source, wanted, sizeof wanted);
        first[i] = seen.target[0];
        assert_int_equal(first[i], first[0]);
        check_token(rapt_translator_source(t), FIRST + 24, "zh_CN", 0);
        check_token(rapt_translator_source(t), FIRST + 25, "<mask>", 6);
        check_token(rapt_translator_source(t), FIRST + 26, "", 0);
        rapt_translator_free(t);
    }
    languages_refused(folder, "Swedish", "en", "source_language is Swedish");
    const struct change end = {.setting = "\"decoder_start_token_id\":2"};
    write_folder(folder, find_model("mbart"), &end);
    folder_text(folder, "tokenizer_config.json", "{\"tokenizer_class\": \"MBartTokenizer\"}");
    folder_refused(folder, "decoder_start_token_id is 2, the end token, but mBART-25");
    clear(folder);
}

static void test_refused(void **state)
{
    (void)state;
    static const struct refusal all[] = {
        {{.setting = "\"activation_function\":\"tanh\""}, "activation_function is tanh"},
        {{.setting = "\"decoder_attention_heads\":4"}, "they must be equal"},
        {{.setting = "\"decoder_start_token_id\":0"}, "decoder_start_token_id is 0"},
        {{.setting = "\"scale_embedding\":1"}, "scale_embedding is 1"},
        {{.setting = "\"tie_word_embeddings\":0"}, "tie_word_embeddings is 0"},
        {{.setting = "\"pad_token_id\":3"}, "pad_token_id is 3"},
        {{.setting = "\"vocab_size\":\"x\""}, "vocab_size is x"},
        {{.setting = "\"normalize_before\":false"}, "normalize_before is false"},
        {{.setting = "\"normalize_embedding\":false"}, "normalize_embedding is false"},
        {{.setting = "\"static_position_embeddings\":true"}, "static_position_embeddings is true"},
        {{.setting = "\"max_position_embeddings\":42"}, "embed_positions.weight does not have"},
        {{.setting = "\"max_position_embeddings\":39"}, "embed_positions.weight does not have"},
        {{.without = "model.decoder.layernorm_embedding.bias"},
         "decoder.embedding_norm.bias is missing"},
        {{.without = "model.encoder.layer_norm.weight"}, "encoder.norm.weight is missing"},
        {{.more = "classification_head.dense.weight 8 8"}, "classification_head.dense.weight"},
    };
    char folder[256];
    refuse_changed(&family, "mbart", all, COUNT(all));
    write_folder(folder, find_model("mbart"), NULL);
    write_pieces(folder, PIECES + 3);
    folder_refused(folder, "need 65 rows, but the model's table has 64 rows");
    clear(folder);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_logits),          cmocka_unit_test(test_other_files),
        cmocka_unit_test(test_mbart_tokenizer), cmocka_unit_test(test_languages),
        cmocka_unit_test(test_forced),          cmocka_unit_test(test_older),
        cmocka_unit_test(test_refused),
    };
    return cmocka_run_group_tests(tests, read_all, free_records);
}
