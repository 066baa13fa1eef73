/* safetensors_write.c - tests that written files are read back, by our reader and by a second one
   that follows the definition of the format. */
#define _XOPEN_SOURCE 700

#include "craft.h"
#include "temporary.h"

#include <dirent.h>
#include <unistd.h>

static char path[TEMPORARY + 32];

static int make_folder(void **state)
{
    static char folder[TEMPORARY];
    *state = folder;
    if (!temporary_folder(folder)) return -1;
    snprintf(path, sizeof path, "%s/m.safetensors", folder);
    return 0;
}

static int remove_folder(void **state)
{
    unlink(path);
    return rmdir(*state); /* fails if a temporary file was left */
}

static float element(size_t tensor, size_t i)
{
    static const uint32_t special[] = {0x7F800000, 0xFF800000, 0x7FC00000, 0x7F800001,
                                       0x80000000, 0x00000001, 0x807FFFFF, 0x7F7FFFFF};
    uint32_t bits = i % 11 < 8 ? special[i % 11] : (uint32_t)(i * 2654435761u + tensor);
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

/* Also checks that fill is called once for every element, in order. */
static void fill(const struct tensor_source *source, size_t first, size_t count, float *data)
{
    size_t *seen = (size_t *)(uintptr_t)source->user;
    if (seen) {
        assert_int_equal(seen[source->index], first);
        seen[source->index] += count;
    }
    for (size_t i = 0; i < count; i++) data[i] = element(source->index, first + i);
}

static struct bytes slurp(void)
{
    FILE *file = fopen(path, "rb");
    assert_non_null(file);
    assert_int_equal(fseek(file, 0, SEEK_END), 0);
    struct bytes b = {NULL, (size_t)ftell(file)};
    b.data = malloc(b.size);
    assert_non_null(b.data);
    rewind(file);
    assert_int_equal(fread(b.data, 1, b.size, file), b.size);
    fclose(file);
    return b;
}

static void test_round_trip(void **state)
{
    (void)state;
    size_t seen[7] = {0};
    const struct tensor_source sources[] = {
        {"scalar", 0, {0}, fill, seen, 0, 0, NULL},
        {"vector", 1, {13}, fill, seen, 1, 0, NULL},
        {"nothing", 3, {4, 0, 7}, fill, seen, 2, 0, NULL},
        {"large", 2, {331, 599}, fill, seen, 3, 0, NULL}, /* three chunks and a remainder */
        {"deep", 8, {1, 2, 1, 3, 1, 2, 1, 5}, fill, seen, 4, 0, NULL},
        {"chunk", 1, {65536}, fill, seen, 5, 0, NULL},
        {"a \"quoted\\\" n\xC3\xA4me\n", 1, {1}, fill, seen, 6, 0, NULL},
    };
    const struct tensor_metadata metadata[] = {
        {"z", ""}, {"rapt.config", "{\"width\": 8}\n\t\x01\x1F\x7F/\\"}, {"", "\xF0\x9F\x98\x80"}};
    rapt_message why = {""};
    if (rapt__tensors_write(path, sources, 7, metadata, 3, NULL, &why) != RAPT_OK)
        fail_msg("%s", why.text);
    struct bytes b = slurp();
    struct tensor_file *file = NULL, *other = NULL;
    assert_int_equal(b.data[0] % 64, 56);
    assert_int_equal(rapt__tensors_open(&file, path, NULL, &why), RAPT_OK);
    assert_int_equal(rapt__tensors_open_memory(&other, b.data, b.size, NULL, NULL), RAPT_OK);
    assert_int_equal(rapt__tensors_count(file), 7);
    assert_int_equal(rapt__tensors_metadata_count(file), 3);
    for (int i = 0; i < 3; i++)
        assert_string_equal(rapt__tensors_metadata(file, metadata[i].key), metadata[i].value);
    for (size_t i = 0; i < 7; i++) {
        const struct tensor_entry *e = rapt__tensors_find(file, sources[i].name);
        assert_non_null(e);
        assert_string_equal(e->dtype, "F32");
        assert_int_equal(e->rank, sources[i].rank);
        assert_memory_equal(e->shape, sources[i].shape, (size_t)e->rank * sizeof *e->shape);
        assert_int_equal(seen[i], e->count);
        float *data = malloc(e->count * sizeof *data + 1);
        assert_non_null(data);
        for (int which = 0; which < 2; which++) {
            assert_int_equal(rapt__tensors_read(which ? other : file, e, 0, e->count, data, NULL),
                             RAPT_OK);
            for (size_t k = 0; k < e->count; k++) {
                float right = element(i, k);
                assert_memory_equal(&data[k], &right, sizeof right);
            }
        }
        free(data);
    }
    rapt__tensors_close(file);
    rapt__tensors_close(other);
    free(b.data);
}

/* Compares a small file byte by byte. */
static void test_bytes(void **state)
{
    (void)state;
    static const char right[] =
        "x\0\0\0\0\0\0\0{\"__metadata__\":{\"k\":\"v\"},\"w\":{\"dtype\":\"F32\",\"shape\":[2],"
        "\"data_offsets\":[0,8]}}                                         "
        "\x00\x00\x80\x7F\x00\x00\x80\xFF";
    const struct tensor_source source = {"w", 1, {2}, fill, NULL, 0, 0, NULL};
    const struct tensor_metadata entry = {"k", "v"};
    assert_int_equal(rapt__tensors_write(path, &source, 1, &entry, 1, NULL, NULL), RAPT_OK);
    struct bytes b = slurp();
    assert_int_equal(b.size, sizeof right - 1);
    assert_memory_equal(b.data, right, b.size);
    free(b.data);
    assert_int_equal(rapt__tensors_write(path, NULL, 0, NULL, 0, NULL, NULL), RAPT_OK);
    b = slurp();
    assert_int_equal(b.size, 64);
    assert_memory_equal(b.data + 8, "{}      ", 8);
    free(b.data);
}

/* Anything that a reader would refuse is not written, and the old file is kept. */
static void test_refused(void **state)
{
    (void)state;
    static const struct {
        struct tensor_source a, b;
        struct tensor_metadata entry;
        const char *reason;
    } rows[] = {
        {{NULL, 1, {1}, fill, NULL, 0, 0, NULL},
         {"b", 0, {0}, fill, NULL, 0, 0, NULL},
         {"k", "v"},
         "the name or fill function"},
        {{"a", 1, {1}, NULL, NULL, 0, 0, NULL},
         {"b", 0, {0}, fill, NULL, 0, 0, NULL},
         {"k", "v"},
         "fill"},
        {{"", 1, {1}, fill, NULL, 0, 0, NULL},
         {"b", 0, {0}, fill, NULL, 0, 0, NULL},
         {"k", "v"},
         "has no name"},
        {{"__metadata__", 1, {1}, fill, NULL, 0, 0, NULL},
         {"b", 0, {0}, fill, NULL, 0, 0, NULL},
         {"k", "v"},
         "__metadata__"},
        {{"b", 1, {1}, fill, NULL, 0, 0, NULL},
         {"b", 0, {0}, fill, NULL, 0, 0, NULL},
         {"k", "v"},
         "\"b\" occurs twice"},
        {{"a\xFF", 1, {1}, fill, NULL, 0, 0, NULL},
         {"b", 0, {0}, fill, NULL, 0, 0, NULL},
         {"k", "v"},
         "UTF-8"},
        {{"a", -1, {1}, fill, NULL, 0, 0, NULL},
         {"b", 0, {0}, fill, NULL, 0, 0, NULL},
         {"k", "v"},
         "has rank -1"},
        {{"a", 9, {1}, fill, NULL, 0, 0, NULL},
         {"b", 0, {0}, fill, NULL, 0, 0, NULL},
         {"k", "v"},
         "has rank 9"},
        {{"a", 2, {SIZE_MAX, 2}, fill, NULL, 0, 0, NULL},
         {"b", 0, {0}, fill, NULL, 0, 0, NULL},
         {"k", "v"},
         "overflows"},
        {{"a", 1, {SIZE_MAX / 4 + 1}, fill, NULL, 0, 0, NULL},
         {"b", 0, {0}, fill, NULL, 0, 0, NULL},
         {"k", "v"},
         "overflows"},
        {{"a", 3, {SIZE_MAX, 0, 2}, fill, NULL, 0, 0, NULL},
         {"b", 0, {0}, fill, NULL, 0, 0, NULL},
         {"k", "v"},
         "overflows"},
        {{"a", 1, {SIZE_MAX / 4}, fill, NULL, 0, 0, NULL},
         {"b", 1, {9}, fill, NULL, 0, 0, NULL},
         {"k", "v"},
         "overflows"},
        {{"a", 1, {SIZE_MAX / 4}, fill, NULL, 0, 0, NULL},
         {"b", 0, {0}, fill, NULL, 0, 0, NULL},
         {"k", "v"},
         ""},
        {{"a", 1, {SIZE_MAX / 4 - 20}, fill, NULL, 0, 0, NULL},
         {"b", 0, {0}, fill, NULL, 0, 0, NULL},
         {"k", "v"},
         ""},
        {{"a", 1, {1}, fill, NULL, 0, 0, NULL},
         {"b", 0, {0}, fill, NULL, 0, 0, NULL},
         {NULL, "v"},
         "metadata"},
        {{"a", 1, {1}, fill, NULL, 0, 0, NULL},
         {"b", 0, {0}, fill, NULL, 0, 0, NULL},
         {"k", NULL},
         "metadata"},
        {{"a", 1, {1}, fill, NULL, 0, 0, NULL},
         {"b", 0, {0}, fill, NULL, 0, 0, NULL},
         {"l", "w"},
         "\"l\" occurs twice"},
        {{"a", 1, {1}, fill, NULL, 0, 0, NULL},
         {"b", 0, {0}, fill, NULL, 0, 0, NULL},
         {"k", "\xC0\x80"},
         "UTF-8"},
    };
    assert_int_equal(rapt__tensors_write(path, NULL, 0, NULL, 0, NULL, NULL), RAPT_OK);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const struct tensor_source sources[] = {rows[i].a, rows[i].b};
        const struct tensor_metadata metadata[] = {{"l", "m"}, rows[i].entry};
        rapt_message why = {""};
        rapt_status status = rapt__tensors_write(path, sources, 2, metadata, 2, NULL, &why);
        if (status != RAPT_BAD_ARGUMENT || !why.text[0] || !strstr(why.text, rows[i].reason))
            fail_msg("row %zu: status %d, %s", i, status, why.text);
        struct bytes b = slurp();
        assert_int_equal(b.size, 64);
        free(b.data);
    }
    const struct tensor_source good = {"a", 1, {1}, fill, NULL, 0, 0, NULL};
    const struct tensor_metadata entry = {"k", "v"};
    assert_int_equal(rapt__tensors_write(NULL, &good, 1, &entry, 1, NULL, NULL), RAPT_BAD_ARGUMENT);
    assert_int_equal(rapt__tensors_write(path, &good, -1, &entry, 1, NULL, NULL),
                     RAPT_BAD_ARGUMENT);
    assert_int_equal(rapt__tensors_write(path, &good, 1, &entry, -1, NULL, NULL),
                     RAPT_BAD_ARGUMENT);
    assert_int_equal(rapt__tensors_write(path, NULL, 1, &entry, 1, NULL, NULL), RAPT_BAD_ARGUMENT);
    assert_int_equal(rapt__tensors_write(path, &good, 1, NULL, 1, NULL, NULL), RAPT_BAD_ARGUMENT);
}

