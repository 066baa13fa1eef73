/* hf_t5.c - folders of T5 as Hugging Face lays them out. Their tensors and settings are listed in
   golden/t5.txt with the logits of transformers, which the imported models must give. Also tests
   the tokenizer with its extra ids, those of MADLAD-400 and ByT5, the choice between a tied output
   matrix and one of its own, and what is refused. exchange/encoder_decoders.py compares with larger
   models. */
#include "import/recorded.h"

enum { VOCAB = 14, BYTES_VOCAB = 262 };

static int read_all(void **state)
{
    (void)state;
    return read_records(RAPT_TESTS_DIR "/golden/t5.txt", note) ? 0 : -1;
}

/* Writes a SentencePiece model of 8 pieces, with the special ones of MADLAD-400 or T5, and `more`
   others. All have the same score, so that as few as possible make up a text. */
static void write_t5_pieces(const char *folder, bool madlad, int more)
{
    static const struct {
        const char *text;
        int type;
    } pieces[] = {{"<pad>", 3},   {"</s>", 3}, {"<unk>", 2}, {"\u2581", 1},
                  {"\u2581a", 1}, {"a", 1},    {"b", 1},     {"ab", 1}};
    static const char *const others[] = {"<unk>", "<s>", "</s>"};
    static struct bytes b;
    b.size = 0;
    for (int i = 0; i < COUNT(pieces); i++)
        if (madlad && i < 3)
            put_piece(&b, others[i], i ? 3 : 2);
        else
            put_piece(&b, pieces[i].text, pieces[i].type);
    for (int i = 0; i < more; i++) put_piece(&b, (const char[]){'c', (char)('a' + i), 0}, 1);
    folder_write(folder, "spiece.model", &b);
}

static void write_folder(char folder[256], const struct model *m, const struct change *c)
{
    static const struct change none;
    folder_make(folder, "t5");
    write_tensors(folder, m, c ? c : &none);
    if (strcmp(m->name, "byt5") != 0) write_t5_pieces(folder, strcmp(m->name, "madlad") == 0, 0);
    write_settings(folder, m, c ? c->setting : NULL);
    folder_text(folder, "tokenizer_config.json",
                strcmp(m->name, "byt5") == 0
                    ? "{\"extra_ids\": 2, \"tokenizer_class\": \"ByT5Tokenizer\"}"
                    : "{\"extra_ids\": 4}");
}

static void clear(const char *folder)
{
    static const char *const files[] = {"model.safetensors", "config.json", "spiece.model",
                                        "tokenizer_config.json", "tokenizer.json"};
    folder_remove(folder, files, COUNT(files));
}

static const struct family family = {VOCAB, write_folder, clear},
                           bytes = {BYTES_VOCAB, write_folder, clear};

/* ---- tests ---- */

static void test_logits(void **state)
{
    (void)state;
    static const char *const names[] = {"tied", "untied", "unscaled", "gated",
                                        "v1_1", "wide",   "madlad"};
    static const struct change none = {.more = NULL};
    for (int i = 0; i < COUNT(names); i++) judge_changed(&family, names[i], &none, 1);
    judge_changed(&bytes, "byt5", &none, 1);
}

/* Every name of a tied table, an output matrix that is equal to it, and a table of old files that
   is not used change nothing. */
static void test_other_files(void **state)
{
    (void)state;
    static const struct change changes[] = {
        {.shared = "encoder.embed_tokens.weight 14 8", .table = "shared.weight"},
        {.shared = "decoder.embed_tokens.weight 14 8", .table = "shared.weight"},
        {.shared = "lm_head.weight 14 8", .table = "shared.weight"},
        {.shared = "lm_head.weight 14 8", .table = "shared.weight", .without = "shared.weight"},
        {.shared = "encoder.embed_tokens.weight 14 8",
         .table = "shared.weight",
         .without = "shared.weight"},
        {.more = "decoder.block.0.layer.1.EncDecAttention.relative_attention_bias.weight 8 2"},
        {.setting = "\"tie_word_embeddings\":false,\"scale_decoder_outputs\":true"},
        {.setting = "\"eos_token_id\":[1]"},
        {.setting = "\"model_type\":\"mt5\""},
    };
    judge_changed(&family, "tied", changes, COUNT(changes));
}

/* A table may have another name, as in MADLAD-400, even beside an output matrix of its own. */
static void test_other_table(void **state)
{
    (void)state;
    static const struct change changes[] = {
        {.shared = "decoder.embed_tokens.weight 14 8",
         .table = "shared.weight",
         .without = "shared.weight"},
        {.shared = "encoder.embed_tokens.weight 14 8",
         .table = "shared.weight",
         .without = "shared.weight"},
    };
    judge_changed(&family, "v1_1", changes, COUNT(changes));
}

/* The output is scaled unless one of two settings says otherwise. */
static void test_scaling(void **state)
{
    (void)state;
    static const struct change changes[] = {
        {.shared = "lm_head.weight 14 8", .table = "shared.weight"},
        {.setting = "\"tie_word_embeddings\":true,\"scale_decoder_outputs\":false"},
    };
    judge_changed(&family, "unscaled", changes, COUNT(changes));
}

