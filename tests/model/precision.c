/* precision.c - models that are loaded in a precision, or converted to it, have the same bits.
   Files in 8 and 16 bits are mapped or read, and refused if they are damaged. */
#include "model/small_file.h"

#include <rapt/precision.h>

static rapt_model *load(const char *path, rapt_precision precision, bool reads)
{
    const rapt_load_options options = {
        .size = sizeof options, .no_mapping = reads, .precision = precision};
    rapt_model *model = NULL;
    rapt_message why = {""};
    if (rapt_model_load_with(&model, path, &options, NULL, &why)) fail_msg("%s", why.text);
    return model;
}

static void save(const rapt_model *model, const char *path, bool in_panels)
{
    const rapt_save_options options = {.size = sizeof options, .packed = in_panels};
    rapt_message why = {""};
    if (rapt_model_save_with(model, path, &options, NULL, 0, &why)) fail_msg("%s", why.text);
}

/* Compares the precision, the parameters and the files that are saved. */
static void check_same(const rapt_model *a, const rapt_model *b)
{
    static char files[2][1 << 20];
    size_t sizes[2];
    assert_int_equal(rapt_model_precision(a), rapt_model_precision(b));
    small_same_models(a, b);
    assert_int_equal(rapt_model_save_memory(a, files[0], sizeof *files, &sizes[0], NULL, 0, NULL),
                     RAPT_OK);
    assert_int_equal(rapt_model_save_memory(b, files[1], sizeof *files, &sizes[1], NULL, 0, NULL),
                     RAPT_OK);
    assert_int_equal(sizes[0], sizes[1]);
    assert_memory_equal(files[0], files[1], sizes[0]);
}

static const rapt_precision others[] = {RAPT_PRECISION_INT8, RAPT_PRECISION_BF16,
                                        RAPT_PRECISION_F16};

static rapt_model *converted(const rapt_config *c, uint64_t seed, rapt_precision precision)
{
    rapt_model *model = small_model(c, seed);
    rapt_message why = {""};
    if (rapt_model_set_precision(model, precision, 2, &why)) fail_msg("%s", why.text);
    assert_int_equal(rapt_model_precision(model), precision);
    return model;
}

static void free_file(rapt_model *model, const char *path)
{
    rapt_model_free(model);
    unlink(path);
}

/* A file of floats, plain or packed, that is loaded in a precision gives the same model as a model
   that is converted in memory. */
static void test_loaded(void **state)
{
    char path[256];
    (void)state;
    for (int i = 0; i < COUNT(small_configs); i++)
        for (int way = 0; way < 9; way++) {
            rapt_precision precision = others[way / 3];
            rapt_model *floats = small_model(&small_configs[i], 7);
            rapt_model *wanted = converted(&small_configs[i], 7, precision);
            save(floats, small_path(path, "floats"), way % 3 > 0);
            rapt_model *got = load(path, precision, way % 3 == 2);
            check_same(wanted, got);
            rapt_model_free(got);
            got = load(path, RAPT_PRECISION_STORED, way % 3 == 2);
            check_same(floats, got);
            rapt_model_free(floats);
            rapt_model_free(wanted);
            free_file(got, path);
        }
}

static int read_file(void *user, uint64_t at, void *data, size_t count)
{
    const struct file *f = user;
    memcpy(data, f->bytes + at, count);
    return 0;
}

/* A model in 8 or 16 bits is saved as it is. It is the same model whether the file is mapped or
   read. */
static void test_saved(void **state)
{
    char path[256];
    (void)state;
    for (int i = 0; i < COUNT(small_configs) * COUNT(others); i++) {
        rapt_precision precision = others[i % COUNT(others)];
        rapt_model *model = converted(&small_configs[i / COUNT(others)], 8, precision);
        rapt_model *got[4] = {NULL};
        save(model, small_path(path, "bytes"), i % 2);
        struct file f = file_at(path);
        const rapt_reader reader = {read_file, &f, f.size};
        got[0] = load(path, RAPT_PRECISION_STORED, false);
        if (has_smaps()) assert_true(smaps(path, "Size") > 0);
        got[1] = load(path, precision, true);
        assert_int_equal(rapt_model_load_memory(&got[2], f.bytes, f.size, NULL, NULL, NULL),
                         RAPT_OK);
        assert_int_equal(rapt_model_load_from(&got[3], &reader, NULL, NULL, NULL), RAPT_OK);
        for (int n = 0; n < 4; n++) {
            check_same(model, got[n]);
            assert_int_equal(rapt_model_check(got[n], NULL), RAPT_OK);
            rapt_model_free(got[n]);
        }
        rapt_model_free(model);
        drop(&f);
    }
}

/* Converting to floats gives the values that the smaller types represent. */
static void test_widened(void **state)
{
    char path[256];
    (void)state;
    for (int i = 0; i < COUNT(small_configs) * COUNT(others); i++) {
        rapt_precision precision = others[i % COUNT(others)];
        rapt_model *bytes = converted(&small_configs[i / COUNT(others)], 9, precision), *floats;
        save(bytes, small_path(path, "widened"), false);
        floats = load(path, RAPT_PRECISION_F32, false);
        assert_int_equal(rapt_model_precision(floats), RAPT_PRECISION_F32);
        small_same_models(bytes, floats);
        rapt_model *own = load(path, RAPT_PRECISION_STORED, false);
        assert_int_equal(rapt_model_set_precision(own, RAPT_PRECISION_F32, 1, NULL), RAPT_OK);
        check_same(floats, own);
        float *data = small_read(own, 0);
        assert_int_equal(rapt_model_write(own, 0, data, NULL), RAPT_OK);
        free(data);
        rapt_model_free(floats);
        rapt_model_free(own);
        free_file(bytes, path);
    }
}

