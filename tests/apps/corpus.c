/* corpus.c - tests the demo's grammar: translations checked by hand, and properties that training
   relies on: enough pairs, one translation per source, disjoint training and held-out sets,
   frequent words, and reordering between source and target. */
#include "corpus/corpus.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { TRAIN = 24000, HELDOUT = 500, FORMS = 1024, TRIES = 3000000 };

static corpus_grammar *grammar;
static struct corpus corpus;

static int set_up(void **state)
{
    char why[CORPUS_TEXT];
    (void)state;
    grammar = corpus_grammar_create(corpus_bytes, corpus_bytes_count, why);
    if (!grammar || !corpus_draw(&corpus, grammar, 1, TRAIN, HELDOUT, why)) {
        print_error("%s\n", why);
        return -1;
    }
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    corpus_free(&corpus);
    corpus_grammar_free(grammar);
    return 0;
}

/* ---- translations ---- */

static const struct corpus_pair known[] = {
    /* gender, case, adjective endings */
    {"the man sees the dog", "der Mann sieht den Hund"},
    {"the dog sees the man", "der Hund sieht den Mann"},
    {"a small child eats an old apple", NULL},
    {"an old man reads a new book", "ein alter Mann liest ein neues Buch"},
    {"the old women visit the sick boy", "die alten Frauen besuchen den kranken Jungen"},
    {"the girls drink cold milk", "die Mädchen trinken kalte Milch"},
    {"he buys fresh cheese", "er kauft frischen Käse"},
    {"young cats like old houses", NULL},
    {"every child plays with my brothers", "jedes Kind spielt mit meinen Brüdern"},
    {"no horse eats an egg", "kein Pferd isst ein Ei"},
    {"this newspaper belongs to her sister", "diese Zeitung gehört ihrer Schwester"},
    /* agreement, pronouns */
    {"I see you", "ich sehe dich"},
    {"you see them", "du siehst sie"},
    {"she helps him", "sie hilft ihm"},
    {"they thank us", "sie danken uns"},
    {"he waits for her", "er wartet auf sie"},
    {"we see us", NULL},
    /* dative verbs, two objects in either English order */
    {"we follow the boy", "wir folgen dem Jungen"},
    {"the doctor answers the women", "der Arzt antwortet den Frauen"},
    {"the woman gives the child an apple", "die Frau gibt dem Kind einen Apfel"},
    {"the woman gives an apple to the child", "die Frau gibt dem Kind einen Apfel"},
    {"you bring me the keys", "du bringst mir die Schlüssel"},
    /* prepositions, contractions */
    {"the cat sleeps in the garden", "die Katze schläft im Garten"},
    {"the cat runs into the garden", "die Katze läuft in den Garten"},
    {"the boy goes into the house", "der Junge geht ins Haus"},
    {"my aunt lives in a small village", "meine Tante wohnt in einem kleinen Dorf"},
    {"they drive to the doctor", "sie fahren zum Arzt"},
    {"I go to the sister", "ich gehe zur Schwester"},
    {"she puts the letter on the table", "sie legt den Brief auf den Tisch"},
    {"the letter lies on the table", "der Brief liegt auf dem Tisch"},
    {"he buys a flower for the girl", "er kauft eine Blume für das Mädchen"},
    /* nicht and kein */
    {"the man does not see the dog", "der Mann sieht den Hund nicht"},
    {"the man does not see a dog", "der Mann sieht keinen Hund"},
    {"we do not drink coffee", "wir trinken keinen Kaffee"},
    {"she does not help cats", "sie hilft keinen Katzen"},
    {"the man does not live in the city", "der Mann wohnt nicht in der Stadt"},
    {"the horse is not tired", "das Pferd ist nicht müde"},
    {"I do not give you bread", "ich gebe dir kein Brot"},
    /* verb second, separable verbs */
    {"today the cat sleeps", "heute schläft die Katze"},
    {"every day she reads the newspaper", "jeden Tag liest sie die Zeitung"},
    {"the teacher gets up", "der Lehrer steht auf"},
    {"in the evening my friends arrive", "am Abend kommen meine Freunde an"},
    {"she calls the doctor", "sie ruft den Arzt an"},
    {"we listen to the teacher now", "wir hören jetzt dem Lehrer zu"},
    {"he does not open the door", "er macht die Tür nicht auf"},
    {"he calls her often", "er ruft sie oft an"},
    /* modals, perfect */
    {"she cannot call the doctor", "sie kann den Arzt nicht anrufen"},
    {"I want to read a book", "ich will ein Buch lesen"},
    {"tomorrow you should tidy the kitchen", "morgen sollst du die Küche aufräumen"},
    {"you have invited my aunt", "du hast meine Tante eingeladen"},
    {"the girl has got up", "das Mädchen ist aufgestanden"},
    {"the birds have not followed us", "die Vögel sind uns nicht gefolgt"},
    /* questions */
    {"does the dog like the cat ?", "mag der Hund die Katze ?"},
    {"has she arrived ?", "ist sie angekommen ?"},
    {"who helps the pigs ?", "wer hilft den Schweinen ?"},
    {"who does the man see ?", "wen sieht der Mann ?"},
    {"who does the man help ?", "wem hilft der Mann ?"},
    {"what does your brother eat ?", "was isst dein Bruder ?"},
    {"where do you live ?", "wo wohnst du ?"},
    {"where do you go ?", "wohin gehst du ?"},
    {"when does the aunt arrive ?", "wann kommt die Tante an ?"},
    {"why must I wait for him ?", "warum muss ich auf ihn warten ?"},
    /* clauses */
    {"he sleeps because he is sick", "er schläft , weil er krank ist"},
    {"because she calls me , I get up", "weil sie mich anruft , stehe ich auf"},
    {"when the dog sleeps , the mice play", "wenn der Hund schläft , spielen die Mäuse"},
    {"I know that he wants to call you", "ich weiß , dass er dich anrufen will"},
    {"she asks whether we have read the letter", "sie fragt , ob wir den Brief gelesen haben"},
    {"we do not know where he works", "wir wissen nicht , wo er arbeitet"},
    {"the dog plays and the cat sleeps", "der Hund spielt und die Katze schläft"},
    {"you sing but I do not listen to you", "du singst , aber ich höre dir nicht zu"},
};

