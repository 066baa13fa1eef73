/* preprocess.c - a translator that prepares sources as OPUS-MT does gives the translations, scores
   and alignments of one that gets prepared texts; spans are offsets in the original text. */
#include "translate/small_text.h"

enum { TEXTS = 4 };
static const char *const given[TEXTS] = {"  a \u201Cred\u201D   dog\u2026 ", "a\tblue\u3002 cat",
                                         "plain", "\t\u200B"};

struct seen {
    char text[TEXTS][512];
    float score[TEXTS];
    size_t begin[TEXTS], end[TEXTS];
    int source_count[TEXTS];
    int calls;
};

static int see(void *user, const rapt_translation *t)
{
    struct seen *s = user;
    snprintf(s->text[t->sentence], sizeof *s->text, "%s", t->text);
    s->score[t->sentence] = t->score;
    s->source_count[t->sentence] = t->source_count;
    if (t->source_count > 0) {
        s->begin[t->sentence] = t->source_spans[0].begin;
        s->end[t->sentence] = t->source_spans[t->source_count - 1].end;
    }
    s->calls++;
    return 0;
}

static void translate(rapt_translator *translator, const rapt_text *texts, struct seen *s)
{
    rapt_message why = {""};
    memset(s, 0, sizeof *s);
    if (rapt_translate_many(translator, texts, TEXTS, 1, see, s, &why)) fail_msg("%s", why.text);
    assert_int_equal(s->calls, TEXTS);
}

static int keep_sum(void *user, const rapt_text_score *score)
{
    ((double *)user)[score->pair] = score->sum;
    return 0;
}

static void test_same(void **state)
{
    (void)state;
    char path[256], prepared[TEXTS][64];
    rapt_text texts[TEXTS], done[TEXTS];
    rapt_translator *plain = NULL, *opus = NULL;
    const rapt_translator_options o = {.size = sizeof o, .beams = 2, .threads = 1},
                                  with = {.size = sizeof with,
                                          .beams = 2,
                                          .threads = 1,
                                          .preprocess = RAPT_PREPROCESS_OPUS},
                                  bad = {.size = sizeof bad, .preprocess = (rapt_preprocess)7};
    rapt_message why = {""};
    small_translator_file(small_path(path, "preprocess"), 64, 3);
    assert_int_equal(rapt_translator_load(&plain, path, &bad, NULL, &why), RAPT_BAD_ARGUMENT);
    assert_non_null(strstr(why.text, "preprocess"));
    assert_int_equal(rapt_translator_load(&plain, path, &o, NULL, NULL), RAPT_OK);
    assert_int_equal(rapt_translator_load(&opus, path, &with, NULL, NULL), RAPT_OK);
    for (int i = 0; i < TEXTS; i++) {
        texts[i] = (rapt_text){given[i], strlen(given[i])};
        done[i].bytes = prepared[i];
        assert_int_equal(rapt_text_preprocess(RAPT_PREPROCESS_OPUS, texts[i], prepared[i], NULL,
                                              sizeof *prepared, &done[i].size, NULL),
                         RAPT_OK);
    }
    static struct seen a, b;
    double sums[2][TEXTS];
    translate(plain, done, &a);
    translate(opus, texts, &b);
    for (int i = 0; i < TEXTS; i++) {
        assert_string_equal(a.text[i], b.text[i]);
        assert_int_equal(a.source_count[i], b.source_count[i]);
        assert_memory_equal(&a.score[i], &b.score[i], sizeof a.score[i]);
    }
    assert_int_equal(b.source_count[3], 0);           /* preprocessing leaves nothing */
    assert_int_equal(b.end[0], strlen(given[0]) - 1); /* without the space at the end */
    assert_int_equal(b.end[1], strlen(given[1]));
    assert_int_equal(a.end[1], strlen("a blue. cat"));
    assert_int_equal(b.end[2], a.end[2]);
    assert_int_equal(rapt_translator_score(plain, done, done, 3, keep_sum, sums[0], NULL), RAPT_OK);
    assert_int_equal(rapt_translator_score(opus, texts, texts, 3, keep_sum, sums[1], NULL),
                     RAPT_OK);
    assert_memory_equal(sums[0], sums[1], 3 * sizeof(double));
    rapt_translator_free(opus);
    rapt_translator_free(plain);
    unlink(path);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_same)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
