/* vocabulary.c - tests vocabularies in all forms: tokens that look like something else, refused
   mistakes, and real files. */
#define _XOPEN_SOURCE 700

#include "../skips.h"
#include "craft.h"
#include "temporary.h"

static rapt_status open_text(struct vocabulary **v, enum vocabulary_form form, const char *text,
                             rapt_message *why)
{
    return rapt__vocabulary_open_memory(v, text, strlen(text), form, NULL, why);
}

static void check(enum vocabulary_form form, const char *text, const char *const *tokens, int count)
{
    struct vocabulary *v = NULL;
    rapt_message why = {""};
    if (open_text(&v, form, text, &why)) fail_msg("%s: %s", text, why.text);
    assert_int_equal(rapt__vocabulary_count(v), count);
    for (int i = 0; i < count; i++) {
        assert_string_equal(rapt__vocabulary_token(v, i), tokens[i]);
        assert_int_equal(rapt__vocabulary_find(v, tokens[i]), i);
    }
    assert_null(rapt__vocabulary_token(v, -1));
    assert_null(rapt__vocabulary_token(v, count));
    assert_int_equal(rapt__vocabulary_find(v, ""), -1);
    assert_int_equal(rapt__vocabulary_find(v, "\x7F\x7F"), -1);
    rapt__vocabulary_close(v);
}

static void test_forms(void **state)
{
    (void)state;
    static const char *const tokens[] = {"</s>", "<unk>", ",",   "true", "~",           "1",
                                         "-",    ":",     "a:b", "\"",   "'",           "\xC3\xA9",
                                         "null", "\\",    "#x",  "? a",  "\xE2\x96\x81"};
    check(VOCABULARY_YAML,
          "</s>: 0\n<unk>: 1\n\",\": 2\ntrue: 3\n~: 4\n1: 5\n-: 6\n\":\": 7\na:b: 8\n\"\\\"\": 9\n"
          "'''': 10\n\"\\xe9\": 11\nnull: 12\n\"\\\\\":  13\n\"#x\": 14\n? \"? a\"\n: 15\n"
          "\xE2\x96\x81: 16 \n",
          tokens, 17);
    check(VOCABULARY_YAML, "---\n# a comment\n\nb: 1\na: 0", (const char *const[]){"a", "b"}, 2);
    check(VOCABULARY_YAML, "::0\r\n", (const char *const[]){":"}, 1);
    check(VOCABULARY_YAML, " {\"a\": 1, \"b\": 0}", (const char *const[]){"b", "a"}, 2);
    check(VOCABULARY_JSON, "{\"\\u00e9\": 0, \"a\\\"\": 1}",
          (const char *const[]){"\xC3\xA9", "a\""}, 2);
    check(VOCABULARY_JSON, "{\"\\ud83d\\ude00\": 0, \"\\uDBFF\\uDFFF\": 1}",
          (const char *const[]){"\xF0\x9F\x98\x80", "\xF4\x8F\xBF\xBF"}, 2);
    check(VOCABULARY_JSON, "[\"x\", \"y\"]\n", (const char *const[]){"x", "y"}, 2);
    check(VOCABULARY_LINES, "x\n\"y\"\n z ", (const char *const[]){"x", "\"y\"", " z "}, 3);
    check(VOCABULARY_LINES, "x\r\n\"y\"\r\n z ", (const char *const[]){"x", "\"y\"", " z "}, 3);
    check(VOCABULARY_LINES, "x\r\ny\r\n\r\r\n", (const char *const[]){"x", "y", "\r"}, 3);
    check(VOCABULARY_LINES, "x\n\r\ny\r\n", (const char *const[]){"x", "\r", "y\r"}, 3);
    check(VOCABULARY_YAML, "{a: 1, </s>: 0}", (const char *const[]){"</s>", "a"}, 2);
    check(VOCABULARY_YAML, "{a:b: 0,\n 'it''s' : 1,\r\n\"\\xe9,\": 2, 7: 3,}\n",
          (const char *const[]){"a:b", "it's", "\xC3\xA9,", "7"}, 4);
}

