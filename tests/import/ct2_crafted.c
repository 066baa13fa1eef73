/* ct2_crafted.c - tests folders of CTranslate2 written here from random models, with every option
   that is supported: the parameters are imported bit for bit. Anything unsupported, missing or
   damaged is refused by name. */
#include "import/ct2_craft.h"

static void test_parameters(void **state)
{
    (void)state;
    char folder[256];
    const struct change none = {.name = NULL};
    for (int i = 0; i < COUNT(ct2_configs); i++)
        for (int version = i == CT2_OLDEST      ? 1
                           : ct2_configs[i].tie ? 3
                                                : 2;
             version <= VERSION; version++) {
            if (version < 6 && ct2_configs[i].norm_epsilon == 1e-3f) continue;
            rapt_model *model = model_of(i);
            write_folder(folder_make(folder, "ct2"), version, model, &none);
            folder_is(folder, model);
            if (version == VERSION) folder_without_memory(folder);
            folder_remove(folder, files, COUNT(files));
            rapt_model_free(model);
        }
}

/* Scales per row are reported by rapt_model_scales. */
static void test_row_scales(void **state)
{
    (void)state;
    char folder[256];
    const struct change narrow = {"encoder/layer_0/ffn/linear_0/weight", NARROW, 0};
    rapt_model *model = model_of(0);
    write_folder(folder_make(folder, "ct2-rows"), VERSION, model, &narrow);
    rapt_model *read = folder_import(folder);
    int index = rapt_model_find(read, "encoder.layers.0.feedforward.in.weight");
    const rapt_tensor t = rapt_model_tensor(read, index);
    float *x = malloc(small_size(read, index) * sizeof *x), scales[12], alphas[12];
    assert_int_equal(t.rows, COUNT(scales));
    assert_int_equal(rapt_model_read(read, index, x, NULL), RAPT_OK);
    assert_int_equal(rapt_model_scales(read, index, scales, alphas, NULL), RAPT_OK);
    for (int r = 0; r < t.rows; r++) {
        assert_true(scales[r] == narrow_scale(r) && alphas[r] == 0);
        for (int i = r * t.columns; i < (r + 1) * t.columns; i++)
            assert_true(x[i] * scales[r] == (float)narrow_element(i));
    }
    folder_without_memory(folder);
    folder_remove(folder, files, COUNT(files));
    rapt_model_free(read);
    rapt_model_free(model);
    free(x);
}

