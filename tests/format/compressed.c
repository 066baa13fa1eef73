/* compressed.c - files that are compressed: zip, gzip and zstd. */
#define _XOPEN_SOURCE 700

#include "archive.h"

/* ---- archive: tests that a zip file has the files that another program put into it, and no
   others, and that none is listed twice. The packages of import/argos test all else. ---- */

static void test_members(void **state)
{
    (void)state;
    static const char path[] = RAPT_UNPACKED_DIR "/fuzz/seeds/archive/streamed.argosmodel";
    static const char name[] = "translate-en_de-1_0/metadata.json";
    struct archive *archive = NULL;
    struct disk_source source;
    rapt_message why = {""};
    char first;
    assert_int_equal(rapt__archive_open(&archive, path, NULL, &why), RAPT_OK);
    assert_true(rapt__archive_has(archive, name));
    assert_false(rapt__archive_has(archive, "translate-en_de-1_0/"));
    assert_int_equal(rapt__archive_read(archive, name, &source, NULL, &why), RAPT_OK);
    assert_int_equal(rapt__disk_read(&source, 0, &first, 1, &why), RAPT_OK);
    assert_int_equal(first, '{');
    rapt__disk_close(&source);
    assert_int_equal(rapt__archive_read(archive, "absent", &source, NULL, &why), RAPT_NO_FILE);
    assert_non_null(strstr(why.text, "has no member \"absent\""));
    rapt__archive_close(archive);
}

static void test_absent_file(void **state)
{
    (void)state;
    struct archive *archive = NULL;
    rapt_message why = {""};
    assert_int_equal(rapt__archive_open(&archive, "/absent.argosmodel", NULL, &why), RAPT_NO_FILE);
    assert_non_null(strstr(why.text, "/absent.argosmodel"));
    assert_null(archive);
}

static void put_file(const char *path, const struct bytes *b)
{
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(b->data, 1, b->size, file), b->size);
    assert_int_equal(fclose(file), 0);
}

static bool join_name(void *names, const char *name)
{
    strcat(strcat(names, name), "|");
    return true;
}

/* A file and a folder may have the same name. Between them come names such as a-b, since - precedes
   the slash of a folder. */
static void test_same_names(void **state)
{
    const struct member members[] = {{"b/a/d", "b/a/d", {NULL, 0}, 0, 0, 0, 0, 0},
                                     {"b/a-b", "b/a-b", {NULL, 0}, 0, 0, 0, 0, 0},
                                     {"b/a", "b/a", {NULL, 0}, 0, 0, 0, 0, 0},
                                     {"b/a/c", "b/a/c", {NULL, 0}, 0, 0, 0, 0, 0}};
    static const char *const lists[][2] = {
        {"", "b|"}, {"b/", "a|a-b|"}, {"b/a/", "c|d|"}, {"a/", ""}};
    struct archive *zip = NULL;
    rapt_message why = {""};
    struct bytes b = archive(members, 4);
    put_file(*state, &b);
    if (rapt__archive_open(&zip, *state, NULL, &why)) fail_msg("%s", why.text);
    for (size_t i = 0; i < sizeof lists / sizeof *lists; i++) {
        char names[64] = "";
        rapt__archive_list(zip, lists[i][0], join_name, names);
        assert_string_equal(names, lists[i][1]);
    }
    rapt__archive_close(zip);
    free(b.data);
}

/* ---- compressed: tests that files of gzip and zstd are inflated, and that damaged ones, ones with
   a wrong size and ones that grow too much are refused. ---- */

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

/* Builds a frame (RFC 8878) of one block that is not compressed. says: the size in the header. */
static void put_frame(struct bytes *b, const char *text, size_t size, size_t says)
{
    put_bytes(b, "\x28\xB5\x2F\xFD\xA0", 5); /* a single segment, and 4 bytes of size */
    put_number(b, says, 4);
    put_number(b, 1 | size << 3, 3);
    put_bytes(b, text, size);
}

static const struct kind {
    void (*put)(struct bytes *b, const char *text, size_t size, size_t says);
    const char *without;
    size_t around; /* bytes of a file that are not text */
} gzip = {put_member, "built without zlib", 23}, zstd = {put_frame, "built without zstd", 12};
static const struct kind *const kinds[] = {&gzip, &zstd};
enum { KINDS = 2 };

