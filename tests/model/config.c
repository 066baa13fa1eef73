/* config.c - configurations: each field beyond its range, fields that contradict each other, sizes
   of the struct, presets. Also single parameters by index and name, and NULL. */
#include "model/small.h"

#include <stddef.h>

static void refused(rapt_config c, const char *field)
{
    rapt_message why = {""};
    rapt_model *model = (rapt_model *)(uintptr_t)64;
    assert_int_equal(rapt_config_check(&c, &why), RAPT_BAD_ARGUMENT);
    if (!strstr(why.text, field)) fail_msg("\"%s\" does not name %s", why.text, field);
    if (strstr(why.text, " to inf") || strstr(why.text, " be -0 ")) fail_msg("%s", why.text);
    assert_int_equal(rapt_config_check(&c, NULL), RAPT_BAD_ARGUMENT);
    assert_int_equal(rapt_model_create(&model, &c, 1, NULL, &why), RAPT_BAD_ARGUMENT);
    assert_true((uintptr_t)model == 64);
}

/* Returns a good configuration in which one field has another value. */
static rapt_config with(int field, float real, int whole)
{
    const rapt_config_field *f = rapt_config_field_at(field);
    rapt_config c = small_configs[0];
    memcpy((char *)&c + f->offset,
           f->type == RAPT_FIELD_TYPE_FLOAT ? (void *)&real : (void *)&whole, sizeof whole);
    return c;
}

/* Returns the largest float within the range of a field. */
static float largest(const rapt_config_field *f)
{
    float max = (float)f->max;
    return (double)max > f->max ? nextafterf(max, 0) : max;
}

/* Each field must be refused if it is just beyond its range. */
static void test_every_field(void **state)
{
    (void)state;
    for (int i = 0; i < RAPT_CONFIG_FIELDS; i++) {
        const rapt_config_field *f = rapt_config_field_at(i);
        if (f->type == RAPT_FIELD_TYPE_FLOAT) {
            const float beyond[] = {nextafterf((float)f->min, -1), nextafterf(largest(f), INFINITY),
                                    -1, -INFINITY, NAN};
            for (int j = 0; j < COUNT(beyond); j++) refused(with(i, beyond[j], 0), f->name);
            const rapt_config good = with(i, largest(f), 0);
            assert_int_equal(rapt_config_check(&good, NULL), RAPT_OK);
            continue;
        }
        refused(with(i, 0, (int)f->min - 1), f->name);
        refused(with(i, 0, (int)f->max + 1), f->name);
        refused(with(i, 0, INT32_MIN), f->name);
        refused(with(i, 0, INT32_MAX), f->name);
    }
}

/* Without an encoder, fields of attention with scores have no meaning beside linear attention. */
static void test_linear_attention(void **state)
{
    (void)state;
    static const char *const fields[] = {"self_score", "self_locality",  "self_normalizer",
                                         "rotary",     "query_key_norm", "relative_bias",
                                         "score_cap",  "differential"};
    for (int i = 0; i < RAPT_CONFIG_FIELDS; i++) {
        const rapt_config_field *f = rapt_config_field_at(i);
        for (int j = 0; j < COUNT(fields); j++) {
            if (strcmp(fields[j], f->name) != 0) continue;
            rapt_config both = with(i, 1, 1), one = small_configs[10];
            memcpy((char *)&one + f->offset, (char *)&both + f->offset, 4);
            assert_int_equal(rapt_config_check(&one, NULL), RAPT_OK);
            for (int kind = RAPT_RECURRENCE_LINEAR; kind <= RAPT_RECURRENCE_GATED_DELTA; kind++) {
                one.decoder_recurrence = both.decoder_recurrence = (rapt_recurrence)kind;
                refused(one, f->name);
                assert_int_equal(rapt_config_check(&both, NULL), RAPT_OK);
            }
        }
    }
}

/* Returns the index of the small configuration with this kind of monotonic attention. */
static int monotonic_index(rapt_cross_monotonic kind)
{
    int i = 0;
    while (small_configs[i].monotonic != kind) i++;
    return i;
}

