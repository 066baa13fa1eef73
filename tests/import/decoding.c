/* decoding.c - settings for decoding in the folders of Marian and Hugging Face: which become
   metadata, with which values, and which are listed as not followed. */
#include "import/folder.h"

/* clang-format off */
static const rapt_config hf = {
    .size = sizeof(rapt_config), .source_vocab = 9, .target_vocab = 9, .positions = 20, .width = 8, .heads = 2, .ffn_width = 8,
    .encoder_layers = 1, .decoder_layers = 1, .position = RAPT_POSITION_CONCATENATED, .tie = RAPT_TIE_ALL, .output_bias = 1,
    .decoder_start = RAPT_DECODER_START_PAD};
static const rapt_config marian = {
    .size = sizeof(rapt_config), .source_vocab = 9, .target_vocab = 9, .positions = 20, .width = 8, .heads = 2, .ffn_width = 8,
    .encoder_layers = 1, .decoder_layers = 1, .position = RAPT_POSITION_CONCATENATED_N1, .tie = RAPT_TIE_ALL, .output_bias = 1,
    .norm_epsilon = 1e-6f, .decoder_start = RAPT_DECODER_START_ZERO, .alignment_layer = 1};
/* clang-format on */

static const char *const files[] = {
    "model.safetensors",      "config.json",           "vocab.json", "source.spm", "target.spm",
    "generation_config.json", "tokenizer_config.json", "model.bin",  "vocab.spm",  "decoder.yml"};

/* In the order of `expected` below; NULL: the metadata lack the key. */
static const char *const keys[] = {"rapt.beams",
                                   "rapt.length_penalty",
                                   "rapt.max_length",
                                   "rapt.min_length",
                                   "rapt.no_repeat_ngram",
                                   "rapt.suppressed",
                                   "rapt.ignored_settings",
                                   "rapt.repetition_penalty"};

struct expectation {
    const char *settings, *expected[COUNT(keys)];
};

static void judge(const char *folder, const char *file, const struct expectation *e)
{
    folder_text(folder, file, e->settings);
    rapt_model *model = folder_import(folder);
    for (int k = 0; k < COUNT(keys); k++) {
        const char *text = rapt_model_metadata(model, keys[k]), *wanted = e->expected[k];
        if (!text != !wanted || (text && strcmp(text, wanted) != 0))
            fail_msg("%s: %s is %s, not %s", e->settings, keys[k], text ? text : "missing",
                     wanted ? wanted : "missing");
    }
    rapt_model_free(model);
}

static void make(char folder[256], const char *name, const rapt_config *c, rapt_export format,
                 int specials)
{
    rapt_message why = {""};
    rapt_model *model = pieces_model(c, 3, specials);
    folder_make(folder, name);
    if (rapt_model_export(model, format, folder, &why)) fail_msg("%s", why.text);
    rapt_model_free(model);
}

#define LONG "fifty characters of a value that nothing can follow"

