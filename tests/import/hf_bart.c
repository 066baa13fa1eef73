/* hf_bart.c - folders of BART as Hugging Face lays them out. Their tensors and settings are listed
   in golden/bart.txt with the logits of transformers, which the imported models must give. Also
   tests the ids of the tokenizer, the tokens around sources and before targets, and what is
   refused. exchange/encoder_decoders.py compares with larger models. */
#include "import/recorded.h"

enum { VOCAB = 280, BYTE = 4 }; /* BYTE: id of the first byte */

static int read_all(void **state)
{
    (void)state;
    return read_records(RAPT_TESTS_DIR "/golden/bart.txt", note) ? 0 : -1;
}

static const char merges[] = "#version: 0.2\n\u0120 a\na b\n\u0120a b\nab \u0120\n";

/* Writes a folder of BART, whose tokenizer has all bytes and four merges. */
static void write_folder(char folder[256], const struct model *m, const struct change *c)
{
    static const struct change none;
    static struct bytes b;
    b.size = 0;
    folder_make(folder, "bart");
    write_tensors(folder, m, c ? c : &none);
    write_settings(folder, m, c ? c->setting : NULL);
    put_text(&b, "{\"<s>\": 0, \"<pad>\": 1, \"</s>\": 2, \"<unk>\": 3");
    put_byte_names(&b, BYTE);
    put_text(&b, ", \"ab\": 260, \"\\u0120a\": 261, \"\\u0120ab\": 262, \"ab\\u0120\": 263, "
                 "\"<mask>\": 264}");
    folder_write(folder, "vocab.json", &b);
    folder_text(folder, "merges.txt", merges);
}

static void clear(const char *folder)
{
    static const char *const files[] = {
        "model.safetensors",      "config.json",           "vocab.json",       "merges.txt",
        "generation_config.json", "tokenizer_config.json", "added_tokens.json"};
    folder_remove(folder, files, COUNT(files));
}

static const struct family family = {VOCAB, write_folder, clear};

static void test_logits(void **state)
{
    (void)state;
    static const struct change none = {.more = NULL};
    judge_changed(&family, "bart", &none, 1);
    judge_changed(&family, "bart_scaled", &none, 1);
}

static void test_tokenizer(void **state)
{
    (void)state;
    char folder[256];
    write_folder(folder, find_model("bart"), NULL);
    rapt_translator *translator = load(folder, NULL, NULL);
    const rapt_tokenizer *t = rapt_translator_source(translator);
    check_ids(t, "ab ab a b", (const int32_t[]){260, 262, 261, BYTE + ' ', BYTE + 'b'}, 5);
    check_ids(t, "ab  <mask>\xC3", (const int32_t[]){260, 264, BYTE + 0xC3}, 3);
    check_token(t, 0, "<s>", 0);
    check_token(t, 3, "<unk>", 0);
    check_token(t, BYTE + ' ', "\u0120", 1);
    check_token(t, BYTE + 0xAD, "\u0143", 1);
    check_token(t, 262, "\u0120ab", 3);
    check_token(t, 264, "<mask>", 6);
    check_token(t, 265, "", 0);
    rapt_translator_free(translator);
    folder_text(folder, "tokenizer_config.json", "{\"add_prefix_space\": true}");
    translator = load(folder, NULL, NULL);
    t = rapt_translator_source(translator);
    check_ids(t, "ab a", (const int32_t[]){262, 261}, 2);
    check_ids(t, " ab", (const int32_t[]){262}, 1);
    rapt_translator_free(translator);
    folder_without_memory(folder);
    clear(folder);
}

/* The begin precedes a source. A forced token begins a translation, unless it is the end. */
static void test_frame(void **state)
{
    (void)state;
    const int32_t wanted[] = {0, 260, 261, 2};
    char folder[256];
    struct seen seen;
    write_folder(folder, find_model("bart"), NULL);
    for (int forced = 0; forced < 4; forced++) {
        char text[64];
        snprintf(text, sizeof text, "{\"forced_bos_token_id\": %d}", forced);
        folder_text(folder, "generation_config.json", text);
        rapt_translator *t = load(folder, NULL, NULL);
        seen = translate(t, "ab a");
        assert_int_equal(seen.source_count, 3);
        assert_memory_equal(seen.source, wanted, 3 * sizeof *wanted);
        assert_int_equal(seen.target_count > 0 && seen.target[0] == forced, forced != 2);
        rapt_translator_free(t);
    }
    clear(folder);
}

/* Files without an output name their tensors without "model.". */
static void test_without_prefix(void **state)
{
    (void)state;
    static struct model bare;
    const struct change none = {.more = NULL};
    bare = *find_model("bart");
    bare.bare = true;
    char folder[256];
    write_folder(folder, &bare, &none);
    judge(folder, &bare, VOCAB);
    clear(folder);
}

static void test_refused(void **state)
{
    (void)state;
    static const struct refusal all[] = {
        {{.setting = "\"normalize_before\":true"}, "normalize_before is true"},
        {{.setting = "\"add_final_layer_norm\":true"}, "add_final_layer_norm is true"},
        {{.more = "model.encoder.layer_norm.weight 8"}, "model.encoder.layer_norm.weight belongs"},
        {{.setting = "\"eos_token_id\":0"}, "decoder_start_token_id is 2, not eos_token_id 0"},
        {{.setting = "\"pad_token_id\":4"}, "pad_token_id is 4, but 1 in the vocabulary"},
    };
    static const char *const wrong[][2] = {
        {"a b\nab\n", "merges.txt: line 2 does not have two names"},
        {"a b\n b\n", "merges.txt: line 2 does not have two names"},
        {"a b c\n", "merges.txt: line 1 does not have two names"},
        {"a b\r\n\na c\n", "merge 1 makes \"ac\", which is not in the vocabulary"},
        {"a ba\n", "merges.txt: line 1: \"ba\" is not in vocab.json"},
        {"a b\n\u0120 a\na b\n", "is listed twice"},
    };
    char folder[256];
    refuse_changed(&family, "bart", all, COUNT(all));
    write_folder(folder, find_model("bart"), NULL);
    for (int i = 0; i < COUNT(wrong); i++) {
        folder_text(folder, "merges.txt", wrong[i][0]);
        folder_refused(folder, wrong[i][1]);
    }
    folder_write(folder, "merges.txt", &(struct bytes){.data = {'a', 0, 'b'}, .size = 3});
    folder_refused(folder, "merges.txt contains a zero byte");
    folder_text(folder, "merges.txt", merges);
    folder_text(folder, "vocab.json", "{\"<s>\": 0, \"<pad>\": 1, \"</s>\": 2, \"a\": 3}");
    folder_refused(folder, "is not in vocab.json");
    folder_text(folder, "merges.txt", "");
    folder_refused(folder, "the vocabulary lacks \"\u0100\", which stands for byte 0");
    folder_text(folder, "tokenizer_config.json", "{\"add_prefix_space\": 1}");
    folder_refused(folder, "add_prefix_space is 1");
    folder_text(folder, "added_tokens.json", "{}");
    folder_refused(folder, "added_tokens.json: added tokens are not supported");
    clear(folder);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_logits),         cmocka_unit_test(test_tokenizer),
        cmocka_unit_test(test_frame),          cmocka_unit_test(test_refused),
        cmocka_unit_test(test_without_prefix),
    };
    return cmocka_run_group_tests(tests, read_all, free_records);
}
