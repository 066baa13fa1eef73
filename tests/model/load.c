/* load.c - bad model files: contradictory configurations, tensors that are missing, unknown or
   truncated, and numbers that are not finite. */
#include "model/small_file.h"

/* ---- load: bad model files: contradictory configurations, tensors that are missing, unknown or
   transposed, other versions, files that are truncated, have flipped bits, or claim to be larger
   than they are. Each is refused with a message that names the fault, or gives a model that works.
   ---- */

static struct file good_file(const rapt_config *config)
{
    char path[256];
    rapt_model *model = small_model(config, 1);
    rapt_metadata metadata[] = {{"note", "kept"}};
    assert_int_equal(rapt_model_save(model, small_path(path, "load"), metadata, 1, NULL), RAPT_OK);
    rapt_model_free(model);
    return file_at(path);
}

/* Checks that the file is refused with a message that contains its path and `word`. */
static void refused(const struct file *f, const char *word)
{
    rapt_model *model = (rapt_model *)(uintptr_t)64;
    rapt_message why = {""};
    put(f);
    assert_int_equal(rapt_model_load(&model, f->path, NULL, &why), RAPT_BAD_FILE);
    assert_true((uintptr_t)model == 64);
    if (!strstr(why.text, f->path) || !strstr(why.text, word))
        fail_msg("\"%s\" does not say \"%s\"", why.text, word);
}

