/* recase.c - sentences in capitals and in title case: what the model reads, and what becomes of its
   translation. Expectations are written by hand. */
#include "../counting.h"
#include "document_help.h"
#include "reorder.h"

/* An engine that keeps what it reads. It answers with the words in reverse order and an alignment,
   or with a given answer without one. */
struct reversing {
    char read[2000]; /* sentences, each followed by | */
    const char *answer;
};

static int take_reversed(rapt_text text, size_t index, rapt_take_fn *take, void *taker)
{
    static struct word_list source, target;
    char bytes[1000];
    size_t size = 0;
    assert_true(text.size < sizeof bytes);
    list_words(&source, text);
    target.count = source.count;
    const int words = source.count;
    float *alignment = calloc((size_t)(words + 1) * (size_t)(words + 1), sizeof *alignment);
    assert_non_null(alignment);
    for (int i = 0; i < words; i++) {
        const rapt_span word = source.spans[words - 1 - i];
        if (i > 0) bytes[size++] = ' ';
        memcpy(bytes + size, text.bytes + word.begin, word.end - word.begin);
        target.spans[i] = (rapt_span){size, size + word.end - word.begin};
        size = target.spans[i].end;
        alignment[i * (words + 1) + words - 1 - i] = 1;
    }
    const rapt_translation t = {.sentence = index,
                                .text = bytes,
                                .size = size,
                                .source_count = words,
                                .target_count = words,
                                .alignment = alignment,
                                .source_spans = source.spans,
                                .target_spans = target.spans};
    const int stop = take(taker, RAPT_OK, (rapt_text){bytes, size}, &t);
    free(alignment);
    return stop;
}

static rapt_status reverse(void *user, const rapt_text *texts, size_t count, rapt_take_fn *take,
                           void *taker, rapt_message *why)
{
    struct reversing *r = user;
    int stop = 0;
    (void)why;
    for (size_t i = 0; i < count && !stop; i++) {
        const size_t used = strlen(r->read);
        snprintf(r->read + used, sizeof r->read - used, "%.*s|", (int)texts[i].size,
                 texts[i].bytes);
        const rapt_text answer = {r->answer, r->answer ? strlen(r->answer) : 0};
        stop = answer.bytes ? take(taker, RAPT_OK, answer, NULL)
                            : take_reversed(texts[i], i, take, taker);
    }
    return RAPT_OK;
}

/* Checks what the model reads of a document, and what the document becomes, with an engine that
   measures sentences with `fit`. */
static void check_with(rapt_fit_fn *fit, const rapt_document_options *options, const char *answer,
                       const char *document, const char *read, const char *wanted)
{
    struct reversing r = {.answer = answer};
    struct record seen = {.document = {document, strlen(document)}, .text = calloc(1, 1)};
    const rapt_document_engine engine = {
        .size = sizeof engine, .translate = reverse, .user = &r, .fit = fit};
    rapt_message why = {""};
    if (rapt__document_translate(&engine, seen.document, options, RULES, NULL, record_piece, &seen,
                                 NULL, &why))
        fail_msg("%s", why.text);
    assert_string_equal(r.read, read);
    assert_string_equal(seen.text, wanted);
    free(seen.text);
}

static void check(const rapt_document_options *options, const char *answer, const char *document,
                  const char *read, const char *wanted)
{
    check_with(NULL, options, answer, document, read, wanted);
}

static void check_text(rapt_document_recase recase, const char *language, const char *document,
                       const char *read, const char *wanted)
{
    const rapt_document_options options = {
        .size = sizeof options, .recase = recase, .language = language};
    check(&options, NULL, document, read, wanted);
}

/* ---- capitals ---- */

static void capitals(const char *language, const char *document, const char *read,
                     const char *wanted)
{
    check_text(RAPT_DOCUMENT_RECASE_CAPITALS, language, document, read, wanted);
}

