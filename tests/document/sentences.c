/* sentences.c - where sentences end: known texts in several languages, by ICU and by rules. */
#include "document_help.h"

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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_marks),
        cmocka_unit_test(test_abbreviations),
        cmocka_unit_test(test_unspaced),
        cmocka_unit_test(test_icu),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