/* The configuration is a JSON string within JSON, so its quotes are escaped. */
#define Q "\\\""
static const struct {
    const char *from, *to, *word;
} contradictions[] = {
    {Q "version" Q ":2", Q "version" Q ":3", "version 3"},
    {Q "version" Q ":2", Q "version" Q ":0", "version 0"},
    {Q "version" Q ":2", Q "version" Q ":1", "save it with rapt 0.2 first"},
    {Q "version" Q ":2", Q "version" Q ":" Q "1" Q, "version"},
    {Q "version" Q ":2,", "", "version"},
    {Q "encoder-decoder" Q, Q "decoder" Q, "kind"},
    {Q "encoder-decoder" Q, Q "decoder-only" Q, "source_vocab"},
    {Q "encoder-decoder" Q, Q "encoder-only" Q, "decoder_layers"},
    {Q "encoder-decoder" Q, "0", "kind"},
    {Q "source_vocab" Q ":11", Q "source_vocab" Q ":0", "source_vocab"},
    {Q "source_vocab" Q ":11", Q "source_vocab" Q ":-11", "source_vocab"},
    {Q "source_vocab" Q ":11", Q "source_vocab" Q ":11.5", "source_vocab"},
    {Q "source_vocab" Q ":11", Q "source_vocab" Q ":" Q "11" Q, "source_vocab"},
    {Q "source_vocab" Q ":11", Q "source_vocab" Q ":true", "source_vocab"},
    {Q "source_vocab" Q ":11", Q "source_vocab" Q ":null", "source_vocab"},
    {Q "source_vocab" Q ":11", Q "source_vocab" Q ":[11]", "source_vocab"},
    {Q "source_vocab" Q ":11", Q "source_vocab" Q ":1e1", "source_vocab"},
    {Q "source_vocab" Q ":11,", "", "source_vocab"},
    {Q "source_vocab" Q ":11", Q "source_vocab" Q ":11," Q "source_vocab" Q ":11", "source_vocab"},
    {Q "source_vocab" Q ":11", Q "source_vocab" Q ":4294967307", "source_vocab"},
    {Q "source_vocab" Q ":11", Q "source_vocab" Q ":99999999999999999999999", "source_vocab"},
    {Q "source_vocab" Q ":11", Q "source_vocab" Q ":16777217", "source_vocab"},
    {Q "source_vocab" Q ":11", Q "source_vocab" Q ":12", "encoder.embedding.weight"},
    {Q "target_vocab" Q ":13", Q "target_vocab" Q ":0", "target_vocab"},
    {Q "target_vocab" Q ":13", Q "target_vocab" Q ":12", "decoder.embedding.weight"},
    {Q "target_vocab" Q ":13", Q "target_vocab" Q ":16000000", "larger"},
    {Q "positions" Q ":12", Q "positions" Q ":0", "positions"},
    {Q "positions" Q ":12", Q "positions" Q ":2147483647", "positions"},
    {Q "positions" Q ":12", Q "positions" Q ":16777216", "positions"},
    {Q "positions" Q ":12", Q "positions" Q ":1000000", "too large for a file of this size"},
    {Q "width" Q ":8", Q "width" Q ":0", "width"},
    {Q "width" Q ":8", Q "width" Q ":7", "width"},
    {Q "width" Q ":8", Q "width" Q ":65537", "width"},
    {Q "width" Q ":8", Q "width" Q ":65536", "larger"},
    {Q "width" Q ":8", Q "width" Q ":10", "10"},
    {Q "heads" Q ":2", Q "heads" Q ":0", "heads"},
    {Q "heads" Q ":2", Q "heads" Q ":3", "heads"},
    {Q "heads" Q ":2", Q "heads" Q ":16", "heads"},
    {Q "key_heads" Q ":0", Q "key_heads" Q ":3", "key_heads"},
    {Q "key_heads" Q ":0", Q "key_heads" Q ":4", "key_heads"},
    {Q "key_heads" Q ":0", Q "key_heads" Q ":-1", "key_heads"},
    {Q "key_heads" Q ":0", Q "key_heads" Q ":1", "qkv.weight"},
    {Q "ffn_width" Q ":12", Q "ffn_width" Q ":0", "feedforward"},
    {Q "ffn_width" Q ":12", Q "ffn_width" Q ":1048577", "ffn_width"},
    {Q "ffn_width" Q ":12", Q "ffn_width" Q ":11", "feedforward.in.weight"},
    {Q "encoder_layers" Q ":1", Q "encoder_layers" Q ":0", "encoder_layers"},
    {Q "encoder_layers" Q ":1", Q "encoder_layers" Q ":1000000000", "encoder_layers"},
    {Q "encoder_layers" Q ":1", Q "encoder_layers" Q ":1024", "larger"},
    {Q "decoder_layers" Q ":1", Q "decoder_layers" Q ":0", "decoder_layers"},
    {Q "decoder_layers" Q ":1", Q "decoder_layers" Q ":2", "larger"},
    {Q "self_score" Q ":" Q "scaled-dot" Q, Q "self_score" Q ":" Q "scaled" Q, "self_score"},
    {Q "self_score" Q ":" Q "scaled-dot" Q, Q "self_score" Q ":" Q Q, "self_score"},
    {Q "cross_score" Q ":" Q "scaled-dot" Q, Q "cross_score" Q ":1", "cross_score"},
    {Q "norm_order" Q ":" Q "post" Q, Q "norm_order" Q ":" Q "Post" Q, "norm_order"},
    {Q "norm_order" Q ":" Q "post" Q, Q "norm_order" Q ":" Q "pre" Q, "larger"},
    {Q "activation" Q ":" Q "relu" Q, Q "activation" Q ":" Q "tanh" Q, "activation"},
    {Q "position" Q ":" Q "interleaved" Q, Q "position" Q ":" Q "rotary" Q, "position"},
    {Q "position" Q ":" Q "interleaved" Q, Q "position" Q ":" Q "learned" Q, "larger"},
    {Q "tie" Q ":" Q "none" Q, Q "tie" Q ":" Q "some" Q, "tie"},
    {Q "tie" Q ":" Q "none" Q, Q "tie" Q ":" Q "all" Q, "tie"},
    {Q "tie" Q ":" Q "none" Q, Q "tie" Q ":" Q "output" Q, "output.weight"},
    {Q "output_bias" Q ":0", Q "output_bias" Q ":1", "larger"},
    {Q "output_bias" Q ":0", Q "output_bias" Q ":2", "output_bias"},
    {Q "plain_embedding" Q ":0", Q "plain_embedding" Q ":-1", "plain_embedding"},
    {Q "norm_epsilon" Q ":1e-5", Q "norm_epsilon" Q ":NaN", "norm_epsilon"},
    {Q "norm_epsilon" Q ":1e-5", Q "norm_epsilon" Q ":-0.5", "norm_epsilon"},
    {Q "norm_epsilon" Q ":1e-5", Q "norm_epsilon" Q ":1", "norm_epsilon"},
    {Q "norm_epsilon" Q ":1e-5", Q "norm_epsilon" Q ":1e39", "norm_epsilon"},
    {Q "norm_epsilon" Q ":1e-5", Q "norm_epsilon" Q ":0,00001", "rapt.config"},
    {Q "norm_epsilon" Q ":1e-5", Q "norm_epsilon" Q ":" Q "1e-5" Q, "norm_epsilon"},
    {Q "norm_epsilon" Q ":1e-5", Q "norm_epsilon" Q ":.5", "norm_epsilon"},
    {Q "norm_epsilon" Q ":1e-5", Q "norm_epsilon" Q ":1e", "norm_epsilon"},
    {Q "norm_epsilon" Q ":1e-5", Q "norm_epsilon_bits" Q ":925353388", "norm_epsilon_bits"},
    {"," Q "norm_epsilon" Q ":1e-5", "", "norm_epsilon"},
    {Q "norm_epsilon" Q ":1e-5}", Q "norm_epsilon" Q ":1e-5", "rapt.config"},
    {Q "norm_epsilon" Q ":1e-5}", Q "norm_epsilon" Q ":{}}", "norm_epsilon"},
    {Q "ffn_width" Q ":12", Q "hidden" Q ":12", "hidden"},
    {"{" Q "version" Q, "[" Q "version" Q, "rapt.config"},
    {"rapt.config", "rapt_config", "rapt.config"},
    {Q "plain_embedding" Q ":0", Q "plain_embedding" Q ":0," Q "rotary" Q ":1", "rotary"},
    {Q "plain_embedding" Q ":0", Q "plain_embedding" Q ":0," Q "self_locality" Q ":" Q "near" Q,
     "self_locality"},
    {Q "plain_embedding" Q ":0", Q "plain_embedding" Q ":0," Q "cross_locality" Q ":" Q "local-p" Q,
     "larger"},
    {Q "plain_embedding" Q ":0", Q "plain_embedding" Q ":0," Q "cross_normalizer" Q ":2",
     "cross_normalizer"},
    {Q "plain_embedding" Q ":0", Q "plain_embedding" Q ":0," Q "self_radius" Q ":1e999",
     "self_radius"},
    {Q "plain_embedding" Q ":0", Q "plain_embedding" Q ":0," Q "self_radius" Q ":-0",
     "self_radius"},
    {Q "plain_embedding" Q ":0", Q "plain_embedding" Q ":0," Q "score_hidden" Q ":65537",
     "score_hidden"},
    {Q "plain_embedding" Q ":0", Q "plain_embedding" Q ":0," Q "location_filter_width" Q ":4",
     "location_filter_width"},
    {Q "self_score" Q ":" Q "scaled-dot" Q, Q "self_score" Q ":" Q "additive" Q, "larger"},
    {Q "self_score" Q ":" Q "scaled-dot" Q, Q "self_score" Q ":" Q "location" Q, "larger"},
};

