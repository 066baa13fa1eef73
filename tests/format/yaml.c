/* yaml.c - tests YAML as Marian writes it (keys, scalars and lists), and that anything else is
   refused. */
#define _XOPEN_SOURCE 700

#include "craft.h"

static struct yaml *open_text(const char *text)
{
    struct yaml *yaml = NULL;
    rapt_message why = {""};
    if (rapt__yaml_open(&yaml, text, strlen(text), "text", NULL, &why))
        fail_msg("%s: %s", text, why.text);
    return yaml;
}

static void check_scalar(const struct yaml *yaml, const char *key, const char *value, bool quoted)
{
    const struct yaml_item *item = rapt__yaml_find(yaml, key);
    if (!item || !item->value) fail_msg("%s is not there", key);
    assert_string_equal(item->value, value);
    assert_int_equal(item->quoted, quoted);
    assert_int_equal(item->index, -1);
}

static void check_list(const struct yaml *yaml, const char *key, const char *const *values,
                       int count)
{
    const struct yaml_item *head = rapt__yaml_find(yaml, key);
    assert_non_null(head);
    assert_null(head->value);
    assert_int_equal(head->length, count);
    for (int i = 0; i < count; i++) {
        assert_string_equal(head[1 + i].value, values[i]);
        assert_string_equal(head[1 + i].key, key);
        assert_int_equal(head[1 + i].index, i);
    }
}

static void test_marian(void **state)
{
    (void)state;
    static const char text[] = "# Model configuration\n"
                               "---\n"
                               "dim-emb: 512 # of both\n"
                               "dim-vocabs:\n  - 32000\n  - 32001\n\n"
                               "embedding-vectors:\n  []\n"
                               "vocabs:\n- a b.yml\n- \"c: d.yml\"\r\n"
                               "input-types: [ x, 'y, z' , \"\\u00e9]\", ]\n"
                               "empty: []\n"
                               "blank: [ '', ]\n"
                               "none: {}\n"
                               "null-like:\n"
                               "transformer-postprocess: dan\n"
                               "transformer-preprocess: \"\"\n"
                               "'single''s': 'it''s'\n"
                               "\"double\\\"d\" : \"tab\\there\\\\ \\x41\\U0001F600\\_\"\n"
                               "breaks: \"a\\Lb\"\nbreak: \"\\P\"\n"
                               "version: v1.9.56 c2ba1d1 2020-09-28 01:01:01 -0700\n"
                               "hash#no: a#b";
    struct yaml *y = open_text(text);
    check_scalar(y, "dim-emb", "512", false);
    check_list(y, "dim-vocabs", (const char *const[]){"32000", "32001"}, 2);
    check_list(y, "vocabs", (const char *const[]){"a b.yml", "c: d.yml"}, 2);
    check_list(y, "input-types", (const char *const[]){"x", "y, z", "\xC3\xA9]"}, 3);
    check_list(y, "empty", NULL, 0);
    check_list(y, "none", NULL, 0);
    check_list(y, "blank", (const char *const[]){""}, 1);
    check_list(y, "embedding-vectors", NULL, 0);
    check_scalar(y, "null-like", "", false);
    check_scalar(y, "transformer-preprocess", "", true);
    check_scalar(y, "transformer-postprocess", "dan", false);
    check_scalar(y, "single's", "it's", true);
    check_scalar(y, "double\"d", "tab\there\\ A\xF0\x9F\x98\x80\xC2\xA0", true);
    check_scalar(y, "version", "v1.9.56 c2ba1d1 2020-09-28 01:01:01 -0700", false);
    check_scalar(y, "hash#no", "a#b", false);
    check_scalar(y, "breaks",
                 "a\xE2\x80\xA8"
                 "b",
                 true);
    check_scalar(y, "break", "\xE2\x80\xA9", true);
    assert_null(rapt__yaml_find(y, "dim"));
    assert_null(rapt__yaml_find(y, "zzz"));
    assert_null(rapt__yaml_at(y, -1));
    assert_null(rapt__yaml_at(y, rapt__yaml_count(y)));
    assert_int_equal(rapt__yaml_count(y), 17 + 2 + 2 + 3 + 1);
    rapt__yaml_close(y);
    y = open_text("");
    assert_int_equal(rapt__yaml_count(y), 0);
    rapt__yaml_close(y);
    rapt__yaml_close(NULL);
}