/* ---- faults ---- */

static const char *const name = "decoder.layers.0.feedforward.in.weight",
                         *const scale_name = "decoder.layers.0.feedforward.in.weight.scale";

/* Loading refuses a value that products cannot have, unless a mapped file says that its writer has
   checked all of them. */
static void test_values(void **state)
{
    static const struct {
        const char *tensor, *bytes;
        size_t size;
        const char *word;
    } faults[] = {{name, "\x80", 1, "-128 in 1 of"},
                  {scale_name, "\0\0\xC0\x7F", 4, "the scale of row 0 is nan"},
                  {scale_name, "\0\0\x80\x7F", 4, "the scale of row 0 is inf"},
                  {scale_name, "\0\0\x80\xBF", 4, "the scale of row 0 is -1"}};
    char path[256];
    (void)state;
    rapt_model *model = converted(&small_configs[0], 10, RAPT_PRECISION_INT8), *none = NULL;
    for (int i = 0; i < COUNT(faults); i++) {
        rapt_message why = {""};
        save(model, small_path(path, "values"), true);
        struct file f = file_at(path);
        memcpy(number_of(&f, faults[i].tensor), faults[i].bytes, faults[i].size);
        put(&f);
        assert_int_equal(rapt_model_load_with(&none, path, &unmapped, NULL, &why), RAPT_BAD_FILE);
        if (!strstr(why.text, faults[i].word) || !strstr(why.text, name))
            fail_msg("\"%s\" does not say \"%s\"", why.text, faults[i].word);
        struct file e = edited(&f, "panels 16, finite", "panels 16");
        put(&e);
        assert_int_equal(rapt_model_load(&none, path, NULL, NULL), RAPT_BAD_FILE);
        free(e.bytes);
        drop(&f);
    }
    assert_null(none);
    rapt_model_free(model);
}

static const struct edit edits[] = {
    {"int8 panels 16", "int4 panels 16", "int4 panels 16"},
    {"int8 panels 16, finite", "panels 16, finite", "is not a parameter of this model"},
    {"feedforward.in.weight.scale", "feedforward.in.weight.scare", "scare"},
    {"\"decoder.layers.0.feedforward.in.weight.scale\"", "\"nothing.weight.scale\"", "nothing"},
    {"\"I8\"", "\"U8\"", "U8"},
    {"[1,2,16,4]", "[1,4,16,2]", "in a packed file"},
    {"[1,2,16,4]", "[128]", "in a packed file"},
};

static void test_refused(void **state)
{
    char path[256];
    (void)state;
    rapt_model *model = converted(&small_configs[0], 11, RAPT_PRECISION_INT8);
    save(model, small_path(path, "refused"), true);
    struct file f = file_at(path);
    edits_refused(&f, edits, COUNT(edits));
    rapt_model_free(model);
    drop(&f);
}

/* A number that is too large for f16 is refused, and the model stays as it is. */
static void test_too_large(void **state)
{
    const rapt_load_options f16 = {.size = sizeof f16, .precision = RAPT_PRECISION_F16};
    static char file[1 << 20];
    size_t size;
    rapt_model *model = small_model(&small_configs[0], 13), *none = NULL;
    int index = rapt_model_find(model, name);
    float *data = small_read(model, index);
    rapt_message why = {""};
    (void)state;
    data[0] = 65519.99f, data[1] = 65520;
    assert_int_equal(rapt_model_write(model, index, data, NULL), RAPT_OK);
    assert_int_equal(rapt_model_save_memory(model, file, sizeof file, &size, NULL, 0, NULL),
                     RAPT_OK);
    assert_int_equal(rapt_model_load_memory(&none, file, size, &f16, NULL, &why), RAPT_BAD_FILE);
    assert_non_null(strstr(why.text, "element 1 is inf"));
    assert_non_null(strstr(why.text, "65,504"));
    assert_int_equal(rapt_model_set_precision(model, RAPT_PRECISION_F16, 1, &why),
                     RAPT_BAD_ARGUMENT);
    assert_int_equal(rapt_model_precision(model), RAPT_PRECISION_F32);
    assert_int_equal(rapt_model_set_precision(model, RAPT_PRECISION_BF16, 1, &why), RAPT_OK);
    free(data);
    rapt_model_free(model);
}

static void test_arguments(void **state)
{
    const rapt_load_options options = {.size = sizeof options, .precision = (rapt_precision)99};
    rapt_model *model = small_model(&small_configs[0], 12), *none = NULL;
    rapt_message why = {""};
    (void)state;
    assert_int_equal(rapt_model_set_precision(model, (rapt_precision)99, 1, &why),
                     RAPT_BAD_ARGUMENT);
    assert_non_null(strstr(why.text, "precision"));
    assert_int_equal(rapt_model_load_with(&none, "x", &options, NULL, &why), RAPT_BAD_ARGUMENT);
    assert_non_null(strstr(why.text, "precision"));
    assert_int_equal(rapt_model_set_precision(model, RAPT_PRECISION_STORED, 1, NULL), RAPT_OK);
    assert_int_equal(rapt_model_precision(model), RAPT_PRECISION_F32);
    assert_int_equal(rapt_model_precision(NULL), RAPT_PRECISION_STORED);
    assert_null(rapt_precision_name(RAPT_PRECISION_STORED));
    assert_string_equal(rapt_precision_name(RAPT_PRECISION_INT8), "int8");
    rapt_model_free(model);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_loaded),    cmocka_unit_test(test_saved),
        cmocka_unit_test(test_widened),   cmocka_unit_test(test_values),
        cmocka_unit_test(test_refused),   cmocka_unit_test(test_arguments),
        cmocka_unit_test(test_too_large),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
