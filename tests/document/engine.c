/* engine.c - documents that a model translates: the pieces of sentences are what rapt_translate
   writes, and no sentence has more tokens than the model has positions. */
#include "../counting.h"
#include "temporary.h"
#include "translate/small_text.h"
#include <rapt/document.h>

enum { POSITIONS = 12 };

static rapt_translator *translator_with(int positions, const rapt_translator_options *options,
                                        const rapt_allocator *allocator)
{
    char folder[TEMPORARY], path[TEMPORARY + 8];
    rapt_translator *t = NULL;
    rapt_message why = {""};
    assert_non_null(temporary_folder(folder));
    snprintf(path, sizeof path, "%s/model", folder);
    small_translator_file(path, positions, 3);
    if (rapt_translator_load(&t, path, options, allocator, &why)) fail_msg("%s", why.text);
    remove(path);
    rmdir(folder);
    return t;
}

static rapt_translator *small_translator(const rapt_allocator *allocator)
{
    return translator_with(POSITIONS, NULL, allocator);
}

struct compared {
    rapt_translator *other; /* like the one that translates the document */
    rapt_text document;
    size_t done, sentences, continued, faulty;
    bool alignments, mend;
};

struct single {
    char text[1000];
    int faults;
};

static int take_single(void *user, const rapt_translation *t)
{
    struct single *s = user;
    snprintf(s->text, sizeof s->text, "%s", t->text);
    s->faults = t->faults;
    return 1;
}

/* Compares a sentence with its translation by itself. */
static int compare_piece(void *user, const rapt_document_piece *p)
{
    struct compared *c = user;
    struct single one = {"", 0};
    const rapt_text source = {c->document.bytes + p->source.begin, p->source.end - p->source.begin};
    const rapt_translate_call call = {.size = sizeof call, .mend = c->mend};
    assert_true(p->source.begin == c->done);
    c->done = p->source.end;
    if (p->kind == RAPT_PIECE_KEPT) return 0;
    assert_int_equal(rapt_translate_many_with(c->other, &source, 1, &call, take_single, &one, NULL),
                     RAPT_OK);
    for (char *at = one.text; *at; at++)
        if (*at >= '\t' && *at <= '\r') *at = ' ';
    assert_int_equal(p->status, RAPT_OK);
    assert_true(strlen(one.text) == p->target.end - p->target.begin);
    assert_memory_equal(one.text, p->text, strlen(one.text));
    assert_non_null(p->translation);
    assert_int_equal(p->translation->faults, one.faults);
    c->faulty += one.faults != 0;
    assert_int_equal(p->translation->sentence, c->sentences);
    assert_true((p->translation->alignment != NULL) == c->alignments);
    assert_true(p->translation->source_count + 1 <= POSITIONS);
    c->sentences++;
    c->continued += p->continued != 0;
    return 0;
}

static void test_sentences(void **state)
{
    (void)state;
    static const char text[] =
        "The cat sees the dog. The bird sings!\n\n- A cat, and the dog, and the "
        "bird, and a cat "
        "sleep.\nxyzzyxyzzyxyzzyxyzzyxyzzyxyzzyxyzzyxyzzyxyzzyxyzzyxyzzyxyzzyxyzzyxyzzy\xC3\xA9"
        "\xC3\xA9\xC3\xA9";
    rapt_translator *t = small_translator(NULL), *other = small_translator(NULL);
    rapt_message why = {""};
    for (int max = 0; max < 9; max += 4) {
        const rapt_document_options options = {.size = sizeof options,
                                               .max_length = max,
                                               .alignments = max == 4,
                                               .unprotected = 1,
                                               .unmended = max == 0};
        struct compared c = {.other = other,
                             .document = {text, sizeof text - 1},
                             .alignments = max == 4,
                             .mend = max > 0};
        if (rapt_document_translate(t, c.document, &options, compare_piece, &c, &why))
            fail_msg("%s", why.text);
        assert_int_equal(c.done, c.document.size);
        assert_true(c.sentences > 4 && c.continued > 0);
        assert_true((c.faulty > 0) == (max > 0));
    }
    rapt_translator_free(t);
    rapt_translator_free(other);
}

/* Sentences are measured as the model reads them: each of these has few bytes, but more tokens than
   the model has positions, before and after a preprocessor has replaced U+2026 with three stops. */