static void test_capitals(void **state)
{
    (void)state;
    capitals(NULL, "DO NOT ENTER", "Do not enter|", "ENTER NOT DO");
    capitals(NULL, "TODAY I AM TIRED", "Today I am tired|", "TIRED AM I TODAY");
    capitals("en", "NOW I'M TIRED, I", "Now I'm tired, I|", "I TIRED, I'M NOW");
    capitals("pl", "ONA I ONI TUTAJ", "Ona i oni tutaj|", "TUTAJ ONI I ONA");
    capitals(NULL, "(\xC3\x89T\xC3\x89 FROID)", "(\xC3\x89t\xC3\xA9 froid)|",
             "FROID) (\xC3\x89T\xC3\x89");
    capitals(NULL, "3 DOGS BARKED", "3 dogs barked|", "BARKED DOGS 3");
    /* a final sigma */
    capitals("el",
             "\xCE\x9F \xCE\xA3\xCE\x9A\xCE\xA5\xCE\x9B\xCE\x9F\xCE\xA3 \xCE\x95\xCE\x94\xCE\xA9",
             "\xCE\x9F \xCF\x83\xCE\xBA\xCF\x85\xCE\xBB\xCE\xBF\xCF\x82 \xCE\xB5\xCE\xB4\xCF\x89|",
             "\xCE\x95\xCE\x94\xCE\xA9 \xCE\xA3\xCE\x9A\xCE\xA5\xCE\x9B\xCE\x9F\xCE\xA3 \xCE\x9F");
    /* at most a tenth of the letters is small */
    capitals(NULL, "SHORT IPHONEs", "Short iphones|", "IPHONES SHORT");
    capitals(NULL, "SHORT iPHONEs", "SHORT iPHONEs|", "iPHONEs SHORT");
}

/* Sentences that are not in capitals, and those that may be abbreviations. */
static void test_others(void **state)
{
    static const char *const others[] = {"STOP",
                                         "USA UK",
                                         "UK/US AND EU",
                                         "GO ON",
                                         "NASA 3000 5",
                                         "Do it NOW",
                                         "STDEV.S",
                                         "=ISNUMBER(VLOOKUP(X))",
                                         "FALSE C1",
                                         "WARNING: Do not enter",
                                         "Do Not Enter This Room"};
    (void)state;
    for (int i = 0; i < COUNT(others); i++) {
        char read[100], wanted[100] = "";
        struct word_list words;
        snprintf(read, sizeof read, "%s|", others[i]);
        list_words(&words, (rapt_text){others[i], strlen(others[i])});
        for (int w = words.count; w-- > 0;) {
            const rapt_span span = words.spans[w];
            snprintf(wanted + strlen(wanted), sizeof wanted - strlen(wanted), "%.*s%s",
                     (int)(span.end - span.begin), others[i] + span.begin, w ? " " : "");
        }
        capitals(NULL, others[i], read, wanted);
    }
    check_text(RAPT_DOCUMENT_RECASE_NONE, NULL, "DO NOT ENTER", "DO NOT ENTER|", "ENTER NOT DO");
}

/* I and i are not a pair in Turkish, and do not have the same number of bytes as their
   counterparts, so that marks move. */
static void test_turkish(void **state)
{
    (void)state;
    const rapt_document_options html = {
        .size = sizeof html, .format = RAPT_DOCUMENT_FORMAT_HTML, .language = "tr-TR"};
    capitals("tr", "I\xC5\x9EIK \xC4\xB0Y\xC4\xB0", "I\xC5\x9F\xC4\xB1k iyi|",
             "\xC4\xB0Y\xC4\xB0 I\xC5\x9EIK");
    check(&html, NULL, "<p>I\xC5\x9EIK <b>I\xC5\x9EIK</b> <i>\xC4\xB0Y\xC4\xB0</i></p>",
          "I\xC5\x9F\xC4\xB1k \xC4\xB1\xC5\x9F\xC4\xB1k iyi|",
          "<p><i>\xC4\xB0Y\xC4\xB0</i> <b>I\xC5\x9EIK</b> I\xC5\x9EIK</p>");
    check(&html, "\xC4\xB1s\xC4\xB1 i\xC3\xA7in", "<p>FOR THE HEAT</p>", "For the heat|",
          "<p>ISI \xC4\xB0\xC3\x87\xC4\xB0N</p>");
}

static void test_answers(void **state)
{
    (void)state;
    const rapt_document_options options = {.size = sizeof options};
    check(&options,
          "Stra\xC3\x9F"
          "e",
          "THIS STREET", "This street|", "STRASSE");
    check(&options, "\xE1\x83\x98\xE1\x83\x90", "GEORGIAN WORDS", "Georgian words|",
          "\xE1\x83\x98\xE1\x83\x90");
    check(&options, "\xE3\x81\x82 ok", "SOME KANA", "Some kana|", "\xE3\x81\x82 OK");
}

/* ---- protected text, markup, glossaries, cut sentences ---- */