/* Reads lists of every length, with and without blanks, quotes, a last comma and a comment. Each
   element must end where it should, whatever follows the list. */
static void test_flow(void **state)
{
    (void)state;
    static const char *const elements[][2] = {{"a", "a"}, {"'b c'", "b c"}, {"\"d\"", "d"}};
    static const char *const blanks[] = {"", " "}, *const ends[] = {"]", " ]", ",]", " , ] # e"};
    static const char *const after[] = {"", "\nnext: x\n", "\r\nnext: x",
                                        "\nnext: [y]\n...\n# e\n"};
    for (int c = 0; c < 4 * 2 * 4 * 4; c++) {
        const int length = c % 4, end = c / 8 % 4;
        const char *blank = blanks[c / 4 % 2], *values[3];
        char text[100] = "first: [";
        for (int i = 0; i < length; i++) {
            sprintf(text + strlen(text), "%s%s%s", i ? "," : "", blank, elements[(i + c) % 3][0]);
            values[i] = elements[(i + c) % 3][1];
        }
        strcat(strcat(text, ends[length > 0 ? end : end % 2]), after[c / 32]);
        struct yaml *y = open_text(text);
        check_list(y, "first", values, length);
        if (c / 32 == 3)
            check_list(y, "next", (const char *const[]){"y"}, 1);
        else if (c / 32 > 0)
            check_scalar(y, "next", "x", false);
        rapt__yaml_close(y);
    }
}