static void test_refusals(void **state)
{
    (void)state;
    static const struct {
        struct change change;
        const char *phrase;
    } all[] = {
        {{"decoder/num_heads", 3, 0}, "num_heads is 2 in the encoder and 3 in the decoder"},
        {{"encoder/pre_norm", 0, 0}, "pre_norm"},
        {{"encoder/activation", 2, 0}, "activation is 2 in the encoder"},
        {{"activation", 4, 0}, "its activation is GELU approximated by x * sigmoid(1.702 x)"},
        {{"activation", 5, 0}, "its activation is tanh"},
        {{"activation", 7, 0}, "activation is 7, which CTranslate2 4.8 does not define"},
        {{"num_heads", 0xFBFF, 0}, "tensor num_heads is -1025"},
        {{"num_heads", 0xFFFB, 0}, "heads is -5"},
        {{"decoder/scale_embeddings", 0, 0}, "scale_embeddings"},
        {{"encoder/scale_embeddings", 0, 3},
         "tensor encoder/scale_embeddings is 3, neither 1 nor the square root of 8"},
        {{"decoder/scale_embeddings", 0, 1}, "scale_embeddings is 1 in the encoder and 0"},
        {{"decoder/alignment_layer", 1, 0}, "alignment_layer is 1, but the decoder has 1 layers"},
        {{"decoder/alignment_layer", 0xFFFE, 0},
         "alignment_layer is -2, but the decoder has 1 layers"},
        {{"decoder/alignment_heads", 3, 0}, "alignment_heads is 3, but heads is 2"},
        {{"decoder/alignment_heads", 0xFFFF, 0}, "alignment_heads is -1"},
        {{"alibi", 1, 0}, "alibi is 1"},
        {{"sliding_window", 7, 0}, "sliding_window is 7"},
        {{"decoder/project_in/weight", 1, 0}, "tensor decoder/project_in/weight"},
        {{"encoder/layer_1/ffn/linear_1/weight", WITHOUT, 0},
         "encoder.layers.1.feedforward.out.weight"},
        {{"encoder/layer_1/ffn/linear_1/weight", 5, 0}, "does not have the shape"},
        {{"decoder/layer_norm/gamma", WITHOUT, 0}, "decoder.norm.weight"},
        {{"encoder/layer_0/ffn/linear_0/weight", WITHOUT, 0},
         "encoder/layer_0/ffn/linear_0/weight"},
        {{"decoder/embeddings/weight", WITHOUT, 0}, "target_vocab"},
        {{"encoder/scale_embeddings", 0, 2.8287f}, "is 2.8287, neither 1 nor the square root of 8"},
        {{"decoder/scale_outputs", 0, 0.25f},
         "decoder/scale_outputs is 0.25; it must be 1 or, for T5, finite"},
        {{"encoder/layer_1/self_attention/queries_scale", 0, 3},
         "encoder/layer_1/self_attention/queries_scale is 3, neither 1 nor 1 / sqrt(4)"},
        {{"decoder/layer_0/attention/queries_scale", 0, NAN}, "queries_scale is nan, neither 1"},
        {{"encoder/layer_1/self_attention/queries_scale", 0, 1}, "differs between layers"},
        {{"decoder/layer_0/self_attention/queries_scale", 0, 1},
         "queries_scale differs between encoder and decoder"},
    };
    char folder[256];
    rapt_model *model = model_of(0);
    folder_make(folder, "ct2-refused");
    for (int i = 0; i < COUNT(all); i++) {
        write_folder(folder, VERSION, model, &all[i].change);
        folder_refused(folder, all[i].phrase);
        folder_refused(folder, folder);
    }
    const struct change unscaled = {"decoder/scale_outputs", 0, 1};
    write_folder(folder, VERSION, model, &unscaled);
    folder_is(folder, model);
    folder_remove(folder, files, COUNT(files));
    rapt_model_free(model);
}

/* The attributes about tokens in model.bin, up to version 5. */
static void test_tokens(void **state)
{
    (void)state;
    char folder[256];
    rapt_model *model = model_of(0);
    folder_make(folder, "ct2-tokens");
    for (int value = 0; value < 2; value++)
        for (int i = 0; i < 2; i++) {
            const char *name = i ? "user_decoder_start_tokens" : "with_source_bos";
            char phrase[64];
            const struct change change = {name, value, 0};
            snprintf(phrase, sizeof phrase, "%s is not supported", name);
            write_folder(folder, VERSION - 1, model, &change);
            if (value)
                folder_refused(folder, phrase);
            else
                folder_is(folder, model);
        }
    folder_remove(folder, files, COUNT(files));
    rapt_model_free(model);
}

/* An attribute that is an array instead of a number is refused. */
static void test_not_one_number(void **state)
{
    (void)state;
    char folder[256];
    static struct bytes b, more;
    const struct change none = {.name = NULL};
    rapt_model *model = model_of(0);
    uint32_t count = 0;
    write_folder(folder_make(folder, "ct2-number"), VERSION, model, &none);
    put_model(&b, VERSION, model, &none);
    size_t at = 4 + 2 + sizeof "TransformerSpec" + 4; /* offset of the number of variables */
    for (int i = 4; i-- > 0;) count = count << 8 | b.data[at + (size_t)i];
    more.size = 0;
    put(&more, b.data, at);
    put_number(&more, count + 1, 4);
    put_head(&more, VERSION, "num_heads", 2, 1, 2, I16, 4);
    put_number(&more, 2, 2), put_number(&more, 2, 2);
    put(&more, b.data + at + 4, b.size - at - 4);
    folder_write(folder, "model.bin", &more);
    folder_refused(folder, "tensor num_heads is not a single number");
    folder_remove(folder, files, COUNT(files));
    rapt_model_free(model);
}

