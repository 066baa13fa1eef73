/* glossary.c - translations contain the terms of a glossary, as their texts show, and those of
   sentences without terms do not change. */
#include "translate/small_text.h"

#include "skips.h"

enum { POSITIONS = 96, TEXTS = 9, BEAMS = 3, NBEST = 3 };

static const char glossary_text[] = "cat\tblorp\n"
                                    "dog|dogs\tzip|zap fog\n"
                                    "the bird\tbird\n"
                                    "Sings\tXY-z\texact\n";

static const struct {
    const char *text;
    int terms;
} sentences[TEXTS] = {
    {"the cat sees the dog", 2},
    {"a bird sings", 0},
    {"dogs and cats sleep", 1},
    {"", 0},
    {"The bird sees a cat, a cat and a CAT.", 4},
    {"the dog does not see the cat", 2},
    {"cats", 0},
    {"a bird Sings", 1},
    {"nothing here", 0},
};

static rapt_glossary *glossary_of(const char *text)
{
    rapt_glossary *g = NULL;
    rapt_message why = {""};
    if (rapt_glossary_create(&g, (rapt_text){text, strlen(text)}, NULL, &why))
        fail_msg("%s", why.text);
    return g;
}

struct one {
    int count;
    int terms, met, faults, ended;
    int target_count;
    int32_t target[2 * POSITIONS];
    char text[400];
    float score;
};
struct all {
    struct one found[TEXTS][NBEST];
};

static int take(void *user, const rapt_translation *t)
{
    struct one *one = &((struct all *)user)->found[t->sentence][t->rank];
    assert_int_equal(t->status, RAPT_OK);
    assert_true(t->size < sizeof one->text);
    one->count++;
    one->terms = t->terms, one->met = t->terms_met, one->faults = t->faults;
    one->target_count = t->target_count, one->ended = t->ended;
    for (int i = 0; i < t->target_count; i++) one->target[i] = t->target[i];
    one->score = t->score;
    memcpy(one->text, t->text, t->size + 1);
    return 0;
}

static void list_texts(rapt_text texts[TEXTS])
{
    for (int i = 0; i < TEXTS; i++)
        texts[i] = (rapt_text){sentences[i].text, strlen(sentences[i].text)};
}

static void translate(rapt_translator *t, const rapt_translate_call *call, struct all *all)
{
    rapt_text texts[TEXTS];
    rapt_message why = {""};
    memset(all, 0, sizeof *all);
    list_texts(texts);
    if (rapt_translate_many_with(t, texts, TEXTS, call, take, all, &why)) fail_msg("%s", why.text);
}

static bool is_letter(char c)
{
    return ((c | 0x20) >= 'a' && (c | 0x20) <= 'z') || (c >= '0' && c <= '9') || c == '_';
}

/* Counts the words `word` in a text. */
static int count_words(const char *text, const char *word)
{
    int count = 0;
    const size_t size = strlen(word);
    for (const char *at = text; (at = strstr(at, word)) != NULL; at += size)
        count += (at == text || !is_letter(at[-1])) && !is_letter(at[size]);
    return count;
}

/* Returns how many of the terms of sentence i its translation contains. */
static int terms_in(int i, const char *text)
{
    const int cats =
        count_words(text, "blorp") + count_words(text, "BLORP") + count_words(text, "Blorp");
    const int dogs = count_words(text, "zip") + count_words(text, "zap fog") +
                     count_words(text, "Zip") + count_words(text, "Zap fog");
    const int birds = count_words(text, "bird") + count_words(text, "Bird");
    const int wanted[TEXTS][4] = {{1, 1, 0, 0}, {0, 0, 0, 0}, {0, 1, 0, 0},
                                  {0, 0, 0, 0}, {3, 0, 1, 0}, {1, 1, 0, 0},
                                  {0, 0, 0, 0}, {0, 0, 0, 1}, {0, 0, 0, 0}};
    const int found[] = {cats, dogs, birds, count_words(text, "XY-z")};
    int count = 0;
    for (int k = 0; k < 4; k++) count += found[k] < wanted[i][k] ? found[k] : wanted[i][k];
    return count;
}