static void test_tokenizer(void **state)
{
    (void)state;
    char folder[256];
    rapt_translator *translator;
    rapt_message why = {""};
    write_folder(folder, find_model("untied"), NULL);
    if (rapt_translator_load(&translator, folder, NULL, NULL, &why)) fail_msg("%s", why.text);
    const rapt_tokenizer *t = rapt_translator_source(translator);
    check_ids(t, "ab  a", (const int32_t[]){3, 7, 4}, 3);
    check_ids(t, "a<extra_id_0>b <extra_id_3> ", (const int32_t[]){4, 11, 3, 6, 8}, 5);
    check_ids(t, "<pad>", (const int32_t[]){3, 2, 5, 2}, 4);
    check_name(t, 8, "<extra_id_3>");
    check_name(t, 11, "<extra_id_0>");
    check_name(t, 12, "");
    assert_int_equal(rapt_tokenizer_special(t, RAPT_TOKEN_PAD), 0);
    assert_int_equal(rapt_tokenizer_special(t, RAPT_TOKEN_END), 1);
    rapt_translator_free(translator);
    const rapt_translator_options o = {.size = sizeof o, .target_language = "en"};
    assert_int_equal(rapt_translator_load(&translator, folder, &o, NULL, &why), RAPT_BAD_ARGUMENT);
    assert_non_null(
        strstr(why.text, "target_language is en, but the model has no language tokens"));
    folder_text(folder, "tokenizer_config.json", "{\"extra_ids\": 0}");
    if (rapt_translator_load(&translator, folder, NULL, NULL, &why)) fail_msg("%s", why.text);
    check_name(rapt_translator_source(translator), 8, "");
    rapt_translator_free(translator);
    folder_without_memory(folder);
    clear(folder);
}

/* Bytes are tokens from 3 on, nothing is normalized, and extra ids ascend. */
static void test_bytes(void **state)
{
    (void)state;
    char folder[256], text[16];
    size_t size;
    rapt_translator *translator;
    rapt_message why = {""};
    write_folder(folder, find_model("byt5"), NULL);
    if (rapt_translator_load(&translator, folder, NULL, NULL, &why)) fail_msg("%s", why.text);
    const rapt_tokenizer *t = rapt_translator_source(translator);
    const int32_t ids[] = {'a' + 3, ' ' + 3, ' ' + 3, 0xC3 + 3, 0xA9 + 3, 260, '\t' + 3};
    check_ids(t, "a  \u00E9<extra_id_1>\t", ids, 7);
    check_name(t, 258, "<0xFF>");
    check_name(t, 259, "<extra_id_0>");
    check_name(t, 261, "");
    assert_int_equal(rapt_tokenizer_decode(t, ids, 5, text, sizeof text, &size, NULL), RAPT_OK);
    assert_int_equal(size, 5);
    assert_memory_equal(text, "a  \u00E9", 5);
    rapt_translator_free(translator);
    folder_text(folder, "tokenizer_config.json",
                "{\"extra_ids\": 0, \"tokenizer_class\": \"ByT5Tokenizer\"}");
    if (rapt_translator_load(&translator, folder, NULL, NULL, &why)) fail_msg("%s", why.text);
    check_name(rapt_translator_source(translator), 261, "<extra_id_2>");
    rapt_translator_free(translator);
    folder_without_memory(folder);
    clear(folder);
}

/* The decoder starts with <unk>, and the pad token has another name. */
static void test_madlad(void **state)
{
    (void)state;
    char folder[256];
    rapt_translator *translator;
    rapt_message why = {""};
    write_folder(folder, find_model("madlad"), NULL);
    if (rapt_translator_load(&translator, folder, NULL, NULL, &why)) fail_msg("%s", why.text);
    const rapt_model *model = rapt_translator_model(translator);
    assert_int_equal(rapt_model_config(model)->decoder_start, RAPT_DECODER_START_UNKNOWN);
    assert_int_equal(rapt_target_begin(model, rapt_translator_target(translator)), 0);
    rapt_translator_free(translator);
    clear(folder);
}

static void test_madlad_refused(void **state)
{
    (void)state;
    static const struct refusal all[] = {
        {{.setting = "\"decoder_start_token_id\":2"},
         "decoder_start_token_id is 2, but 0 in the vocabulary"},
        {{.setting = "\"decoder_start_token_id\":1"}, "pad_token_id is 1, but -1 in"},
        {{.setting = "\"eos_token_id\":1"}, "eos_token_id is 1, but 2 in the vocabulary"},
    };
    refuse_changed(&family, "madlad", all, COUNT(all));
}

