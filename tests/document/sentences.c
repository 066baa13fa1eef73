/* sentences.c - where sentences end, and where they are cut. */
#define _GNU_SOURCE /* getline */

#include "document_help.h"
#include "real_text.h"

/* ---- sentences: where sentences end: known texts in several languages, by ICU and by rules. ----
 */

static void test_marks(void **state)
{
    (void)state;
    becomes("en", "I am tired. Where is Tom? I like dogs!",
            "{I am tired.} {Where is Tom?} {I like dogs!}");
    becomes("en", "\"Go!\" he said. (He left.) \"Why?\" Nobody knew.",
            "{\"Go!\" he said.} {(He left.)} {\"Why?\"} {Nobody knew.}");
    becomes("en", "It costs 3.14 dollars. 5 men paid. See a.b.com/c?d=e now.",
            "{It costs 3.14 dollars.} {5 men paid.} {See a.b.com/c?d=e now.}");
    becomes("en", "Wait... what? Well\xE2\x80\xA6 yes. No\xE2\x80\xA6 Never!",
            "{Wait... what?} {Well\xE2\x80\xA6 yes.} {No\xE2\x80\xA6} {Never!}");
    becomes("en", "Really?! - Yes. Great!Thanks.", "{Really?! - Yes.} {Great!Thanks.}");
    becomes("en", "One\xE2\x80\xA9Two", "{One}\xE2\x80\xA9{Two}");
    becomes("en", "", "");
    becomes("en", ".", ".");
    becomes("en", "?! No letters. 12.", "?! {No letters.} 12.");
}

static void test_abbreviations(void **state)
{
    (void)state;
    becomes(
        "en", "Dr. Smith met St. Paul, Gen. Lee and Mr. J. R. Jones Jr. in the U.S. Army. He left.",
        "{Dr. Smith met St. Paul, Gen. Lee and Mr. J. R. Jones Jr. in the U.S. Army.} {He left.}");
    becomes("en", "He lives in the U.S. She left at 5 p.m. Tom stayed.",
            "{He lives in the U.S.} {She left at 5 p.m.} {Tom stayed.}");
    becomes("en", "See No. 5 on p. 7. No. Jan. 5 is late, e.g. Monday.",
            "{See No. 5 on p. 7.} {No.} {Jan. 5 is late, e.g. Monday.}");
    becomes("en-GB", "Neither can I. Tom isn't. Mary won't.",
            "{Neither can I.} {Tom isn't.} {Mary won't.}");
    becomes("de",
            "Am 14. Februar kam z.B. Hr. M\xC3\xBCller. Er blieb. Karl XII. Von Nr. 3 usw. Das ist "
            "alles.",
            "{Am 14. Februar kam z.B. Hr. M\xC3\xBCller.} {Er blieb.} {Karl XII.} {Von Nr. 3 usw.} "
            "{Das ist alles.}");
    becomes("fr", "M. Dupont et Mme. Durand. Il part.", "{M. Dupont et Mme. Durand.} {Il part.}");
    becomes("ru",
            "\xD0\x93. \xD0\x98\xD0\xB2\xD0\xB0\xD0\xBD\xD0\xBE\xD0\xB2. "
            "\xD0\x9E\xD0\xBD \xD1\x82\xD1\x83\xD1\x82.",
            "{\xD0\x93. \xD0\x98\xD0\xB2\xD0\xB0\xD0\xBD\xD0\xBE\xD0\xB2.} "
            "{\xD0\x9E\xD0\xBD \xD1\x82\xD1\x83\xD1\x82.}");
    becomes(NULL, "Dr. Who came. I changed my mind. He left. Es war z.B. Montag.",
            "{Dr. Who came.} {I changed my mind.} {He left.} {Es war z.B. Montag.}");
    becomes("xx", "Mr. X. He left.", "{Mr. X.} {He left.}");
    becomes("en", "MR. SMITH MET DR. LEE. THE SHOP IN THE U.S. THEY LEFT. SEE NO. 5 IN FIG. 7. NO.",
            "{MR. SMITH MET DR. LEE.} {THE SHOP IN THE U.S.} {THEY LEFT.} {SEE NO. 5 IN FIG. 7.} "
            "{NO.}");
    becomes("de", "HR. M\xC3\x9CLLER KAM AM 14. MAI USW. ES REGNETE.",
            "{HR. M\xC3\x9CLLER KAM AM 14. MAI USW.} {ES REGNETE.}");
}