static void test_protected(void **state)
{
    (void)state;
    const rapt_document_options html = {.size = sizeof html, .format = RAPT_DOCUMENT_FORMAT_HTML};
    capitals(NULL, "LOOK http://a.org/B AND {Name} NOW", "Look http://a.org/B and {Name} now|",
             "NOW {Name} AND http://a.org/B LOOK");
    capitals(NULL, "http://a.org/B IS DOWN", "http://a.org/B is down|", "DOWN IS http://a.org/B");
    check(&html, NULL, "<p>DO <b>NOT</b> ENTER</p>", "Do not enter|", "<p>ENTER <b>NOT</b> DO</p>");
    check(&html, NULL, "<p>PRESS THE <code>ok</code> BUTTON</p>", "Press the ok button|",
          "<p>BUTTON <code>ok</code> THE PRESS</p>");
    check(&html, NULL, "<p>FISH &amp; CHIPS</p>", "Fish & chips|", "<p>CHIPS &amp; FISH</p>");
}

static void test_glossary(void **state)
{
    static const char entries[] = "New York\tx\nTom\tx\ndog house\tx\nIT\tx\texact\nI/O PORT\tx\n"
                                  "Red {N} Hat\tx\n";
    (void)state;
    rapt_glossary *g = NULL;
    assert_int_equal(rapt_glossary_create(&g, (rapt_text){entries, sizeof entries - 1}, NULL, NULL),
                     RAPT_OK);
    const rapt_document_options options = {.size = sizeof options, .glossary = g};
    const rapt_document_options bare = {.size = sizeof bare, .glossary = g, .unprotected = 1};
    const rapt_document_options html = {
        .size = sizeof html, .glossary = g, .format = RAPT_DOCUMENT_FORMAT_HTML};
    check(&options, NULL, "WHERE IS TOM IN NEW YORK", "Where is Tom in New York|",
          "YORK NEW IN TOM IS WHERE");
    check(&options, NULL, "DOG HOUSE AND IT TEAM", "Dog house and IT team|",
          "TEAM IT AND HOUSE DOG");
    check(&options, NULL, "THE I/O PORT", "The I/O PORT|", "PORT I/O THE");
    /* Terms may contain markup, but not protected text. */
    check(&html, NULL, "<p>IN NEW <b>YORK</b></p>", "In New York|", "<p><b>YORK</b> NEW IN</p>");
    check(&options, NULL, "THIS RED {N} HAT", "This red {N} hat|", "HAT {N} RED THIS");
    check(&options, NULL, "HERE TOM HAS {N}", "Here Tom has {N}|", "{N} HAS TOM HERE");
    check(&bare, NULL, "THIS RED {N} HAT", "This Red {N} Hat|", "HAT {N} RED THIS");
    rapt_glossary_free(g);
}

static void test_cut(void **state)
{
    (void)state;
    const rapt_document_options options = {.size = sizeof options, .max_length = 15};
    const rapt_document_options shorter = {.size = sizeof shorter, .max_length = 10};
    check(&options, NULL, "THESE CATS SEE, AND THOSE DOGS", "These cats see,|and those dogs|",
          "SEE, CATS THESE DOGS THOSE AND");
    /* a character of Turkish becomes two, and then the sentence is too long */
    check(&shorter, NULL, "THEM \xC4\xB0YILE", "THEM \xC4\xB0YILE|", "\xC4\xB0YILE THEM");
}

/* Every capital and every space is a token, as with vocabularies that know few words in capitals.
 */
static size_t fit_capitals(void *user, rapt_text text, size_t max)
{
    size_t size = 0;
    (void)user;
    for (size_t tokens = 0; size < text.size; size++) {
        const char c = text.bytes[size];
        tokens += c == ' ' || (c >= 'A' && c <= 'Z');
        if (tokens > max) break;
    }
    return size;
}

/* The length of a sentence is that of what the model reads. */
static void test_length(void **state)
{
    (void)state;
    const rapt_document_options eight = {.size = sizeof eight, .max_length = 8};
    const rapt_document_options html = {
        .size = sizeof html, .max_length = 8, .format = RAPT_DOCUMENT_FORMAT_HTML};
    const rapt_document_options usual = {
        .size = sizeof usual, .max_length = 8, .recase = RAPT_DOCUMENT_RECASE_NONE};
    check_with(fit_capitals, &eight, NULL, "THE BIG DOG SLEEPS IN THE OLD HOUSE",
               "The big dog sleeps in the old house|", "HOUSE OLD THE IN SLEEPS DOG BIG THE");
    check_with(fit_capitals, &eight, NULL, "SEE THE BIG BEAR, WHO SLEEPS IN THE OLD HOUSE",
               "See the big bear,|who sleeps in the old house|",
               "BEAR, BIG THE SEE HOUSE OLD THE IN SLEEPS WHO");
    check_with(fit_capitals, &usual, NULL, "THE BIG DOG SLEEPS", "THE BIG|DOG|SLEEPS|",
               "BIG THE DOG SLEEPS");
    /* protected text and code remain in capitals, and count as such */
    check_with(fit_capitals, &eight, NULL, "THE BIG DOG SLEEPS AT HTTP://A.ORG AT NIGHT",
               "The big dog sleeps at|at night|", "AT SLEEPS DOG BIG THE HTTP://A.ORG NIGHT AT");
    check_with(fit_capitals, &html, NULL, "<p>THE <b>BIG</b> DOG SLEEPS IN <code>C</code> NOW</p>",
               "The big dog sleeps in C now|",
               "<p>NOW <code>C</code> IN SLEEPS DOG <b>BIG</b> THE</p>");
}

