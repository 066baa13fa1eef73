/* packed.c - packed model files. Mapped, read, or loaded from memory or through a reader, they give
   the bits of the saved model. Writing to the model and training leave the file unchanged. Files
   that other programs have rearranged are read, and damaged ones are refused with a message that
   names the fault. */
#include "model/small_file.h"

static const rapt_load_options any = {.size = sizeof any, .non_finite = 1};

/* ---- the same bits ---- */

static int read_file(void *user, uint64_t at, void *data, size_t count)
{
    const struct file *f = user;
    memcpy(data, f->bytes + at, count);
    return 0;
}

static void test_bits(void **state)
{
    (void)state;
    char path[256];
    small_path(path, "packed");
    for (int i = 0; i < COUNT(small_configs); i++) {
        rapt_model *model = packed_model(&small_configs[i], path), *models[4] = {NULL};
        struct file f = file_at(path);
        const rapt_reader reader = {read_file, &f, f.size};
        models[0] = loaded(path, NULL);
        models[1] = loaded(path, &unmapped);
        assert_int_equal(rapt_model_load_memory(&models[2], f.bytes, f.size, NULL, NULL, NULL),
                         RAPT_OK);
        assert_int_equal(rapt_model_load_from(&models[3], &reader, NULL, NULL, NULL), RAPT_OK);
        for (int n = 0; n < 4; n++) {
            small_same_models(model, models[n]);
            assert_string_equal(rapt_model_metadata(models[n], "note"), "kept");
            assert_int_equal(rapt_model_metadata_count(models[n]), 1);
            assert_int_equal(rapt_model_check(models[n], NULL), RAPT_OK);
            rapt_model_free(models[n]);
        }
        rapt_model_free(model);
        drop(&f);
    }
}

/* A mapped model must be saved as the same plain file as the original model. */
static void test_saved_again(void **state)
{
    (void)state;
    char path[256], plain[256];
    rapt_model *model = packed_model(&small_configs[1], small_path(path, "packed"));
    rapt_model *mapped = loaded(path, NULL);
    assert_int_equal(rapt_model_save(model, small_path(plain, "plain"), NULL, 0, NULL), RAPT_OK);
    struct file before = file_at(plain);
    const rapt_metadata none[] = {{"note", NULL}};
    assert_int_equal(rapt_model_save(mapped, plain, none, 1, NULL), RAPT_OK);
    struct file after = file_at(plain);
    assert_int_equal(before.size, after.size);
    assert_memory_equal(before.bytes, after.bytes, before.size);
    /* and as the same packed file as the one that is mapped */
    struct file old = file_at(path);
    assert_int_equal(rapt_model_save_with(mapped, plain, &packed, NULL, 0, NULL), RAPT_OK);
    struct file new = file_at(plain);
    assert_int_equal(old.size, new.size);
    assert_memory_equal(old.bytes, new.bytes, old.size);
    rapt_model_free(mapped);
    rapt_model_free(model);
    free(before.bytes), free(after.bytes);
    drop(&old), drop(&new);
}

/* ---- the file stays unchanged ---- */

static void test_written(void **state)
{
    (void)state;
    char path[256];
    rapt_model *model = packed_model(&small_configs[0], small_path(path, "written"));
    struct file before = file_at(path);
    rapt_model *mapped = loaded(path, NULL), *other = loaded(path, NULL);
    for (int i = 0; i < rapt_model_tensors(model); i += 3) {
        size_t size = small_size(model, i);
        float *data = calloc(size, sizeof *data), *again = calloc(size, sizeof *again);
        for (size_t j = 0; j < size; j++) data[j] = (float)j;
        assert_int_equal(rapt_model_write(mapped, i, data, NULL), RAPT_OK);
        assert_int_equal(rapt_model_read(mapped, i, again, NULL), RAPT_OK);
        assert_memory_equal(data, again, size * sizeof *data);
        free(data), free(again);
    }
    small_same_models(model, other);
    struct file after = file_at(path);
    assert_memory_equal(before.bytes, after.bytes, before.size);
    rapt_model_free(other);
    rapt_model_free(mapped);
    rapt_model_free(model);
    free(before.bytes);
    drop(&after);
}