static void test_unspaced(void **state)
{
    (void)state;
    /* The braces are of a script with spaces, so a blank is added. */
    becomes("ja", "\xE3\x81\x84\xE3\x80\x82\xE3\x82\x8D\xEF\xBC\x9F\xE3\x81\xAF\xE3\x80\x82",
            "{\xE3\x81\x84\xE3\x80\x82} {\xE3\x82\x8D\xEF\xBC\x9F} {\xE3\x81\xAF\xE3\x80\x82}");
    /* A closing bracket belongs to the sentence that ends within it. */
    becomes("zh", "\xE3\x80\x8C\xE5\xA5\xBD\xE3\x80\x82\xE3\x80\x8D\xE4\xBA\xBA\xE3\x80\x82",
            "{\xE3\x80\x8C\xE5\xA5\xBD\xE3\x80\x82\xE3\x80\x8D} {\xE4\xBA\xBA\xE3\x80\x82}");
    /* A quotation that follows a sentence directly begins with its quotation mark. */
    becomes("ja",
            "\xE3\x81\xA9\xE3\x81\x93\xEF\xBC\x9F\xE3\x80\x8C\xE3\x81\xAF\xE3\x81\x84\xE3\x80\x82"
            "\xE3\x80\x8D\xE3\x81\xA8\xE8\xA8\x80\xE3\x81\x86\xE3\x80\x82",
            "{\xE3\x81\xA9\xE3\x81\x93\xEF\xBC\x9F} "
            "{\xE3\x80\x8C\xE3\x81\xAF\xE3\x81\x84\xE3\x80\x82\xE3\x80\x8D} "
            "{\xE3\x81\xA8\xE8\xA8\x80\xE3\x81\x86\xE3\x80\x82}");
    becomes("zh",
            "\xE9\x97\xAE\xEF\xBC\x9A\xE2\x80\x9C\xE5\xA5\xBD\xE5\x90\x97\xEF\xBC\x9F\xE2\x80\x9D"
            "\xE2\x80\x9C\xE5\xBE\x88\xE5\xA5\xBD\xE3\x80\x82\xE2\x80\x9D",
            "{\xE9\x97\xAE\xEF\xBC\x9A\xE2\x80\x9C\xE5\xA5\xBD\xE5\x90\x97\xEF\xBC\x9F\xE2\x80\x9D}"
            " {\xE2\x80\x9C\xE5\xBE\x88\xE5\xA5\xBD\xE3\x80\x82\xE2\x80\x9D}");
    /* The full-width full stop also separates digits. */
    becomes("ja",
            "\xE4\xBA\xBA\xEF\xBC\x8E\xE4\xBA\xBA\xEF\xBC\x8E"
            "3\xEF\xBC\x8E"
            "5",
            "{\xE4\xBA\xBA\xEF\xBC\x8E} {\xE4\xBA\xBA\xEF\xBC\x8E"
            "3\xEF\xBC\x8E"
            "5}");
    /* Devanagari and Urdu */
    becomes("hi", "\xE0\xA4\x95\xE0\xA5\xA4 \xE0\xA4\x96\xE0\xA5\xA4",
            "{\xE0\xA4\x95\xE0\xA5\xA4} {\xE0\xA4\x96\xE0\xA5\xA4}");
    becomes("ur", "\xD8\xA7\xDB\x94 \xD8\xA8\xD8\x9F", "{\xD8\xA7\xDB\x94} {\xD8\xA8\xD8\x9F}");
}

