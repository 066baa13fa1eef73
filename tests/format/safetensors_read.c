/* safetensors_read.c - tests truncated, damaged and foreign files, and failing allocations. */
#define _XOPEN_SOURCE 700

#include "craft.h"
#include "temporary.h"

#include <unistd.h>

static const char small[] = "{\"__metadata__\":{\"k\":\"v\\u00e9\"},"
                            "\"b\":{\"dtype\":\"F16\",\"shape\":[2,1],\"data_offsets\":[4,8]},"
                            "\"a\":{\"dtype\":\"F32\",\"shape\":[],\"data_offsets\":[0,4]}}  ";

static struct bytes make_small(void)
{
    return craft(sizeof small - 1, small, sizeof small - 1, 8);
}

static void write_file(const char *path, const void *data, size_t size)
{
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(data, 1, size, file), size);
    assert_int_equal(fclose(file), 0);
}

/* Composes a path in a scratch folder. */
static int make_folder(void **state)
{
    static char folder[TEMPORARY];
    *state = folder;
    return temporary_folder(folder) ? 0 : -1;
}

static int remove_folder(void **state)
{
    char path[TEMPORARY + 32];
    snprintf(path, sizeof path, "%s/m.safetensors", (const char *)*state);
    unlink(path);
    return rmdir(*state);
}

/* A file and a copy in memory behave the same. */
static void test_whole(void **state)
{
    char path[TEMPORARY + 32];
    struct bytes b = make_small();
    snprintf(path, sizeof path, "%s/m.safetensors", (const char *)*state);
    write_file(path, b.data, b.size);
    struct tensor_file *file = NULL;
    assert_int_equal(rapt__tensors_open(&file, path, NULL, NULL), RAPT_OK);
    check_promises(file, 8);
    assert_string_equal(rapt__tensors_metadata(file, "k"), "v\xC3\xA9");
    assert_int_equal(rapt__tensors_find(file, "b")->shape[0], 2);
    float value;
    assert_int_equal(rapt__tensors_read(file, rapt__tensors_find(file, "a"), 0, 1, &value, NULL),
                     RAPT_OK);
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    assert_int_equal(bits, 0x03020100);

    /* truncated while it is open: an error, not a signal */
    assert_int_equal(truncate(path, (off_t)b.size - 6), 0);
    rapt_message why = {""};
    assert_int_equal(rapt__tensors_read(file, rapt__tensors_find(file, "a"), 0, 1, &value, &why),
                     RAPT_BAD_FILE);
    assert_non_null(strstr(why.text, "shorter"));
    assert_non_null(strstr(why.text, "m.safetensors"));
    rapt__tensors_close(file);
    rapt__tensors_close(NULL);
    free(b.data);
}

static void test_truncated(void **state)
{
    char path[TEMPORARY + 32];
    struct bytes whole = make_small();
    snprintf(path, sizeof path, "%s/m.safetensors", (const char *)*state);
    for (size_t size = 0; size < whole.size; size++) {
        struct bytes cut = {malloc(size ? size : 1), size};
        memcpy(cut.data, whole.data, size);
        assert_int_equal(try_bytes(&cut, NULL), RAPT_BAD_FILE);
        free(cut.data);
        struct tensor_file *file = NULL;
        write_file(path, whole.data, size);
        assert_int_equal(rapt__tensors_open(&file, path, NULL, NULL), RAPT_BAD_FILE);
        assert_null(file);
    }
    struct bytes longer = craft(sizeof small - 1, small, sizeof small - 1, 9);
    assert_int_equal(try_bytes(&longer, NULL), RAPT_BAD_FILE);
    free(longer.data);
    free(whole.data);
}

/* Sets every byte of prefix and header to every value. */
static void test_changed(void **state)
{
    (void)state;
    struct bytes b = make_small();
    int loaded = 0;
    for (size_t i = 0; i < 8 + sizeof small - 1; i++) {
        unsigned char right = b.data[i];
        for (int value = 0; value < 256; value++) {
            b.data[i] = (unsigned char)value;
            rapt_status status = try_bytes(&b, NULL);
            assert_true(status == RAPT_OK || status == RAPT_BAD_FILE);
            loaded += status == RAPT_OK;
        }
        b.data[i] = right;
    }
    assert_true(loaded > (int)sizeof small && loaded < 256 * (int)sizeof small / 16);
    free(b.data);
}

/* Cuts, doubles, swaps and overwrites stretches of the header. */
static void test_scrambled(void **state)
{
    (void)state;
    uint64_t seed = 1;
    for (int round = 0; round < 20000; round++) {
        char header[2 * sizeof small];
        size_t size = sizeof small - 1;
        memcpy(header, small, size);
        for (uint64_t changes = 1 + next_random(&seed) % 4; changes > 0; changes--) {
            size_t from = next_random(&seed) % size, to = next_random(&seed) % size;
            size_t max = size - (from > to ? from : to),
                   count = next_random(&seed) % (max + 1) % 24;
            memmove(header + to, header + from, count);
        }
        struct bytes b = craft(size, header, size, 8);
        rapt_status status = try_bytes(&b, NULL);
        assert_true(status == RAPT_OK || status == RAPT_BAD_FILE);
        free(b.data);
    }
}