static rapt_status open_bytes(const char *path, const struct bytes *b, struct disk_source *source,
                              const rapt_allocator *allocator, rapt_message *why)
{
    put_file(path, b);
    return rapt__disk_open_inflated(source, path, allocator, why);
}

/* Returns true if the library was built without the kind, and says so. */
static bool lacks(const struct kind *kind, const char *path)
{
    struct bytes b = {NULL, 0};
    struct disk_source source;
    rapt_message why = {""};
    kind->put(&b, "text", 4, 4);
    rapt_status status = open_bytes(path, &b, &source, NULL, &why);
    free(b.data);
    if (status == RAPT_OK) rapt__disk_close(&source);
    return status != RAPT_OK && strstr(why.text, kind->without);
}

static void check_same(const char *path, const struct bytes *b, const char *text)
{
    struct disk_source source;
    char got[1 << 10];
    const size_t size = strlen(text);
    assert_true(size <= sizeof got);
    assert_int_equal(open_bytes(path, b, &source, NULL, NULL), RAPT_OK);
    assert_int_equal(source.size, size);
    assert_int_equal(rapt__disk_read(&source, 0, got, size, NULL), RAPT_OK);
    assert_memory_equal(got, text, size);
    rapt__disk_close(&source);
}

static const char same[] = "some text that is the same afterwards";

static void test_same(void **state)
{
    static const char *const texts[] = {"", "a", same};
    for (size_t i = 0; i < 3; i++)
        for (int k = -1; k < KINDS; k++) {
            struct bytes b = {NULL, 0};
            if (k >= 0 && lacks(kinds[k], *state)) continue;
            if (k < 0)
                put_bytes(&b, texts[i], strlen(texts[i]));
            else
                kinds[k]->put(&b, texts[i], strlen(texts[i]), strlen(texts[i]));
            check_same(*state, &b, texts[i]);
            free(b.data);
        }
}

/* Files that zstd 1.5.4 has written: of a file, of a pipe, whose size it did not know, and of
   pzstd, which begins with a frame to be skipped. Frames may follow each other. */
static void test_written_by_zstd(void **state)
{
#define BLOCK "\x29\x01\0some text that is the same afterwards\x5B\x83\x30\x39"
    static const char file[] = "\x28\xB5\x2F\xFD\x24\x25" BLOCK,
                      pipe[] = "\x28\xB5\x2F\xFD\x04\x58" BLOCK,
                      pzstd[] =
                          "\x50\x2A\x4D\x18\x04\0\0\0\x32\0\0\0\x28\xB5\x2F\xFD\x04\x58" BLOCK;
    struct bytes all = {NULL, 0}, one = {NULL, 0};
    char twice[2 * sizeof same];
    if (lacks(&zstd, *state)) skip();
    put_bytes(&one, file, sizeof file - 1);
    check_same(*state, &one, same);
    one.size = 0;
    put_bytes(&one, pzstd, sizeof pzstd - 1);
    check_same(*state, &one, same);
    put_bytes(&all, pipe, sizeof pipe - 1);
    check_same(*state, &all, same);
    put_bytes(&all, file, sizeof file - 1);
    snprintf(twice, sizeof twice, "%s%s", same, same);
    check_same(*state, &all, twice);
    free(one.data);
    free(all.data);
}

/* Returns the size of the largest allocation. */
static size_t refuse_file(const char *path, const struct bytes *b, const char *reason)
{
    struct disk_source source;
    rapt_message why = {""};
    struct stingy stingy = {.fail_at = -1};
    const rapt_allocator allocator = {stingy_alloc, stingy_free, &stingy};
    rapt_status status = open_bytes(path, b, &source, &allocator, &why);
    if (status != RAPT_BAD_FILE || !strstr(why.text, reason))
        fail_msg("not refused for \"%s\": %s", reason, why.text);
    assert_int_equal(stingy.alive, 0);
    return stingy.max;
}