/* Without the attribute num_heads, "Big" in the name of the spec means 16 heads. */
static void test_big(void **state)
{
    (void)state;
    char folder[256];
    static struct bytes b, big;
    const struct change without = {"num_heads", WITHOUT, 0};
    rapt_config c = ct2_configs[0];
    c.width = 32, c.heads = 16;
    rapt_model *model = small_model(&c, 3);
    for (int i = 0; i < 2; i++) {
        const char *spec = i ? "TransformerBigSpec" : "TransformerSpec";
        write_folder(folder_make(folder, "ct2-big"), VERSION, model, &without);
        put_model(&b, VERSION, model, &without);
        big.size = 0;
        put_number(&big, VERSION, 4);
        put_string(&big, spec);
        put(&big, b.data + 6 + sizeof "TransformerSpec", b.size - 6 - sizeof "TransformerSpec");
        folder_write(folder, "model.bin", &big);
        rapt_model *read = folder_import(folder);
        assert_int_equal(rapt_model_config(read)->heads, i ? 16 : 8);
        rapt_model_free(read);
        folder_remove(folder, files, COUNT(files));
    }
    rapt_model_free(model);
}

static void test_side_files(void **state)
{
    (void)state;
    static const struct {
        const char *file, *text, *phrase;
    } all[] = {
        {"config.json", "{", "config.json"},
        {"config.json", "[]", "config.json"},
        {"config.json", "{\"a\": 1, \"a\": 1}", "the key a twice"},
        {"config.json", "{\"a\": tru}", "config.json is not a JSON object"},
        {"config.json", "{\"a\": 1} {", "config.json is not a JSON object"},
        {"config.json", "{\"a\": [}}", "config.json is not a JSON object"},
        {"config.json", "{\"a\": [1, {\"b\": []], \"c\": 2}", "config.json is not a JSON object"},
        {"config.json", "{\"a\": [1, {\"b\": \"]}\"}], \"eos_token\": \"<e>\"}",
         "eos_token is \"<e>\""},
        {"config.json", "{\"eos_token\": \"\\u001b]0;x\\u0007\"}", "eos_token is \"?]0;x?\""},
        {"config.json", "{\"add_source_bos\": true}", "add_source_bos"},
        {"config.json", "{\"add_source_eos\": 1}", "add_source_eos is 1"},
        {"config.json", "{\"eos_token\": \"<e>\"}", "eos_token is \"<e>\""},
        {"config.json", "{\"unk_token\": \"<u>\"}", "unk_token is \"<u>\", not \"<unk>\""},
        {"config.json", "{\"bos_token\": \"<b>\"}", "bos_token is \"<b>\", not \"<s>\""},
        {"config.json", "{\"decoder_start_token\": \"<d>\"}", "decoder_start_token"},
        {"config.json", "{}", "config.json has no decoder_start_token"},
        {"config.json", "{\"decoder_start_token\": null}",
         "config.json has no decoder_start_token"},
        {"config.json", "{\"decoder_start_token\": \"<s>\", \"layer_norm_epsilon\": \"x\"}",
         "layer_norm_epsilon"},
        {"config.json", "{\"decoder_start_token\": \"<s>\", \"layer_norm_epsilon\": 2}",
         "norm_epsilon"},
        {"target_vocabulary.json", "[\"</s>\"]", "has 1 names, but the model's table has 7 rows"},
        {"target_vocabulary.json", "[\"</s>\", \"a\", \"b\", \"<unk>\", \"c\", \"d\"]",
         "has 6 names, but the model's table has 7 rows"},
        {"target_vocabulary.json", "{}", "target_vocabulary.json"},
        {"source_vocabulary.json",
         "[\"</s>\", \"a\", \"a\", \"b\", \"c\", \"d\", \"e\", \"f\", \"g\"]",
         "occurs more than once"},
    };
    char folder[256];
    const struct change none = {.name = NULL};
    rapt_model *model = model_of(0);
    folder_make(folder, "ct2-side");
    for (int i = 0; i < COUNT(all); i++) {
        write_folder(folder, VERSION, model, &none);
        folder_text(folder, all[i].file, all[i].text);
        folder_refused(folder, all[i].phrase);
    }
    write_folder(folder, VERSION, model, &none);
    char path[300];
    snprintf(path, sizeof path, "%s/target_vocabulary.json", folder);
    unlink(path);
    rapt_model *read;
    rapt_message why = {""};
    assert_int_equal(rapt_model_import(&read, folder, NULL, &why), RAPT_NO_FILE);
    assert_non_null(strstr(why.text, "target_vocabulary.txt"));
    folder_text(folder, "shared_vocabulary.json", "[]");
    folder_refused(folder, "the vocabulary is shared, but the tables have 9 and 7 rows");
    folder_remove(folder, files, COUNT(files));
    folder_make(folder, "ct2-side");
    folder_refused(folder, "model.bin");
    rmdir(folder);
    rapt_model_free(model);
}