/* Optional fields are not written if they are 0. */
static void test_what_is_not_said(void **state)
{
    (void)state;
    struct file f = good_file(&small_configs[0]);
    static const char *const words[] = {"_locality", "_normalizer",  "_radius",      "_temperature",
                                        "location_", "score_hidden", "center_hidden"};
    for (int i = 0; i < COUNT(words); i++)
        for (size_t at = 0; at + strlen(words[i]) <= f.size; at++)
            assert_true(memcmp(f.bytes + at, words[i], strlen(words[i])) != 0);
    drop(&f);
}

static void test_contradictions(void **state)
{
    (void)state;
    struct file f = good_file(&small_configs[0]);
    for (int i = 0; i < COUNT(contradictions); i++) {
        struct file e = edited(&f, contradictions[i].from, contradictions[i].to);
        refused(&e, contradictions[i].word);
        free(e.bytes);
    }
    assert_true(COUNT(contradictions) >= 60);
    drop(&f);
}

static void test_far_distances(void **state)
{
    (void)state;
    int n = 0;
    while (small_configs[n].relative_bias != RAPT_RELATIVE_BIAS_TRANSFORMER_XL) n++;
    rapt_config c = small_configs[n];
    c.width = 32;
    struct file f = good_file(&c);
    struct file e = edited(&f, Q "relative_distance" Q ":4", Q "relative_distance" Q ":32767");
    refused(&e, "relative_distance is 32767, too large for a file of this size");
    free(e.bytes);
    drop(&f);
}