static void test_known(void **state)
{
    char target[CORPUS_TEXT];
    (void)state;
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        long tries = known[i].target ? TRIES : TRIES / 20;
        bool found = corpus_derive(grammar, known[i].source, tries, target);
        if (found != !!known[i].target) fail_msg("%s: %s", known[i].source, found ? target : "-");
        if (found) assert_string_equal(target, known[i].target);
    }
}

static bool is_in(const struct corpus_pair *pairs, size_t count, const char *source)
{
    for (size_t i = 0; i < count; i++)
        if (!strcmp(pairs[i].source, source)) return true;
    return false;
}

static void test_showcase(void **state)
{
    char target[CORPUS_TEXT];
    size_t count;
    const struct corpus_pair *show = corpus_showcase(grammar, &count);
    (void)state;
    assert_in_range(count, 12, 20);
    assert_true(is_in(show, count, "cats do not like dogs"));
    for (size_t i = 0; i < count; i++) {
        assert_true(corpus_derive(grammar, show[i].source, TRIES, target));
        assert_string_equal(target, show[i].target);
        assert_false(is_in(corpus.train, TRAIN, show[i].source));
        assert_false(is_in(corpus.heldout, HELDOUT, show[i].source));
    }
}

/* ---- the drawn corpus ---- */

static int by_source(const void *a, const void *b)
{
    return strcmp(((const struct corpus_pair *)a)->source, ((const struct corpus_pair *)b)->source);
}

static int by_target(const void *a, const void *b)
{
    return strcmp(((const struct corpus_pair *)a)->target, ((const struct corpus_pair *)b)->target);
}

