/* cut.c - sentences that are too long, lines that are joined, and blanks between languages. */
#include "document_help.h"

static void cuts(int max, const char *document, const char *wanted)
{
    const rapt_document_options options = {.size = sizeof options, .max_length = max};
    for (int rules = 0; rules < 2; rules++) {
        struct record r = translate_document(
            mark_sentences, (rapt_text){document, strlen(document)}, &options, rules);
        assert_string_equal(r.text, wanted);
        free(r.text);
    }
}

static void test_clauses(void **state)
{
    (void)state;
    cuts(25, "He came, he saw; he conquered, and he left.",
         "{He came, he saw;} {he conquered,} {and he left.}");
    cuts(20, "A very long sentence without any mark in it",
         "{A very long sentence} {without any mark in} {it}");
    cuts(20, "A, sentence with a mark too early", "{A, sentence with a} {mark too early}");
    cuts(10, "1,000,000 men", "1,000,000 {men}");
    cuts(4, "abcdefghij", "{abcd}{efgh}{ij}");
    cuts(1, "a b", "{a} {b}");
    cuts(100, "Short. And short.", "{Short.} {And short.}");
    cuts(6,
         "\xE4\xBA\xBA\xE4\xBA\xBA\xEF\xBC\x8C\xE4\xBA\xBA\xE4\xBA\xBA\xE4\xBA\xBA\xE4\xBA\xBA"
         "\xE3\x80\x82",
         "{\xE4\xBA\xBA\xE4\xBA\xBA\xEF\xBC\x8C} {\xE4\xBA\xBA\xE4\xBA\xBA\xE4\xBA\xBA\xE4\xBA\xBA"
         "\xE3\x80\x82}");
}

/* ICU breaks lines of Thai between words. */
static void test_thai(void **state)
{
    (void)state;
    if (!built_with_icu("document/cut")) return;
    /* "phom rak khun": I love you */
    const char *text = "\xE0\xB8\x9C\xE0\xB8\xA1\xE0\xB8\xA3\xE0\xB8\xB1\xE0\xB8\x81\xE0\xB8\x84"
                       "\xE0\xB8\xB8\xE0\xB8\x93";
    const rapt_document_options options = {.size = sizeof options, .max_length = 4};
    struct record r =
        translate_document(mark_sentences, (rapt_text){text, strlen(text)}, &options, ICU);
    assert_string_equal(r.text, "{\xE0\xB8\x9C\xE0\xB8\xA1} {\xE0\xB8\xA3\xE0\xB8\xB1\xE0\xB8\x81} "
                                "{\xE0\xB8\x84\xE0\xB8\xB8\xE0\xB8\x93}");
    free(r.text);
}

static void unwraps(const char *document, const char *wanted)
{
    const rapt_document_options options = {.size = sizeof options, .unwrap = 1};
    for (int rules = 0; rules < 2; rules++) {
        struct record r = translate_document(
            mark_sentences, (rapt_text){document, strlen(document)}, &options, rules);
        assert_string_equal(r.text, wanted);
        free(r.text);
    }
}

static void test_unwrap(void **state)
{
    (void)state;
    unwraps("One sen-\ntence on\n  three lines. Two\r\nlines.\n\nThree.\n",
            "{One sen-tence on three lines.} {Two lines.}\n\n{Three.}\n");
    unwraps("* item\n  goes on\n* item\n=====\ntitle\ntext",
            "* {item goes on}\n* {item}\n=====\n{title text}");
    unwraps("One.\nTwo.\n12\nThree\tfour\nfive", "{One.}\n{Two.}\n12\n{Three}\t{four five}");
    unwraps("\xE4\xBA\xBA\n\xE4\xBA\xBA\xE3\x80\x82\nend",
            "{\xE4\xBA\xBA\xE4\xBA\xBA\xE3\x80\x82}\n{end}");
    unwraps("bad \xFF\nline. Good\nline.", "bad \xFF\nline. {Good line.}");
}

/* ---- from and to scripts without spaces ---- */

static rapt_text becoming; /* what every sentence becomes */
static rapt_status replace(void *user, const rapt_text *texts, size_t count, rapt_take_fn *take,
                           void *taker, rapt_message *why)
{
    (void)user, (void)why, (void)texts;
    for (size_t i = 0; i < count; i++) take(taker, RAPT_OK, becoming, NULL);
    return RAPT_OK;
}

static void replaces(int max, const char *document, const char *by, const char *wanted)
{
    const rapt_document_options options = {.size = sizeof options, .max_length = max};
    becoming = (rapt_text){by, strlen(by)};
    struct record r =
        translate_document(replace, (rapt_text){document, strlen(document)}, &options, ICU);
    assert_string_equal(r.text, wanted);
    free(r.text);
}

static void test_blanks(void **state)
{
    (void)state;
    /* A blank is added between sentences that the document does not separate, ... */
    replaces(0, "\xE4\xBA\xBA\xE3\x80\x82\xE4\xBA\xBA\xE3\x80\x82", "Yes.", "Yes. Yes.");
    replaces(0, "\xE4\xBA\xBA\xE3\x80\x82\n\xE4\xBA\xBA\xE3\x80\x82", "Yes.", "Yes.\nYes.");
    /* ... removed within a sentence, and kept between sentences. */
    replaces(5, "Yes, no.", "\xE4\xBA\xBA", "\xE4\xBA\xBA\xE4\xBA\xBA");
    replaces(0, "Yes. No.", "\xE4\xBA\xBA\xE3\x80\x82",
             "\xE4\xBA\xBA\xE3\x80\x82 \xE4\xBA\xBA\xE3\x80\x82");
    replaces(5, "Yes, no.", "ja", "ja ja");
    replaces(3, "abcdef", "ja", "jaja");
    replaces(0, "\xE4\xBA\xBA\xE3\x80\x82\xE4\xBA\xBA\xE3\x80\x82", "", "");
}

/* ---- long text ---- */

static void test_long_line(void **state)
{
    (void)state;
    enum { SIZE = 1000000 };
    char *text = malloc(SIZE);
    assert_non_null(text);
    const rapt_document_options options = {.size = sizeof options, .max_length = 100};
    const char *const fills[] = {"x",    "word ", "A sentence, of words. ", "\xE4\xBA\xBA", "\xFF",
                                 "\x80", "a!"}; /* the last with an end by ICU at each mark */
    const size_t least[] = {10000, 10000, SIZE / 22, 3333};
    for (int i = 0; i < COUNT(fills); i++) {
        size_t length = strlen(fills[i]), size = SIZE / length * length;
        for (size_t at = 0; at < size; at += length) memcpy(text + at, fills[i], length);
        struct record r =
            translate_document(keep_sentences, (rapt_text){text, size}, &options, ICU);
        assert_true(r.size == size && memcmp(r.text, text, size) == 0);
        if (i < 4) assert_true(r.sentences >= least[i] && r.sentences < 2 * least[i]);
        free(r.text);
    }
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_clauses),   cmocka_unit_test(test_thai),
        cmocka_unit_test(test_unwrap),    cmocka_unit_test(test_blanks),
        cmocka_unit_test(test_long_line),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
