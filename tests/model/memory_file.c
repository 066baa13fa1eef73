/* memory_file.c - models saved to and loaded from memory, readers and writers. They have the bytes
   of a file and are refused like one. The caller's functions may fail. */
#include "model/small_file.h"

static const rapt_metadata metadata[] = {{"other", "\xC3\xA4\n"}, {"note", "kept"}};

/* ---- a file implemented by the caller ---- */

struct tape {
    unsigned char bytes[1 << 16];
    size_t used, limit; /* bytes so far, and the number at which it fails */
    int calls;
};

static int record(void *user, const void *data, size_t count)
{
    struct tape *t = user;
    t->calls++;
    if (count > t->limit - t->used) return 5;
    memcpy(t->bytes + t->used, data, count);
    t->used += count;
    return 0;
}

static int play(void *user, uint64_t at, void *data, size_t count)
{
    struct tape *t = user;
    t->calls++;
    assert_true(count > 0 && at + count <= t->used);
    if (at + count > t->limit) return -1;
    memcpy(data, t->bytes + at, count);
    return 0;
}

static bool same_models(const rapt_model *a, const rapt_model *b)
{
    size_t n = rapt_model_parameters(a);
    float *x = small_parameters(a), *y = small_parameters(b);
    bool same = n == rapt_model_parameters(b) && memcmp(x, y, n * sizeof *x) == 0 &&
                strcmp(rapt_model_metadata(b, "note"), "kept") == 0 &&
                rapt_model_metadata_count(b) == COUNT(metadata);
    free(x), free(y);
    return same;
}

static void test_bytes(void **state)
{
    (void)state;
    static struct tape tape;
    for (int i = 0; i < COUNT(small_configs); i++) {
        char path[256];
        rapt_model *model = small_model(&small_configs[i], 3), *loaded = NULL;
        rapt_message why = {""};
        assert_int_equal(
            rapt_model_save(model, small_path(path, "memory"), metadata, COUNT(metadata), NULL),
            RAPT_OK);
        struct file f = file_at(path);
        size_t size = 0;
        assert_int_equal(
            rapt_model_save_memory(model, NULL, 0, &size, metadata, COUNT(metadata), NULL),
            RAPT_OK);
        assert_int_equal(size, f.size);
        char *bytes = malloc(size + 1);
        bytes[size - 1] = bytes[size] = 77;
        assert_int_equal(
            rapt_model_save_memory(model, bytes, size - 1, &size, metadata, COUNT(metadata), &why),
            RAPT_BAD_ARGUMENT);
        assert_true(bytes[size - 1] == 77 && strstr(why.text, "capacity"));
        assert_int_equal(
            rapt_model_save_memory(model, bytes, size, &size, metadata, COUNT(metadata), NULL),
            RAPT_OK);
        assert_memory_equal(bytes, f.bytes, size);
        assert_int_equal(bytes[size], 77);
        assert_int_equal(rapt_model_load_memory(&loaded, bytes, size, NULL, NULL, NULL), RAPT_OK);
        assert_true(same_models(model, loaded));
        bytes[0] = 77; /* a loaded model has the metadata of its file, and gives that file again */
        assert_int_equal(rapt_model_save_memory(loaded, bytes, size, &size, NULL, 0, NULL),
                         RAPT_OK);
        assert_memory_equal(bytes, f.bytes, size);
        rapt_model_free(loaded);
        tape = (struct tape){.limit = sizeof tape.bytes};
        const rapt_writer writer = {record, &tape};
        const rapt_reader reader = {play, &tape, size};
        assert_int_equal(rapt_model_save_to(model, &writer, metadata, COUNT(metadata), NULL),
                         RAPT_OK);
        assert_int_equal(tape.used, size);
        assert_memory_equal(tape.bytes, f.bytes, size);
        assert_int_equal(rapt_model_load_from(&loaded, &reader, NULL, NULL, NULL), RAPT_OK);
        assert_true(same_models(model, loaded));
        rapt_model_free(loaded);
        rapt_model_free(model);
        free(bytes);
        drop(&f);
    }
}

/* Tests functions that fail at any byte, and files that are truncated anywhere or are not
   models. */
static void test_failures(void **state)
{
    (void)state;
    static struct tape whole, tape;
    rapt_model *model = small_model(&small_configs[2], 3), *const none = (void *)(uintptr_t)64;
    whole = (struct tape){.limit = sizeof whole.bytes};
    assert_int_equal(
        rapt_model_save_to(model, &(rapt_writer){record, &whole}, metadata, COUNT(metadata), NULL),
        RAPT_OK);
    for (size_t limit = 0; limit < whole.used; limit += limit < 64 ? 1 : 61) {
        rapt_model *made = none;
        rapt_message why = {""};
        tape = (struct tape){.limit = limit};
        assert_int_equal(rapt_model_save_to(model, &(rapt_writer){record, &tape}, metadata,
                                            COUNT(metadata), &why),
                         RAPT_NO_FILE);
        assert_true(why.text[0] && tape.used <= limit);
        tape = whole, tape.limit = limit, why.text[0] = 0;
        const rapt_reader reader = {play, &tape, tape.used}, shorter = {play, &tape, limit};
        assert_int_equal(rapt_model_load_from(&made, &reader, NULL, NULL, &why), RAPT_NO_FILE);
        assert_true(why.text[0] && made == none);
        assert_int_equal(rapt_model_load_from(&made, &shorter, NULL, NULL, &why), RAPT_BAD_FILE);
        assert_int_equal(rapt_model_load_memory(&made, whole.bytes, limit, NULL, NULL, &why),
                         RAPT_BAD_FILE);
        assert_true(made == none);
    }
    rapt_message why = {""};
    rapt_model *made = none;
    assert_int_equal(rapt_model_load_from(&made, &(rapt_reader){NULL, NULL, 9}, NULL, NULL, &why),
                     RAPT_BAD_ARGUMENT);
    assert_non_null(strstr(why.text, "reader"));
    assert_int_equal(rapt_model_save_to(model, &(rapt_writer){NULL, NULL}, NULL, 0, &why),
                     RAPT_BAD_ARGUMENT);
    assert_non_null(strstr(why.text, "writer"));
    rapt_model_free(model);
}

/* As with files, options apply, and their content is not trusted. */
static void test_options(void **state)
{
    (void)state;
    static struct tape tape;
    rapt_model *model = small_model(&small_configs[0], 3), *made = NULL;
    const rapt_load_options any = {.size = sizeof any, .non_finite = 1};
    float *data = calloc(small_size(model, 0), sizeof *data);
    data[1] = NAN;
    assert_int_equal(rapt_model_write(model, 0, data, NULL), RAPT_OK);
    tape = (struct tape){.limit = sizeof tape.bytes};
    assert_int_equal(rapt_model_save_to(model, &(rapt_writer){record, &tape}, NULL, 0, NULL),
                     RAPT_OK);
    rapt_message why = {""};
    assert_int_equal(rapt_model_load_memory(&made, tape.bytes, tape.used, NULL, NULL, &why),
                     RAPT_BAD_FILE);
    assert_non_null(strstr(why.text, "element 1 is"));
    assert_int_equal(rapt_model_load_memory(&made, tape.bytes, tape.used, &any, NULL, NULL),
                     RAPT_OK);
    rapt_model_free(made);
    rapt_model_free(model);
    free(data);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_bytes),
        cmocka_unit_test(test_failures),
        cmocka_unit_test(test_options),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
