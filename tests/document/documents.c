/* documents.c - laws for random documents, split by ICU and by rules: with an engine that keeps
   sentences, the document comes back byte for byte; the pieces tile it; and sentences are what a
   model may be given. */
#include "document_help.h"

enum { DOCUMENTS = 3000, FRAGMENTS = 60 };

static const char *const fragments[] = {
    "A",
    "the",
    "Dr",
    "Smith",
    "z.B",
    "U.S",
    "12",
    "3.5",
    ".",
    "!",
    "?",
    ",",
    ";",
    ":",
    "...",
    "\xE2\x80\xA6",
    " ",
    " ",
    " ",
    "  ",
    "\t",
    "\n",
    "\n\n",
    "\r\n",
    "\r",
    "\f",
    "\v",
    "- ",
    "* ",
    "1. ",
    "a) ",
    "> ",
    "# ",
    "(",
    ")",
    "\"",
    "'",
    "\xC2\xAB",
    "\xC2\xBB",
    "\xE2\x80\x9C",
    "\xC3\xA9t\xC3\xA9",
    "\xC3\x89",
    "\xD0\x96",
    "\xE4\xBA\xBA",
    "\xE3\x81\x84",
    "\xE3\x80\x82",
    "\xEF\xBC\x9F",
    "\xE0\xB8\x9C\xE0\xB8\xA1",
    "\xE0\xA4\x95",
    "\xE0\xA5\xA4",
    "\xD8\xA7",
    "\xD8\x9F",
    "\xF0\x9F\x98\x80",
    "\xC2\xA0",
    "\xE3\x80\x80",
    "\xE2\x80\xA8",
    "\xC2\x85",
    "\xE2\x80\x8B",
    "\xEF\xBB\xBF",
    "\xFF",
    "\xC3",
    "\x80",
    "-",
    "http://a.b/c?d=e",
    "overlylongword",
    "\xCC\x81",
};

static rapt_text make_document(uint64_t *state, char bytes[FRAGMENTS * 16])
{
    size_t size = 0, count = draw(state) % (FRAGMENTS + 1);
    for (size_t i = 0; i < count; i++) {
        const char *fragment = fragments[draw(state) % COUNT(fragments)];
        memcpy(bytes + size, fragment, strlen(fragment));
        size += strlen(fragment);
    }
    return (rapt_text){bytes, size};
}

/* ---- what a sentence may be ---- */

struct law {
    size_t max; /* characters; 0: any */
    bool unwrap;
};
static struct law law; /* of the document that is translated */

static size_t characters_of(rapt_text text)
{
    size_t count = 0;
    for (size_t at = 0; at < text.size; count++) rapt__utf8_next(text.bytes, text.size, &at);
    return count;
}

static void check_sentence(rapt_text text)
{
    size_t start, at = 0;
    assert_true(text.size > 0 && rapt_utf8_valid(text) == text.size);
    assert_false(rapt__utf8_space(rapt__utf8_next(text.bytes, text.size, &at)));
    assert_false(rapt__utf8_space(rapt__character_before(text, text.size, &start)));
    assert_true(rapt__has_letters(text));
    for (size_t i = 0; i < text.size; i++) {
        bool layout = text.bytes[i] >= '\t' && text.bytes[i] <= '\r';
        assert_false(layout && (!law.unwrap || text.bytes[i] != '\t'));
    }
    if (law.max > 0) assert_true(characters_of(text) <= law.max);
}

static rapt_status check_sentences(void *user, const rapt_text *texts, size_t count,
                                   rapt_take_fn *take, void *taker, rapt_message *why)
{
    for (size_t i = 0; i < count; i++) check_sentence(texts[i]);
    return keep_sentences(user, texts, count, take, taker, why);
}

/* ---- the laws ---- */

static rapt_document_options drawn_options(uint64_t *state)
{
    static const char *const languages[] = {NULL, "en", "de", "zh"};
    static const int lengths[] = {0, 0, 1, 3, 8, 20};
    rapt_document_options options = {.size = sizeof options};
    options.language = languages[draw(state) % COUNT(languages)];
    options.max_length = lengths[draw(state) % COUNT(lengths)];
    options.unwrap = draw(state) % 3 == 0;
    options.unprotected = draw(state) % 2 == 0;
    law = (struct law){options.unprotected ? (size_t)options.max_length : 0, options.unwrap != 0};
    return options;
}

static void test_identity(void **state)
{
    (void)state;
    uint64_t random = 0x9E3779B97F4A7C15u;
    size_t sentences = 0;
    for (int i = 0; i < DOCUMENTS; i++) {
        char bytes[FRAGMENTS * 16];
        const rapt_text document = make_document(&random, bytes);
        const rapt_document_options options = drawn_options(&random);
        char *exact = malloc(document.size + (document.size == 0));
        assert_non_null(exact);
        memcpy(exact, document.bytes, document.size);
        const rapt_text copy = {exact, document.size};
        struct record r = translate_document(check_sentences, copy, &options, i % 2);
        assert_true(r.kept_equal);
        if (!options.unwrap)
            assert_true(r.size == document.size && memcmp(r.text, bytes, r.size) == 0);
        assert_true(r.size <= document.size);
        sentences += r.sentences;
        free(r.text);
        free(exact);
    }
    assert_true(sentences > 4 * DOCUMENTS); /* the documents are worth a test */
}

/* Kept bytes do not change, whatever sentences become, but for blanks between them. */
static void test_kept(void **state)
{
    (void)state;
    uint64_t random = 7;
    for (int i = 0; i < DOCUMENTS / 2; i++) {
        char bytes[FRAGMENTS * 16];
        const rapt_text document = make_document(&random, bytes);
        const rapt_document_options options = drawn_options(&random);
        struct record kept = translate_document(keep_sentences, document, &options, i % 2);
        struct record marked = translate_document(mark_sentences, document, &options, i % 2);
        assert_int_equal(kept.sentences, marked.sentences);
        assert_true(marked.kept_but_blanks);
        free(kept.text);
        free(marked.text);
    }
}

/* A document of many windows is translated like its lines. */
static void test_windows(void **state)
{
    (void)state;
    enum { LINES = 5000 };
    static const char line[] = "One sentence. Another one!\n",
                      wanted[] = "{One sentence.} {Another one!}\n";
    size_t size = LINES * (sizeof line - 1);
    char *text = malloc(size);
    assert_non_null(text);
    for (size_t at = 0; at < size; at += sizeof line - 1) memcpy(text + at, line, sizeof line - 1);
    struct record r = translate_document(mark_sentences, (rapt_text){text, size}, NULL, ICU);
    assert_int_equal(r.sentences, 2 * LINES);
    assert_int_equal(r.size, LINES * (sizeof wanted - 1));
    for (size_t at = 0; at < r.size; at += sizeof wanted - 1)
        assert_memory_equal(r.text + at, wanted, sizeof wanted - 1);
    free(r.text);
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_identity),
        cmocka_unit_test(test_kept),
        cmocka_unit_test(test_windows),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
