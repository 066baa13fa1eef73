/* calibrate.c - tests rapt_model_calibrate: alphas follow their rule, exist for every matrix of a
   product, do not depend on threads, and survive in files. Scales are kept. */
#include "translate/small_text.h"

#include "../counting.h"

enum { TEXTS = 5, SIZE = 240, POSITIONS = 300 };

/* Texts of rare letters, each of which takes more than half of the rows that an encoder reads at
   once, so that each is a call of its own. */
static const rapt_text *long_texts(void)
{
    static char bytes[TEXTS][SIZE];
    static rapt_text texts[TEXTS];
    uint32_t random = 1;
    for (int t = 0; t < TEXTS; t++) {
        texts[t] = (rapt_text){bytes[t], (size_t)(SIZE - 20 * t)};
        for (int i = 0; i < SIZE; i++) {
            random = random * 1664525 + 1013904223;
            bytes[t][i] = (char)('A' + (random >> 24) % 26);
        }
    }
    return texts;
}

static rapt_model *load(const rapt_allocator *allocator)
{
    char path[256];
    rapt_model *model = NULL;
    rapt_message why = {""};
    small_translator_file(small_path(path, "calibrate"), POSITIONS, 4);
    if (rapt_model_load(&model, path, allocator, &why)) fail_msg("%s", why.text);
    unlink(path);
    return model;
}

static void calibrate(rapt_model *model, const rapt_text *texts, int count, int threads)
{
    rapt_message why = {""};
    if (rapt_model_calibrate(model, texts, (size_t)count, threads, &why)) fail_msg("%s", why.text);
}

static float alpha_of(const rapt_model *model, const char *name)
{
    float scales[SMALL_VOCAB], alphas[SMALL_VOCAB];
    int index = rapt_model_find(model, name);
    assert_true(index >= 0);
    const rapt_tensor tensor = rapt_model_tensor(model, index);
    assert_true(tensor.rows <= SMALL_VOCAB);
    assert_int_equal(rapt_model_scales(model, index, scales, alphas, NULL), RAPT_OK);
    for (int r = 0; r < tensor.rows; r++) assert_true(alphas[r] == alphas[0] && scales[r] == 0);
    return alphas[0];
}

/* Returns the largest magnitude of the encoder's output for one text. */
static double largest_state(const rapt_model *model, const rapt_text *text)
{
    const char *file = rapt_model_metadata(model, "rapt.tokenizer");
    const rapt_limits limits = {
        .size = sizeof limits, .batch = 1, .source_tokens = POSITIONS, .target_length = 1};
    rapt_tokenizer *t = NULL;
    rapt_session *session = NULL;
    const float *states;
    int32_t ids[POSITIONS];
    size_t count;
    assert_int_equal(rapt_tokenizer_create(&t, file, strlen(file), NULL, NULL), RAPT_OK);
    assert_int_equal(rapt_tokenizer_encode(t, *text, ids, NULL, POSITIONS, &count, NULL), RAPT_OK);
    assert_true(count > 64);
    ids[count++] = rapt_tokenizer_special(t, RAPT_TOKEN_END);
    const int starts[] = {0, (int)count};
    const rapt_tokens source = {.batch = 1, .ids = ids, .starts = starts};
    assert_int_equal(rapt_session_create(&session, model, &limits, NULL, NULL), RAPT_OK);
    assert_int_equal(rapt_encode(session, &source, &states, NULL), RAPT_OK);
    double largest = 0;
    for (size_t i = 0; i < count * 16; i++) largest = fmax(largest, fabs((double)states[i]));
    rapt_session_free(session);
    rapt_tokenizer_free(t);
    return largest;
}

/* The keys and values of cross-attention multiply the encoder's output. */
static void test_rule(void **state)
{
    (void)state;
    const rapt_text *texts = long_texts();
    rapt_model *model = load(NULL);
    double values[TEXTS], mean = 0, variance = 0;
    for (int t = 0; t < TEXTS; t++) {
        values[t] = largest_state(model, &texts[t]);
        mean += values[t] / TEXTS;
    }
    for (int t = 0; t < TEXTS; t++) variance += (values[t] - mean) * (values[t] - mean) / TEXTS;
    assert_true(variance > 1e-6);
    calibrate(model, texts, TEXTS, 2);
    double wanted = 127 / (mean + 1.1 * sqrt(variance));
    const char *const names[] = {"decoder.layers.0.cross_attn.kv.weight",
                                 "decoder.layers.1.cross_attn.kv.weight"};
    for (int i = 0; i < COUNT(names); i++)
        assert_true(fabs((double)alpha_of(model, names[i]) - wanted) < 1e-6 * wanted);
    rapt_model_free(model);
}