static void test_refused(void **state)
{
    (void)state;
    static const struct {
        const char *text, *reason;
    } rows[] = {
        {"a: &x 1\n", "line 1: anchors and aliases are not supported"},
        {"a: 1\nb: *x\n", "line 2: anchors and aliases are not supported"},
        {"*x : 1\n", "line 1: anchors and aliases are not supported"},
        {"a: [1, &x 2]\n", "anchors and aliases are not supported"},
        {"a: !!int 1\n", "tags are not supported"},
        {"a: |\n  text\n", "multi-line strings are not supported"},
        {"a: >-\n  text\n", "multi-line strings are not supported"},
        {"a: x\n  y\n", "line 2: nested mappings and multi-line strings"},
        {"a:\n  b: 1\n", "line 2: nested mappings"},
        {"a: b: c\n", "mappings within"},
        {"a: {b: 1}\n", "mappings within a mapping are not supported"},
        {"a:\n  - b: 1\n", "mappings within"},
        {"a:\n  - - 1\n", "lists within a list are not supported"},
        {"a:\n  - -\n", "lists within a list are not supported"},
        {"a:\n  - [1]\n", "lists and mappings within a list are not supported"},
        {"a: [[1]]\n", "lists and mappings within a list are not supported"},
        {"a: [b: 1]\n", "lists and mappings within a list are not supported"},
        {"a: [1, 2\n", "',' or ']' expected"},
        {"a: [1,\n", "',' or ']' expected"},
        {"a: [\"1\" 2]\n", "',' or ']' expected"},
        {"a: [\n", "',' or ']' expected"},
        {"a: [1,,2]\n", "line 1: an element of a list is empty"},
        {"a: [1, , 2]\n", "an element of a list is empty"},
        {"a: [1,,]\n", "an element of a list is empty"},
        {"a: [,]\n", "an element of a list is empty"},
        {"a: [ , 1]\n", "an element of a list is empty"},
        {"a: ['',,]\n", "an element of a list is empty"},
        {"a:\n  [,\n", "line 2: an element of a list is empty"},
        {"a: [?b]\n", "lists and mappings within a list are not supported"},
        {"a #b: 1\n", "line 1: this is neither a key nor"},
        {"a:\n  - 1\n   - 2\n", "line 3: the elements of a list are indented differently"},
        {"a:\n  - 1\n- 2\n", "line 3: the elements of a list are indented differently"},
        {"a: 1\rb: 2\n", "line 1: the line contains a CR that is not followed by an LF"},
        {" ---\n", "line 1: "},
        {"a: [1] 2\n", "there is text after a list"},
        {"- 1\n", "an element does not belong to a list"},
        {"a: 1\n- 1\n", "an element does not belong to a list"},
        {"a: []\n- 1\n", "an element does not belong to a list"},
        {"a: [1]\n- 1\n", "an element does not belong to a list"},
        {"a: \"1\n", "does not end on its line"},
        {"a: '1''\n", "does not end on its line"},
        {"a: \"1\" 2\n", "text after a quoted string"},
        {"a: \"\\q\"\n", "invalid escape sequence"},
        {"a: \"\\x4\"\n", "invalid escape sequence"},
        {"a: \"\\uD800\"\n", "invalid escape sequence"},
        {"a: \"\\U00110000\"\n", "invalid escape sequence"},
        {"a: \"\\", "invalid escape sequence"},
        {"a: \"\\0\"\n", "contains a NUL character"},
        {"a: \"\\x00\"\n", "contains a NUL character"},
        {"a\n", "neither a key nor"},
        {"\"a\" b: 1\n", "a key has no ':'"},
        {"\"a\n", "does not end on its line"},
        {"\ta: 1\n", "indented with a tab"},
        {"a: 1\n---\nb: 1\n", "line 2: this is neither a key nor"},
        {"a: 1\n...\nb: 1\n", "line 3: there is text after the end"},
        {"a: 1\n....\n", "line 2: this is neither a key nor"},
        {"a: \"\\L\\P\"\n", "more than one \\L or \\P in a string"},
        {"? a\n: 1\n", "begins with a character that is not supported"},
        {"%YAML 1.2\n", "begins with a character that is not supported"},
        {"a: \xFF\n", "not UTF-8"},
        {"a: 1\nb: 2\na: 3\n", "\"a\" occurs twice"},
        {"a: 1\na: [2]\n", "\"a\" occurs twice"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct yaml *yaml = NULL;
        rapt_message why = {""};
        rapt_status status =
            rapt__yaml_open(&yaml, rows[i].text, strlen(rows[i].text), "f", NULL, &why);
        if (status != RAPT_BAD_FILE || yaml || !strstr(why.text, rows[i].reason))
            fail_msg("%s: not refused for \"%s\": %s", rows[i].text, rows[i].reason, why.text);
    }
}

/* A long list with a long key must be sorted without comparing the key for each element: otherwise
   a tenth of this file takes 9 s, a twentieth 2.8 s. */
static void test_long(void **state)
{
    (void)state;
    enum { KEY_SIZE = 2000000, ELEMENTS = 1000000 };
    char *text = malloc(KEY_SIZE + 2 * ELEMENTS + 4), *at = text + KEY_SIZE;
    memset(text, 'k', KEY_SIZE);
    *at++ = ':', *at++ = ' ', *at++ = '[';
    for (int i = 0; i < ELEMENTS; i++) *at++ = (char)('a' + i % 26), *at++ = ',';
    at[-1] = ']';
    struct yaml *yaml = NULL;
    rapt_message why = {""};
    if (rapt__yaml_open(&yaml, text, (size_t)(at - text), "f", NULL, &why))
        fail_msg("%s", why.text);
    assert_int_equal(rapt__yaml_count(yaml), ELEMENTS + 1);
    for (int i = 0; i < ELEMENTS; i += 999) {
        const struct yaml_item *item = rapt__yaml_at(yaml, i + 1);
        assert_int_equal(item->index, i);
        assert_int_equal(item->value[0], 'a' + i % 26);
    }
    rapt__yaml_close(yaml);
    free(text);
}

static void test_memory(void **state)
{
    (void)state;
    char text[600] = "";
    for (int i = 0; i < 40; i++) sprintf(text + strlen(text), "k%d: [a, b]\n", i);
    for (long k = 0;; k++) {
        struct stingy stingy = {.fail_at = k};
        const rapt_allocator allocator = {stingy_alloc, stingy_free, &stingy};
        struct yaml *yaml = NULL;
        rapt_message why = {""};
        rapt_status status = rapt__yaml_open(&yaml, text, strlen(text), "f", &allocator, &why);
        rapt__yaml_close(yaml);
        assert_int_equal(stingy.alive, 0);
        if (status == RAPT_OK) {
            assert_true(k >= 6);
            return;
        }
        assert_true(status == RAPT_NO_MEMORY && strstr(why.text, "out of memory"));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_marian),  cmocka_unit_test(test_flow),
        cmocka_unit_test(test_refused), cmocka_unit_test(test_long),
        cmocka_unit_test(test_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
