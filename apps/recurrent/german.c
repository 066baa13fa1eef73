/* german.c - random English sentences of plurals and their German translations, in which the
   negation depends on the object and the position of the verb on the conjunction.

   sentence = clause ((and|but|because) clause)*
   clause = phrase [do not] verb phrase          phrase = [the] [adjective] noun

   cats do not like dogs -> Katzen mögen keine Hunde              "not" joins an article,
   cats do not like the dogs -> Katzen mögen die Hunde nicht      or is a word of its own
   because cats like dogs -> weil Katzen Hunde mögen              the verb goes last
   old cats, the old cats -> alte Katzen, die alten Katzen        the adjective has two endings */
#include "recurrent.h"

struct pair {
    const char *english, *german;
};
static const struct pair nouns[] = {
    {"cats", "Katzen"},       {"dogs", "Hunde"},       {"birds", "V\u00F6gel"},
    {"horses", "Pferde"},     {"mice", "M\u00E4use"},  {"cows", "K\u00FChe"},
    {"wolves", "W\u00F6lfe"}, {"bears", "B\u00E4ren"},
};
static const struct pair verbs[] = {
    {"like", "m\u00F6gen"}, {"see", "sehen"},   {"hear", "h\u00F6ren"},
    {"know", "kennen"},     {"chase", "jagen"}, {"find", "finden"},
};
static const struct {
    const char *english, *german[2]; /* without an article; after "die" or "keine" */
} adjectives[] = {
    {"black", {"schwarze", "schwarzen"}},
    {"big", {"gro\u00DFe", "gro\u00DFen"}},
    {"old", {"alte", "alten"}},
    {"young", {"junge", "jungen"}},
};
static const struct pair conjunctions[] = {{"and", "und"}, {"but", "aber"}, {"because", "weil"}};

enum {
    NOUNS = sizeof nouns / sizeof *nouns,
    VERBS = sizeof verbs / sizeof *verbs,
    ADJECTIVES = sizeof adjectives / sizeof *adjectives,
    CONJUNCTIONS = sizeof conjunctions / sizeof *conjunctions,
    BECAUSE = CONJUNCTIONS - 1
};

/* Appends an English phrase, whose words must be known; returns its position. */
static int say(const struct language *language, struct sentence *sentence, const char *phrase)
{
    const int at = sentence->source.count;
    words_append(&language->source, &sentence->source, phrase);
    return at;
}

/* Appends a German word that translates the English word at `sure` and depends on the words from
   `first` on. */
static void german_translate(const struct language *language, struct sentence *sentence,
                             const char *word, int sure, int first)
{
    sentence->links[sentence->target.count] =
        (struct link){sure, first < sure ? first : sure, first > sure ? first : sure};
    words_append(&language->target, &sentence->target, word);
}

/* Positions of the English words of a phrase. */
struct positions {
    int article, adjective, noun; /* -1 if the word is missing */
};

static struct positions say_phrase(const struct language *language, struct sentence *sentence,
                                   const struct german_phrase *phrase)
{
    struct positions at = {-1, -1, -1};
    if (phrase->the) at.article = say(language, sentence, "the");
    if (phrase->adjective >= 0)
        at.adjective = say(language, sentence, adjectives[phrase->adjective].english);
    at.noun = say(language, sentence, nouns[phrase->noun].english);
    return at;
}

/* `no` is the position of "not" if "keine" negates the phrase, otherwise -1. */
static void translate_phrase(const struct language *language, struct sentence *sentence,
                             const struct german_phrase *phrase, struct positions at, int no)
{
    const int article = phrase->the ? at.article : no;
    if (phrase->the) german_translate(language, sentence, "die", at.article, at.article);
    if (no >= 0) german_translate(language, sentence, "keine", no, no - 1);
    if (phrase->adjective >= 0)
        german_translate(language, sentence, adjectives[phrase->adjective].german[article >= 0],
                         at.adjective, at.adjective);
    german_translate(language, sentence, nouns[phrase->noun].german, at.noun, at.noun);
}

void german_append(const struct language *language, struct sentence *sentence,
                   const struct german_clause *clause)
{
    const bool first = sentence->source.count == 0, last = !first && clause->link == BECAUSE;
    if (!first) {
        int at = say(language, sentence, conjunctions[clause->link].english);
        german_translate(language, sentence, conjunctions[clause->link].german, at, at);
    }
    struct positions subject = say_phrase(language, sentence, &clause->subject);
    int no = clause->negated ? say(language, sentence, "do not") + 1 : -1;
    int verb = say(language, sentence, verbs[clause->verb].english);
    struct positions object = say_phrase(language, sentence, &clause->object);
    translate_phrase(language, sentence, &clause->subject, subject, -1);
    if (!last) german_translate(language, sentence, verbs[clause->verb].german, verb, verb);
    translate_phrase(language, sentence, &clause->object, object, clause->object.the ? -1 : no);
    if (no >= 0 && clause->object.the) german_translate(language, sentence, "nicht", no, no - 1);
    if (last) german_translate(language, sentence, verbs[clause->verb].german, verb, verb);
}

static struct german_phrase draw_phrase(struct random *random)
{
    struct german_phrase phrase;
    phrase.the = random_below(random, 2);
    phrase.adjective = random_below(random, 3) == 0 ? random_below(random, ADJECTIVES) : -1;
    phrase.noun = random_below(random, NOUNS);
    return phrase;
}

/* Appends clauses until the length is reached, and starts again if it is exceeded. */
static void german_draw(const struct language *language, struct sentence *sentence,
                        struct random *random, int length)
{
    sentence->source.count = sentence->target.count = 0;
    while (sentence->source.count != length) {
        if (sentence->source.count > length) sentence->source.count = sentence->target.count = 0;
        struct german_clause clause;
        clause.link = random_below(random, CONJUNCTIONS);
        clause.subject = draw_phrase(random);
        clause.negated = random_below(random, 3) == 0;
        clause.verb = random_below(random, VERBS);
        clause.object = draw_phrase(random);
        german_append(language, sentence, &clause);
    }
}

static void add_words(struct language *language, struct pair pair)
{
    vocabulary_add(&language->source, pair.english);
    vocabulary_add(&language->target, pair.german);
}

void german_create(struct language *language)
{
    const struct vocabulary empty = {RAPT_TOKEN_SPECIALS, {"", "", "(end)"}};
    *language = (struct language){"English", "German", empty, empty, german_draw};
    add_words(language, (struct pair){"the do not", "die keine nicht"});
    for (int i = 0; i < CONJUNCTIONS; i++) add_words(language, conjunctions[i]);
    for (int i = 0; i < NOUNS; i++) add_words(language, nouns[i]);
    for (int i = 0; i < VERBS; i++) add_words(language, verbs[i]);
    for (int i = 0; i < ADJECTIVES; i++) {
        add_words(language, (struct pair){adjectives[i].english, adjectives[i].german[0]});
        vocabulary_add(&language->target, adjectives[i].german[1]);
    }
}