/* All matrices of this model are multiplied, since the embedding is the output matrix, too. */
static void test_all(void **state)
{
    (void)state;
    char path[256];
    rapt_text texts[COUNT(small_lines)];
    rapt_model *model = load(NULL), *other = load(NULL), *saved = NULL;
    small_texts(texts, COUNT(texts));
    for (int i = 0; i < rapt_model_tensors(model); i++)
        assert_true(alpha_of(model, rapt_model_tensor(model, i).name) == 0);
    calibrate(model, texts, COUNT(texts), 1);
    for (int i = 0; i < rapt_model_tensors(model); i++) {
        const rapt_tensor tensor = rapt_model_tensor(model, i);
        assert_true((alpha_of(model, tensor.name) > 0) == (tensor.rows > 1));
    }
    const char *scales = rapt_model_metadata(model, "rapt.scales");
    const char *none = strstr(scales, "\nnone 0 1 0 ");
    assert_non_null(none);
    assert_true(strtof(none + 12, NULL) == alpha_of(model, "embedding.weight"));
    calibrate(other, long_texts(), TEXTS, 2);
    assert_string_not_equal(rapt_model_metadata(other, "rapt.scales"), scales);
    calibrate(other, texts, COUNT(texts), 3);
    assert_string_equal(rapt_model_metadata(other, "rapt.scales"), scales);
    assert_int_equal(rapt_model_metadata_count(other), rapt_model_metadata_count(model));
    assert_int_equal(rapt_model_save(model, small_path(path, "calibrated"), NULL, 0, NULL),
                     RAPT_OK);
    assert_int_equal(rapt_model_load(&saved, path, NULL, NULL), RAPT_OK);
    assert_string_equal(rapt_model_metadata(saved, "rapt.scales"), scales);
    unlink(path);
    rapt_model_free(saved);
    rapt_model_free(other);
    rapt_model_free(model);
}

/* Weights in fewer bits have nearly the same inputs. */
static void test_precisions(void **state)
{
    (void)state;
    rapt_text texts[COUNT(small_lines)];
    const rapt_precision all[] = {RAPT_PRECISION_INT8, RAPT_PRECISION_BF16, RAPT_PRECISION_F16};
    const char name[] = "encoder.layers.0.feedforward.out.weight";
    rapt_model *floats = load(NULL);
    small_texts(texts, COUNT(texts));
    calibrate(floats, texts, COUNT(texts), 1);
    for (int i = 0; i < COUNT(all); i++) {
        rapt_model *model = load(NULL);
        assert_int_equal(rapt_model_set_precision(model, all[i], 1, NULL), RAPT_OK);
        calibrate(model, texts, COUNT(texts), 1);
        float wanted = alpha_of(floats, name), got = alpha_of(model, name);
        assert_true(fabsf(got / wanted - 1) < 0.05f);
        rapt_model_free(model);
    }
    rapt_model_free(floats);
}

/* Returns a model with so many words that the product with the output matrix of a full batch is
   computed in parts. */
static rapt_model *wide_model(void)
{
    enum { WORDS = 5000, BYTES = 1 << 20 };
    static char names[WORDS][8], text[BYTES], bytes[4 * BYTES];
    static rapt_text list[WORDS];
    const rapt_config c = {.size = sizeof c,
                           .source_vocab = WORDS,
                           .target_vocab = WORDS,
                           .positions = 64,
                           .width = 8,
                           .heads = 2,
                           .ffn_width = 8,
                           .encoder_layers = 1,
                           .decoder_layers = 1,
                           .tie = RAPT_TIE_ALL};
    rapt_tokenizer *t = NULL;
    size_t size;
    for (int i = 0; i < WORDS; i++) {
        snprintf(names[i], sizeof names[i], i == 0 ? "</s>" : i == 1 ? "<unk>" : "w%d", i);
        list[i] = (rapt_text){names[i], strlen(names[i])};
    }
    assert_int_equal(rapt_tokenizer_create_list(&t, list, WORDS, NULL, NULL, NULL), RAPT_OK);
    assert_int_equal(rapt_tokenizer_write(t, text, sizeof text, &size, NULL), RAPT_OK);
    rapt_tokenizer_free(t);
    const rapt_metadata note = {"rapt.tokenizer", text};
    rapt_model *bare = small_model(&c, 3), *model = NULL;
    assert_int_equal(rapt_model_save_memory(bare, bytes, sizeof bytes, &size, &note, 1, NULL),
                     RAPT_OK);
    assert_int_equal(rapt_model_load_memory(&model, bytes, size, NULL, NULL, NULL), RAPT_OK);
    rapt_model_free(bare);
    return model;
}

