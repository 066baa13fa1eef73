/* unspelled.c - protected text that the model cannot write: what the model sees in its place, and
   that it comes back. */
#include "markup_help.h"

/* An engine that changes the order of words and can write only ASCII letters, digits and blanks. */
struct limited {
    struct reordering how; /* must come first */
    char seen[400];        /* the sentences, with | after each */
};

static int spells(void *user, rapt_text text)
{
    (void)user;
    for (size_t i = 0; i < text.size; i++) {
        const char c = text.bytes[i], low = (char)(c | 0x20);
        if (c != ' ' && !(c >= '0' && c <= '9') && !(low >= 'a' && low <= 'z')) return 0;
    }
    return 1;
}

static rapt_status look(void *user, const rapt_text *texts, size_t count, rapt_take_fn *take,
                        void *taker, rapt_message *why)
{
    struct limited *limited = user;
    for (size_t i = 0; i < count; i++) {
        assert_true(strlen(limited->seen) + texts[i].size + 2 < sizeof limited->seen);
        strncat(limited->seen, texts[i].bytes, texts[i].size);
        strcat(limited->seen, "|");
    }
    return reorder_sentences(user, texts, count, take, taker, why);
}

/* Checks what the model sees of a document, and what the document becomes. */
static void shows(rapt_document_format format, enum order order, const char *document,
                  const char *seen, const char *wanted)
{
    struct limited limited = {{order, false}, ""};
    const rapt_document_engine engine = {
        .size = sizeof engine, .translate = look, .user = &limited, .spells = spells};
    const rapt_document_options options = {.size = sizeof options, .format = format};
    const rapt_text text = {document, strlen(document)};
    struct record r = {.document = text};
    rapt_message why = {""};
    if (rapt__document_translate(&engine, text, &options, RULES, NULL, record_piece, &r, NULL,
                                 &why))
        fail_msg("%s", why.text);
    assert_string_equal(limited.seen, seen);
    assert_string_equal(r.text, wanted);
    free(r.text);
}

static void test_names(void **state)
{
    (void)state;
    const rapt_document_format text = RAPT_DOCUMENT_FORMAT_TEXT, html = RAPT_DOCUMENT_FORMAT_HTML;
    shows(text, REVERSED, "use {name} now", "use X1 now|", "NOW {name} USE");
    shows(text, REVERSED, "mail a.b@c.org", "mail X1|", "a.b@c.org MAIL");
    shows(text, REVERSED, "good \xF0\x9F\x98\x80 day", "good X1 day|", "DAY \xF0\x9F\x98\x80 GOOD");
    shows(text, REVERSED, "{a} or {b}", "X1 or X2|", "{b} OR {a}");
    shows(text, REVERSED, "X1 or {b} or {b}", "X1 or X2 or X3|", "{b} OR {b} OR X1");
    shows(text, REVERSED, "%s is %d", "X1 is X2|", "%s IS %d"); /* these keep their order */
    shows(html, REVERSED, "<p>run <code>a_b</code> &amp; {x} now", "run X1 & X2 now|",
          "<p>NOW {x} &amp; <code>a_b</code> RUN");
}

/* Text that can be written, perhaps with other white space, is shown. */
static void test_shown(void **state)
{
    (void)state;
    const rapt_document_format text = RAPT_DOCUMENT_FORMAT_TEXT;
    shows(text, REVERSED, "it has 5kg {x}", "it has 5kg X1|", "{x} 5kg HAS IT");
    shows(text, IN_ORDER, "it has 5\xC2\xA0kg", "it has 5 kg|", "IT HAS 5\xC2\xA0kg");
    shows(text, REVERSED, "go{name} on", "go{name} on|", "ON go{name}"); /* within a word */
    shows(text, REVERSED, "{a} {b}", "", "{a} {b}");                     /* without other letters */
}

/* The model sees a name in place of a long address, and all of it comes back. */
static void test_long(void **state)
{
    (void)state;
    char document[500], wanted[500], url[301];
    memset(url, 'x', sizeof url);
    memcpy(url, "http://a.org/", 13);
    url[sizeof url - 1] = 0;
    snprintf(document, sizeof document, "see %s now", url);
    snprintf(wanted, sizeof wanted, "NOW %s SEE", url);
    shows(RAPT_DOCUMENT_FORMAT_TEXT, REVERSED, document, "see X1 now|", wanted);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_names),
        cmocka_unit_test(test_shown),
        cmocka_unit_test(test_long),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
