/* json.c - compares the header reader with one built on jansson, with which it shares no code. Both
   must accept the same of tens of thousands of damaged headers, with the same names. */
#include "craft.h"

#include <jansson.h>

enum { DATA = 12 };
static const char *const seeds[] = {
    "{\"__metadata__\":{\"k\":\"v\\u00e9\\n\",\"l\":\"\xC3\xA9\"},\"a\":{\"dtype\":\"F32\","
    "\"shape\":[],"
    "\"data_offsets\":[0,4]},\"b\":{\"dtype\":\"U8\",\"shape\":[2,4],\"data_offsets\":[4,12]}}",
    "{ \"b\" : {\"shape\":[3,1], \"data_offsets\":[0, 12],\"dtype\":\"F32\"} "
    ",\n\"a\":{\"dtype\":\"I16\","
    "\"shape\":[0],\"data_offsets\":[12,12]}}   ",
    "{\"__metadata__\":null,\"a\":{\"x\":[{},{\"y\":[-1.5,true]},null],\"dtype\":\"I32\","
    "\"shape\":[3],"
    "\"z\":{\"shape\":[]},\"data_offsets\":[0,12]}}",
    "{\"\\ud83d\\ude00\":{\"dtype\":\"F16\",\"shape\":[2,3],\"data_offsets\":[0,12]}}",
};
enum { SEEDS = sizeof seeds / sizeof *seeds };
/* what is inserted to damage a header: tokens, and bytes that are not allowed in strings */
static const char *const parts[] = {
    "{",
    "}",
    "[",
    "]",
    ",",
    ":",
    "\"",
    "\\",
    "0",
    "1",
    "4",
    "12",
    " ",
    "\n",
    "null",
    "1.5",
    "\"a\"",
    "\"b\"",
    "\\u0061",
    "\\ud800",
    "\x80",
    "\xC3",
    "\xE2\x82\xAC",
    "\xED\xA0\x80",
    "\t",
    "\x01",
    "\\/",
    "\"shape\"",
    "\"dtype\":\"U8\",",
    "9",
};