/* The scale of embeddings may be a number, as written by the converter of Hugging Face's models. */
static void test_scaled(void **state)
{
    (void)state;
    char folder[256];
    for (int i = 0; i < 2; i++) { /* scaled by the square root of 8; not scaled */
        const struct change scale = {"encoder/scale_embeddings", 0, i ? 1 : sqrtf(8)};
        rapt_model *model = model_of(i);
        write_folder(folder_make(folder, "ct2-scaled"), VERSION, model, &scale);
        folder_is(folder, model);
        folder_remove(folder, files, COUNT(files));
        rapt_model_free(model);
    }
}

/* A decoder that starts from zeros, with the config.json of the converter of Hugging Face's
   MarianMT, which expects callers to end sources: the imported model ends them. */
static void test_marianmt(void **state)
{
    (void)state;
    static const struct {
        const char *start;
        int no_source_end;
    } all[] = {{"\"</s>\"", 0}, {"\"<unk>\"", 1}, {"null", 1}};
    char folder[256], text[200];
    const struct change none = {.name = NULL};
    rapt_model *model = model_of(1);
    folder_make(folder, "ct2-marianmt");
    for (int i = 0; i < COUNT(all); i++) {
        write_folder(folder, VERSION, model, &none);
        snprintf(
            text, sizeof text,
            "{\"add_source_eos\": false, \"decoder_start_token\": %s, \"eos_token\": \"</s>\"}",
            all[i].start);
        folder_text(folder, "config.json", text);
        rapt_model *read = folder_import(folder);
        assert_int_equal(rapt_model_config(read)->no_source_end, all[i].no_source_end);
        assert_int_equal(rapt_model_config(read)->decoder_start, RAPT_DECODER_START_ZERO);
        rapt_model_free(read);
    }
    folder_remove(folder, files, COUNT(files));
    rapt_model_free(model);
}

/* Alignments come from the first heads of one layer, counted from the front or from the back; 0
   heads are all. */
static void test_alignments(void **state)
{
    (void)state;
    static const struct {
        struct change change;
        int layer, heads;
    } all[] = {{{"decoder/alignment_heads", 0, 0}, 2, 8},
               {{"decoder/alignment_heads", 1, 0}, 2, 0},
               {{"decoder/alignment_heads", 5, 0}, 2, 5},
               {{"decoder/alignment_heads", 8, 0}, 2, 8},
               {{"decoder/alignment_layer", 0, 0}, 1, 0},
               {{"decoder/alignment_layer", 0xFFFF, 0}, 2, 0},
               {{"decoder/alignment_layer", 0xFFFE, 0}, 1, 0}};
    char folder[256];
    rapt_model *model = model_of(CT2_OLDEST);
    folder_make(folder, "ct2-alignments");
    for (int i = 0; i < COUNT(all); i++) {
        write_folder(folder, VERSION, model, &all[i].change);
        rapt_model *read = folder_import(folder);
        assert_int_equal(rapt_model_config(read)->alignment_layer, all[i].layer);
        assert_int_equal(rapt_model_config(read)->alignment_heads, all[i].heads);
        rapt_model_free(read);
    }
    folder_remove(folder, files, COUNT(files));
    rapt_model_free(model);
}