/* Fields of scores and weights have no meaning in monotonic attention. */
static void test_monotonic(void **state)
{
    (void)state;
    const int hard = monotonic_index(RAPT_CROSS_MONOTONIC_HARD),
              chunk = monotonic_index(RAPT_CROSS_MONOTONIC_CHUNK),
              lookback = monotonic_index(RAPT_CROSS_MONOTONIC_LOOKBACK);
#define REFUSE(from, field, value, says)                                                           \
    do {                                                                                           \
        rapt_config c = small_configs[from];                                                       \
        c.field = value;                                                                           \
        refused(c, says);                                                                          \
    } while (0)
    REFUSE(hard, cross_score, RAPT_SCORE_DOT, "cross_score must be scaled-dot with monotonic hard");
    REFUSE(hard, cross_locality, RAPT_LOCALITY_LOCAL_M, "cross_locality must be global");
    REFUSE(chunk, cross_normalizer, RAPT_NORMALIZER_SIGMOID, "cross_normalizer must be softmax");
    REFUSE(hard, score_cap, 2, "score_cap must be 0");
    REFUSE(hard, differential, 1, "differential must be 0");
    REFUSE(hard, talking_heads, 1, "talking_heads must be 0");
    REFUSE(lookback, query_key_norm, 1, "query_key_norm must be 0 with monotonic lookback");
    REFUSE(hard, monotonic_chunk, 2, "monotonic_chunk is 2, but monotonic is hard, not chunk");
    REFUSE(hard, monotonic, RAPT_CROSS_MONOTONIC_NONE + 4, "monotonic is 4");
    REFUSE(7, monotonic, RAPT_CROSS_MONOTONIC_HARD, "the model has no cross-attention");
    REFUSE(10, monotonic, RAPT_CROSS_MONOTONIC_CHUNK, "the model has no cross-attention");
    REFUSE(43, monotonic, RAPT_CROSS_MONOTONIC_HARD, "latent_width must be 0");
#undef REFUSE
}

