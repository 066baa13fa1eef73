/* config.c - presets, every range of a configuration, and the doors to single parameters. */
#include "model/small.h"

static void refused(rapt_config c, const char *field)
{
    rapt_message why = {""};
    rapt_model *model = (rapt_model *)(uintptr_t)64;
    assert_int_equal(rapt_config_check(&c, &why), RAPT_BAD_ARGUMENT);
    if (!strstr(why.text, field)) fail_msg("\"%s\" does not name %s", why.text, field);
    assert_int_equal(rapt_config_check(&c, NULL), RAPT_BAD_ARGUMENT);
    assert_int_equal(rapt_model_create(&model, &c, 1, NULL, &why), RAPT_BAD_ARGUMENT);
    assert_true((uintptr_t)model == 64);
}

static void test_ranges(void **state)
{
    (void)state;
#define REFUSE(from, field, value)                                                                 \
    do {                                                                                           \
        rapt_config c = small_configs[from];                                                       \
        c.field = value;                                                                           \
        refused(c, #field);                                                                        \
    } while (0)
    REFUSE(0, kind, (rapt_kind)3);
    REFUSE(0, kind, (rapt_kind)-1);
    REFUSE(0, source_vocab, 0);
    REFUSE(0, source_vocab, -1);
    REFUSE(0, target_vocab, 0);
    REFUSE(0, target_vocab, INT32_MAX);
    REFUSE(0, positions, 0);
    REFUSE(0, positions, INT32_MAX);
    REFUSE(0, width, 0);
    REFUSE(0, width, INT32_MIN);
    REFUSE(0, width, 7);
    REFUSE(0, heads, 0);
    REFUSE(0, heads, 3);
    REFUSE(0, heads, -2);
    REFUSE(0, key_heads, 3);
    REFUSE(0, key_heads, -1);
    REFUSE(0, ffn_width, -1);
    REFUSE(0, ffn_width, INT32_MAX);
    REFUSE(0, encoder_layers, 0);
    REFUSE(0, encoder_layers, INT32_MAX);
    REFUSE(0, decoder_layers, 0);
    REFUSE(0, self_score, RAPT_SCORE_COUNT);
    REFUSE(0, cross_score, (rapt_score)-1);
    REFUSE(0, self_locality, RAPT_LOCALITY_COUNT);
    REFUSE(0, cross_locality, (rapt_locality)-1);
    REFUSE(0, self_normalizer, (rapt_normalizer)-1);
    REFUSE(0, cross_normalizer, RAPT_NORMALIZER_COUNT);
    REFUSE(0, self_radius, -1.0f);
    REFUSE(0, cross_radius, NAN);
    REFUSE(0, self_temperature, INFINITY);
    REFUSE(0, cross_temperature, -0.0f);
    REFUSE(0, score_hidden, -1);
    REFUSE(0, score_hidden, 65537);
    REFUSE(0, center_hidden, INT32_MIN);
    REFUSE(0, location_channels, 1025);
    REFUSE(0, location_filter_width, 2);
    REFUSE(0, norm_order, (rapt_norm_order)2);
    REFUSE(0, activation, (rapt_activation)3);
    REFUSE(0, position, (rapt_position)5);
    REFUSE(0, tie, (rapt_tie)3);
    REFUSE(0, tie, RAPT_TIE_ALL);
    REFUSE(0, output_bias, 2);
    REFUSE(0, plain_embedding, -1);
    REFUSE(0, norm_epsilon, -1e-5f);
    REFUSE(0, norm_epsilon, NAN);
    REFUSE(0, norm_epsilon, INFINITY);
    REFUSE(7, decoder_layers, 1);
    REFUSE(7, target_vocab, 0);
    REFUSE(10, encoder_layers, 1);
    REFUSE(10, source_vocab, 5);
#undef REFUSE
    for (int i = 0; i < COUNT(small_configs); i++)
        assert_int_equal(rapt_config_check(&small_configs[i], NULL), RAPT_OK);
}

static void test_presets(void **state)
{
    (void)state;
    static const char *const names[] = {"tiny", "small", "base"};
    rapt_config c, before = small_configs[3];
    for (int i = 0; i < COUNT(names); i++) {
        assert_int_equal(rapt_config_preset(&c, names[i], 1000), RAPT_OK);
        assert_int_equal(rapt_config_check(&c, NULL), RAPT_OK);
        assert_true(c.source_vocab == 1000 && c.target_vocab == 1000 && c.tie == RAPT_TIE_ALL);
    }
    c = before;
    assert_int_equal(rapt_config_preset(&c, "huge", 1000), RAPT_BAD_ARGUMENT);
    assert_int_equal(rapt_config_preset(&c, "", 1000), RAPT_BAD_ARGUMENT);
    assert_int_equal(rapt_config_preset(&c, NULL, 1000), RAPT_BAD_ARGUMENT);
    assert_memory_equal(&c, &before, sizeof c);
}

/* What is written is read; names are found; equal seeds make equal models, others do not. */
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
            assert_int_equal(rapt_model_write(a, t, at), RAPT_OK);
        small_same_models(a, b);
        free(wanted);
        assert_int_equal(rapt_model_find(a, "encoder"), -1);
        assert_int_equal(rapt_model_find(a, ""), -1);
        float one = 3;
        for (int bad = -1; bad <= rapt_model_tensors(a); bad += rapt_model_tensors(a) + 1) {
            assert_int_equal(rapt_model_read(a, bad, &one), RAPT_BAD_ARGUMENT);
            assert_int_equal(rapt_model_write(a, bad, &one), RAPT_BAD_ARGUMENT);
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
        cmocka_unit_test(test_ranges),
        cmocka_unit_test(test_presets),
        cmocka_unit_test(test_parameters),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