static void test_terms(void **state)
{
    (void)state;
    rapt_glossary *g = glossary_of(glossary_text);
    for (int rules = RAPT_SEARCH_RULES_RAPT; rules <= RAPT_SEARCH_RULES_CT2; rules++) {
        const rapt_translator_options made = {.size = sizeof made,
                                              .beams = BEAMS,
                                              .nbest = NBEST,
                                              .batch = 4,
                                              .threads = 3,
                                              .search_rules = (rapt_search_rules)rules};
        rapt_translator_options alone = made;
        const rapt_translate_call call = {.size = sizeof call, .glossary = g};
        struct all with, plain, one;
        alone.batch = alone.threads = 1, alone.glossary = g;
        rapt_translator *t = small_translator_make("glossary", POSITIONS, &made);
        rapt_translator *single = small_translator_make("glossary", POSITIONS, &alone);
        translate(t, NULL, &plain);
        translate(t, &call, &with);
        translate(single, NULL, &one);
        assert_memory_equal(&with, &one, sizeof with);
        for (int i = 0; i < TEXTS; i++) {
            if (sentences[i].terms == 0)
                assert_memory_equal(with.found[i], plain.found[i], sizeof with.found[i]);
            for (int rank = 0; rank < NBEST && with.found[i][rank].count; rank++) {
                const struct one *x = &with.found[i][rank];
                assert_int_equal(x->terms, sentences[i].terms);
                assert_int_equal(x->met, sentences[i].terms);
                assert_int_equal(terms_in(i, x->text), sentences[i].terms);
                assert_true(rank == 0 || x->score <= x[-1].score);
            }
        }
        translate(t, NULL, &one); /* a call has no effect on later ones */
        assert_memory_equal(&one, &plain, sizeof one);
        rapt_translator_free(single);
        rapt_translator_free(t);
    }
    rapt_glossary_free(g);
}

struct sum {
    const struct one *of;
    int compared;
};

static int compare_sum(void *user, const rapt_text_score *score)
{
    struct sum *s = user;
    const struct one *x = s->of;
    double sum = 0;
    if (score->target_count != x->target_count ||
        memcmp(score->target, x->target, sizeof *x->target * (size_t)x->target_count) != 0)
        return 0; /* the text has other tokens */
    for (int i = 0; i < x->target_count + x->ended; i++) sum += (double)score->log_probabilities[i];
    assert_true(fabs(sum - (double)x->score) < 1e-4 * fabs(sum));
    s->compared++;
    return 0;
}

/* The score of a translation is the log-probability of its tokens, even if not all terms fit. */
static void test_scores(void **state)
{
    (void)state;
    rapt_glossary *g = glossary_of("cat\tx\nbird\tdog and\nsleep\tthe the");
    const rapt_translator_options made = {.size = sizeof made,
                                          .beams = BEAMS,
                                          .max_length = 6,
                                          .glossary = g,
                                          .search_rules = RAPT_SEARCH_RULES_MARIAN};
    rapt_translator *t = small_translator_make("glossary", POSITIONS, &made);
    struct all all;
    struct sum s = {NULL, 0};
    translate(t, NULL, &all);
    for (int i = 0; i < TEXTS; i++) {
        const rapt_text source = {sentences[i].text, strlen(sentences[i].text)};
        s.of = &all.found[i][0];
        const rapt_text target = {s.of->text, strlen(s.of->text)};
        if (s.of->terms == 0) continue;
        assert_int_equal(rapt_translator_score(t, &source, &target, 1, compare_sum, &s, NULL),
                         RAPT_OK);
    }
    assert_true(s.compared > 0);
    rapt_translator_free(t);
    rapt_glossary_free(g);
}