static void test_hf(void **state)
{
    (void)state;
    static const struct expectation all[] = {
        {"{}", {"1", "1"}},
        {"{\"num_beams\": 6, \"length_penalty\": 0.25, \"max_length\": 512, \"bad_words_ids\": "
         "[[8]]}",
         {"6", "0.25", "511"}},
        {"{\"num_beams\": 4, \"early_stopping\": false, \"forced_eos_token_id\": 0, "
         "\"min_length\": 0,"
         " \"renormalize_logits\": true, \"repetition_penalty\": 1.0, \"top_k\": 50}",
         {"4", "1", NULL, NULL, NULL, NULL, NULL, "1"}},
        {"{\"max_length\": 512, \"max_new_tokens\": 7, \"min_length\": 3, "
         "\"no_repeat_ngram_size\": 2}",
         {"1", "1", "7", "2", "2"}},
        {"{\"num_beams\": 2, \"length_penalty\": 0.5, \"max_length\": 9, \"min_length\": 3,"
         " \"no_repeat_ngram_size\": 2, \"repetition_penalty\": 1.5, \"forced_bos_token_id\": 4,"
         " \"bad_words_ids\": [[3]]}", /* all settings that are followed */
         {"2", "0.5", "8", "2", "2", "3", NULL, "1.5"}},
        {"{\"min_length\": 3, \"min_new_tokens\": 4, \"max_length\": null}", {"1", "1", NULL, "4"}},
        {"{\"bad_words_ids\": [[8], [3], [ 5 ], [99]]}", {"1", "1", NULL, NULL, NULL, "3 5"}},
        {"{\"bad_words_ids\": null, \"forced_bos_token_id\": null}", {"1", "1"}},
        {"{\"bad_words_ids\": [[3, 4]]}", {"1", "1", NULL, NULL, NULL, NULL, "bad_words_ids"}},
        {"{\"bad_words_ids\": [[3], []]}", {"1", "1", NULL, NULL, NULL, NULL, "bad_words_ids"}},
        {"{\"bad_words_ids\": [[\"a\"]]}", {"1", "1", NULL, NULL, NULL, NULL, "bad_words_ids"}},
        {"{\"bad_words_ids\": [[1.5]]}", {"1", "1", NULL, NULL, NULL, NULL, "bad_words_ids"}},
        {"{\"bad_words_ids\": [[[1]]]}", {"1", "1", NULL, NULL, NULL, NULL, "bad_words_ids"}},
        {"{\"bad_words_ids\": "
         "[[1],[1],[1],[1],[1],[1],[1],[1],[1],[1],[1],[1],[1],[1],[1],[1],[1]]}",
         {"1", "1", NULL, NULL, NULL, NULL, "bad_words_ids"}},
        {"{\"early_stopping\": true, \"do_sample\": true, \"repetition_penalty\": 1.2,"
         " \"forced_eos_token_id\": 3, \"num_beams\": 1025, \"length_penalty\": \"a\\u0001b\"}",
         {"1", "1", NULL, NULL, NULL, NULL,
          "num_beams 1025, length_penalty a?b, early_stopping true, do_sample true,"
          " forced_eos_token_id 3",
          "1.2"}},
        {"{\"num_beams\": -3, \"no_repeat_ngram_size\": 2.5}",
         {"1", "1", NULL, NULL, NULL, NULL, "num_beams -3, no_repeat_ngram_size 2.5"}},
        {"{\"early_stopping\": \"" LONG LONG LONG "\", \"do_sample\": \"" LONG LONG LONG
         "\", \"forced_eos_token_id\": \"" LONG LONG LONG "\", \"num_beams\": -3}",
         {"1", "1", NULL, NULL, NULL, NULL,
          "num_beams -3, early_stopping " LONG LONG LONG ", do_sample " LONG LONG LONG ", ..."}},
    };
    char folder[256];
    make(folder, "decoding-hf", &hf, RAPT_EXPORT_HF, PIECES_PAD);
    for (int i = 0; i < COUNT(all); i++) judge(folder, "generation_config.json", &all[i]);
    folder_text(folder, "generation_config.json", "[]");
    folder_refused(folder, "generation_config.json is not a JSON object");
    folder_text(folder, "generation_config.json", "{\"bad_words_ids\": [[?]]}");
    folder_refused(folder, "generation_config.json is not a JSON object");
    folder_remove(folder, files, COUNT(files));
}

/* Older folders have these settings in config.json, which counts only if there is no other file. */
static void test_config(void **state)
{
    (void)state;
    char folder[256], path[300], text[4096];
    make(folder, "decoding-config", &hf, RAPT_EXPORT_HF, PIECES_PAD);
    snprintf(path, sizeof path, "%s/config.json", folder);
    FILE *file = fopen(path, "rb");
    assert_non_null(file);
    size_t size = fread(text, 1, sizeof text - 64, file);
    fclose(file);
    while (size && text[size - 1] != '}') size--;
    snprintf(text + size - 1, 64, ", \"num_beams\": 3, \"no_repeat_ngram_size\": 4}");
    folder_text(folder, "config.json", text);
    rapt_model *model = folder_import(folder);
    assert_string_equal(rapt_model_metadata(model, "rapt.beams"), "1");
    assert_null(rapt_model_metadata(model, "rapt.no_repeat_ngram"));
    rapt_model_free(model);
    snprintf(path, sizeof path, "%s/generation_config.json", folder);
    assert_int_equal(unlink(path), 0);
    model = folder_import(folder);
    assert_string_equal(rapt_model_metadata(model, "rapt.beams"), "3");
    assert_string_equal(rapt_model_metadata(model, "rapt.no_repeat_ngram"), "4");
    rapt_model_free(model);
    folder_without_memory(folder);
    folder_remove(folder, files, COUNT(files));
}

static void test_marian(void **state)
{
    (void)state;
    static const struct expectation all[] = {
        {"models: [model.bin]\n", {NULL}},
        {"beam-size: 6\nnormalize: 0.6\nword-penalty: 0\nmini-batch: 16\nskip-cost: false\n",
         {"6", "0.6"}},
        {"beam-size: 1\nnormalize: 0\nallow-unk: false\nmax-length-crop: False\n", {"1", "0"}},
        {"beam-size: 1025\nnormalize: much\nword-penalty: 0.5\nskip-cost: true\n",
         {NULL, NULL, NULL, NULL, NULL, NULL,
          "beam-size 1025, normalize much, word-penalty 0.5, skip-cost true"}},
        {"output-sampling: []\n", {NULL}},
        {"output-sampling: [topk, 3]\n", {NULL, NULL, NULL, NULL, NULL, NULL, "output-sampling"}},
    };
    char folder[256];
    make(folder, "decoding-marian", &marian, RAPT_EXPORT_MARIAN, 0);
    for (int i = 0; i < COUNT(all); i++) judge(folder, "decoder.yml", &all[i]);
    folder_remove(folder, files, COUNT(files));
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_hf), cmocka_unit_test(test_config),
                                       cmocka_unit_test(test_marian)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