static void test_preprocessed(void **state)
{
    (void)state;
    static const char text[] = "xyzzy, xyzzy, xyzzy.\n\nA\xE2\x80\xA6 q\xE2\x80\xA6 "
                               "q\xE2\x80\xA6 q\xE2\x80\xA6 q\xE2\x80\xA6\n\nYes";
    const rapt_translator_options opus = {.size = sizeof opus, .preprocess = RAPT_PREPROCESS_OPUS};
    rapt_translator *t = translator_with(POSITIONS, &opus, NULL);
    rapt_translator *other = translator_with(POSITIONS, &opus, NULL);
    struct compared c = {.other = other, .document = {text, sizeof text - 1}, .mend = true};
    rapt_message why = {""};
    if (rapt_document_translate(t, c.document, NULL, compare_piece, &c, &why))
        fail_msg("%s", why.text);
    assert_int_equal(c.done, c.document.size);
    assert_true(c.continued > 1);
    rapt_translator_free(t);
    rapt_translator_free(other);
}

static int stop_at_once(void *user, const rapt_document_piece *p)
{
    (void)p;
    ++*(int *)user;
    return 1;
}

static void test_refusals(void **state)
{
    (void)state;
    rapt_translator *t = small_translator(NULL);
    rapt_document_options options = {.size = sizeof options, .max_length = -2};
    rapt_message why = {""};
    int pieces = 0;
    const rapt_text text = {"Yes. No.", 8}, none = {NULL, 8};
    assert_int_equal(rapt_document_translate(t, text, &options, stop_at_once, &pieces, &why),
                     RAPT_BAD_ARGUMENT);
    assert_non_null(strstr(why.text, "max_length is -2"));
    options = (rapt_document_options){.size = 1};
    assert_int_equal(rapt_document_translate(t, text, &options, stop_at_once, &pieces, &why),
                     RAPT_BAD_ARGUMENT);
    assert_non_null(strstr(why.text, "set size to sizeof(rapt_document_options)"));
    assert_int_equal(rapt_document_translate(t, none, NULL, stop_at_once, &pieces, &why),
                     RAPT_BAD_ARGUMENT);
    assert_non_null(strstr(why.text, "document"));
    assert_int_equal(pieces, 0);
    assert_int_equal(rapt_document_translate(t, text, NULL, stop_at_once, &pieces, &why), RAPT_OK);
    assert_int_equal(pieces, 1);
    rapt_translator_free(t);
}

/* ---- capitals and log-probabilities ---- */

static const char *const capitals[][2] = {{"THE CAT SEES THE DOG.", "The cat sees the dog."},
                                          {"A BIRD SINGS!", "A bird sings!"},
                                          {"The cat sleeps.", "The cat sleeps."}};

struct recased {
    rapt_translator *other;
    int sentences;
    double mean;
};

static int take_mean(void *user, const rapt_translation *t)
{
    struct recased *r = user;
    assert_non_null(t->log_probabilities);
    r->mean = (double)t->mean_log_probability;
    return 0;
}

/* A sentence in capitals is read in normal case, which the translation by itself shows, and its
   translation has no small letter. */
static int see_recased(void *user, const rapt_document_piece *p)
{
    struct recased *r = user;
    if (p->kind == RAPT_PIECE_KEPT) {
        assert_true(p->read.size == 0 && p->recased == 0);
        return 0;
    }
    const char *normal = capitals[r->sentences][1];
    const rapt_text text = {normal, strlen(normal)};
    const rapt_translate_call call = {.size = sizeof call, .log_probabilities = 1, .mend = 1};
    assert_true(p->read.size == text.size && memcmp(p->read.bytes, normal, text.size) == 0);
    assert_int_equal(p->recased, r->sentences < 2);
    assert_int_equal(rapt_translate_many_with(r->other, &text, 1, &call, take_mean, r, NULL),
                     RAPT_OK);
    assert_true((double)p->translation->mean_log_probability == r->mean && r->mean < 0);
    assert_non_null(p->translation->word_log_probabilities);
    for (size_t i = 0; i < p->target.end - p->target.begin && p->recased; i++)
        assert_false(p->text[i] >= 'a' && p->text[i] <= 'z');
    r->sentences++;
    return 0;
}