/* Tests tensors with another name, shape or rank, or with a type that is not supported. */
static void test_tensors(void **state)
{
    (void)state;
    static const char *const cases[][3] = {
        {"\"encoder.layers.0.self_attn.qkv.weight\"", "\"encoder.layers.0.self_attn.qkv.Weight\"",
         "qkv.Weight"},
        {"\"decoder.embedding.weight\"", "\"decoder.embedding\"", "decoder.embedding"},
        {"\"encoder.embedding.weight\"", "\"adam.m.encoder.embedding.weight\"",
         "encoder.embedding.weight"},
        {"\"encoder.embedding.weight\"", "\"decoder.embedding.weight\"",
         "decoder.embedding.weight"},
        {"[11,8]", "[8,11]", "encoder.embedding.weight"},
        {"[13,8]", "[104]", "decoder.embedding.weight"},
        {"[13,8]", "[13,8,1]", "decoder.embedding.weight"},
        {"[24,8]", "[8,24]", "qkv.weight"},
        {"[24]", "[24,1]", "qkv.bias"},
        {"[24]", "[2,12]", "qkv.bias"},
        {"[8,8]", "[64]", "out.weight"},
        {"\"F32\",\"shape\":[11,8]", "\"I32\",\"shape\":[11,8]", "encoder.embedding.weight"},
        {"\"F32\",\"shape\":[11,8]", "\"F16\",\"shape\":[11,8]", "encoder.embedding.weight"},
        {"\"F32\",\"shape\":[11,8]", "\"F16\",\"shape\":[11,16]", "encoder.embedding.weight"},
    };
    struct file f = good_file(&small_configs[0]);
    for (int i = 0; i < COUNT(cases); i++) {
        struct file e = edited(&f, cases[i][0], cases[i][1]);
        refused(&e, cases[i][2]);
        free(e.bytes);
    }
    struct file e = edited(&f, "[24]", "[1,24]"); /* the same numbers in the same order */
    rapt_model *model;
    put(&e);
    assert_int_equal(rapt_model_load(&model, e.path, NULL, NULL), RAPT_OK);
    rapt_model_free(model);
    free(e.bytes);
    drop(&f);
}

/* One tensor less or more: complete models of other configurations with this configuration. */
static void test_others(void **state)
{
    (void)state;
    struct file f = good_file(&small_configs[0]);
    rapt_config more = small_configs[0];
    more.output_bias = 1;
    struct file with_bias = good_file(&more);
    struct file e = edited(&with_bias, Q "output_bias" Q ":1", Q "output_bias" Q ":0");
    refused(&e, "output.bias");
    free(e.bytes);
    more.output_bias = 0, more.decoder_layers = 2;
    struct file deeper = good_file(&more);
    e = edited(&deeper, Q "decoder_layers" Q ":2", Q "decoder_layers" Q ":1");
    refused(&e, "decoder.layers.1.");
    free(e.bytes);
    free(with_bias.bytes);
    free(deeper.bytes);
    drop(&f);
}

/* Checks that a loaded model works: it computes without a fault, and is saved as it was read. */
static void works(rapt_model *model)
{
    rapt_config c = *rapt_model_config(model);
    rapt_message why = {""};
    rapt_limits limits = {.size = sizeof limits,
                          .batch = 1,
                          .source_tokens = 3,
                          .target_length = 2,
                          .target_tokens = 2,
                          .threads = 1};
    rapt_session *session;
    int32_t ids[] = {0, 0, 0};
    assert_int_equal(rapt_config_check(&c, &why), RAPT_OK);
    for (int i = 0; i < rapt_model_tensors(model); i++) {
        rapt_tensor t = rapt_model_tensor(model, i);
        assert_true(t.rows > 0 && t.columns > 0 && rapt_model_find(model, t.name) == i);
    }
    if (c.positions < 3) return;
    assert_int_equal(rapt_session_create(&session, model, &limits, NULL, NULL), RAPT_OK);
    rapt_tokens source = {.batch = 1, .ids = ids, .starts = (const int[]){0, 3}},
                target = {.batch = 1, .ids = ids, .starts = (const int[]){0, 2}};
    assert_int_equal(rapt_encode(session, &source, NULL, NULL), RAPT_OK);
    if (c.kind != RAPT_KIND_ENCODER_ONLY)
        assert_int_equal(rapt_decode(session, &target, NULL, NULL), RAPT_OK);
    rapt_session_free(session);
}

