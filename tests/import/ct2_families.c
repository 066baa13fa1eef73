/* ct2_families.c - tests folders of CTranslate2 with the features of T5, BART and mBART, written
   here from random models: the parameters are imported bit for bit, and what is unsupported is
   refused by name. */
#include "import/ct2_craft.h"

/* clang-format off */
static const rapt_config t5 = {
    .size = sizeof t5, .source_vocab = 8, .target_vocab = 8, .positions = 1024, .width = 8, .heads = 2, .head_width = 3,
    .ffn_width = 12, .encoder_layers = 1, .decoder_layers = 2, .self_score = RAPT_SCORE_DOT, .cross_score = RAPT_SCORE_DOT,
    .norm_order = RAPT_NORM_ORDER_PRE, .norm_type = RAPT_NORM_TYPE_RMS, .norm_epsilon = 1e-6f, .position = RAPT_POSITION_NONE,
    .relative_bias = RAPT_RELATIVE_BIAS_T5, .relative_buckets = 4, .relative_distance = 6, .tie = RAPT_TIE_ALL,
    .plain_embedding = 1, .decoder_start = RAPT_DECODER_START_END, .alignment_layer = 2};
static const rapt_config bart = {
    .size = sizeof bart, .source_vocab = 8, .target_vocab = 8, .positions = 6, .width = 4, .heads = 2, .ffn_width = 5,
    .encoder_layers = 1, .decoder_layers = 1, .activation = RAPT_ACTIVATION_GELU, .position = RAPT_POSITION_LEARNED,
    .tie = RAPT_TIE_ALL, .output_bias = 1, .embedding_norm = 1, .norm_epsilon = 1e-5f, .decoder_start = RAPT_DECODER_START_END,
    .alignment_layer = 1};
/* clang-format on */

static const char *metadata_of(const char *folder, const char *key)
{
    static char text[64];
    rapt_model *read = folder_import(folder);
    const char *found = rapt_model_metadata(read, key);
    snprintf(text, sizeof text, "%s", found ? found : "none");
    rapt_model_free(read);
    return text;
}

static void test_t5(void **state)
{
    (void)state;
    static const struct {
        struct change change;
        const char *phrase;
    } refused[] = {
        {{"decoder/layer_1/self_attention/relative_attention_max_distance", 7, 0},
         "layers 0 and 1 of the decoder have different biases"},
        {{"encoder/layer_0/self_attention/relative_attention_max_distance", 7, 0},
         "the biases of encoder and decoder have different shapes"},
        {{"decoder/layer_1/attention/queries_scale", 0, 0.5f},
         "decoder/layer_1/attention/queries_scale is 0.5, neither 1 nor 1 / sqrt(3)"},
        {{"decoder/scale_outputs", 0, INFINITY}, "decoder/scale_outputs is inf"},
        {{"decoder/layer_0/self_attention/relative_attention_bias", WITHOUT, 0},
         "the biases of the first layer of the decoder are missing or not a matrix"},
        {{"encoder/layer_0/self_attention/relative_attention_bias", 5, 0},
         "the biases of the first layer of the encoder are missing or not a matrix"},
    };
    char folder[256];
    const struct change none = {.name = NULL};
    rapt_model *model = small_model(&t5, 5);
    write_folder(folder_make(folder, "ct2-t5"), VERSION, model, &none);
    folder_is(folder, model);
    folder_without_memory(folder);
    folder_precisions(folder);
    for (int i = 0; i < COUNT(refused); i++) {
        write_folder(folder, VERSION, model, &refused[i].change);
        folder_refused(folder, refused[i].phrase);
    }
    folder_remove(folder, files, COUNT(files));
    rapt_model_free(model);
}

/* The factor of the output of T5 1.0 is in the gain of the last norm. In a T5 whose output matrix
   is not tied, width^-0.5 is the converter's mistake, and another factor is not. */
static void test_factor(void **state)
{
    (void)state;
    char folder[256];
    for (int i = 0; i < 3; i++) {
        const float stored = i == 2 ? 0.25f : 1 / sqrtf(8), factor = i == 1 ? 1 : stored;
        const struct change change = {"decoder/scale_outputs", 0, stored};
        rapt_config c = t5;
        if (i > 0) c.tie = RAPT_TIE_NONE;
        rapt_model *model = small_model(&c, 5);
        const int norm = rapt_model_find(model, "decoder.norm.weight");
        float before[8], after[8];
        write_folder(folder_make(folder, "ct2-factor"), VERSION, model, &change);
        rapt_model *read = folder_import(folder);
        assert_int_equal(rapt_model_read(model, norm, before, NULL), RAPT_OK);
        assert_int_equal(rapt_model_read(read, norm, after, NULL), RAPT_OK);
        for (int j = 0; j < 8; j++) assert_true(after[j] == before[j] * factor);
        rapt_model_free(read);
        rapt_model_free(model);
        folder_remove(folder, files, COUNT(files));
    }
}

/* BART's sources begin with <s> and end with </s>, which the folder does not say. */
static void test_bart(void **state)
{
    (void)state;
    char folder[256];
    const struct change none = {.name = NULL};
    rapt_model *model = small_model(&bart, 6);
    write_folder(folder_make(folder, "ct2-bart"), VERSION, model, &none);
    folder_text(folder, "config.json",
                "{\"bos_token\": \"<s>\", \"decoder_start_token\": \"</s>\"}");
    folder_is(folder, model);
    folder_without_memory(folder);
    assert_string_equal(metadata_of(folder, "rapt.source_begin"), "1");
    assert_string_equal(metadata_of(folder, "rapt.language_starts"), "none");
    folder_remove(folder, files, COUNT(files));
    rapt_model_free(model);
}

/* mBART-25 has no start token. Of mBART-50, CTranslate2's converter writes that it has no begin
   token. */
static void test_mbart(void **state)
{
    (void)state;
    char folder[256];
    const struct change none = {.name = NULL};
    rapt_config c = bart;
    c.norm_order = RAPT_NORM_ORDER_PRE;
    rapt_model *model = small_model(&c, 7);
    folder_make(folder, "ct2-mbart");
    for (int i = 0; i < 2; i++) {
        const char *wanted = i ? "1" : "none";
        write_folder(folder, VERSION, model, &none);
        folder_text(folder, "config.json",
                    i ? "{\"decoder_start_token\": null}"
                      : "{\"bos_token\": null, \"decoder_start_token\": \"</s>\", "
                        "\"layer_norm_epsilon\": null}");
        folder_is(folder, model);
        assert_string_equal(metadata_of(folder, "rapt.source_begin"), "none");
        assert_string_equal(metadata_of(folder, "rapt.language_starts"), wanted);
        assert_string_equal(metadata_of(folder, "rapt.source_language_last"), wanted);
    }
    folder_remove(folder, files, COUNT(files));
    rapt_model_free(model);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_t5), cmocka_unit_test(test_factor),
                                       cmocka_unit_test(test_bart), cmocka_unit_test(test_mbart)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
