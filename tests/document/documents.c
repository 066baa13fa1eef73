/* documents.c - what comes back of a document, and what is not translated. */
#include "../counting.h"
#include "document_help.h"

/* ---- documents: laws for random documents, split by ICU and by rules: with an engine that keeps
   sentences, the document comes back byte for byte; the pieces tile it; and sentences are what a
   model may be given. ---- */

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

/* ---- kept: what is not translated: layout, marks, blanks, and sentences that cannot be. ---- */

static void test_layout(void **state)
{
    (void)state;
    becomes("en", "One.\nTwo.\r\n\r\n\n  Three.  Four.\t\tFive. \n\n",
            "{One.}\n{Two.}\r\n\r\n\n  {Three.}  {Four.}\t\t{Five.} \n\n");
    becomes("en", "\xEF\xBB\xBFOne.\rTwo.\fThree", "\xEF\xBB\xBF{One.}\r{Two.}\f{Three}");
    becomes("en", "\xC2\xA0One.\xC2\xA0Two.\xE3\x80\x80\n",
            "\xC2\xA0{One.}\xC2\xA0{Two.}\xE3\x80\x80\n");
    becomes("en", "-----\n*** 12:30 ***\n==> \xF0\x9F\x98\x80\n",
            "-----\n*** 12:30 ***\n==> \xF0\x9F\x98\x80\n");
    becomes("en", "  \n\t", "  \n\t");
}

static void test_list_marks(void **state)
{
    (void)state;
    becomes(
        "en", "- One\n  * Two\n+ Three\n1. Four\n12) Five\n(3) Six\na) Seven\n# Eight\n",
        "- {One}\n  * {Two}\n+ {Three}\n1. {Four}\n12) {Five}\n(3) {Six}\na) {Seven}\n# {Eight}\n");
    becomes("en", "> > Quoted\n\xE2\x80\xA2 Bullet\n\xE2\x80\x94 Dialog\n- 1. Both\n",
            "> > {Quoted}\n\xE2\x80\xA2 {Bullet}\n\xE2\x80\x94 {Dialog}\n- 1. {Both}\n");
    becomes("en", "-not\n1.5 not\n1984. Not\nA. Boy\nab) Not\n1)\n-",
            "{-not}\n{1.5 not}\n1984. {Not}\n{A. Boy}\n{ab) Not}\n1)\n-");
}

/* Sentences that are not UTF-8 are kept; their neighbors are translated. */
static void test_invalid(void **state)
{
    (void)state;
    const char text[] = "Good. B\xFF"
                        "ad. Good.\n\xC3";
    for (int rules = 0; rules < 2; rules++) {
        struct record r =
            translate_document(mark_sentences, (rapt_text){text, sizeof text - 1}, NULL, rules);
        assert_string_equal(r.text, "{Good.} B\xFF"
                                    "ad. {Good.}\n\xC3");
        assert_int_equal(r.bad, 1);
        free(r.text);
    }
}

/* ---- engines that fail or stop ---- */

static rapt_status refuse_second(void *user, const rapt_text *texts, size_t count,
                                 rapt_take_fn *take, void *taker, rapt_message *why)
{
    (void)user, (void)why;
    for (size_t i = 0; i < count; i++)
        take(taker, i == 1 ? RAPT_BAD_ARGUMENT : RAPT_OK, i == 1 ? (rapt_text){"", 0} : texts[i],
             NULL);
    return RAPT_OK;
}

static rapt_status break_lines(void *user, const rapt_text *texts, size_t count, rapt_take_fn *take,
                               void *taker, rapt_message *why)
{
    (void)user, (void)why, (void)texts;
    for (size_t i = 0; i < count; i++) take(taker, RAPT_OK, (rapt_text){"a\nb\tc\r\n", 7}, NULL);
    return RAPT_OK;
}

static rapt_status stop_early(void *user, const rapt_text *texts, size_t count, rapt_take_fn *take,
                              void *taker, rapt_message *why)
{
    (void)user, (void)why;
    if (count > 0) take(taker, RAPT_OK, texts[0], NULL);
    return RAPT_OK;
}

static rapt_status fail_at_once(void *user, const rapt_text *texts, size_t count,
                                rapt_take_fn *take, void *taker, rapt_message *why)
{
    (void)user, (void)texts, (void)count, (void)take, (void)taker;
    strcpy(why->text, "as expected");
    return RAPT_NO_FILE;
}