static void load_anyway(const struct file *f)
{
    rapt_model *model = NULL;
    rapt_message why = {""};
    put(f);
    rapt_status status = rapt_model_load(&model, f->path, NULL, &why);
    if (status == RAPT_OK) {
        works(model);
        rapt_model_free(model);
        return;
    }
    assert_int_equal(status, RAPT_BAD_FILE);
    assert_true(why.text[0] && !model);
}

static void test_truncated(void **state)
{
    (void)state;
    struct file f = good_file(&small_configs[0]), cut = f;
    size_t n = header_size(&f);
    for (size_t size = 0; size < f.size;
         size += size < 32 || size + 64 > f.size ? 1 : f.size / 97) {
        cut.size = size;
        refused(&cut, "");
    }
    for (size_t size = n; size < n + 20; size++) {
        cut.size = size;
        refused(&cut, "");
    }
    f.bytes[f.size++] = 0; /* one byte too many */
    refused(&f, "");
    drop(&f);
}

static void test_flipped(void **state)
{
    (void)state;
    struct file f = good_file(&small_configs[1]);
    size_t n = header_size(&f);
    for (uint64_t i = 0; i < 1500; i++) {
        size_t at = (size_t)(small_random(1, i) % (i % 8 ? n + 8 : f.size));
        unsigned char kept = f.bytes[at];
        f.bytes[at] = (unsigned char)(kept ^ (1u << small_random(2, i) % 8));
        if (i % 3 == 0) f.bytes[at] = (unsigned char)small_random(3, i);
        load_anyway(&f);
        f.bytes[at] = kept;
    }
    drop(&f);
}

/* Measures how much memory a small file makes the library allocate. */
struct meter {
    size_t now, max;
};
static void *take(void *user, size_t bytes)
{
    struct meter *m = user;
    m->now += bytes;
    if (m->now > m->max) m->max = m->now;
    return aligned_alloc(64, (bytes + 63) / 64 * 64);
}
static void give_back(void *user, void *memory, size_t bytes)
{
    struct meter *m = user;
    m->now -= bytes;
    free(memory);
}

static void test_greedy_files(void **state)
{
    (void)state;
    static const char *const claims[][2] = {
        {Q "target_vocab" Q ":13", Q "target_vocab" Q ":16777216"},
        {Q "width" Q ":8", Q "width" Q ":1024"},
        {Q "ffn_width" Q ":12", Q "ffn_width" Q ":1048576"},
        {Q "encoder_layers" Q ":1", Q "encoder_layers" Q ":1024"},
    };
    struct file f = good_file(&small_configs[0]);
    for (int i = 0; i < COUNT(claims); i++) {
        struct file e = edited(&f, claims[i][0], claims[i][1]);
        struct meter meter = {0};
        rapt_allocator allocator = {take, give_back, &meter};
        rapt_model *model;
        put(&e);
        assert_int_equal(rapt_model_load(&model, e.path, &allocator, NULL), RAPT_BAD_FILE);
        assert_true(meter.now == 0 && meter.max < 64 * e.size);
        free(e.bytes);
    }
    drop(&f);
}

/* Saving and loading must preserve every configuration. Also tests missing files, folders and
   names. */
static void test_round_trip(void **state)
{
    (void)state;
    rapt_message why = {""};
    char path[256];
    small_path(path, "trip");
    for (int i = 0; i < COUNT(small_configs); i++) {
        rapt_model *model = small_model(&small_configs[i], 3), *loaded = NULL;
        rapt_metadata metadata[] = {{"empty", ""}, {"long", "\"quotes\" \\ \x01 \xf0\x9f\x90\x88"}};
        assert_int_equal(rapt_model_save(model, path, metadata, 2, NULL), RAPT_OK);
        if (rapt_model_load(&loaded, path, NULL, &why)) fail_msg("%s", why.text);
        small_same_models(model, loaded);
        rapt_config a = *rapt_model_config(model), b = *rapt_model_config(loaded);
        if (a.norm_epsilon == 0) a.norm_epsilon = 1e-5f;
        assert_memory_equal(&a, &b, sizeof a);
        assert_string_equal(rapt_model_metadata(loaded, "empty"), "");
        assert_string_equal(rapt_model_metadata(loaded, "long"), metadata[1].value);
        assert_null(rapt_model_metadata(loaded, "none"));
        assert_non_null(rapt_model_metadata(loaded, "rapt.config"));
        rapt_model_free(model);
        rapt_model_free(loaded);
    }
    rapt_model *model = (rapt_model *)(uintptr_t)64;
    char missing[TEMPORARY], folder[TEMPORARY];
    assert_int_equal(rapt_model_load(&model, temporary_missing(missing), NULL, &why), RAPT_NO_FILE);
    assert_non_null(strstr(why.text, strrchr(missing, '-')));
    assert_true(rapt_model_load(&model, temporary_folder(folder), NULL, &why) != RAPT_OK);
    assert_int_equal(rmdir(folder), 0);
    assert_true((uintptr_t)model == 64);
    unlink(path);
}