/* No sentence occurs twice in training and held-out sets together, in either language. */
static void test_distinct(void **state)
{
    static struct corpus_pair all[TRAIN + HELDOUT];
    (void)state;
    assert_int_equal(corpus.train_count, TRAIN);
    assert_int_equal(corpus.heldout_count, HELDOUT);
    memcpy(all, corpus.train, sizeof *all * TRAIN);
    memcpy(all + TRAIN, corpus.heldout, sizeof *all * HELDOUT);
    qsort(all, TRAIN + HELDOUT, sizeof *all, by_source);
    for (size_t i = 1; i < TRAIN + HELDOUT; i++)
        if (!by_source(&all[i - 1], &all[i])) fail_msg("twice: %s", all[i].source);
    qsort(all, TRAIN + HELDOUT, sizeof *all, by_target);
    for (size_t i = 1; i < TRAIN + HELDOUT; i++)
        if (!by_target(&all[i - 1], &all[i])) fail_msg("twice: %s", all[i].target);
}

/* Draws far more pairs than the demo does. The draw itself fails if a source has a second
   translation. */
static void test_function(void **state)
{
    struct corpus many;
    char why[CORPUS_TEXT];
    (void)state;
    if (!corpus_draw(&many, grammar, 7, 200000, 0, why)) fail_msg("%s", why);
    corpus_free(&many);
}

struct forms {
    char form[FORMS][32];
    int times[FORMS], count;
};

static int *times_of(struct forms *forms, const char *form, size_t size)
{
    int i = 0;
    assert_true(size < sizeof forms->form[0]);
    while (i < forms->count && (strncmp(forms->form[i], form, size) || forms->form[i][size])) i++;
    assert_true(i < FORMS);
    if (i == forms->count) memcpy(forms->form[forms->count++], form, size);
    return &forms->times[i];
}

/* Adds step to the count of each word. Returns the number of words. */
static int count_words(struct forms *forms, const char *text, int step)
{
    int words = 0;
    for (size_t size; *text; text += size, text += *text == ' ', words++) {
        size = strcspn(text, " ");
        int *times = times_of(forms, text, size);
        if (!step && !*times) fail_msg("not in training: %s", text);
        *times += step;
    }
    return words;
}

static void check_side(const char *name, bool target, int min_forms)
{
    static struct forms forms;
    double sum = 0;
    memset(&forms, 0, sizeof forms);
    for (size_t i = 0; i < TRAIN; i++) {
        int words =
            count_words(&forms, target ? corpus.train[i].target : corpus.train[i].source, 1);
        assert_in_range(words, 3, 16);
        sum += words;
    }
    for (size_t i = 0; i < HELDOUT; i++)
        count_words(&forms, target ? corpus.heldout[i].target : corpus.heldout[i].source, 0);
    int rarest = 0;
    for (int i = 0; i < forms.count; i++)
        if (forms.times[i] < forms.times[rarest]) rarest = i;
    print_message("%s: %d forms, the rarest %d times (%s), mean length %.2f\n", name, forms.count,
                  forms.times[rarest], forms.form[rarest], sum / TRAIN);
    assert_true(forms.count >= min_forms);
    assert_true(forms.times[rarest] >= 15);
    assert_true(sum / TRAIN > 6.5 && sum / TRAIN < 8.5);
}

static void test_words(void **state)
{
    (void)state;
    check_side("English", false, 250);
    check_side("German", true, 400);
}

/* Returns the position of one of these words in a sentence, or -1. */
static int position_of(const char *text, const char *const *forms)
{
    for (int at = 0; *text; at++) {
        size_t size = strcspn(text, " ");
        for (const char *const *form = forms; *form; form++)
            if (strlen(*form) == size && !strncmp(*form, text, size)) return at;
        text += size;
        text += *text == ' ';
    }
    return -1;
}

