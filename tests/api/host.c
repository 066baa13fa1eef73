/* host.c - what a program and its host see: the sizes of structs, and an unchanged locale. */
#define _DEFAULT_SOURCE

#include "api/small_world.h"
#include "model/small.h"
#include "skips.h"
#include "temporary.h"

#include <locale.h>

/* ---- struct size: rapt_struct_size returns this compiler's sizes of the public structs. ---- */

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

/* ---- host: the caller's locale changes no file and no result, and the library leaves it
   unchanged. ---- */

/* Compiles and sets a locale with a decimal comma, so that none need be installed. Returns false if
   that fails. */
static bool comma_locale(void)
{
    static const char source[] = "comment_char %\nescape_char /\nLC_NUMERIC\n"
                                 "decimal_point \",\"\nthousands_sep \".\"\ngrouping 3;3\n"
                                 "END LC_NUMERIC\n";
    char folder[TEMPORARY], path[TEMPORARY + 32], command[4 * TEMPORARY];
    if (!temporary_folder(folder)) return false;
    snprintf(path, sizeof path, "%s/source", folder);
    FILE *f = fopen(path, "w");
    assert_non_null(f);
    assert_true(fputs(source, f) >= 0 && fclose(f) == 0);
    /* the exit status is useless: other categories are missing, too */
    snprintf(command, sizeof command, "localedef -c -i %s %s/comma >%s/log 2>&1", path, folder,
             folder);
    bool done = system(command) != -1;
    setenv("LOCPATH", folder, 1);
    done = done && setlocale(LC_ALL, "comma") != NULL;
    unsetenv("LOCPATH");
    snprintf(command, sizeof command, "rm -r %s", folder);
    return system(command) == 0 && done;
}

static uint64_t file_hash(const char *path)
{
    static unsigned char bytes[1 << 21];
    FILE *f = fopen(path, "rb");
    assert_non_null(f);
    size_t size = fread(bytes, 1, sizeof bytes, f);
    fclose(f);
    return api_hash(0xCBF29CE484222325u, bytes, size);
}

/* Saves, loads and computes. Returns a hash of all results. */
static uint64_t all_of_it(void)
{
    char path[256];
    rapt_config c = api_config;
    c.norm_epsilon = 1.5e-6f;
    rapt_model *model = small_model(&c, 1), *loaded = NULL;
    rapt_message why = {""};
    small_path(path, "host");
    assert_int_equal(rapt_model_save(model, path, NULL, 0, NULL), RAPT_OK);
    uint64_t h = file_hash(path);
    if (rapt_model_load(&loaded, path, NULL, &why)) fail_msg("%s", why.text);
    small_same_models(model, loaded);
    assert_true(rapt_model_config(loaded)->norm_epsilon == c.norm_epsilon);
    h = h * 31 + api_generate(loaded, 1, 2);
    h = h * 31 + api_train(1, 2);
    unlink(path);
    rapt_model_free(model);
    rapt_model_free(loaded);
    return h;
}

static void test_locale(void **state)
{
    (void)state;
    uint64_t plain = all_of_it();
    if (!comma_locale()) {
        skipped("api/host, a locale with decimal commas", "localedef does not make one");
        skip();
    }
    assert_string_equal(localeconv()->decimal_point, ",");
    uint64_t comma = all_of_it();
    assert_string_equal(localeconv()->decimal_point, ",");
    setlocale(LC_ALL, "C");
    assert_true(plain == comma);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_sizes),
        cmocka_unit_test(test_locale),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