/* A training step from the mapped model must give the bits of one from the original model. */
static void train_once(rapt_model *model)
{
    rapt_trainer *trainer = NULL;
    rapt_train_options options;
    rapt_message why = {""};
    rapt_train_options_default(&options, sizeof options);
    const rapt_train_limits limits = {
        .size = sizeof limits, .batch = 2, .source_tokens = 8, .target_tokens = 8, .threads = 1};
    const rapt_tokens source = {.batch = 2,
                                .ids = (const int32_t[]){3, 4, 5, 6},
                                .starts = (const int[]){0, 1, 4}},
                      target = {.batch = 2,
                                .ids = (const int32_t[]){5, 4, 3, 2, 1},
                                .starts = (const int[]){0, 3, 5}};
    if (rapt_trainer_create(&trainer, model, &options, &limits, NULL, &why))
        fail_msg("%s", why.text);
    if (rapt_train_gradient(trainer, &source, &target, NULL, &why)) fail_msg("%s", why.text);
    if (rapt_train_step(trainer, NULL, &why)) fail_msg("%s", why.text);
    rapt_trainer_free(trainer);
}

static void test_trained(void **state)
{
    (void)state;
    char path[256];
    rapt_model *model = packed_model(&small_configs[0], small_path(path, "trained"));
    struct file before = file_at(path);
    rapt_model *mapped = loaded(path, NULL);
    train_once(model);
    train_once(mapped);
    small_same_models(model, mapped);
    struct file after = file_at(path);
    assert_memory_equal(before.bytes, after.bytes, before.size);
    rapt_model_free(mapped);
    rapt_model_free(model);
    free(before.bytes);
    drop(&after);
}

/* ---- rearranged and damaged files ---- */

static const char *const name = "decoder.layers.0.feedforward.in.weight";

/* The file says that all values are finite, but one is NaN. A mapped load trusts it. A load that
   reads all values and rapt_model_check must name the value. */
static void test_not_finite(void **state)
{
    (void)state;
    char path[256], again[256];
    rapt_message why = {""};
    rapt_model *model = packed_model(&small_configs[0], small_path(path, "nan")), *mapped, *none;
    struct file f = file_at(path);
    memcpy(number_of(&f, name) + 4 * 17, "\0\0\xC0\x7F", 4); /* NaN in row 1, column 1 */
    put(&f);
    mapped = loaded(path, maps_files() ? NULL : &any);
    assert_int_equal(rapt_model_check(mapped, &why), RAPT_NOT_FINITE);
    assert_non_null(strstr(why.text, name));
    assert_non_null(strstr(why.text, "element 9 is")); /* of a [12][8] tensor */
    none = NULL;
    assert_int_equal(rapt_model_load_with(&none, path, &unmapped, NULL, &why), RAPT_BAD_FILE);
    assert_non_null(strstr(why.text, name));
    assert_int_equal(rapt_model_load_memory(&none, f.bytes, f.size, NULL, NULL, NULL),
                     RAPT_BAD_FILE);
    assert_null(none);
    /* saving checks the values; the new file says that not all are finite, so it is refused */
    small_path(again, "nan again");
    assert_int_equal(rapt_model_save_with(mapped, again, &packed, NULL, 0, NULL), RAPT_OK);
    assert_int_equal(rapt_model_load(&none, again, NULL, &why), RAPT_BAD_FILE);
    assert_non_null(strstr(why.text, "element 9 is"));
    none = loaded(again, &any);
    small_same_models(mapped, none);
    rapt_model_free(none);
    rapt_model_free(mapped);
    rapt_model_free(model);
    unlink(again);
    drop(&f);
}