static void test_refused(void **state)
{
    (void)state;
    static const struct {
        enum vocabulary_form form;
        const char *text, *reason;
    } rows[] = {
        {VOCABULARY_YAML, "a: 0\nb: 2\n", "\"b\" (number 2) has a number that is not below"},
        {VOCABULARY_YAML, "a: 0\nb: 0\n", "\"b\" (number 0) has the same number as another"},
        {VOCABULARY_YAML, "a: 0\na: 1\n", "occurs more than once"},
        {VOCABULARY_YAML, "a: -1\n", "line 1: \"token: number\" expected"},
        {VOCABULARY_YAML, "a: x\n", "\"token: number\" expected"},
        {VOCABULARY_YAML, "a: 99999999999999999999999\n", "\"token: number\" expected"},
        {VOCABULARY_YAML, "a 0\n", "\"token: number\" expected"},
        {VOCABULARY_YAML, "\"\": 0\n", "token \"\" (number 0) is empty"},
        {VOCABULARY_YAML, ": 0\n", "token \"\" (number 0) is empty"},
        {VOCABULARY_YAML, "&a: 0\n", "anchors and aliases are not supported"},
        {VOCABULARY_YAML, "\"a: 0\n", "does not end on its line"},
        {VOCABULARY_YAML, "\"a\" b: 0\n", "text after a quoted token"},
        {VOCABULARY_YAML, "? a\nb: 0\n", "line 2: \": number\" expected for the token above"},
        {VOCABULARY_YAML, "? a\n", "the last token has no number"},
        {VOCABULARY_YAML, "\xFF: 0\n", "not UTF-8"},
        {VOCABULARY_YAML, "", "has 0 tokens"},
        {VOCABULARY_YAML, "{}", "has 0 tokens"},
        {VOCABULARY_YAML, "{a: 0", "line 1: ',' or '}' expected"},
        {VOCABULARY_YAML, "{a: 0,\n", "line 2: '}' expected"},
        {VOCABULARY_YAML, "{a: 0} b", "there is text after the last '}'"},
        {VOCABULARY_YAML, "{a: 0 b: 1}", "',' or '}' expected"},
        {VOCABULARY_YAML, "{a: -1}", "\"token: number\" expected"},
        {VOCABULARY_YAML, "{a, b: 0}", "\"token: number\" expected"},
        {VOCABULARY_YAML, "{a:0}", "\"token: number\" expected"},
        {VOCABULARY_YAML, "{'a: 0}", "does not end on its line"},
        {VOCABULARY_YAML, "{'a' b: 0}", "\"token: number\" expected"},
        {VOCABULARY_YAML, "{*a: 0}", "anchors and aliases"},
        {VOCABULARY_YAML, "{a: 0, a: 1}", "occurs more than once"},
        {VOCABULARY_YAML, "{\xFF: 0}", "not UTF-8"},
        {VOCABULARY_JSON, "{a: 0}", "string expected"},
        {VOCABULARY_JSON, "{}", "has 0 tokens"},
        {VOCABULARY_JSON, "{\"a\": 0", "byte 7: "},
        {VOCABULARY_JSON, "{\"a\": 0} x", "there is text"},
        {VOCABULARY_JSON, "{\"a\": 0.5}", "not an integer"},
        {VOCABULARY_JSON, "{\"a\": \"0\"}", "integer expected"},
        {VOCABULARY_JSON, "[\"a\", \"a\"]", "occurs more than once"},
        {VOCABULARY_JSON, "[\"\\ud83d\"]", "an incomplete surrogate pair"},
        {VOCABULARY_JSON, "[\"\\ude00\\ud83d\"]", "an incomplete surrogate pair"},
        {VOCABULARY_JSON, "[1]", "byte 1: "},
        {VOCABULARY_JSON, "a: 0\n", "'[' expected"},
        {VOCABULARY_LINES, "a\n\nb\n", "(number 1) is empty"},
        {VOCABULARY_LINES, "a\na\n", "occurs more than once"},
        {VOCABULARY_LINES, "a\n\xC3\n", "line 2: the line is not UTF-8"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct vocabulary *v = NULL;
        rapt_message why = {""};
        rapt_status status = open_text(&v, rows[i].form, rows[i].text, &why);
        if (status != RAPT_BAD_FILE || v || !strstr(why.text, rows[i].reason))
            fail_msg("%s: not refused for \"%s\": %s", rows[i].text, rows[i].reason, why.text);
    }
    struct vocabulary *v = NULL;
    assert_int_equal(rapt__vocabulary_open_memory(&v, "a\0b", 3, VOCABULARY_LINES, NULL, NULL),
                     RAPT_BAD_FILE);
    rapt__vocabulary_close(NULL);
}

static void test_memory(void **state)
{
    (void)state;
    char text[600] = "";
    for (int i = 0; i < 40; i++) sprintf(text + strlen(text), "k%d: %d\n", i, i);
    for (long k = 0;; k++) {
        struct stingy stingy = {.fail_at = k};
        const rapt_allocator allocator = {stingy_alloc, stingy_free, &stingy};
        struct vocabulary *v = NULL;
        rapt_message why = {""};
        rapt_status status =
            rapt__vocabulary_open_memory(&v, text, strlen(text), VOCABULARY_YAML, &allocator, &why);
        rapt__vocabulary_close(v);
        assert_int_equal(stingy.alive, 0);
        if (status == RAPT_OK) {
            assert_true(k >= 6);
            return;
        }
        assert_true(status == RAPT_NO_MEMORY && strstr(why.text, "out of memory"));
    }
}

/* Checks that `times` copies of an item, in the budget for a file of their size, are refused in
   memory that is within the budget. */
static void check_limit(enum vocabulary_form form, const char *begin, const char *item,
                        const char *end)
{
    enum { TIMES = 1 << 21, FREE = 16 << 20 };
    const size_t first = strlen(begin), each = strlen(item), size = first + each * TIMES;
    char *text = malloc(size + strlen(end));
    struct stingy stingy = {.fail_at = -1};
    const rapt_allocator allocator = {stingy_alloc, stingy_free, &stingy};
    struct budget budget;
    const rapt_allocator reading = rapt__budget_begin(&budget, &allocator);
    struct vocabulary *v = NULL;
    rapt_message why = {""};
    assert_non_null(text);
    memcpy(text, begin, first);
    for (size_t i = 0; i < TIMES; i++) memcpy(text + first + i * each, item, each);
    memcpy(text + size, end, strlen(end));
    rapt__budget_add(&reading, size + strlen(end));
    rapt_status status =
        rapt__vocabulary_open_memory(&v, text, size + strlen(end), form, &reading, &why);
    assert_int_equal(rapt__budget_end(&budget, status, &why), RAPT_BAD_FILE);
    assert_true(stingy.alive == 0 && stingy.max <= 8 * (size + strlen(end)) + FREE);
    free(text);
}

static void test_limit(void **state)
{
    (void)state;
    check_limit(VOCABULARY_LINES, "", "a\n", "");
    check_limit(VOCABULARY_YAML, "", "a: 0\n", "");
    check_limit(VOCABULARY_JSON, "[", "\"a\",", "\"b\"]");
    check_limit(VOCABULARY_JSON, "{", "\"a\":0,", "\"b\":1}");
}

static void check_real(const char *name, int count, const char *token, int id)
{
    char path[DATA_PATH];
    struct vocabulary *v = NULL;
    rapt_message why = {""};
    if (!data_path("format/vocabulary, real files", name, path)) return;
    struct disk_source source;
    if (rapt__disk_open_inflated(&source, path, NULL, &why) ||
        rapt__vocabulary_open_source(&v, &source, path, NULL, &why))
        fail_msg("%s", why.text);
    rapt__disk_close(&source);
    assert_int_equal(rapt__vocabulary_count(v), count);
    assert_int_equal(rapt__vocabulary_find(v, token), id);
    assert_string_equal(rapt__vocabulary_token(v, id), token);
    rapt__vocabulary_close(v);
}

static void test_real(void **state)
{
    (void)state;
    check_real("opus-mt-hf/en-pt/vocab.json", 54776, "</s>", 44670);
    check_real("opus-mt-hf/en-pt/vocab.json", 54776, "<unk>", 52024);
    check_real("opus-mt-hf/en-pt/vocab.json", 54776, "<pad>", 54775);
    check_real("opus-mt-hf/en-mg/vocab.json", 54688, "</s>", 0);
    check_real("ct2-aren/aren-transliteration/source_vocabulary.txt", 50, "<s>", 1);
    check_real("ct2-aren/aren-transliteration/target_vocabulary.txt", 42, "</s>", 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_forms), cmocka_unit_test(test_refused), cmocka_unit_test(test_memory),
        cmocka_unit_test(test_limit), cmocka_unit_test(test_real),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