/* Terms in opaque parts are not looked for. */
static void test_opaque(void **state)
{
    (void)state;
    rapt_glossary *g = glossary_of(glossary_text);
    rapt_translator *t = small_translator_make("glossary", POSITIONS, NULL);
    struct all all;
    const rapt_span opaque[] = {{4, 7}, {0, 5}, {17, 18}, {21, 37}};
    const size_t starts[TEXTS + 1] = {0, 1, 1, 1, 1, 4, 4, 4, 4, 4};
    rapt_translate_call call = {
        .size = sizeof call, .glossary = g, .opaque = opaque, .opaque_starts = starts};
    rapt_message why = {""};
    rapt_text texts[TEXTS];
    translate(t, &call, &all);
    assert_int_equal(all.found[0][0].terms, 1); /* the dog */
    assert_int_equal(all.found[4][0].terms, 0);
    assert_int_equal(all.found[5][0].terms, 2);
    list_texts(texts);
    call.opaque_starts = NULL;
    assert_int_equal(rapt_translate_many_with(t, texts, TEXTS, &call, take, &all, &why),
                     RAPT_BAD_ARGUMENT);
    assert_string_equal(why.text, "opaque_starts is NULL, but opaque is not");
    const rapt_span wrong[] = {{4, 7}, {0, 5}, {4, 6}, {21, 37}}, late[] = {{4, 22}};
    call.opaque_starts = starts;
    call.opaque = wrong;
    assert_int_equal(rapt_translate_many_with(t, texts, TEXTS, &call, take, &all, &why),
                     RAPT_BAD_ARGUMENT);
    assert_string_equal(why.text,
                        "opaque[2] is bytes 4 to 6; parts must be in order, must not overlap, "
                        "and must end within the 37 bytes of texts[4]");
    call.opaque = late;
    assert_int_equal(rapt_translate_many_with(t, texts, TEXTS, &call, take, &all, &why),
                     RAPT_BAD_ARGUMENT);
    assert_string_equal(why.text,
                        "opaque[0] is bytes 4 to 22; parts must be in order, must not overlap, "
                        "and must end within the 20 bytes of texts[0]");
    rapt_translator_free(t);
    rapt_glossary_free(g);
}

/* Long targets of short sources are neither cut nor faults, and samples take no glossary. */
static void test_options(void **state)
{
    (void)state;
    rapt_glossary *g = glossary_of("cats\tabcdefghijklmnopqrstuvwxyz 0123456789\n");
    const rapt_translator_options made = {
        .size = sizeof made, .beams = 64, .batch = 2, .max_length_factor = 1, .glossary = g};
    const rapt_translator_options sampled = {.size = sizeof sampled, .temperature = 1};
    rapt_translate_call call = {.size = sizeof call, .mend = 1};
    rapt_translator *t = small_translator_make("glossary", 2 * POSITIONS, &made);
    struct all all;
    rapt_text texts[TEXTS];
    rapt_message why = {""};
    translate(t, &call, &all);
    assert_int_equal(all.found[6][0].terms, 1);
    assert_int_equal(all.found[6][0].met, 1);
    assert_int_equal(all.found[6][0].faults & RAPT_FAULT_LONG, 0);
    call = (rapt_translate_call){.size = sizeof call, .options = &sampled, .glossary = g};
    list_texts(texts);
    assert_int_equal(rapt_translate_many_with(t, texts, TEXTS, &call, take, &all, &why),
                     RAPT_BAD_ARGUMENT);
    assert_non_null(strstr(why.text, "temperature is 1; with a glossary it must be 0"));
    rapt_translator_free(t);
    rapt_glossary_free(g);
}

/* A short source whose term is long may have more tokens than a longer source of its batch. */
static void test_long_term(void **state)
{
    (void)state;
    rapt_glossary *g = glossary_of("cat\tx\ncats\tabcdefghijklmnopqrstuvwxyz 0123456789\n");
    for (int mend = 0; mend < 2; mend++) {
        rapt_translator_options made = {
            .size = sizeof made, .nbest = NBEST, .batch = TEXTS, .max_length_factor = 1};
        const rapt_translate_call call = {
            .size = sizeof call, .glossary = g, .mend = mend, .alignments = 1};
        rapt_translator *t = small_translator_make("glossary", 2 * POSITIONS, &made);
        made.batch = 1;
        rapt_translator *single = small_translator_make("glossary", 2 * POSITIONS, &made);
        struct all all, one;
        translate(t, &call, &all);
        translate(single, &call, &one);
        assert_memory_equal(&all, &one, sizeof all);
        assert_int_equal(all.found[6][0].terms, 1);
        assert_int_equal(all.found[6][0].met, 1);
        rapt_translator_free(single);
        rapt_translator_free(t);
    }
    rapt_glossary_free(g);
}

/* A target that the vocabulary cannot spell is a term that is not met. Its words have blanks
   between them, so every token is a word. */