/* Files of other kinds, and random bytes after the beginning of each format. */
static void test_strangers(void **state)
{
    (void)state;
    static const char *const heads[] = {
        "",
        "\x7F"
        "ELF\x02\x01\x01",
        "\x89PNG\r\n\x1A\n",
        "PK\x03\x04",
        "GGUF\x03",
        "<!DOCTYPE html><html><head><title>404</title></head></html>",
        "version https://git-lfs.github.com/spec/v1\noid sha256:",
        "{\"model\": \"not here\"}",
        "#!/bin/sh\necho no\n",
        "\x02\0\0\0\0\0\0\0"
        "{}",
    };
    uint64_t seed = 7;
    for (int round = 0; round < 400; round++) {
        struct bytes b = {NULL, 12 + next_random(&seed) % 2000};
        b.data = malloc(b.size);
        assert_non_null(b.data);
        for (size_t i = 0; i < b.size; i++) b.data[i] = (unsigned char)(next_random(&seed) >> 32);
        const char *head = heads[round % 10];
        size_t length = strlen(head) < b.size ? strlen(head) : b.size;
        memcpy(b.data, head, length);
        if (round % 20 >= 10) memset(b.data + 1, 0, 7), b.data[0] = (unsigned char)(b.size - 8);
        struct stingy stingy = {.fail_at = -1};
        const rapt_allocator allocator = {stingy_alloc, stingy_free, &stingy};
        struct tensor_file *file = NULL;
        rapt_message why = {""};
        assert_int_equal(rapt__tensors_open_memory(&file, b.data, b.size, &allocator, &why),
                         RAPT_BAD_FILE);
        assert_true(why.text[0] && stingy.alive == 0 && stingy.max <= 10 * b.size + 4096);
        free(b.data);
    }
}

/* Every allocation fails once: there is an error and no leak, and the next try works. */
static void test_memory(void **state)
{
    (void)state;
    char header[4096] = "{\"__metadata__\":{", *at = header + strlen(header);
    for (int i = 0; i < 20; i++) at += sprintf(at, "%s\"k%d\":\"v\"", i ? "," : "", i);
    at += sprintf(at, "}");
    for (int i = 0; i < 20; i++)
        at += sprintf(at, ",\"t%d\":{\"dtype\":\"U8\",\"shape\":[1],\"data_offsets\":[%d,%d]}", i,
                      i, i + 1);
    sprintf(at, "}");
    struct bytes b = craft(strlen(header), header, strlen(header), 20);
    for (long k = 0;; k++) {
        struct stingy stingy = {.fail_at = k};
        const rapt_allocator allocator = {stingy_alloc, stingy_free, &stingy};
        struct tensor_file *file = NULL;
        rapt_message why = {""};
        rapt_status status = rapt__tensors_open_memory(&file, b.data, b.size, &allocator, &why);
        if (status == RAPT_OK) {
            assert_true(k == stingy.calls && k >= 6);
            rapt__tensors_close(file);
            assert_int_equal(stingy.alive, 0);
            break;
        }
        assert_int_equal(status, RAPT_NO_MEMORY);
        assert_non_null(strstr(why.text, "out of memory"));
        assert_true(file == NULL && stingy.alive == 0);
    }
    free(b.data);
}

static void test_arguments(void **state)
{
    (void)state;
    struct tensor_file *file = NULL;
    assert_int_equal(rapt__tensors_open(&file, NULL, NULL, NULL), RAPT_BAD_ARGUMENT);
    assert_int_equal(rapt__tensors_open_memory(&file, NULL, 0, NULL, NULL), RAPT_BAD_ARGUMENT);
    assert_null(file);
    struct bytes b = make_small();
    assert_int_equal(rapt__tensors_open_memory(&file, b.data, b.size, NULL, NULL), RAPT_OK);
    const struct tensor_entry *e = rapt__tensors_find(file, "b");
    float data[2] = {5, 5};
    static const size_t wrong[][2] = {{0, 3},        {1, 2},        {2, 1},
                                      {3, 0},        {SIZE_MAX, 1}, {1, SIZE_MAX},
                                      {SIZE_MAX, 2}, {0, SIZE_MAX}, {SIZE_MAX, SIZE_MAX}};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        assert_int_equal(rapt__tensors_read(file, e, wrong[i][0], wrong[i][1], data, NULL),
                         RAPT_BAD_ARGUMENT);
    assert_true(data[0] == 5 && data[1] == 5);
    rapt__tensors_close(file);
    free(b.data);
}

/* A JSON text is given instead of the model that it belongs to. */
static void test_json(void **state)
{
    (void)state;
    static const char json[] = "{\"vocab_size\": 100, \"model_type\": \"marian\"}";
    struct bytes text = {(unsigned char *)(uintptr_t)json, sizeof json - 1};
    rapt_message reason = {""};
    assert_int_equal(try_bytes(&text, &reason), RAPT_BAD_FILE);
    assert_non_null(strstr(reason.text, "is a JSON file, not a safetensors file"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_json),      cmocka_unit_test(test_whole),
        cmocka_unit_test(test_truncated), cmocka_unit_test(test_changed),
        cmocka_unit_test(test_scrambled), cmocka_unit_test(test_strangers),
        cmocka_unit_test(test_memory),    cmocka_unit_test(test_arguments),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
