/* boundaries.c - finds the boundaries of real sentences, which are joined into paragraphs. The
   sentences are those of Tatoeba (the test and validation sets) and Multi30k (test 2016 and
   validation) in RAPT_DATA that end in a terminator. The rules and abbreviations were made with
   other text, the training sets. */
#define _GNU_SOURCE /* getline */
#include "joined.h"

static const double least = 0.99; /* F1 */

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
            skipped("document/boundaries", "RAPT_DATA is not a folder with these sentences");
            joined_free(&j);
            return;
        }
    assert_true(j.count > 100);
    for (int rules = 0; rules < 2; rules++) {
        assert_true(score(&j, language, rules) >= least);
        assert_true(score(&j, "", rules) >= least);
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_tatoeba),
        cmocka_unit_test(test_multi30k),
        cmocka_unit_test(test_japanese),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