/* The rows after the last one of a matrix, which fill its panel, must be finite, too. */
static void test_padding(void **state)
{
    (void)state;
    char path[256];
    rapt_message why = {""};
    rapt_model *model = packed_model(&small_configs[0], small_path(path, "padding")), *none = NULL;
    struct file f = file_at(path);
    memcpy(number_of(&f, name) + 4 * 15, "\0\0\x80\x7F", 4); /* infinity in row 15 of 12 */
    put(&f);
    assert_int_equal(rapt_model_load_with(&none, path, &unmapped, NULL, &why), RAPT_BAD_FILE);
    assert_non_null(strstr(why.text, name));
    assert_non_null(strstr(why.text, "has padding that is infinite or NaN"));
    assert_null(none);
    rapt_model_free(model);
    drop(&f);
}

static const struct edit edits[] = {
    {"panels 16, finite", "panels 32, finite", "panels 32"},
    {"panels 16, finite", "", "rapt.layout"},
    {"rapt.layout", "other.name", "encoder.embedding.weight"}, /* a plain file with other shapes */
    {"feedforward.in.weight", "feedforward.in.wait", "feedforward.in.wait"},
    {"[1,8,16]", "[8,1,16]", "in a packed file"},
    {"[1,8,16]", "[8,16]", "in a packed file"},
    {"[1,8,16]", "[128]", "in a packed file"},
    {"[1,8,16]", "[1,8,17]", "offsets"},
    {"\"F32\"", "\"I32\"", "I32"}, /* same size, but not floats */
    {"\\\"width\\\":8", "\\\"width\\\":12", ""},
    {"\\\"positions\\\":12", "\\\"positions\\\":16777216", "positions"},
    {"\\\"encoder_layers\\\":1", "\\\"encoder_layers\\\":2", "larger"},
};

static void test_refused(void **state)
{
    (void)state;
    char path[256];
    rapt_model *model = packed_model(&small_configs[0], small_path(path, "edits"));
    struct file f = file_at(path);
    edits_refused(&f, edits, COUNT(edits));
    rapt_model_free(model);
    drop(&f);
}

/* Another program may rewrite the file, with data at any byte and tensors in any order. It must be
   read. */
static void test_rearranged(void **state)
{
    (void)state;
    static const char dots[] = "................................................................";
    char path[256];
    rapt_model *model = packed_model(&small_configs[0], small_path(path, "rearranged"));
    struct file f = file_at(path);
    rapt_model *read;
    for (int shift = 0; shift <= 64; shift = shift ? 2 * shift : 1) {
        char note[100];
        snprintf(note, sizeof note, "\"note\":\"kept%.*s\"", shift, dots);
        struct file e = edited(&f, "\"note\":\"kept\"", note);
        put(&e);
        read = loaded(path, NULL);
        small_same_models(model, read);
        if (has_smaps()) assert_true((smaps(path, "Size") == -1) == (shift % 64 != 0));
        rapt_model_free(read);
        free(e.bytes);
    }
    /* two tensors of the same size are swapped, each with the values of the other */
    const char *const two[] = {"encoder.layers.0.self_attn.norm.weight",
                               "encoder.layers.0.self_attn.norm.bias"};
    unsigned char *at[2] = {number_of(&f, two[0]), number_of(&f, two[1])}, spare[64];
    memcpy(spare, at[0], 64), memcpy(at[0], at[1], 64), memcpy(at[1], spare, 64);
    struct file a = edited(&f, two[0], "?"), b = edited(&a, two[1], two[0]);
    struct file c = edited(&b, "?", two[1]);
    put(&c);
    read = loaded(path, NULL);
    small_same_models(model, read);
    if (has_smaps()) assert_int_equal(smaps(path, "Size"), -1);
    rapt_model_free(read);
    rapt_model_free(model);
    free(a.bytes), free(b.bytes), free(c.bytes);
    drop(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_bits),       cmocka_unit_test(test_saved_again),
        cmocka_unit_test(test_written),    cmocka_unit_test(test_trained),
        cmocka_unit_test(test_not_finite), cmocka_unit_test(test_refused),
        cmocka_unit_test(test_rearranged), cmocka_unit_test(test_padding),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