static void test_recased(void **state)
{
    (void)state;
    char text[200] = "";
    for (int i = 0; i < COUNT(capitals); i++) strcat(strcat(text, capitals[i][0]), "\n");
    enum { ENOUGH = 64 }; /* positions; no sentence is cut */
    struct recased r = {.other = translator_with(ENOUGH, NULL, NULL)};
    rapt_translator *t = translator_with(ENOUGH, NULL, NULL);
    rapt_message why = {""};
    const rapt_document_options options = {.size = sizeof options, .log_probabilities = 1};
    if (rapt_document_translate(t, (rapt_text){text, strlen(text)}, &options, see_recased, &r,
                                &why))
        fail_msg("%s", why.text);
    assert_int_equal(r.sentences, COUNT(capitals));
    rapt_translator_free(r.other);
    rapt_translator_free(t);
}

/* ---- glossaries ---- */

struct terms {
    int found, met, sentences;
};

static int count_terms(void *user, const rapt_document_piece *p)
{
    struct terms *c = user;
    if (!p->translation) return 0;
    c->found += p->translation->terms, c->met += p->translation->terms_met;
    c->sentences++;
    return 0;
}

/* Terms of a glossary are looked for everywhere but in protected text and kept elements. */
static void test_glossary(void **state)
{
    (void)state;
    static const char text[] =
        "A cat (cat).\n\nNo. http://cat.org/cat cat? A <code>cat</code> cat\n";
    const struct {
        rapt_document_format format;
        int unprotected, terms;
    } cases[] = {{RAPT_DOCUMENT_FORMAT_TEXT, 0, 5},
                 {RAPT_DOCUMENT_FORMAT_TEXT, 1, 7},
                 {RAPT_DOCUMENT_FORMAT_HTML, 0, 4}};
    rapt_glossary *g = NULL;
    rapt_translator *t = small_translator(NULL);
    rapt_message why = {""};
    assert_int_equal(rapt_glossary_create(&g, (rapt_text){"cat\tx\n", 6}, NULL, NULL), RAPT_OK);
    for (int i = 0; i < COUNT(cases); i++) {
        struct terms c = {0, 0, 0};
        const rapt_document_options options = {.size = sizeof options,
                                               .format = cases[i].format,
                                               .unprotected = cases[i].unprotected,
                                               .glossary = g};
        if (rapt_document_translate(t, (rapt_text){text, sizeof text - 1}, &options, count_terms,
                                    &c, &why))
            fail_msg("%s", why.text);
        assert_int_equal(c.found, cases[i].terms);
        assert_int_equal(c.met, c.found);
        assert_true(c.sentences > 2);
    }
    rapt_translator_free(t);
    rapt_glossary_free(g);
}

static int count_piece(void *user, const rapt_document_piece *p)
{
    *(size_t *)user = p->source.end;
    return 0;
}

/* A failed allocation loses nothing, with a glossary and without. */
static void check_memory(const rapt_glossary *glossary)
{
    static const rapt_text text = {"The cat sees the dog. The bird sings!", 37};
    struct counting counting = {.fails = -1};
    const rapt_allocator allocator = counting_allocator(&counting);
    rapt_translator *t = small_translator(&allocator);
    const rapt_document_options options = {.size = sizeof options, .glossary = glossary};
    rapt_status status = RAPT_NO_MEMORY;
    size_t all = 0; /* the first call makes what the translator needs for terms */
    assert_int_equal(rapt_document_translate(t, text, &options, count_piece, &all, NULL), RAPT_OK);
    const long living = counting.living;
    int n = 0;
    for (; status == RAPT_NO_MEMORY; n++) {
        size_t done = 0;
        rapt_message why = {""};
        counting.calls = 0, counting.fails = n;
        status = rapt_document_translate(t, text, &options, count_piece, &done, &why);
        assert_true(counting.living == living && (status == RAPT_OK) == (why.text[0] == 0));
        assert_true(status != RAPT_OK || done == text.size);
    }
    assert_true(status == RAPT_OK && n > 3);
    rapt_translator_free(t);
    assert_int_equal(counting.living, 0);
}

static void test_memory(void **state)
{
    (void)state;
    rapt_glossary *g = NULL;
    assert_int_equal(rapt_glossary_create(&g, (rapt_text){"cat\tx\n", 6}, NULL, NULL), RAPT_OK);
    check_memory(NULL);
    check_memory(g);
    rapt_glossary_free(g);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_sentences), cmocka_unit_test(test_refusals),
        cmocka_unit_test(test_recased),   cmocka_unit_test(test_glossary),
        cmocka_unit_test(test_memory),    cmocka_unit_test(test_preprocessed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