/* A settings file with too many keys is refused before its keys are compared with each other. */
static void test_many_settings(void **state)
{
    (void)state;
    char folder[256];
    static struct bytes b;
    const struct change none = {.name = NULL};
    rapt_model *model = model_of(0);
    for (int keys = 4096; keys <= 4097; keys++) {
        write_folder(folder_make(folder, "ct2-many"), VERSION, model, &none);
        b.size = 0;
        put_text(&b, "{\"eos_token\": \"<e>\"");
        for (int i = 1; i < keys; i++) {
            char pair[40];
            snprintf(pair, sizeof pair, ",\"k%d\":%d", i, i);
            put_text(&b, pair);
        }
        put_text(&b, "}");
        folder_write(folder, "config.json", &b);
        folder_refused(folder, keys > 4096 ? "more than 4096 keys" : "eos_token");
    }
    folder_remove(folder, files, COUNT(files));
    rapt_model_free(model);
}

/* If the name of the spec is cut within a character, the origin is still valid UTF-8. */
static void test_origin(void **state)
{
    (void)state;
    enum { NAME = 16, LONG = 11 + 2 * 60 };
    char folder[256];
    static struct bytes b, longer;
    const struct change none = {.name = NULL};
    rapt_model *model = model_of(0), *read = NULL;
    write_folder(folder_make(folder, "ct2-origin"), VERSION, model, &none);
    put_model(&b, VERSION, model, &none);
    assert_memory_equal(b.data + 6, "TransformerSpec", NAME);
    put_number(&longer, VERSION, 4);
    put_number(&longer, LONG + 1, 2);
    put_text(&longer, "Transformer");
    for (int i = 0; i < 60; i++) put_text(&longer, "\xC3\xA9");
    put(&longer, b.data + 6 + NAME - 1, b.size - 6 - NAME + 1);
    folder_write(folder, "model.bin", &longer);
    read = folder_import(folder);
    const char *origin = rapt_model_metadata(read, "rapt.origin");
    assert_non_null(strstr(origin, "Transformer\xC3\xA9"));
    assert_int_equal(rapt_utf8_valid((rapt_text){origin, strlen(origin)}), strlen(origin));
    rapt_model_free(read);
    folder_remove(folder, files, COUNT(files));
    rapt_model_free(model);
}

/* Parameters that are not finite, and the file truncated at many lengths. */
static void test_damage(void **state)
{
    (void)state;
    char folder[256];
    static struct bytes b, cut;
    const struct change none = {.name = NULL};
    rapt_model *model = model_of(2);
    float *x = malloc(small_size(model, 0) * sizeof *x);
    write_folder(folder_make(folder, "ct2-damage"), VERSION, model, &none);
    put_model(&b, VERSION, model, &none);
    for (size_t size = 0; size < b.size; size += 1 + b.size / 97) {
        rapt_model *read;
        cut = b;
        cut.size = size;
        folder_write(folder, "model.bin", &cut);
        assert_int_equal(rapt_model_import(&read, folder, NULL, NULL), RAPT_BAD_FILE);
    }
    memcpy(b.data + 6, "WhisperAnySpecs", 15); /* after the version and the length of the name */
    folder_write(folder, "model.bin", &b);
    folder_refused(folder, "it is a WhisperAnySpecs, not a Transformer with an encoder");
    assert_int_equal(rapt_model_read(model, 0, x, NULL), RAPT_OK);
    x[2] = INFINITY;
    assert_int_equal(rapt_model_write(model, 0, x, NULL), RAPT_OK);
    write_folder(folder, VERSION, model, &none);
    folder_refused(folder, "element 2 is inf");
    folder_remove(folder, files, COUNT(files));
    rapt_model_free(model);
    free(x);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_parameters), cmocka_unit_test(test_row_scales),
        cmocka_unit_test(test_refusals),   cmocka_unit_test(test_side_files),
        cmocka_unit_test(test_scaled),     cmocka_unit_test(test_alignments),
        cmocka_unit_test(test_marianmt),   cmocka_unit_test(test_many_settings),
        cmocka_unit_test(test_origin),     cmocka_unit_test(test_damage),
        cmocka_unit_test(test_tokens),     cmocka_unit_test(test_not_one_number),
        cmocka_unit_test(test_big),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
