/* shards.c - tests models in several files with an index. */
#define _XOPEN_SOURCE 700

#include "archive.h"
#include "temporary.h"

#include <unistd.h>

static char folder[TEMPORARY];
static const char *const names[] = {"index.json", "a.safetensors", "b.safetensors", "model.bin"};
enum { NAMES = sizeof names / sizeof *names };

static const char *path_of(const char *name)
{
    static char path[TEMPORARY + 32];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    return path;
}

static void write_file(const char *name, const void *data, size_t size)
{
    FILE *file = fopen(path_of(name), "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(data, 1, size, file), size);
    assert_int_equal(fclose(file), 0);
}

/* Writes a file of F32 tensors [1] with these names; number i has the value 10 * first + i. */
static void write_shard(const char *name, const char *const *tensors, int count, int first)
{
    char header[1024] = "{", *at = header + 1;
    for (int i = 0; i < count; i++)
        at += sprintf(at, "%s\"%s\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[%d,%d]}",
                      i ? "," : "", tensors[i], 4 * i, 4 * i + 4);
    strcpy(at, "}");
    struct bytes b = craft(strlen(header), header, strlen(header), 0);
    for (int i = 0; i < count; i++) put_float(&b, (float)(10 * first + i));
    write_file(name, b.data, b.size);
    free(b.data);
}

static rapt_status open_index(struct tensor_file **file, const char *index,
                              const rapt_allocator *allocator, rapt_message *why)
{
    write_file("index.json", index, strlen(index));
    return rapt__tensors_open_any(file, path_of("index.json"), allocator, why);
}

static float read_one(const struct tensor_file *file, const char *name)
{
    float x = -1;
    const struct tensor_entry *e = rapt__tensors_find(file, name);
    assert_non_null(e);
    assert_int_equal(rapt__tensors_read(file, e, 0, 1, &x, NULL), RAPT_OK);
    return x;
}

#define MAP "{\"z\": \"a.safetensors\", \"y\": \"b.safetensors\", \"x\": \"a.safetensors\"}"
static const char usual[] = "{\"metadata\": {\"total_size\": 12, \"b\": \"text\", \"c\": 1.5e3},"
                            " \"weight_map\": " MAP "}\n";

static void test_index(void **state)
{
    (void)state;
    struct tensor_file *file = NULL;
    rapt_message why = {""};
    if (open_index(&file, usual, NULL, &why)) fail_msg("%s", why.text);
    assert_int_equal(rapt__tensors_container(file), CONTAINER_SHARDS);
    assert_int_equal(rapt__tensors_count(file), 3);
    assert_true(read_one(file, "x") == 10 && read_one(file, "z") == 11);
    assert_true(read_one(file, "y") == 20);
    check_any(file);
    rapt__tensors_close(file);
    for (long k = 0;; k++) {
        struct stingy stingy = {.fail_at = k};
        const rapt_allocator allocator = {stingy_alloc, stingy_free, &stingy};
        rapt_status status = open_index(&file, usual, &allocator, &why);
        if (status == RAPT_OK) rapt__tensors_close(file);
        assert_int_equal(stingy.alive, 0);
        if (status == RAPT_OK) break;
        assert_int_equal(status, RAPT_NO_MEMORY);
    }
}

static void test_refused(void **state)
{
    (void)state;
    static const struct {
        const char *index, *reason;
    } rows[] = {
        {"{\"weight_map\": {}}", NULL},
        {"{\"weight_map\": " MAP "}", NULL},
        {"{\"weight_map\": {\"z\": \"a.safetensors\"}}", "\"x\" is not in the index"},
        {"{\"weight_map\": {\"x\": \"a.safetensors\"}}", "\"z\" is not in the index"},
        {"{\"weight_map\": {\"x\": \"b.safetensors\"}}",
         "\"x\" is missing, but listed in the index"},
        {"{\"weight_map\": {\"y\": \"b.safetensors\", \"y\": \"b.safetensors\"}}", "occurs twice"},
        {"{\"weight_map\": {\"y\": \"../b.safetensors\"}}",
         "is not the name of a file in the same folder"},
        {"{\"weight_map\": {\"y\": \"/b.safetensors\"}}",
         "is not the name of a file in the same folder"},
        {"{\"weight_map\": {\"y\": \"a\\\\b.safetensors\"}}",
         "is not the name of a file in the same folder"},
        {"{\"weight_map\": {\"y\": \"c:b\"}}", "is not the name of a file in the same folder"},
        {"{\"weight_map\": {\"y\": \"..\"}}", "is not the name of a file in the same folder"},
        {"{\"weight_map\": {\"y\": \"\"}}", "is not the name of a file in the same folder"},
        {"{\"weight_map\": {\"y\": \"index.json\"}}", "index.json: "},
        {"{\"weight_map\": {\"y\": 1}}", "byte 21: string expected"},
        {"{\"weight_map\": []}", "'{' expected"},
        {"{\"weight_map\": " MAP ", \"weight_map\": {}}",
         "this is neither a model nor an index of shards"},
        {"{\"other\": {}}", "this is neither a model nor an index of shards"},
        {"{\"metadata\": {\"a\": true, \"b\": {\"c\": [null, 1]}}, \"weight_map\": {}}", NULL},
        {"{\"metadata\": {\"a\": yes}, \"weight_map\": {}}", "value expected"},
        {"{\"metadata\": {}}", "this is neither a model nor an index of shards"},
        {"{\"weight_map\": {}} x", "there is text"},
        {"{\"weight_map\": {}", "',' or '}' expected"},
        {"{}", "byte 1: "},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct tensor_file *file = NULL;
        rapt_message why = {""};
        rapt_status status = open_index(&file, rows[i].index, NULL, &why);
        rapt__tensors_close(file);
        if (status != (rows[i].reason ? RAPT_BAD_FILE : RAPT_OK) ||
            (rows[i].reason && !strstr(why.text, rows[i].reason)))
            fail_msg("%s: not for \"%s\": %s", rows[i].index, rows[i].reason, why.text);
    }
    struct tensor_file *file = NULL;
    rapt_message why = {""};
    assert_int_equal(
        open_index(&file, "{\"weight_map\": {\"y\": \"none.safetensors\"}}", NULL, &why),
        RAPT_NO_FILE);
    assert_non_null(strstr(why.text, "none.safetensors"));
    const struct bytes memory = {(unsigned char *)(uintptr_t)usual, sizeof usual - 1};
    refuse(&memory, "which must be opened by its path");
}

/* Tests a shard of PyTorch with deflated storages, each of which becomes a part of its own. */
static void test_deflated(void **state)
{
    (void)state;
    struct bytes b = seed("torch/deflated");
    struct tensor_file *file = NULL;
    rapt_message why = {""};
    float x[6];
    static const float all[] = {1, 2, 3, 4, 5, 6}, half[] = {0.5f, -2, 3};
    if (without_zlib(&b)) {
        printf("skipped: format/shards, deflated storages: built without zlib\n");
        free(b.data);
        return;
    }
    write_file("model.bin", b.data, b.size);
    free(b.data);
    write_shard("b.safetensors", (const char *const[]){"y"}, 1, 2);
    if (open_index(&file,
                   "{\"weight_map\": {\"shared\": \"model.bin\", \"lm_head\": \"model.bin\", "
                   "\"t\": \"model.bin\", \"part\": \"model.bin\", \"half\": \"model.bin\", "
                   "\"ids\": \"model.bin\", \"y\": \"b.safetensors\"}}",
                   NULL, &why))
        fail_msg("%s", why.text);
    check_any(file);
    assert_true(read_one(file, "y") == 20);
    assert_int_equal(rapt__tensors_read(file, rapt__tensors_find(file, "shared"), 0, 6, x, NULL),
                     RAPT_OK);
    assert_memory_equal(x, all, sizeof all);
    assert_int_equal(rapt__tensors_read(file, rapt__tensors_find(file, "half"), 0, 3, x, NULL),
                     RAPT_OK);
    assert_memory_equal(x, half, sizeof half);
    rapt__tensors_close(file);
}

static int make_files(void **state)
{
    (void)state;
    if (!temporary_folder(folder)) return -1;
    write_shard("a.safetensors", (const char *const[]){"x", "z"}, 2, 1);
    write_shard("b.safetensors", (const char *const[]){"y"}, 1, 2);
    return 0;
}

static int remove_files(void **state)
{
    (void)state;
    for (int i = 0; i < NAMES; i++) unlink(path_of(names[i]));
    return rmdir(folder);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_index),
        cmocka_unit_test(test_refused),
        cmocka_unit_test(test_deflated),
    };
    return cmocka_run_group_tests(tests, make_files, remove_files);
}