/* A folder needs no spiece.model if it has tokenizer.json. */
static void test_json(void **state)
{
    (void)state;
    static const char json[] =
        "{\"added_tokens\": [{\"id\": 0, \"content\": \"<pad>\"}, {\"id\": 1, \"content\": "
        "\"</s>\"}, {\"id\": 2, \"content\": \"<unk>\"}, {\"id\": 8, \"content\": "
        "\"<extra_id_0>\"}], \"pre_tokenizer\": {\"type\": \"Sequence\", \"pretokenizers\": "
        "[{\"type\": \"WhitespaceSplit\"}, {\"type\": \"Metaspace\", \"replacement\": "
        "\"\u2581\"}]}, \"model\": {\"type\": \"Unigram\", \"unk_id\": 2, \"vocab\": "
        "[[\"<pad>\", 0], [\"</s>\", 0], [\"<unk>\", 0], [\"\u2581\", -1], [\"\u2581a\", -1], "
        "[\"a\", -1], [\"b\", -1], [\"ab\", -1], [\"<extra_id_0>\", 0]]}}";
    char folder[256];
    rapt_translator *translator;
    rapt_message why = {""};
    write_folder(folder, find_model("untied"), NULL);
    folder_remove(folder, (const char *const[]){"spiece.model"}, 1);
    folder_text(folder, "tokenizer.json", json);
    if (rapt_translator_load(&translator, folder, NULL, NULL, &why)) fail_msg("%s", why.text);
    const rapt_tokenizer *t = rapt_translator_source(translator);
    check_ids(t, "ab  a", (const int32_t[]){3, 7, 4}, 3);
    check_ids(t, "a<extra_id_0>b", (const int32_t[]){4, 8, 3, 6}, 4);
    check_name(t, 9, "");
    rapt_translator_free(translator);
    clear(folder);
}

static void test_refused(void **state)
{
    (void)state;
    static const struct refusal all[] = {
        {{.setting = "\"model_type\":\"umt5\""}, "model_type is umt5"},
        {{.setting = "\"feed_forward_proj\":\"gated-tanh\""}, "feed_forward_proj is gated-tanh"},
        {{.setting = "\"feed_forward_proj\":\"tanh\""}, "feed_forward_proj is tanh"},
        {{.setting = "\"feed_forward_proj\":\"gated-relu\""}, "wi.weight does not have the shape"},
        {{.setting = "\"d_kv\":5"}, "SelfAttention.q.weight does not have the shape"},
        {{.setting = "\"d_kv\":0"}, "d_kv is 0"},
        {{.setting = "\"d_ff\":16"}, "wi.weight does not have the shape"},
        {{.setting = "\"num_layers\":1"}, "encoder.block.1."},
        {{.setting = "\"num_decoder_layers\":4"}, "decoder.layers.3."},
        {{.setting = "\"vocab_size\":13"}, "shape"},
        {{.setting = "\"relative_attention_num_buckets\":5"}, "relative_buckets is 5"},
        {{.setting = "\"layer_norm_epsilon\":\"x\""}, "layer_norm_epsilon is x"},
        {{.setting = "\"tie_word_embeddings\":1"}, "tie_word_embeddings is 1"},
        {{.setting = "\"scale_decoder_outputs\":1"}, "scale_decoder_outputs is 1"},
        {{.setting = "\"decoder_start_token_id\":1"}, "decoder_start_token_id is 1"},
        {{.setting = "\"eos_token_id\":2"}, "eos_token_id is 2, but 1 in the vocabulary"},
        {{.setting = "\"pad_token_id\":\"x\""}, "pad_token_id"},
        {{.without = "decoder.final_layer_norm.weight"}, "decoder.norm.weight is missing"},
        {{.without = "shared.weight"}, "missing"},
        {{.without = "encoder.block.1.layer.0.SelfAttention.k.weight"},
         "encoder.layers.1.self_attn.qkv.weight is missing"},
        {{.more = "encoder.more.weight 8"}, "encoder.more.weight belongs to a layer"},
        {{.more = "encoder.block.0.layer.0.SelfAttention.q.bias 7"}, "SelfAttention.q.bias"},
    };
    refuse_changed(&family, "tied", all, COUNT(all));
}

static void test_vocabulary_refused(void **state)
{
    (void)state;
    char folder[256];
    write_folder(folder, find_model("tied"), NULL);
    folder_text(folder, "tokenizer_config.json", "{\"extra_ids\": \"x\"}");
    folder_refused(folder, "extra_ids is");
    folder_text(folder, "tokenizer_config.json", "{");
    folder_refused(folder, "tokenizer_config.json is not a JSON object");
    folder_text(folder, "tokenizer_config.json", "{}");
    write_t5_pieces(folder, false, VOCAB - 7);
    folder_refused(folder, "the vocabulary has 15 pieces, but the model's table has 14 rows");
    clear(folder);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_logits),
        cmocka_unit_test(test_other_files),
        cmocka_unit_test(test_tokenizer),
        cmocka_unit_test(test_scaling),
        cmocka_unit_test(test_other_table),
        cmocka_unit_test(test_bytes),
        cmocka_unit_test(test_json),
        cmocka_unit_test(test_madlad),
        cmocka_unit_test(test_madlad_refused),
        cmocka_unit_test(test_refused),
        cmocka_unit_test(test_vocabulary_refused),
    };
    return cmocka_run_group_tests(tests, read_all, free_records);
}