/* Verbs and nouns with unambiguous translations. */
static void test_crossing(void **state)
{
    static const char *const verbs[][2][4] = {
        {{"see", "sees", "seen"}, {"sehen", "sieht", "gesehen"}},
        {{"call", "calls", "called"}, {"anrufen", "anruft", "angerufen"}},
        {{"read", "reads"}, {"lesen", "liest", "gelesen"}},
        {{"help", "helps", "helped"}, {"helfen", "hilft", "geholfen"}},
        {{"buy", "buys", "bought"}, {"kaufen", "kauft", "gekauft"}},
        {{"gives", "give", "given"}, {"geben", "gibt", "gegeben"}}};
    static const char *const nouns[][2][3] = {{{"man", "men"}, {"Mann", "Männer"}},
                                              {{"woman", "women"}, {"Frau", "Frauen"}},
                                              {{"child", "children"}, {"Kind", "Kinder"}},
                                              {{"dog", "dogs"}, {"Hund", "Hunde"}},
                                              {{"book", "books"}, {"Buch", "Bücher"}},
                                              {{"letter", "letters"}, {"Brief", "Briefe"}},
                                              {{"apple", "apples"}, {"Apfel", "Äpfel"}},
                                              {{"friend", "friends"}, {"Freund", "Freunde"}}};
    int both = 0, crossed = 0;
    (void)state;
    for (size_t i = 0; i < TRAIN; i++) {
        const struct corpus_pair *pair = &corpus.train[i];
        for (size_t v = 0; v < sizeof verbs / sizeof *verbs; v++) {
            int verb = position_of(pair->source, verbs[v][0]),
                verb_de = position_of(pair->target, verbs[v][1]);
            for (size_t n = 0; n < sizeof nouns / sizeof *nouns && verb >= 0 && verb_de >= 0; n++) {
                int noun = position_of(pair->source, nouns[n][0]);
                int noun_de = position_of(pair->target, nouns[n][1]);
                both += noun >= 0 && noun_de >= 0;
                crossed += noun >= 0 && noun_de >= 0 && (noun > verb) != (noun_de > verb_de);
            }
        }
    }
    print_message("verb and noun are reordered in %d of %d cases\n", crossed, both);
    assert_true(both > 1000);
    assert_true(crossed * 4 > both);
}

static void test_deterministic(void **state)
{
    struct corpus a, b;
    char why[CORPUS_TEXT];
    (void)state;
    assert_true(corpus_draw(&a, grammar, 1, 8000, 20, why));
    assert_true(corpus_draw(&b, grammar, 2, 8000, 20, why));
    int same = 0;
    for (size_t i = 0; i < 8000; i++) {
        assert_string_equal(a.train[i].source, corpus.train[i].source);
        assert_string_equal(a.train[i].target, corpus.train[i].target);
        same += !strcmp(a.train[i].source, b.train[i].source);
    }
    assert_true(same < 1000);
    corpus_free(&a);
    corpus_free(&b);
}

static void test_write(void **state)
{
    char line[2 * CORPUS_TEXT], expected[2 * CORPUS_TEXT];
    FILE *file = tmpfile();
    (void)state;
    assert_non_null(file);
    assert_true(corpus_write(file, corpus.heldout, HELDOUT));
    rewind(file);
    for (size_t i = 0; i < HELDOUT; i++) {
        snprintf(expected, sizeof expected, "%s\t%s\n", corpus.heldout[i].source,
                 corpus.heldout[i].target);
        assert_non_null(fgets(line, sizeof line, file));
        assert_string_equal(line, expected);
    }
    assert_null(fgets(line, sizeof line, file));
    fclose(file);
}

/* ---- malformed grammars ---- */