/* Every allocation fails once: the old file is kept, and nothing is left beside it. */
static void test_memory(void **state)
{
    const struct tensor_source sources[] = {{"a", 1, {100}, fill, NULL, 0, 0, NULL},
                                            {"b", 0, {0}, fill, NULL, 1, 0, NULL}};
    const struct tensor_metadata entry = {"k", "v"};
    assert_int_equal(rapt__tensors_write(path, NULL, 0, NULL, 0, NULL, NULL), RAPT_OK);
    for (long k = 0;; k++) {
        struct stingy stingy = {.fail_at = k};
        const rapt_allocator allocator = {stingy_alloc, stingy_free, &stingy};
        rapt_message why = {""};
        rapt_status status = rapt__tensors_write(path, sources, 2, &entry, 1, &allocator, &why);
        assert_int_equal(stingy.alive, 0);
        struct bytes b = slurp();
        assert_true((b.size == 64) == (status != RAPT_OK));
        free(b.data);
        int names = 0;
        DIR *folder = opendir(*state);
        assert_non_null(folder);
        while (readdir(folder)) names++;
        closedir(folder);
        assert_int_equal(names, 3); /* ".", ".." and the file */
        if (status == RAPT_OK) {
            assert_true(k == stingy.calls && k >= 5);
            break;
        }
        assert_int_equal(status, RAPT_NO_MEMORY);
        assert_non_null(strstr(why.text, "out of memory"));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_round_trip),
        cmocka_unit_test(test_bytes),
        cmocka_unit_test(test_refused),
        cmocka_unit_test(test_memory),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