static float output_alpha(rapt_model *model, const rapt_text *texts, int count)
{
    calibrate(model, texts, count, 2);
    const char *none = strstr(rapt_model_metadata(model, "rapt.scales"), "\nnone 0 1 0 ");
    assert_non_null(none);
    return strtof(none + 12, NULL);
}

/* A product that is computed in parts counts once, as it does in the small batch of the same texts,
   whose steps therefore have the same magnitudes. Some texts end earlier, and then there are no
   more parts. */
static void test_parts(void **state)
{
    (void)state;
    rapt_text texts[32];
    const rapt_text two[] = {{"w7", 2}, {"w8 w9 w10 w11 w12 w13 w14 w15", 29}};
    rapt_model *model = wide_model();
    for (int i = 0; i < COUNT(texts); i++) texts[i] = two[i % 2];
    float wanted = output_alpha(model, two, 2), got = output_alpha(model, texts, COUNT(texts));
    if (!(got == wanted)) fail_msg("%.9g, not %.9g", (double)got, (double)wanted);
    rapt_model_free(model);
}

static void refused(rapt_model *model, const rapt_text *texts, size_t count, const char *phrase)
{
    rapt_message why = {""};
    assert_int_equal(rapt_model_calibrate(model, texts, count, 1, &why), RAPT_BAD_ARGUMENT);
    if (!strstr(why.text, phrase)) fail_msg("\"%s\" does not say %s", why.text, phrase);
    if (model) assert_null(rapt_model_metadata(model, "rapt.scales"));
}

static void test_refused(void **state)
{
    (void)state;
    static char bytes[4 * POSITIONS];
    const rapt_text empty = {"", 0};
    rapt_model *model = load(NULL);
    memset(bytes, 'Q', sizeof bytes);
    const rapt_text two[] = {{"a cat", 5}, {bytes, sizeof bytes}};
    refused(NULL, two, 1, "model is NULL");
    refused(model, NULL, 1, "texts is NULL");
    refused(model, NULL, 0, "at least one text with a word");
    refused(model, &empty, 1, "at least one text with a word");
    refused(model, two, 2, "texts[1] has more tokens than the model's maximum of 300");
    int index = rapt_model_find(model, "encoder.layers.0.feedforward.in.weight");
    float weights[24 * 16];
    for (int i = 0; i < COUNT(weights); i++) weights[i] = 3e38f;
    assert_int_equal(rapt_model_write(model, index, weights, NULL), RAPT_OK);
    refused(model, two, 1, "values that are not finite");
    rapt_model_free(model);
}

/* Each allocation fails once; then the model is as before. */
static void test_memory(void **state)
{
    (void)state;
    struct counting c = {.fails = -1};
    const rapt_allocator allocator = counting_allocator(&c);
    const rapt_text text = {"a cat", 5};
    rapt_model *model = load(&allocator);
    int pairs = rapt_model_metadata_count(model);
    long living = c.living;
    rapt_status status = RAPT_NO_MEMORY;
    for (long fails = 0; status; fails++) {
        rapt_message why = {""};
        c.calls = 0, c.fails = fails;
        status = rapt_model_calibrate(model, &text, 1, 1, &why);
        if (status != RAPT_OK && status != RAPT_NO_MEMORY) fail_msg("%ld: %s", fails, why.text);
        assert_int_equal(status == RAPT_OK, !why.text[0]);
        if (status) assert_int_equal(c.living, living);
        if (status) assert_int_equal(rapt_model_metadata_count(model), pairs);
        if (status) assert_null(rapt_model_metadata(model, "rapt.scales"));
    }
    assert_int_equal(rapt_model_metadata_count(model), pairs + 1);
    rapt_model_free(model);
    assert_int_equal(c.living, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_rule),       cmocka_unit_test(test_all),
        cmocka_unit_test(test_precisions), cmocka_unit_test(test_refused),
        cmocka_unit_test(test_memory),     cmocka_unit_test(test_parts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