static const char tiny[] = "length 1 9\n"
                           "class animal\ntime now\n"
                           "ending weak e e e en e e e en e e e en\n"
                           "order say <subject> <verb> <objects>\n"
                           "order second <subject> <left> <far>\n"
                           "tense 1 now\n verb <verb>\n left <verb>\n"
                           "frame none\n objects\n near\n far\n"
                           "determiner 1 1 1 the the known weak any d d d d d d d d d d d d\n"
                           "noun cat cats f K K Kn Kn animal\n"
                           "verb 1 play plays played a b c d - e have none animal - now\n"
                           "sentence 1\n en <A.say>\n de <A.second>\n";

/* Expects that `tiny` with one piece replaced is rejected for this reason (NULL: accepted). */
static void refused(const char *old, const char *new, const char *reason)
{
    char text[2 * sizeof tiny], why[CORPUS_TEXT] = "";
    const char *at = strstr(tiny, old);
    struct corpus drawn;
    assert_non_null(at);
    snprintf(text, sizeof text, "auxiliary have has have h h h h\n%.*s%s%s", (int)(at - tiny), tiny,
             new, at + strlen(old));
    corpus_grammar *bad = corpus_grammar_create(text, strlen(text), why);
    if (bad && corpus_draw(&drawn, bad, 1, 2, 0, why)) {
        assert_null(reason);
        assert_string_equal(drawn.train[0].target[0] == 'd' ? "d" : "", "d");
        corpus_free(&drawn);
    } else if (!reason || !strstr(why, reason))
        fail_msg("%s instead of %s", why, reason ? reason : "success");
    corpus_grammar_free(bad);
}

static void test_malformed(void **state)
{
    char why[CORPUS_TEXT];
    (void)state;
    refused("1 9", "1 9", NULL);
    refused("1 9", "1", "line 2: too few columns");
    refused("1 9", "1 x", "line 2: not a number");
    refused("cats f", "cats q", "line 16: unexpected \"q\"");
    refused("Kn animal", "Kn planet", "line 16: unknown name \"planet\"");
    refused("Kn animal", "Kn animal more", "line 16: too many columns from \"more\"");
    refused("<A.say>", "<B.say>", "line 19: unknown clause");
    refused("<A.say>", "<A.sing>", "line 19: unknown name \"sing\"");
    refused("<A.say>", "<A.say", "line 19: invalid placeholder");
    refused("order second", "order say", "line 7: named twice");
    refused("noun", "nuon", "line 16: unexpected \"nuon\"");
    refused("noun cat", "noun cat cats f X X Y Y animal\nnoun cat", "two translations of");
    refused("plays", "plays", NULL);
    refused("1 9", "8 9", "too few sentences");
    assert_null(corpus_grammar_create("", 0, why));
    assert_null(corpus_grammar_create("class\0a", 7, why));
}

/* A damaged file is rejected or works, without a crash or an endless loop. */
static void test_damaged(void **state)
{
    char *bytes = malloc(corpus_bytes_count), why[CORPUS_TEXT];
    int refusals = 0;
    (void)state;
    assert_non_null(bytes);
    for (size_t i = 0; i < 600; i++) {
        size_t at = i * 7919 % corpus_bytes_count;
        struct corpus drawn;
        memcpy(bytes, corpus_bytes, corpus_bytes_count);
        bytes[at] = (char)("<>|-_,=.0 \n\t#\xff"[i % 14]);
        corpus_grammar *damaged =
            corpus_grammar_create(bytes, i % 3 ? corpus_bytes_count : at + 1, why);
        refusals += !damaged;
        if (damaged && corpus_draw(&drawn, damaged, i, 50, 5, why)) corpus_free(&drawn);
        corpus_grammar_free(damaged);
    }
    assert_in_range(refusals, 1, 599);
    free(bytes);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_known),         cmocka_unit_test(test_showcase),
        cmocka_unit_test(test_distinct),      cmocka_unit_test(test_function),
        cmocka_unit_test(test_words),         cmocka_unit_test(test_crossing),
        cmocka_unit_test(test_deterministic), cmocka_unit_test(test_write),
        cmocka_unit_test(test_malformed),     cmocka_unit_test(test_damaged),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