/* Fields that contradict each other must be refused. */
static void test_combinations(void **state)
{
    (void)state;
#define REFUSE(from, field, value)                                                                 \
    do {                                                                                           \
        rapt_config c = small_configs[from];                                                       \
        c.field = value;                                                                           \
        refused(c, #field);                                                                        \
    } while (0)
    REFUSE(0, source_vocab, 0);
    REFUSE(0, target_vocab, 0);
    REFUSE(7, target_vocab, 0); /* has an output bias */
    REFUSE(0, width, 7);
    REFUSE(0, heads, 3);
    REFUSE(0, key_heads, 3);
    REFUSE(0, encoder_layers, 0);
    REFUSE(0, decoder_layers, 0);
    REFUSE(0, self_radius, -0.0f);
    REFUSE(0, cross_temperature, -0.0f);
    REFUSE(0, location_filter_width, 2);
    REFUSE(0, score_hidden, 65536 * 16);
    REFUSE(0, tie, RAPT_TIE_ALL);
    REFUSE(7, decoder_layers, 1);
    REFUSE(0, pooling, RAPT_POOLING_FIRST);
    REFUSE(13, rotary_width, 3);
    REFUSE(13, rotary_width, 6);
    REFUSE(14, relative_buckets, 5);
    REFUSE(14, relative_buckets, 2);
    REFUSE(14, relative_distance, 3);
    REFUSE(18, rotary, RAPT_ROTARY_PAIRS); /* self_score is location-aware */
    REFUSE(11, rotary, 3);
    REFUSE(29, rotary_factor, 0.5f);
    REFUSE(30, rotary_width, 2); /* too narrow for ntk */
    REFUSE(31, rotary_scaling, 4);
    REFUSE(33, query_key_norm, 2);
    REFUSE(36, output_gate, 3);
    REFUSE(4, differential, 1); /* heads 5 wide */
    REFUSE(7, forget_gate, 1);
    REFUSE(10, forget_gate, 2);
    REFUSE(47, self_score, RAPT_SCORE_GENERAL);
    REFUSE(48, rotary, RAPT_ROTARY_PAIRS);
    REFUSE(49, relative_distance, 32768);
    REFUSE(49, relative_bias, 8);
    REFUSE(49, relative_buckets, 2);
    REFUSE(49, relative_buckets, 5);
    REFUSE(49, relative_buckets, 6); /* relative_distance is 3 */
    REFUSE(10, talking_heads, 2);
    REFUSE(18, talking_heads, 1); /* self_score is location-aware */
    REFUSE(37, talking_heads, 1); /* differential is 1 */
    REFUSE(37, self_normalizer, RAPT_NORMALIZER_ARGMAX);
    REFUSE(37, cross_normalizer, RAPT_NORMALIZER_SAMPLE);
    REFUSE(43, latent_width, 24); /* not a multiple of 16 */
    REFUSE(43, latent_width, 1 << 16);
    REFUSE(0, latent_width, 16); /* heads 4 wide */
    REFUSE(0, latent_query_width, 16);
    REFUSE(43, latent_query_width, 65537);
    REFUSE(43, key_heads, 1);
    REFUSE(43, query_key_norm, 1);
    REFUSE(43, differential, 1);
    REFUSE(43, self_score, RAPT_SCORE_GENERAL);
    REFUSE(43, relative_bias, RAPT_RELATIVE_BIAS_DEBERTA);
    REFUSE(43, self_score, RAPT_SCORE_COSINE);
    REFUSE(43, cross_score, RAPT_SCORE_ADDITIVE);
    REFUSE(43, self_locality, RAPT_LOCALITY_LOCAL_P);
    REFUSE(43, cross_locality, RAPT_LOCALITY_LOCAL_P);
    REFUSE(43, rotary_width, 5);
    REFUSE(10, encoder_layers, 1);
    REFUSE(10, source_vocab, 5);
    REFUSE(0, pooler, 1);
    REFUSE(7, pooler, 1);       /* does not pool */
    REFUSE(10, token_types, 2); /* has no source */
    REFUSE(0, source_width, 4);
    REFUSE(10, source_width, 4);
    REFUSE(2, first_position, 1); /* position is learned */
    REFUSE(4, first_position, 1);
    REFUSE(7, decoder_start, RAPT_DECODER_START_END);
    REFUSE(7, decoder_recurrence, RAPT_RECURRENCE_SSRU);
    REFUSE(7, decoder_recurrence, RAPT_RECURRENCE_DELTA);
    REFUSE(0, decoder_recurrence, RAPT_RECURRENCE_GATED_DELTA + 1);
    REFUSE(0, alignment_layer, 2); /* has one layer */
    REFUSE(7, alignment_layer, 1);
    REFUSE(10, alignment_layer, 1);
    REFUSE(0, alignment_heads, 1); /* alignment_layer is 0 */
#undef REFUSE
    rapt_config linear = small_configs[43], wide = small_configs[49];
    linear.decoder_recurrence = RAPT_RECURRENCE_GATED;
    refused(linear, "latent_width");
    wide.width = 2048 * wide.heads, wide.relative_distance = 32767;
    refused(wide, "relative_distance 32767 times width");
    rapt_config c = small_configs[0];
    c.width = 7, c.heads = 1, c.key_heads = 0;
    refused(c, "sinusoids need an even width");
    c = small_configs[0];
    c.reserved[COUNT(c.reserved) - 1] = 1;
    refused(c, "reserved");
    c = small_configs[0];
    c.positions = 1 << 24, c.width = 8;
    refused(c, "positions");
    c = small_configs[0];
    c.width = 1 << 16, c.heads = 32, c.score_hidden = 1 << 16;
    refused(c, "score_hidden");
    c.score_hidden = 0, c.center_hidden = 1 << 16;
    refused(c, "center_hidden");
    c.center_hidden = 0, c.width = 1 << 12, c.heads = 1 << 11, c.talking_heads = 1;
    refused(c, "heads is 2048");
    c.width = 1 << 16, c.heads = 32, c.talking_heads = 0;
    c.head_width = 1 << 16;
    refused(c, "head_width 65536 times heads 32");
    for (int i = 0; i < COUNT(small_configs); i++)
        assert_int_equal(rapt_config_check(&small_configs[i], NULL), RAPT_OK);
}

/* What talking heads cannot be combined with is named, whichever of the two was set first. */
static void test_talking(void **state)
{
    (void)state;
    static const struct {
        int config;
        const char *says;
    } bad[] = {{43, "talking_heads is 1, but latent_width is 16; set one of them to 0"},
               {46, "talking_heads is 1, but cross_score is coverage"},
               {47, "talking_heads is 1, but relative_bias is shaw"},
               {48, "talking_heads is 1, but relative_bias is transformer-xl"},
               {49, "talking_heads is 1, but relative_bias is deberta"},
               {51, "talking_heads is 1, but relative_bias is shaw-keys"}};
    for (int i = 0; i < COUNT(bad); i++) {
        rapt_config c = small_configs[bad[i].config];
        c.talking_heads = 1;
        refused(c, bad[i].says);
    }
    rapt_config c = small_configs[10];
    c.self_score = RAPT_SCORE_COVERAGE, c.talking_heads = 1;
    refused(c, "talking_heads is 1, but self_score is coverage");
}

/* The list must give valid names, offsets and words, each once. */
static void test_list(void **state)
{
    (void)state;
    assert_null(rapt_config_field_at(-1));
    assert_null(rapt_config_field_at(RAPT_CONFIG_FIELDS));
    for (int i = 0; i < RAPT_CONFIG_FIELDS; i++) {
        const rapt_config_field *f = rapt_config_field_at(i);
        assert_int_equal(f->offset, offsetof(rapt_config, kind) + sizeof(int) * (size_t)i);
        assert_true(f->name[0] && f->meaning[0] && f->min <= f->max);
        assert_int_equal(f->word != NULL, f->type == RAPT_FIELD_TYPE_ENUM);
        for (int v = 0; f->word && v <= (int)f->max; v++) assert_non_null(f->word(v));
        if (f->word) assert_null(f->word((int)f->max + 1));
        if (f->word) assert_null(f->word(-1));
        for (int j = 0; j < i; j++) assert_string_not_equal(f->name, rapt_config_field_at(j)->name);
    }
}

/* Programs compiled with fewer or more fields must work. */
static void test_sizes(void **state)
{
    (void)state;
    struct {
        rapt_config config;
        int more[8];
    } longer = {.config = small_configs[0]};
    rapt_config shorter = small_configs[0];
    rapt_message why = {""};
    longer.config.size = sizeof longer;
    assert_int_equal(rapt_config_check(&longer.config, &why), RAPT_OK);
    longer.more[3] = 1;
    assert_int_equal(rapt_config_check(&longer.config, &why), RAPT_BAD_ARGUMENT);
    assert_non_null(strstr(why.text, "rapt_config"));
    shorter.size = offsetof(rapt_config, self_radius);
    shorter.self_radius = NAN;
    assert_int_equal(rapt_config_check(&shorter, &why), RAPT_OK);
    rapt_model *model;
    assert_int_equal(rapt_model_create(&model, &shorter, 1, NULL, &why), RAPT_OK);
    assert_true(rapt_model_config(model)->self_radius == 0);
    assert_int_equal(rapt_model_config(model)->size, sizeof(rapt_config));
    rapt_model_free(model);
    shorter.size = 0;
    assert_int_equal(rapt_config_check(&shorter, &why), RAPT_BAD_ARGUMENT);
    assert_non_null(strstr(why.text, "sizeof(rapt_config)"));
    assert_int_equal(rapt_config_check(NULL, &why), RAPT_BAD_ARGUMENT);
    assert_int_equal(rapt_model_create(&model, NULL, 1, NULL, &why), RAPT_BAD_ARGUMENT);
    assert_int_equal(rapt_model_create(NULL, &small_configs[0], 1, NULL, &why), RAPT_BAD_ARGUMENT);
    assert_int_equal(rapt_config_preset(&shorter, "tiny", 9, &why), RAPT_BAD_ARGUMENT);
}

static void test_presets(void **state)
{
    (void)state;
    static const char *const names[] = {"tiny", "small", "base"};
    rapt_message why = {""};
    rapt_config c = {.size = sizeof c}, before = small_configs[3];
    for (int i = 0; i < COUNT(names); i++) {
        assert_int_equal(rapt_config_preset(&c, names[i], 1000, &why), RAPT_OK);
        assert_int_equal(rapt_config_check(&c, NULL), RAPT_OK);
        assert_true(c.source_vocab == 1000 && c.target_vocab == 1000 && c.tie == RAPT_TIE_ALL);
    }
    c = before;
    assert_int_equal(rapt_config_preset(&c, "huge", 1000, &why), RAPT_BAD_ARGUMENT);
    assert_string_equal(why.text, "there is no preset huge; choose one of tiny, small, base");
    assert_int_equal(rapt_config_preset(&c, "", 1000, NULL), RAPT_BAD_ARGUMENT);
    assert_int_equal(rapt_config_preset(&c, NULL, 1000, &why), RAPT_BAD_ARGUMENT);
    assert_int_equal(rapt_config_preset(NULL, "tiny", 1000, &why), RAPT_BAD_ARGUMENT);
    assert_memory_equal(&c, &before, sizeof c);
}

/* Every function accepts a NULL model, and treats it as empty or refuses it. */
static void test_null(void **state)
{
    (void)state;
    rapt_message why = {""};
    float one = 3;
    assert_null(rapt_model_config(NULL));
    assert_int_equal(rapt_model_parameters(NULL) + rapt_model_bytes(NULL), 0);
    assert_int_equal(rapt_model_tensors(NULL) + rapt_model_metadata_count(NULL), 0);
    assert_int_equal(rapt_model_find(NULL, "encoder.embedding.weight"), -1);
    assert_null(rapt_model_tensor(NULL, 0).name);
    assert_null(rapt_model_metadata(NULL, "rapt.config"));
    assert_null(rapt_model_metadata_at(NULL, 0).key);
    assert_int_equal(rapt_model_read(NULL, 0, &one, &why), RAPT_BAD_ARGUMENT);
    assert_int_equal(rapt_model_write(NULL, 0, &one, &why), RAPT_BAD_ARGUMENT);
    assert_int_equal(rapt_model_save(NULL, "unused", NULL, 0, &why), RAPT_BAD_ARGUMENT);
    assert_int_equal(rapt_model_load(NULL, "unused", NULL, &why), RAPT_BAD_ARGUMENT);
    rapt_model *model = small_model(&small_configs[0], 1);
    assert_int_equal(rapt_model_load(&model, NULL, NULL, &why), RAPT_BAD_ARGUMENT);
    assert_int_equal(rapt_model_save(model, NULL, NULL, 0, &why), RAPT_BAD_ARGUMENT);
    assert_int_equal(rapt_model_read(model, 0, NULL, &why), RAPT_BAD_ARGUMENT);
    assert_int_equal(rapt_model_write(model, 0, NULL, &why), RAPT_BAD_ARGUMENT);
    assert_int_equal(rapt_model_find(model, NULL), -1);
    assert_null(rapt_model_metadata(model, NULL));
    rapt_model_free(model);
    rapt_model_free(NULL);
}

/* Reading returns what was written, names are found, and models are equal if and only if their
   seeds are. */
static void test_parameters(void **state)
{
    (void)state;
    for (int i = 0; i < COUNT(small_configs); i++) {
        rapt_model *a = NULL, *b = NULL, *c = NULL;
        size_t total = 0;
        assert_int_equal(rapt_model_create(&a, &small_configs[i], 5, NULL, NULL), RAPT_OK);
        assert_int_equal(rapt_model_create(&b, &small_configs[i], 5, NULL, NULL), RAPT_OK);
        assert_int_equal(rapt_model_create(&c, &small_configs[i], 6, NULL, NULL), RAPT_OK);
        small_same_models(a, b);
        float *x = small_parameters(a), *y = small_parameters(c);
        assert_true(memcmp(x, y, rapt_model_parameters(a) * sizeof *x) != 0);
        free(x);
        free(y);
        for (int t = 0; t < rapt_model_tensors(a); t++) {
            assert_int_equal(rapt_model_find(a, rapt_model_tensor(a, t).name), t);
            total += small_size(a, t);
        }
        assert_int_equal(total, rapt_model_parameters(a));
        assert_true(rapt_model_bytes(a) >= total * sizeof(float));
        small_shake(b, 1, 1);
        float *wanted = small_parameters(b), *at = wanted;
        for (int t = 0; t < rapt_model_tensors(a); at += small_size(a, t), t++)
            assert_int_equal(rapt_model_write(a, t, at, NULL), RAPT_OK);
        small_same_models(a, b);
        free(wanted);
        assert_int_equal(rapt_model_find(a, "encoder"), -1);
        assert_int_equal(rapt_model_find(a, ""), -1);
        float one = 3;
        for (int bad = -1; bad <= rapt_model_tensors(a); bad += rapt_model_tensors(a) + 1) {
            assert_int_equal(rapt_model_read(a, bad, &one, NULL), RAPT_BAD_ARGUMENT);
            assert_int_equal(rapt_model_write(a, bad, &one, NULL), RAPT_BAD_ARGUMENT);
            assert_null(rapt_model_tensor(a, bad).name);
        }
        assert_true(one == 3);
        rapt_model_free(a);
        rapt_model_free(b);
        rapt_model_free(c);
    }
    rapt_model_free(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_field),
        cmocka_unit_test(test_combinations),
        cmocka_unit_test(test_linear_attention),
        cmocka_unit_test(test_talking),
        cmocka_unit_test(test_monotonic),
        cmocka_unit_test(test_list),
        cmocka_unit_test(test_sizes),
        cmocka_unit_test(test_presets),
        cmocka_unit_test(test_null),
        cmocka_unit_test(test_parameters),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
