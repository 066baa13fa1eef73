/* texts.c - what happens to texts before and after translation: they are prepared, and opaque parts
   are copied. */
#include "translate/small_text.h"

/* ---- preprocess: a translator that prepares sources as OPUS-MT does gives the translations,
   scores and alignments of one that gets prepared texts; spans are offsets in the original text.
   ---- */

enum { PREPROCESS_TEXTS = 4 };
static const char *const given[PREPROCESS_TEXTS] = {"  a \u201Cred\u201D   dog\u2026 ",
                                                    "a\tblue\u3002 cat", "plain", "\t\u200B"};

struct seen {
    char text[PREPROCESS_TEXTS][512];
    float score[PREPROCESS_TEXTS];
    size_t begin[PREPROCESS_TEXTS], end[PREPROCESS_TEXTS];
    int source_count[PREPROCESS_TEXTS];
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
    if (rapt_translate_many(translator, texts, PREPROCESS_TEXTS, 1, see, s, &why))
        fail_msg("%s", why.text);
    assert_int_equal(s->calls, PREPROCESS_TEXTS);
}

static int keep_sum(void *user, const rapt_text_score *score)
{
    ((double *)user)[score->pair] = score->sum;
    return 0;
}

static void test_same(void **state)
{
    (void)state;
    char path[256], prepared[PREPROCESS_TEXTS][64];
    rapt_text texts[PREPROCESS_TEXTS], done[PREPROCESS_TEXTS];
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
    for (int i = 0; i < PREPROCESS_TEXTS; i++) {
        texts[i] = (rapt_text){given[i], strlen(given[i])};
        done[i].bytes = prepared[i];
        assert_int_equal(rapt_text_preprocess(RAPT_PREPROCESS_OPUS, texts[i], prepared[i], NULL,
                                              sizeof *prepared, &done[i].size, NULL),
                         RAPT_OK);
    }
    static struct seen a, b;
    double sums[2][PREPROCESS_TEXTS];
    translate(plain, done, &a);
    translate(opus, texts, &b);
    for (int i = 0; i < PREPROCESS_TEXTS; i++) {
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

/* ---- copies: opaque parts of texts come back as they are if they are asked for, whatever the
   model would write, and other texts do not change. ---- */

enum { POSITIONS = 96, COPIES_TEXTS = 8, BEAMS = 3, NBEST = 2 };

static const char *const sentences[COPIES_TEXTS] = {
    "the cat sees {dog} and <cat>",
    "a bird sings",
    "see the dog see the dog",
    "",
    "see the cat",
    "a cat",
    "the bird sees a cat.",
    "the dog sees dogs",
};
/* {dog}, <cat>; none; the dog, twice; none; none; cat; cat; dog */
static const rapt_span opaque[] = {{13, 18}, {23, 28}, {4, 11}, {16, 23}, {2, 5}, {16, 19}, {4, 7}};
static const size_t starts[COPIES_TEXTS + 1] = {0, 2, 2, 4, 4, 4, 5, 6, 7};

struct one {
    int faults, terms, met, count;
    float score;
    int32_t target[POSITIONS];
    char text[400];
};
struct all {
    struct one found[COPIES_TEXTS][NBEST];
};

static int take(void *user, const rapt_translation *t)
{
    struct one *one = &((struct all *)user)->found[t->sentence][t->rank];
    assert_int_equal(t->status, RAPT_OK);
    assert_true(t->size < sizeof one->text && t->target_count <= POSITIONS);
    *one = (struct one){t->faults, t->terms, t->terms_met, t->target_count, t->score, {0}, ""};
    for (int i = 0; i < t->target_count; i++) one->target[i] = t->target[i];
    memcpy(one->text, t->text, t->size);
    return 0;
}

static struct all *translated(rapt_translator *t, const rapt_translate_call *call)
{
    struct all *all = calloc(1, sizeof *all);
    rapt_text texts[COPIES_TEXTS];
    rapt_message why = {""};
    for (int i = 0; i < COPIES_TEXTS; i++)
        texts[i] = (rapt_text){sentences[i], strlen(sentences[i])};
    if (rapt_translate_many_with(t, texts, COPIES_TEXTS, call, take, all, &why))
        fail_msg("%s", why.text);
    return all;
}

static rapt_text part_of(size_t i)
{
    size_t text = 0;
    while (starts[text + 1] <= i) text++;
    return (rapt_text){sentences[text] + opaque[i].begin, opaque[i].end - opaque[i].begin};
}

static size_t occurrences(const char *text, rapt_text part)
{
    char wanted[32] = "";
    size_t count = 0;
    memcpy(wanted, part.bytes, part.size);
    for (; (text = strstr(text, wanted)); text += part.size) count++;
    return count;
}

/* Makes the model change its mind often, and end early. */
static void end_early(void *user, int source, const int32_t *ids, int count, float *logits,
                      int vocab)
{
    enum { END = 2 };
    (void)user, (void)source, (void)ids;
    for (int i = 0; i < vocab; i++) logits[i] += (float)((i * 7 + count * 5) % 11);
    if (count > 8) logits[END] += 100;
}

static const rapt_translate_call copying = {.size = sizeof copying,
                                            .mend = 1,
                                            .copy = 1,
                                            .alignments = 1,
                                            .logits = end_early,
                                            .opaque = opaque,
                                            .opaque_starts = starts};

/* Translations have the parts, and only those that lacked one have changed.
   The model has random weights, so it copies nothing by itself. */
static void test_parts(void **state)
{
    (void)state;
    for (int beams = 1; beams <= BEAMS; beams++) {
        const rapt_translator_options made = {
            .size = sizeof made, .beams = beams, .batch = 3, .max_length_factor = 5};
        rapt_translator *t = small_translator_make("copies", POSITIONS, &made);
        rapt_translate_call call = copying;
        struct all *copied = translated(t, &call);
        call.copy = 0;
        struct all *mended = translated(t, &call);
        for (size_t i = 0; i < COPIES_TEXTS; i++) {
            const struct one *c = &copied->found[i][0], *m = &mended->found[i][0];
            const bool wanted = starts[i + 1] > starts[i];
            assert_int_equal(c->faults & RAPT_FAULT_LOST, wanted ? RAPT_FAULT_LOST : 0);
            assert_false(m->faults & RAPT_FAULT_LOST);
            assert_true(c->terms == 0 && c->met == 0);
            if (!wanted) assert_memory_equal(c, m, sizeof *c);
            if (!wanted) continue;
            assert_false(c->faults & RAPT_FAULT_REMAINS);
            for (size_t part = starts[i]; part < starts[i + 1]; part++)
                assert_true(occurrences(c->text, part_of(part)) >= (i == 2 ? 2 : 1));
        }
        free(copied);
        free(mended);
        rapt_translator_free(t);
    }
}

/* The same for any batch and number of threads, and for one text after the other. */
static void test_equal(void **state)
{
    (void)state;
    struct all *all[3];
    for (int i = 0; i < 3; i++) {
        const rapt_translator_options made = {.size = sizeof made,
                                              .beams = BEAMS,
                                              .nbest = NBEST,
                                              .batch = 2 * i + 1,
                                              .threads = i,
                                              .max_length_factor = 5};
        rapt_translator *t = small_translator_make("copies", POSITIONS, &made);
        all[i] = translated(t, &copying);
        rapt_translator_free(t);
        assert_memory_equal(all[i], all[0], sizeof *all[0]);
    }
    for (int i = 0; i < 3; i++) free(all[i]);
}

/* Terms of a glossary count as before, and samples are not searched for parts. */
static void test_others(void **state)
{
    (void)state;
    static const char entries[] = "see\tblorp\n";
    rapt_glossary *g = NULL;
    const rapt_translator_options sampled = {.size = sizeof sampled, .temperature = 1, .seed = 5};
    rapt_translator *t = small_translator_make("copies", POSITIONS, NULL);
    rapt_translate_call call = copying;
    assert_int_equal(rapt_glossary_create(&g, (rapt_text){entries, strlen(entries)}, NULL, NULL),
                     RAPT_OK);
    call.glossary = g;
    struct all *with = translated(t, &call);
    assert_true(with->found[2][0].terms == 2 && with->found[2][0].met == 2);
    assert_true(strstr(with->found[2][0].text, "blorp") &&
                strstr(with->found[2][0].text, "the dog"));
    call.glossary = NULL;
    call.options = &sampled;
    struct all *samples = translated(t, &call);
    for (int i = 0; i < COPIES_TEXTS; i++)
        assert_false(samples->found[i][0].faults & RAPT_FAULT_LOST);
    free(with);
    free(samples);
    rapt_glossary_free(g);
    rapt_translator_free(t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_same),
        cmocka_unit_test(test_parts),
        cmocka_unit_test(test_equal),
        cmocka_unit_test(test_others),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
