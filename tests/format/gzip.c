/* gzip.c - tests that gzip files are inflated, and that damaged ones, ones with a wrong size and
   ones that grow too much are refused. */
#define _XOPEN_SOURCE 700

#include "containers.h"

static uint32_t checksum(const void *data, size_t size)
{
    uint32_t sum = ~0u;
    for (size_t i = 0; i < size; i++) {
        sum ^= ((const unsigned char *)data)[i];
        for (int bit = 0; bit < 8; bit++) sum = sum >> 1 ^ (sum & 1 ? 0xEDB88320u : 0);
    }
    return ~sum;
}

/* Builds a gzip file of one stored block of less than 64 KB. says: the size in the trailer. */
static void put_member(struct bytes *b, const char *text, size_t size, size_t says)
{
    put_bytes(b, "\x1F\x8B\x08\0\0\0\0\0\0\3\1", 11);
    put_number(b, size, 2);
    put_number(b, ~size, 2);
    put_bytes(b, text, size);
    put_number(b, checksum(text, size), 4);
    put_number(b, says, 4);
}

static void write_file(const char *path, const struct bytes *b)
{
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(b->data, 1, b->size, file), b->size);
    assert_int_equal(fclose(file), 0);
}

static rapt_status open_bytes(const char *path, const struct bytes *b, struct disk_source *source,
                              const rapt_allocator *allocator, rapt_message *why)
{
    write_file(path, b);
    return rapt__disk_open_inflated(source, path, allocator, why);
}

static bool without_zlib(const char *path)
{
    struct bytes b = {NULL, 0};
    struct disk_source source;
    rapt_message why = {""};
    put_member(&b, "text", 4, 4);
    rapt_status status = open_bytes(path, &b, &source, NULL, &why);
    free(b.data);
    if (status == RAPT_OK) rapt__disk_close(&source);
    return status != RAPT_OK && strstr(why.text, "built without zlib");
}

static void test_same(void **state)
{
    static const char *const texts[] = {"", "a", "some text that is the same afterwards"};
    if (without_zlib(*state)) skip();
    for (int packed = 0; packed < 2; packed++)
        for (size_t i = 0; i < 3; i++) {
            struct bytes b = {NULL, 0};
            struct disk_source source;
            char got[64];
            const size_t size = strlen(texts[i]);
            if (packed)
                put_member(&b, texts[i], size, size);
            else
                put_bytes(&b, texts[i], size);
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
    assert_true(stingy.max <= 1 << 18); /* even if it declares megabytes */
}

static void test_refused(void **state)
{
    static const char text[] = "some text";
    if (without_zlib(*state)) skip();
    const size_t size = sizeof text;
    static const struct {
        size_t says;
        const char *reason;
    } rows[] = {
        {sizeof text - 1, "the gzip file is damaged"},
        {sizeof text + 1, "the gzip file is damaged"},
        {0, "the gzip file is damaged"},
        {4u << 20, "the gzip file is damaged"},
        {(4u << 20) + 4 * (sizeof text + 23) + 1,
         "bytes inflate to 4194437, more than any model needs"},
        {UINT32_MAX, "bytes inflate to 4294967295, more than any model needs"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct bytes b = {NULL, 0};
        put_member(&b, text, size, rows[i].says);
        refuse_file(*state, &b, rows[i].reason);
        free(b.data);
    }
    struct bytes b = {NULL, 0};
    put_member(&b, text, size, size);
    for (size_t cut = 18; cut < b.size; cut++)
        refuse_file(*state, &(struct bytes){b.data, cut}, "");
    for (size_t i = 2; i < b.size; i++) {
        if (i >= 4 && i <= 10) continue; /* time, system and padding are ignored */
        b.data[i] ^= 1 << 5;
        refuse_file(*state, &b, "");
        b.data[i] ^= 1 << 5;
    }
    put_member(&b, text, size, size);
    refuse_file(*state, &b, "the gzip file has a different size than it declares");
    free(b.data);
}

static void test_memory(void **state)
{
    struct bytes b = {NULL, 0};
    put_member(&b, "text", 4, 4);
    if (without_zlib(*state)) skip();
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