/* Returns the bytes of an element; 0: a type that damaged seeds cannot contain. */
static json_int_t size_of(const char *dtype)
{
    static const struct {
        const char *name;
        json_int_t size;
    } rows[] = {{"F32", 4}, {"F16", 2}, {"F64", 8}, {"I16", 2}, {"I32", 4}, {"U8", 1},
                {"U16", 2}, {"U32", 4}, {"I8", 1},  {"U64", 8}, {"I64", 8}, {"C64", 8}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (strcmp(rows[i].name, dtype) == 0) return rows[i].size;
    return 0;
}

/* Checks an entry by the definition, and counts its bytes in seen. */
static bool judge_entry(const char *name, const json_t *entry, int *seen)
{
    const json_t *shape = json_object_get(entry, "shape");
    const json_t *offsets = json_object_get(entry, "data_offsets");
    const json_t *dtype = json_object_get(entry, "dtype");
    if (!*name || !json_is_object(entry) || !json_is_string(dtype) || !json_is_array(shape) ||
        json_array_size(shape) > TENSOR_RANK || !json_is_array(offsets) ||
        json_array_size(offsets) != 2)
        return false;
    double bytes = (double)size_of(json_string_value(dtype));
    if (bytes == 0) return false;
    for (size_t i = 0; i < json_array_size(shape); i++) {
        const json_t *size = json_array_get(shape, i);
        if (!json_is_integer(size) || json_integer_value(size) < 0) return false;
        bytes *= (double)json_integer_value(size);
    }
    const json_t *first = json_array_get(offsets, 0), *last = json_array_get(offsets, 1);
    if (!json_is_integer(first) || !json_is_integer(last)) return false;
    json_int_t begin = json_integer_value(first), end = json_integer_value(last);
    if (begin < 0 || end < begin || end > DATA || (double)(end - begin) != bytes) return false;
    for (json_int_t i = begin; i < end; i++) seen[i]++;
    /* an empty tensor may be between two others but not inside one: marked for a later check */
    if (begin == end) seen[DATA + 1 + begin] = 1;
    return true;
}

/* Returns whether byte i is the first of a tensor, or equals DATA. */
static bool starts(const json_t *root, json_int_t i)
{
    const char *name;
    json_t *entry;
    if (i == DATA) return true;
    json_object_foreach((json_t *)(uintptr_t)root, name, entry)
    {
        const json_t *offsets = json_object_get(entry, "data_offsets");
        if (strcmp(name, "__metadata__") != 0 &&
            json_integer_value(json_array_get(offsets, 0)) == i &&
            json_integer_value(json_array_get(offsets, 1)) > i)
            return true;
    }
    return false;
}

static bool judge(const json_t *root)
{
    int seen[2 * (DATA + 1)] = {0};
    const char *name, *key;
    json_t *entry, *value;
    if (!json_is_object(root)) return false;
    json_object_foreach((json_t *)(uintptr_t)root, name, entry)
    {
        if (strcmp(name, "__metadata__") == 0) {
            if (!json_is_object(entry) && !json_is_null(entry)) return false;
            json_object_foreach(entry, key, value) if (!json_is_string(value)) return false;
        } else if (!judge_entry(name, entry, seen)) {
            return false;
        }
    }
    for (int i = 0; i < DATA; i++)
        if (seen[i] != 1) return false;
    for (int i = 0; i <= DATA; i++)
        if (seen[DATA + 1 + i] && !starts(root, i)) return false;
    return true;
}

/* Checks that both readers found the same. */
static void compare(const json_t *root, const struct tensor_file *file)
{
    int tensors = 0, metadata = 0;
    const char *name, *key;
    json_t *entry, *value;
    json_object_foreach((json_t *)(uintptr_t)root, name, entry)
    {
        if (strcmp(name, "__metadata__") == 0) {
            json_object_foreach(entry, key, value)
            {
                assert_string_equal(rapt__tensors_metadata(file, key), json_string_value(value));
                metadata++;
            }
            continue;
        }
        const struct tensor_entry *e = rapt__tensors_find(file, name);
        assert_non_null(e);
        assert_string_equal(e->dtype, json_string_value(json_object_get(entry, "dtype")));
        const json_t *shape = json_object_get(entry, "shape");
        assert_int_equal(e->rank, json_array_size(shape));
        for (int d = 0; d < e->rank; d++)
            assert_int_equal(e->shape[d], json_integer_value(json_array_get(shape, (size_t)d)));
        tensors++;
    }
    assert_int_equal(rapt__tensors_count(file), tensors);
    assert_int_equal(rapt__tensors_metadata_count(file), metadata);
}

/* Replaces, removes, doubles or inserts something. Returns the new size. */
static size_t damage(char *text, size_t size, uint64_t *seed)
{
    size_t at = next_random(seed) % size, cut = next_random(seed) % 3, kind = next_random(seed) % 4;
    const char *part = parts[next_random(seed) % (sizeof parts / sizeof *parts)];
    size_t length = kind == 0 ? 0 : strlen(part);
    if (kind == 1) cut = 0;
    if (kind == 2) cut = length;
    if (kind == 3) { /* replacing a digit by a digit rarely breaks the grammar */
        at = 0;
        for (size_t i = next_random(seed) % size; i < size && !at; i++)
            if (text[i] >= '0' && text[i] <= '9') at = i;
        if (at) text[at] = (char)('0' + next_random(seed) % 10);
        return size;
    }
    if (cut > size - at) cut = size - at;
    memmove(text + at + length, text + at + cut, size - at - cut);
    memcpy(text + at, part, length);
    return size - cut + length;
}

static void test_judged(void **state)
{
    (void)state;
    uint64_t seed = 11;
    int yes = 0, no = 0;
    for (int round = 0; round < 60000; round++) {
        char text[1024];
        size_t size = strlen(seeds[round % SEEDS]);
        memcpy(text, seeds[round % SEEDS], size);
        for (uint64_t i = next_random(&seed) % 4; i > 0; i--) size = damage(text, size, &seed);
        json_error_t error;
        json_t *root = json_loadb(text, size, JSON_REJECT_DUPLICATES, &error);
        bool right = root && text[0] == '{' && judge(root);
        struct bytes b = craft(size, text, size, DATA);
        struct tensor_file *file = NULL;
        rapt_message why = {""};
        rapt_status status = rapt__tensors_open_memory(&file, b.data, b.size, NULL, &why);
        if ((status == RAPT_OK) != right)
            fail_msg("%.*s: status %d, %s; the judge: %s", (int)size, text, status, why.text,
                     root ? "JSON" : error.text);
        if (right) compare(root, file);
        *(right ? &yes : &no) += 1;
        rapt__tensors_close(file);
        json_decref(root);
        free(b.data);
    }
    assert_true(yes > 10000 && no > 20000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_judged)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