/* ---- titles ---- */

static void titles(const char *language, const char *document, const char *read, const char *wanted)
{
    check_text(RAPT_DOCUMENT_RECASE_TITLES, language, document, read, wanted);
}

static void test_titles(void **state)
{
    (void)state;
    titles(NULL, "The Big Dog Sleeps Here", "The big dog sleeps here|", "Here Sleeps Dog Big The");
    titles("en", "The Lord of the Rings", "The lord of the rings|", "Rings the of Lord The");
    titles("en", "Now I See The Cat", "Now I see the cat|", "Cat The See I Now");
    titles(NULL, "The NASA Rocket Is Here", "The NASA rocket is here|", "Here Is Rocket NASA The");
    titles(NULL, "A Well-known Text-Editor Is Here", "A well-known text-editor is here|",
           "Here Is Text-editor Well-known A");
    titles("en", "The Lord under the Rings", "The Lord under the Rings|",
           "Rings the under Lord The");
    titles(NULL, "The Lord of the Rings", "The Lord of the Rings|", "Rings the of Lord The");
    titles("de", "Der Hund ist Tom Krause", "Der Hund ist Tom Krause|", "Krause Tom ist Hund Der");
    titles(NULL, "Joe Smith, Jr.", "Joe Smith, Jr.|", "Jr. Smith, Joe");
    titles(NULL, "DO NOT ENTER", "Do not enter|", "ENTER NOT DO");
}

/* ---- memory and arguments ---- */

static void check_memory(int max, const char *wanted)
{
    static const rapt_text text = {"LOOK http://a.org/B AND. The Big Dog Sleeps Here", 48};
    const rapt_document_options options = {
        .size = sizeof options, .recase = RAPT_DOCUMENT_RECASE_TITLES, .max_length = max};
    rapt_status status = RAPT_NO_MEMORY;
    int n = 0;
    for (; status == RAPT_NO_MEMORY; n++) {
        struct counting counting = {.fails = n};
        struct reversing r = {.read = ""};
        const rapt_allocator allocator = counting_allocator(&counting);
        const rapt_document_engine engine = {
            .size = sizeof engine, .translate = reverse, .user = &r};
        struct record seen = {.document = text, .text = calloc(1, 1)};
        rapt_message why = {""};
        status = rapt_document_translate_with(&engine, text, &options, record_piece, &seen,
                                              &allocator, &why);
        assert_true(counting.living == 0 && (status == RAPT_OK) == (why.text[0] == 0));
        if (status == RAPT_OK) assert_string_equal(seen.text, wanted);
        free(seen.text);
    }
    assert_true(status == RAPT_OK && n > 10);
}

static void test_memory(void **state)
{
    (void)state;
    check_memory(24, "AND. http://a.org/B LOOK Here Sleeps Dog Big The");
    check_memory(20, "http://a.org/B LOOK AND. Sleeps Dog Big The Here");
}

static void test_arguments(void **state)
{
    (void)state;
    const rapt_document_options options = {.size = sizeof options,
                                           .recase = (rapt_document_recase)3};
    const rapt_document_engine engine = {.size = sizeof engine, .translate = keep_sentences};
    struct record r = {.document = {"A", 1}};
    rapt_message why = {""};
    assert_int_equal(
        rapt_document_translate_with(&engine, r.document, &options, record_piece, &r, NULL, &why),
        RAPT_BAD_ARGUMENT);
    assert_non_null(strstr(why.text, "recase is 3"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_capitals),  cmocka_unit_test(test_others),
        cmocka_unit_test(test_turkish),   cmocka_unit_test(test_answers),
        cmocka_unit_test(test_protected), cmocka_unit_test(test_glossary),
        cmocka_unit_test(test_cut),       cmocka_unit_test(test_length),
        cmocka_unit_test(test_titles),    cmocka_unit_test(test_memory),
        cmocka_unit_test(test_arguments),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
