/* struct_size.c - rapt_struct_size returns this compiler's sizes of the public structs. */
#include "model/small.h"

#define SIZE(name)                                                                                 \
    {                                                                                              \
#name, sizeof(name)                                                                        \
    }

static void test_sizes(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        size_t size;
    } known[] = {
        SIZE(rapt_attention),    SIZE(rapt_attention_saved),
        SIZE(rapt_gradients),    SIZE(rapt_config),
        SIZE(rapt_limits),       SIZE(rapt_generate_options),
        SIZE(rapt_report),       SIZE(rapt_train_options),
        SIZE(rapt_train_limits), SIZE(rapt_tokens),
        SIZE(rapt_message),      SIZE(rapt_translator_options),
        SIZE(rapt_translation),  SIZE(rapt_generate_outputs),
        SIZE(rapt_reader),       SIZE(rapt_load_options),
        SIZE(rapt_bleu),         SIZE(rapt_export_options),
    };
    for (int i = 0; i < COUNT(known); i++)
        assert_int_equal(rapt_struct_size(known[i].name), known[i].size);
    static const char *const none[] = {
        NULL, "", "rapt_model", "rapt_attentio", "rapt_attention_", "struct rapt_limits"};
    for (int i = 0; i < COUNT(none); i++) assert_int_equal(rapt_struct_size(none[i]), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_sizes)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