static const rapt_text three = {"One. Two. Three.", 16};

static void test_engines(void **state)
{
    (void)state;
    struct record r = translate_document(refuse_second, three, NULL, ICU);
    assert_string_equal(r.text, "One. Two. Three.");
    assert_int_equal(r.bad, 1);
    free(r.text);
    r = translate_document(break_lines, three, NULL, ICU);
    assert_string_equal(r.text, "a b c   a b c   a b c  ");
    free(r.text);
}

static struct record run(rapt_sentences_fn *translate, size_t stop_after, rapt_status wanted,
                         rapt_message *why)
{
    struct record r = {.document = three, .text = calloc(1, 1), .stop_after = stop_after};
    const rapt_document_engine engine = {.size = sizeof engine, .translate = translate};
    assert_int_equal(
        rapt_document_translate_with(&engine, three, NULL, record_piece, &r, NULL, why), wanted);
    free(r.text);
    return r;
}

static void test_stops(void **state)
{
    (void)state;
    rapt_message why = {""};
    assert_int_equal(run(stop_early, 0, RAPT_OK, &why).pieces, 1);
    assert_int_equal(run(keep_sentences, 2, RAPT_OK, &why).pieces, 2);
    assert_int_equal(run(keep_sentences, 1, RAPT_OK, &why).pieces, 1);
    assert_int_equal(run(fail_at_once, 0, RAPT_NO_FILE, &why).pieces, 0);
    assert_string_equal(why.text, "as expected");
}

static void refused(const rapt_document_options *options, const char *what)
{
    struct record r = {.document = three};
    const rapt_document_engine engine = {.size = sizeof engine, .translate = keep_sentences};
    rapt_message why = {""};
    assert_int_equal(
        rapt_document_translate_with(&engine, three, options, record_piece, &r, NULL, &why),
        RAPT_BAD_ARGUMENT);
    assert_non_null(strstr(why.text, what));
}

/* ---- failing allocations ---- */

/* The translations have line breaks, which are replaced in a copy. The engine goes on although it
   is asked to stop. */
static void test_memory(void **state)
{
    (void)state;
    const rapt_document_options options = {.size = sizeof options, .unwrap = 1};
    const rapt_document_engine engine = {.size = sizeof engine, .translate = break_lines};
    rapt_status status = RAPT_NO_MEMORY;
    int n = 0;
    for (; status == RAPT_NO_MEMORY; n++) {
        struct counting counting = {.fails = n};
        const rapt_allocator allocator = counting_allocator(&counting);
        struct record r = {.document = three, .text = calloc(1, 1)};
        rapt_message why = {""};
        status = rapt_document_translate_with(&engine, three, &options, record_piece, &r,
                                              &allocator, &why);
        assert_true(counting.living == 0 && (status == RAPT_OK) == (why.text[0] == 0));
        assert_true(status != RAPT_OK || (r.done == three.size && r.sentences == 3));
        free(r.text);
    }
    assert_true(status == RAPT_OK && n > 5);
}

static void test_arguments(void **state)
{
    (void)state;
    rapt_document_options options = {.size = sizeof options, .max_length = -1};
    rapt_document_engine engine = {.size = sizeof engine};
    struct record r = {.document = three};
    rapt_message why = {""};
    refused(&options, "max_length is -1");
    options = (rapt_document_options){.size = sizeof options, .format = (rapt_document_format)7};
    refused(&options, "format is 7");
    options.size = 0;
    refused(&options, "set size");
    assert_int_equal(
        rapt_document_translate_with(&engine, three, NULL, record_piece, &r, NULL, &why),
        RAPT_BAD_ARGUMENT);
    assert_non_null(strstr(why.text, "engine.translate is NULL"));
    assert_int_equal(r.pieces, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_identity),   cmocka_unit_test(test_kept),
        cmocka_unit_test(test_windows),    cmocka_unit_test(test_layout),
        cmocka_unit_test(test_list_marks), cmocka_unit_test(test_invalid),
        cmocka_unit_test(test_engines),    cmocka_unit_test(test_stops),
        cmocka_unit_test(test_arguments),  cmocka_unit_test(test_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