/* Refuses files that declare a wrong size. */
static void refuse_sizes(const char *path, const struct kind *kind)
{
    const char *damaged = kind == &gzip ? "the gzip file is damaged" : "the zstd file is ";
    static const char text[] = "some text";
    const size_t size = sizeof text, max = (4u << 20) + 4 * (size + kind->around);
    const size_t says[] = {size - 1, size + 1, 0, 4u << 20};
    for (size_t i = 0; i < sizeof says / sizeof *says; i++) {
        struct bytes b = {NULL, 0};
        kind->put(&b, text, size, says[i]);
        const size_t most = refuse_file(path, &b, damaged);
        assert_true(most <= (kind == &gzip ? 1 << 18 : 5 << 20)); /* zstd needs the window */
        free(b.data);
    }
    if (kind == &zstd) return;
    struct bytes b = {NULL, 0};
    kind->put(&b, text, size, max + 1);
    refuse_file(path, &b, "bytes inflate to at least 4194437, more than any model needs");
    b.size = 0;
    kind->put(&b, text, size, UINT32_MAX);
    refuse_file(path, &b, "bytes inflate to at least 4294967295, more than any model needs");
    free(b.data);
}

static void test_damaged_gzip(void **state)
{
    static const char text[] = "some text";
    struct bytes b = {NULL, 0};
    if (lacks(&gzip, *state)) skip();
    refuse_sizes(*state, &gzip);
    put_member(&b, text, sizeof text, sizeof text);
    for (size_t cut = 18; cut < b.size; cut++)
        refuse_file(*state, &(struct bytes){b.data, cut}, "");
    for (size_t i = 2; i < b.size; i++) {
        if (i >= 4 && i <= 10) continue; /* time, system and padding are ignored */
        b.data[i] ^= 1 << 5;
        refuse_file(*state, &b, "");
        b.data[i] ^= 1 << 5;
    }
    put_member(&b, text, sizeof text, sizeof text);
    refuse_file(*state, &b, "the gzip file does not inflate to the size that it declares");
    free(b.data);
}

static void test_twice(void **state)
{
    for (int k = 0; k < KINDS; k++)
        for (int n = 0; n < KINDS; n++) {
            struct bytes inner = {NULL, 0}, b = {NULL, 0};
            if (lacks(kinds[k], *state)) continue;
            kinds[n]->put(&inner, same, sizeof same, sizeof same);
            kinds[k]->put(&b, (const char *)inner.data, inner.size, inner.size);
            refuse_file(*state, &b, "is compressed twice: decompress it once");
            free(inner.data);
            free(b.data);
        }
}

/* A file of blocks that each repeat one byte 128 KB times. */
static void put_bomb(struct bytes *b, int blocks)
{
    put_bytes(b, "\x28\xB5\x2F\xFD\0\x38", 6); /* a window of 128 KB */
    for (int i = 0; i < blocks; i++) {
        put_number(b, (size_t)(i + 1 == blocks) | 1 << 1 | 1 << 17 << 3, 3);
        put_number(b, 'a', 1);
    }
}

static void test_damaged_zstd(void **state)
{
    static const char text[] = "some text";
    struct bytes b = {NULL, 0};
    struct disk_source source;
    rapt_message why = {""};
    if (lacks(&zstd, *state)) skip();
    refuse_sizes(*state, &zstd);
    put_frame(&b, text, sizeof text, sizeof text);
    for (size_t cut = 4; cut < b.size; cut++)
        refuse_file(*state, &(struct bytes){b.data, cut}, "the zstd file is truncated");
    put_bytes(&b, "more", 4);
    refuse_file(*state, &b, "the zstd file is damaged");
    b.size = 0;
    put_bytes(&b, "\x28\xB5\x2F\xFD\0\x98\1\0\0", 9); /* a window of 512 MB */
    refuse_file(*state, &b, "the zstd file needs more memory than any model should");
    b.size = 0;
    put_bomb(&b, 33);
    assert_int_equal(open_bytes(*state, &b, &source, NULL, &why), RAPT_BAD_FILE);
    assert_non_null(strstr(why.text, "138 bytes inflate to at least 4194857, more than any model"));
    free(b.data);
}

static void test_memory(void **state)
{
    for (int kind = 0; kind < KINDS; kind++) {
        struct bytes b = {NULL, 0};
        if (lacks(kinds[kind], *state)) continue;
        kinds[kind]->put(&b, "text", 4, 4);
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
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_members),      cmocka_unit_test(test_absent_file),
        cmocka_unit_test(test_same),         cmocka_unit_test(test_written_by_zstd),
        cmocka_unit_test(test_damaged_gzip), cmocka_unit_test(test_damaged_zstd),
        cmocka_unit_test(test_memory),       cmocka_unit_test(test_same_names),
        cmocka_unit_test(test_twice),
    };
    return cmocka_run_group_tests(tests, make_model_path, remove_model_path);
}