/* ---- finite: a file with an infinite or NaN parameter is refused, and the message names the
   parameter. If the caller permits such parameters, it is loaded bit for bit. ---- */

static const float bad[] = {NAN, INFINITY, -INFINITY};

/* Creates a model whose tensor t ends with `value`. */
static rapt_model *spoiled(int t, float value)
{
    rapt_model *model = small_model(&small_configs[1], 1);
    size_t size = small_size(model, t);
    float *data = malloc(size * sizeof *data);
    assert_int_equal(rapt_model_read(model, t, data, NULL), RAPT_OK);
    data[size - 1] = value;
    assert_int_equal(rapt_model_write(model, t, data, NULL), RAPT_OK);
    free(data);
    return model;
}

static void test_refused(void **state)
{
    (void)state;
    char path[256], element[64];
    small_path(path, "finite");
    const rapt_load_options all = {.size = sizeof all},
                            asked = {.size = sizeof asked, .non_finite = 1};
    for (int i = 0, t = 0; i < 2 * COUNT(bad); i++, t += 3) {
        rapt_message why = {""};
        rapt_model *model = spoiled(t, bad[i / 2]), *loaded = NULL;
        assert_int_equal(rapt_model_save(model, path, NULL, 0, NULL), RAPT_OK);
        assert_int_equal(rapt_model_load(&loaded, path, NULL, &why), RAPT_BAD_FILE);
        assert_non_null(strstr(why.text, rapt_model_tensor(model, t).name));
        snprintf(element, sizeof element, "element %zu is %g", small_size(model, t) - 1,
                 (double)bad[i / 2]);
        if (!strstr(why.text, element)) fail_msg("\"%s\" does not say %s", why.text, element);
        assert_int_equal(rapt_model_load_with(&loaded, path, NULL, NULL, NULL), RAPT_BAD_FILE);
        assert_int_equal(rapt_model_load_with(&loaded, path, &all, NULL, NULL), RAPT_BAD_FILE);
        assert_null(loaded);
        assert_int_equal(rapt_model_load_with(&loaded, path, &asked, NULL, NULL), RAPT_OK);
        small_same_models(model, loaded);
        rapt_model_free(loaded);
        rapt_model_free(model);
    }
    unlink(path);
}

static void test_options(void **state)
{
    (void)state;
    char path[256];
    rapt_message why = {""};
    rapt_model *model = small_model(&small_configs[0], 1), *loaded = NULL;
    const rapt_load_options unsized = {.non_finite = 1};
    const rapt_save_options later = {.size = sizeof later, .reserved = 1};
    assert_int_equal(rapt_model_save(model, small_path(path, "options"), NULL, 0, NULL), RAPT_OK);
    assert_int_equal(rapt_model_load_with(&loaded, path, &unsized, NULL, &why), RAPT_BAD_ARGUMENT);
    assert_non_null(strstr(why.text, "sizeof(rapt_load_options)"));
    assert_int_equal(rapt_model_save_with(model, path, &later, NULL, 0, &why), RAPT_BAD_ARGUMENT);
    assert_non_null(strstr(why.text, "reserved is 1"));
    assert_null(loaded);
    rapt_model_free(model);
    unlink(path);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_round_trip),     cmocka_unit_test(test_what_is_not_said),
        cmocka_unit_test(test_contradictions), cmocka_unit_test(test_far_distances),
        cmocka_unit_test(test_tensors),        cmocka_unit_test(test_others),
        cmocka_unit_test(test_truncated),      cmocka_unit_test(test_flipped),
        cmocka_unit_test(test_greedy_files),   cmocka_unit_test(test_refused),
        cmocka_unit_test(test_options),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
