/* zstd.c - tests that files that zstd has compressed are decompressed, and that damaged ones, ones
   without a size or with a wrong one, and ones that grow too much are refused. */
#define _XOPEN_SOURCE 700

#include "containers.h"

/* Builds a frame (RFC 8878) of one block that is not compressed. says: the size in the header. */
static void put_frame(struct bytes *b, const char *text, size_t size, size_t says)
{
    put_bytes(b, "\x28\xB5\x2F\xFD\xA0", 5); /* a single segment, and 4 bytes of size */
    put_number(b, says, 4);
    put_number(b, 1 | size << 3, 3);
    put_bytes(b, text, size);
}

static rapt_status open_bytes(const char *path, const struct bytes *b, struct disk_source *source,
                              const rapt_allocator *allocator, rapt_message *why)
{
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(b->data, 1, b->size, file), b->size);
    assert_int_equal(fclose(file), 0);
    return rapt__disk_open_inflated(source, path, allocator, why);
}

static bool without_zstd(const char *path)
{
    struct bytes b = {NULL, 0};
    struct disk_source source;
    rapt_message why = {""};
    put_frame(&b, "text", 4, 4);
    rapt_status status = open_bytes(path, &b, &source, NULL, &why);
    free(b.data);
    if (status == RAPT_OK) rapt__disk_close(&source);
    return status != RAPT_OK && strstr(why.text, "built without zstd");
}

static void test_same(void **state)
{
    static const char *const texts[] = {"", "a", "some text that is the same afterwards"};
    if (without_zstd(*state)) skip();
    for (size_t i = 0; i < 3; i++) {
        struct bytes b = {NULL, 0};
        struct disk_source source;
        char got[64];
        const size_t size = strlen(texts[i]);
        put_frame(&b, texts[i], size, size);
        assert_int_equal(open_bytes(*state, &b, &source, NULL, NULL), RAPT_OK);
        assert_int_equal(source.size, size);
        assert_int_equal(rapt__disk_read(&source, 0, got, size, NULL), RAPT_OK);
        assert_memory_equal(got, texts[i], size);
        rapt__disk_close(&source);
        free(b.data);
    }
}

static void refuse_file(const char *path, const struct bytes *b, const char *reason)
{
    struct disk_source source;
    rapt_message why = {""};
    struct stingy stingy = {.fail_at = -1};
    const rapt_allocator allocator = {stingy_alloc, stingy_free, &stingy};
    rapt_status status = open_bytes(path, b, &source, &allocator, &why);
    if (status != RAPT_BAD_FILE || !strstr(why.text, reason))
        fail_msg("not refused for \"%s\": %s", reason, why.text);
    assert_int_equal(stingy.alive, 0);
}

static void test_refused(void **state)
{
    static const char text[] = "some text";
    if (without_zstd(*state)) skip();
    const size_t size = sizeof text;
    static const struct {
        size_t says;
        const char *reason;
    } rows[] = {
        {sizeof text - 1, "the zstd file is damaged or has several frames"},
        {sizeof text + 1, "the zstd file is damaged or has several frames"},
        {(4u << 20) + 4 * (sizeof text + 12) + 1, "more than any model needs"},
        {UINT32_MAX, "bytes inflate to 4294967295, more than any model needs"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct bytes b = {NULL, 0};
        put_frame(&b, text, size, rows[i].says);
        refuse_file(*state, &b, rows[i].reason);
        free(b.data);
    }
    struct bytes b = {NULL, 0};
    put_frame(&b, text, size, size);
    for (size_t cut = 4; cut < b.size; cut++)
        refuse_file(*state, &(struct bytes){b.data, cut}, "the zstd file");
    put_frame(&b, text, size, size);
    refuse_file(*state, &b, "the zstd file is damaged or has several frames");
    b.size = 0;
    put_bytes(&b, "\x28\xB5\x2F\xFD\0\0\1\0\0", 9); /* a window instead of a size */
    refuse_file(*state, &b, "the zstd file does not say its size");
    free(b.data);
}

static void test_memory(void **state)
{
    struct bytes b = {NULL, 0};
    put_frame(&b, "text", 4, 4);
    if (without_zstd(*state)) skip();
    for (long k = 0;; k++) {
        struct stingy stingy = {.fail_at = k};
        const rapt_allocator allocator = {stingy_alloc, stingy_free, &stingy};
        struct disk_source source;
        rapt_message why = {""};
        rapt_status status = open_bytes(*state, &b, &source, &allocator, &why);
        if (status == RAPT_OK) rapt__disk_close(&source);
        assert_int_equal(stingy.alive, 0);
        if (status == RAPT_OK) break;
        assert_int_equal(status, RAPT_NO_MEMORY);
    }
    free(b.data);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_same),
        cmocka_unit_test(test_refused),
        cmocka_unit_test(test_memory),
    };
    return cmocka_run_group_tests(tests, make_model_path, remove_model_path);
}