static void test_lists(void **state)
{
    (void)state;
    static const rapt_text names[] = {{"</s>", 4}, {"<unk>", 5}, {"a", 1}, {"b", 1},
                                      {"c", 1},    {"d", 1},     {"e", 1}, {"<s>", 3}};
    const rapt_config c = {.size = sizeof c,
                           .source_vocab = 8,
                           .target_vocab = 8,
                           .positions = 32,
                           .width = 8,
                           .heads = 2,
                           .ffn_width = 8,
                           .encoder_layers = 1,
                           .decoder_layers = 1};
    rapt_glossary *g = glossary_of("a\td e d\nb\tf\nc\tb f|e\n");
    const rapt_translator_options made = {.size = sizeof made, .glossary = g};
    rapt_tokenizer *tokenizer = NULL;
    rapt_translator *t = NULL;
    rapt_model *model = small_model(&c, 3);
    const rapt_text texts[] = {{"e a", 3}, {"b a d", 5}, {"d c", 3}};
    struct all all;
    memset(&all, 0, sizeof all);
    assert_int_equal(rapt_tokenizer_create_list(&tokenizer, names, 8, NULL, NULL, NULL), RAPT_OK);
    assert_int_equal(rapt_translator_create(&t, model, tokenizer, NULL, &made, NULL, NULL),
                     RAPT_OK);
    assert_int_equal(rapt_translate_many(t, texts, 3, 0, take, &all, NULL), RAPT_OK);
    for (int i = 0; i < 3; i++) {
        assert_int_equal(all.found[i][0].terms, i == 1 ? 2 : 1);
        assert_int_equal(all.found[i][0].met, 1);
        assert_non_null(strstr(all.found[i][0].text, i == 2 ? "e" : "d e d"));
    }
    rapt_translator_free(t);
    rapt_tokenizer_free(tokenizer);
    rapt_model_free(model);
    rapt_glossary_free(g);
}

struct line {
    char text[300];
    int terms, met;
};

static int take_line(void *user, const rapt_translation *t)
{
    struct line *line = (struct line *)user + t->sentence;
    snprintf(line->text, sizeof line->text, "%s", t->text);
    line->terms = t->terms, line->met = t->terms_met;
    return 0;
}

/* A real student model, whose words begin with a blank in SentencePiece. */
static void test_real(void **state)
{
    (void)state;
    static const rapt_text texts[] = {{"The House of Commons is a big house.", 36},
                                      {"We went to the beach (with the dog).", 36},
                                      {"Loans are expensive.", 20},
                                      {"Nothing is changed here.", 24}};
    char path[DATA_PATH];
    struct line plain[4], with[4];
    if (!data_path("translate/glossary", "firefox-tiny-enpt/model.enpt.intgemm.alphas.bin", path))
        return;
    *strrchr(path, '/') = 0;
    rapt_glossary *g = glossary_of("house\tmoradia\ndog\tcadela\nloan|loans\tcr\xC3\xA9"
                                   "dito|cr\xC3\xA9"
                                   "ditos\nHouse of Commons\tC\xC3\xA2mara dos Comuns\n");
    rapt_translator *t = NULL;
    rapt_message why = {""};
    if (rapt_translator_load(&t, path, NULL, NULL, &why)) fail_msg("%s", why.text);
    const rapt_translate_call call = {.size = sizeof call, .glossary = g};
    assert_int_equal(rapt_translate_many(t, texts, 4, 0, take_line, plain, NULL), RAPT_OK);
    assert_int_equal(rapt_translate_many_with(t, texts, 4, &call, take_line, with, NULL), RAPT_OK);
    for (int i = 0; i < 4; i++) {
        assert_int_equal(with[i].terms, i == 0 ? 2 : i < 3);
        assert_int_equal(with[i].met, with[i].terms);
        assert_null(strstr(with[i].text, "  "));
    }
    assert_int_equal(count_words(with[0].text, "moradia"), 1);
    assert_int_equal(count_words(with[0].text, "C\xC3\xA2mara dos Comuns"), 1);
    assert_int_equal(count_words(with[1].text, "cadela"), 1);
    assert_true(count_words(with[2].text, "cr\xC3\xA9"
                                          "ditos") +
                    count_words(with[2].text, "Cr\xC3\xA9"
                                              "ditos") ==
                1);
    assert_string_equal(with[3].text, plain[3].text);
    rapt_translator_free(t);
    rapt_glossary_free(g);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_terms),  cmocka_unit_test(test_scores),
        cmocka_unit_test(test_opaque), cmocka_unit_test(test_options),
        cmocka_unit_test(test_lists),  cmocka_unit_test(test_long_term),
        cmocka_unit_test(test_real)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
