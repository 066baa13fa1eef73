/* recurrent_languages.c - tests the small languages: translations and alignments of known
   sentences, and properties of every sentence drawn. */
#include "recurrent/recurrent.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

const char program_name[] = "recurrent_languages";

/* links: "0 3-12" means word 0, and word 3 with words 1 to 2 */
static void expect(const struct language *language, const struct sentence *sentence,
                   const char *source, const char *target, const char *links)
{
    char text[400], all[400] = "";
    words_spell(&language->source, sentence->source.tokens, sentence->source.count, text,
                sizeof text);
    assert_string_equal(text, source);
    words_spell(&language->target, sentence->target.tokens, sentence->target.count, text,
                sizeof text);
    assert_string_equal(text, target);
    for (int t = 0; t < sentence->target.count; t++) {
        const struct link *link = &sentence->links[t];
        const size_t at = strlen(all);
        if (link->first == link->last)
            snprintf(all + at, sizeof all - at, "%s%d", t > 0 ? " " : "", link->sure);
        else
            snprintf(all + at, sizeof all - at, "%s%d-%d%d", t > 0 ? " " : "", link->sure,
                     link->first, link->last);
    }
    assert_string_equal(all, links);
}

static void test_german(void **state)
{
    static struct language language;
    struct sentence sentence = {0};
    struct german_clause clause = {0, {0, -1, 0}, 1, 0, {0, -1, 1}};
    (void)state;
    german_create(&language);
    german_append(&language, &sentence, &clause);
    expect(&language, &sentence, "cats do not like dogs", "Katzen mögen keine Hunde", "0 3 2-12 4");
    sentence = (struct sentence){0};
    clause.object.the = 1;
    german_append(&language, &sentence, &clause);
    expect(&language, &sentence, "cats do not like the dogs", "Katzen mögen die Hunde nicht",
           "0 3 4 5 2-12");
    sentence = (struct sentence){0};
    clause = (struct german_clause){2, {1, 2, 0}, 0, 1, {0, 0, 1}};
    german_append(&language, &sentence, &clause);
    german_append(&language, &sentence, &clause);
    expect(&language, &sentence, "the old cats see black dogs because the old cats see black dogs",
           "die alten Katzen sehen schwarze Hunde weil die alten Katzen schwarze Hunde sehen",
           "0 1 2 3 4 5 6 7 8 9 11 12 10");
}

static void test_french(void **state)
{
    static struct language language;
    struct sentence sentence = {0};
    struct clause clause = {0, 13, 0, 9, true, 3, 3};
    (void)state;
    french_create(&language);
    french_append(&language, &sentence, &clause);
    expect(&language, &sentence, "the black cow does not pick the gray wolf up",
           "la vache noire ne ramasse pas le loup gris", "0-02 2 1-12 4-34 5 4-34 6-68 8 7-78");
}

/* Every sentence has the requested length and only known words, and its alignments stay within
   it. */
static void test_drawn(void **state)
{
    static struct language languages[2];
    (void)state;
    german_create(&languages[0]);
    french_create(&languages[1]);
    for (int i = 0; i < 2; i++)
        for (int length = MIN_WORDS - 1; length < 30; length++)
            for (int n = 0; n < 20; n++) {
                struct random random = random_from((uint64_t)n, (uint64_t)length);
                struct sentence s;
                languages[i].draw(&languages[i], &s, &random, length);
                assert_int_equal(s.source.count, length);
                assert_true(s.target.count > 0 && s.target.count < 2 * length);
                for (int t = 0; t < length; t++)
                    assert_true(s.source.tokens[t] >= RAPT_TOKEN_SPECIALS &&
                                s.source.tokens[t] < languages[i].source.count);
                for (int t = 0; t < s.target.count; t++) {
                    const struct link *link = &s.links[t];
                    assert_true(s.target.tokens[t] >= RAPT_TOKEN_SPECIALS &&
                                s.target.tokens[t] < languages[i].target.count);
                    assert_true(link->first >= 0 && link->last < length);
                    assert_true(link->first <= link->sure && link->sure <= link->last);
                }
            }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_german),
        cmocka_unit_test(test_french),
        cmocka_unit_test(test_drawn),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