/* ICU knows scripts that the rules do not: here N'Ko, whose exclamation mark ends a sentence. */
static void test_icu(void **state)
{
    (void)state;
    if (!built_with_icu("document/sentences")) return;
    const char *text = "\xDF\x8A\xDF\xB9 \xDF\x8B\xDF\xB9";
    struct record icu = translate_document(mark_sentences, (rapt_text){text, 9}, NULL, ICU);
    struct record rules = translate_document(mark_sentences, (rapt_text){text, 9}, NULL, RULES);
    assert_int_equal(icu.sentences, 2);
    assert_int_equal(rules.sentences, 1);
    free(icu.text);
    free(rules.text);
}

/* ---- boundaries: finds the boundaries of real sentences, which are joined into paragraphs. The
   sentences are those of Tatoeba (the test and validation sets) and Multi30k (test 2016 and
   validation) in RAPT_DATA that end in a terminator. The rules and abbreviations were made with
   other text, the training sets. ---- */

static const double boundaries_least = 0.99; /* F1 */

struct comparison {
    rapt_text text;
    struct found found;
};

static int compare_piece(void *user, const rapt_document_piece *p)
{
    struct comparison *c = user;
    if (p->kind == RAPT_PIECE_SENTENCE) count_boundary(&c->found, c->text, p->source.end);
    return 0;
}

static double score(const struct joined *j, const char *language, bool rules)
{
    const rapt_document_options options = {.size = sizeof options, .language = language};
    const rapt_document_engine engine = {.size = sizeof engine, .translate = keep_sentences};
    struct comparison c = {{j->text, j->size}, {.ends = j->ends, .end_count = j->count}};
    double precision, recall;
    assert_int_equal(rapt__document_translate(&engine, c.text, &options, rules, NULL, compare_piece,
                                              &c, NULL, NULL),
                     RAPT_OK);
    double f1 = f1_of(&c.found, &precision, &recall);
    print_message("%s, %s: %zu boundaries, precision %.4f, recall %.4f, F1 %.4f\n",
                  *language ? language : "any language", rules ? "rules" : "ICU", j->count,
                  precision, recall, f1);
    return f1;
}

static void judge(const char *language, struct joined how, const char *const names[], int column)
{
    struct joined j = how;
    for (int i = 0; names[i]; i++)
        if (!join(&j, names[i], column)) {
            skipped("document/sentences", "RAPT_DATA is not a folder with these sentences");
            joined_free(&j);
            return;
        }
    assert_true(j.count > 100);
    for (int rules = 0; rules < 2; rules++) {
        assert_true(score(&j, language, rules) >= boundaries_least);
        assert_true(score(&j, "", rules) >= boundaries_least);
    }
    joined_free(&j);
}

static const struct joined spaced = {.between = " "};

static void test_tatoeba(void **state)
{
    (void)state;
    const char *const names[] = {"tatoeba-en-de/valid.tsv", "tatoeba-en-de/test.tsv", NULL};
    judge("en", spaced, names, 0);
    judge("de", spaced, names, 1);
}

static void test_multi30k(void **state)
{
    (void)state;
    judge("en", spaced,
          (const char *const[]){"multi30k/test_2016_flickr.en", "multi30k/val.en", NULL}, 0);
    judge("de", spaced,
          (const char *const[]){"multi30k/test_2016_flickr.de", "multi30k/val.de", NULL}, 0);
}

/* Paragraphs of a novel that are a single sentence are joined without blanks. */
static void test_japanese(void **state)
{
    (void)state;
    const struct joined unspaced = {.between = "", .single = true};
    judge("ja", unspaced,
          (const char *const[]){"models/sentencepiece/wagahaiwa_nekodearu.txt", NULL}, 0);
}

/* ---- cut: sentences that are too long, lines that are joined, and blanks between languages. ----
 */

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
    if (!built_with_icu("document/sentences")) return;
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
        cmocka_unit_test(test_marks),    cmocka_unit_test(test_abbreviations),
        cmocka_unit_test(test_unspaced), cmocka_unit_test(test_icu),
        cmocka_unit_test(test_tatoeba),  cmocka_unit_test(test_multi30k),
        cmocka_unit_test(test_japanese), cmocka_unit_test(test_clauses),
        cmocka_unit_test(test_thai),     cmocka_unit_test(test_unwrap),
        cmocka_unit_test(test_blanks),   cmocka_unit_test(test_long_line),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
