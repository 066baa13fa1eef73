/* finite.c - a file with an infinite or NaN parameter is refused, and the message names the
   parameter. If the caller permits such parameters, it is loaded bit for bit. */
#include "model/small_file.h"

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
        cmocka_unit_test(test_refused),
        cmocka_unit_test(test_options),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
