/* language.c - random English sentences of two small grammars and their translations, whose
   alignment is known, as tokens. */
#include "recurrent.h"
#include <string.h>

/* ---- converts phrases to tokens and back ---- */

/* Returns the token of a word, or count if the vocabulary does not contain it. */
static int token_of(const struct vocabulary *vocabulary, const char *word, size_t size)
{
    int token = RAPT_TOKEN_SPECIALS;
    while (token < vocabulary->count && (strlen(vocabulary->words[token]) != size ||
                                         memcmp(vocabulary->words[token], word, size) != 0))
        token++;
    return token;
}

void vocabulary_add(struct vocabulary *vocabulary, const char *phrase)
{
    while (*phrase) {
        size_t size = strcspn(phrase, " ");
        if (token_of(vocabulary, phrase, size) == vocabulary->count)
            snprintf(vocabulary->words[vocabulary->count++], MAX_WORD, "%.*s", (int)size, phrase);
        phrase += size + (phrase[size] == ' ');
    }
}

void words_append(const struct vocabulary *vocabulary, struct words *words, const char *phrase)
{
    while (*phrase) {
        size_t size = strcspn(phrase, " ");
        words->tokens[words->count++] = token_of(vocabulary, phrase, size);
        phrase += size + (phrase[size] == ' ');
    }
}

void words_spell(const struct vocabulary *vocabulary, const int *tokens, int count, char *text,
                 size_t size)
{
    size_t at = 0;
    text[0] = 0;
    for (int i = 0; i < count && at < size; i++)
        at += (size_t)snprintf(text + at, size - at, "%s%s", i > 0 ? " " : "",
                               vocabulary->words[tokens[i]]);
}

struct pair {
    const char *english, *translation;
};

/* ---- English and French ----
   The translations need agreement, reordering and phrases.

   sentence = clause (and|but|then clause)*
   clause = subject verbs [object] | subject does not verb [object]
   subject, object = the [adjective] noun

   the -> le, la                                      the article agrees with a later noun
   black cat -> chat noir, black cow -> vache noire   adjective and noun swap and agree
   does not see -> ne voit pas                        the negation encloses the verb
   throws the king away -> jette le roi               two separate words become one,
   railway -> chemin de fer                           and one becomes three */

static const struct pair french_nouns[] = {
    /* le */
    {"cat", "chat"},
    {"dog", "chien"},
    {"horse", "cheval"},
    {"wolf", "loup"},
    {"rabbit", "lapin"},
    {"king", "roi"},
    {"railway", "chemin de fer"},
    {"snowman", "bonhomme de neige"},
    {"windmill", "moulin \u00E0 vent"},
    /* la */
    {"girl", "fille"},
    {"queen", "reine"},
    {"house", "maison"},
    {"flower", "fleur"},
    {"cow", "vache"},
    {"mouse", "souris"},
    {"potato", "pomme de terre"},
    {"bat", "chauve souris"},
    {"toothbrush", "brosse \u00E0 dents"},
};
static const struct {
    const char *english, *french[2];
} french_adjectives[] = {
    {"black", {"noir", "noire"}}, {"white", {"blanc", "blanche"}}, {"green", {"vert", "verte"}},
    {"gray", {"gris", "grise"}},  {"cold", {"froid", "froide"}},   {"heavy", {"lourd", "lourde"}},
};
static const struct {
    const char *english[2], *after, *french; /* see, sees; "throw ... away" */
} french_verbs[] = {
    {{"see", "sees"}, "", "voit"},          {{"find", "finds"}, "", "trouve"},
    {{"follow", "follows"}, "", "suit"},    {{"carry", "carries"}, "", "porte"},
    {{"sell", "sells"}, "", "vend"},        {{"know", "knows"}, "", "conna\u00EEt"},
    {{"put", "puts"}, "down", "pose"},      {{"give", "gives"}, "back", "rend"},
    {{"throw", "throws"}, "away", "jette"}, {{"pick", "picks"}, "up", "ramasse"},
};
static const struct pair french_links[] = {{"and", "et"}, {"but", "mais"}, {"then", "puis"}};

enum {
    FRENCH_NOUNS = sizeof french_nouns / sizeof *french_nouns,
    FRENCH_ADJECTIVES = sizeof french_adjectives / sizeof *french_adjectives,
    FRENCH_VERBS = sizeof french_verbs / sizeof *french_verbs,
    FRENCH_LINKS = sizeof french_links / sizeof *french_links
};

static void french_add(struct language *language, struct pair pair)
{
    vocabulary_add(&language->source, pair.english);
    vocabulary_add(&language->target, pair.translation);
}

/* Appends the words of a phrase and french_links them to what they translate. */
static void french_target(const struct language *language, struct sentence *sentence,
                          const char *phrase, struct link link)
{
    const int first = sentence->target.count;
    words_append(&language->target, &sentence->target, phrase);
    for (int i = first; i < sentence->target.count; i++) sentence->links[i] = link;
}

/* Appends a word and its translation; returns its position. */
static int french_both(const struct language *language, struct sentence *sentence, struct pair pair)
{
    const int at = sentence->source.count;
    words_append(&language->source, &sentence->source, pair.english);
    french_target(language, sentence, pair.translation, (struct link){at, at, at});
    return at;
}

/* The article and the adjective depend on the gender of the noun. */
static void french_phrase(const struct language *language, struct sentence *sentence, int noun,
                          int adjective)
{
    const int feminine = noun >= FRENCH_NOUNS / 2, article = sentence->source.count;
    const int last = article + 1 + (adjective >= 0);
    words_append(&language->source, &sentence->source, "the");
    french_target(language, sentence, feminine ? "la" : "le",
                  (struct link){article, article, last});
    if (adjective >= 0)
        words_append(&language->source, &sentence->source, french_adjectives[adjective].english);
    french_both(language, sentence, french_nouns[noun]);
    if (adjective >= 0)
        french_target(language, sentence, french_adjectives[adjective].french[feminine],
                      (struct link){article + 1, article + 1, last});
}

void french_append(const struct language *language, struct sentence *sentence,
                   const struct clause *clause)
{
    const bool no = clause->negated;
    if (sentence->source.count > 0) french_both(language, sentence, french_links[clause->link]);
    french_phrase(language, sentence, clause->subject, clause->subject_adjective);
    const int at = sentence->source.count;
    const struct link negation = {at + 1, at, at + 1};
    if (no) {
        words_append(&language->source, &sentence->source, "does not");
        french_target(language, sentence, "ne", negation);
    }
    french_both(
        language, sentence,
        (struct pair){french_verbs[clause->verb].english[!no], french_verbs[clause->verb].french});
    if (no) french_target(language, sentence, "pas", negation);
    if (clause->object >= 0)
        french_phrase(language, sentence, clause->object, clause->object_adjective);
    words_append(&language->source, &sentence->source, french_verbs[clause->verb].after);
}

static int french_adjective(struct random *random)
{
    return random_below(random, 3) == 0 ? random_below(random, FRENCH_ADJECTIVES) : -1;
}

static struct clause french_clause(struct random *random)
{
    struct clause clause;
    clause.link = random_below(random, FRENCH_LINKS);
    clause.subject = random_below(random, FRENCH_NOUNS);
    clause.subject_adjective = french_adjective(random);
    clause.verb = random_below(random, FRENCH_VERBS);
    clause.negated = random_below(random, 4) == 0;
    clause.object = random_below(random, 2) ? random_below(random, FRENCH_NOUNS) : -1;
    clause.object_adjective = french_adjective(random);
    return clause;
}

/* Appends clauses until the length is reached, and starts again if it is exceeded. */
static void french_draw(const struct language *language, struct sentence *sentence,
                        struct random *random, int length)
{
    sentence->source.count = sentence->target.count = 0;
    while (sentence->source.count != length) {
        if (sentence->source.count > length) sentence->source.count = sentence->target.count = 0;
        struct clause clause = french_clause(random);
        french_append(language, sentence, &clause);
    }
}

void french_create(struct language *language)
{
    *language = (struct language){"English",
                                  "French",
                                  {RAPT_TOKEN_SPECIALS, {"", "", "(end)"}},
                                  {RAPT_TOKEN_SPECIALS, {"", "", "(end)"}},
                                  french_draw};
    french_add(language, (struct pair){"the does not", "le la ne pas"});
    for (int i = 0; i < FRENCH_LINKS; i++) french_add(language, french_links[i]);
    for (int i = 0; i < FRENCH_NOUNS; i++) french_add(language, french_nouns[i]);
    for (int i = 0; i < FRENCH_ADJECTIVES; i++) {
        french_add(language,
                   (struct pair){french_adjectives[i].english, french_adjectives[i].french[0]});
        vocabulary_add(&language->target, french_adjectives[i].french[1]);
    }
    for (int i = 0; i < FRENCH_VERBS; i++) {
        french_add(language, (struct pair){french_verbs[i].english[0], french_verbs[i].french});
        french_add(language, (struct pair){french_verbs[i].english[1], ""});
        vocabulary_add(&language->source, french_verbs[i].after);
    }
}

/* ---- English and German ----
   Nouns are plurals. The negation depends on the object, and the position of the verb on the
   conjunction.

   sentence = clause ((and|but|because) clause)*
   clause = phrase [do not] verb phrase          phrase = [the] [adjective] noun

   cats do not like dogs -> Katzen mögen keine Hunde              "not" joins an article,
   cats do not like the dogs -> Katzen mögen die Hunde nicht      or is a word of its own
   because cats like dogs -> weil Katzen Hunde mögen              the verb goes last
   old cats, the old cats -> alte Katzen, die alten Katzen        the adjective has two endings ----
 */

static const struct pair german_nouns[] = {
    {"cats", "Katzen"},       {"dogs", "Hunde"},       {"birds", "V\u00F6gel"},
    {"horses", "Pferde"},     {"mice", "M\u00E4use"},  {"cows", "K\u00FChe"},
    {"wolves", "W\u00F6lfe"}, {"bears", "B\u00E4ren"},
};
static const struct pair german_verbs[] = {
    {"like", "m\u00F6gen"}, {"see", "sehen"},   {"hear", "h\u00F6ren"},
    {"know", "kennen"},     {"chase", "jagen"}, {"find", "finden"},
};
static const struct {
    const char *english, *german[2]; /* without an article; after "die" or "keine" */
} german_adjectives[] = {
    {"black", {"schwarze", "schwarzen"}},
    {"big", {"gro\u00DFe", "gro\u00DFen"}},
    {"old", {"alte", "alten"}},
    {"young", {"junge", "jungen"}},
};
static const struct pair german_conjunctions[] = {
    {"and", "und"}, {"but", "aber"}, {"because", "weil"}};

enum {
    GERMAN_NOUNS = sizeof german_nouns / sizeof *german_nouns,
    GERMAN_VERBS = sizeof german_verbs / sizeof *german_verbs,
    GERMAN_ADJECTIVES = sizeof german_adjectives / sizeof *german_adjectives,
    GERMAN_CONJUNCTIONS = sizeof german_conjunctions / sizeof *german_conjunctions,
    GERMAN_BECAUSE = GERMAN_CONJUNCTIONS - 1
};

/* Appends an English phrase, whose words must be known; returns its position. */
static int german_say(const struct language *language, struct sentence *sentence,
                      const char *phrase)
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
struct german_positions {
    int article, adjective, noun; /* -1 if the word is missing */
};

static struct german_positions german_say_phrase(const struct language *language,
                                                 struct sentence *sentence,
                                                 const struct german_phrase *phrase)
{
    struct german_positions at = {-1, -1, -1};
    if (phrase->the) at.article = german_say(language, sentence, "the");
    if (phrase->adjective >= 0)
        at.adjective = german_say(language, sentence, german_adjectives[phrase->adjective].english);
    at.noun = german_say(language, sentence, german_nouns[phrase->noun].english);
    return at;
}

/* `no` is the position of "not" if "keine" negates the phrase, otherwise -1. */
static void german_translate_phrase(const struct language *language, struct sentence *sentence,
                                    const struct german_phrase *phrase, struct german_positions at,
                                    int no)
{
    const int article = phrase->the ? at.article : no;
    if (phrase->the) german_translate(language, sentence, "die", at.article, at.article);
    if (no >= 0) german_translate(language, sentence, "keine", no, no - 1);
    if (phrase->adjective >= 0)
        german_translate(language, sentence,
                         german_adjectives[phrase->adjective].german[article >= 0], at.adjective,
                         at.adjective);
    german_translate(language, sentence, german_nouns[phrase->noun].translation, at.noun, at.noun);
}

void german_append(const struct language *language, struct sentence *sentence,
                   const struct german_clause *clause)
{
    const bool first = sentence->source.count == 0, last = !first && clause->link == GERMAN_BECAUSE;
    if (!first) {
        int at = german_say(language, sentence, german_conjunctions[clause->link].english);
        german_translate(language, sentence, german_conjunctions[clause->link].translation, at, at);
    }
    struct german_positions subject = german_say_phrase(language, sentence, &clause->subject);
    int no = clause->negated ? german_say(language, sentence, "do not") + 1 : -1;
    int verb = german_say(language, sentence, german_verbs[clause->verb].english);
    struct german_positions object = german_say_phrase(language, sentence, &clause->object);
    german_translate_phrase(language, sentence, &clause->subject, subject, -1);
    if (!last)
        german_translate(language, sentence, german_verbs[clause->verb].translation, verb, verb);
    german_translate_phrase(language, sentence, &clause->object, object,
                            clause->object.the ? -1 : no);
    if (no >= 0 && clause->object.the) german_translate(language, sentence, "nicht", no, no - 1);
    if (last)
        german_translate(language, sentence, german_verbs[clause->verb].translation, verb, verb);
}

static struct german_phrase german_draw_phrase(struct random *random)
{
    struct german_phrase phrase;
    phrase.the = random_below(random, 2);
    phrase.adjective = random_below(random, 3) == 0 ? random_below(random, GERMAN_ADJECTIVES) : -1;
    phrase.noun = random_below(random, GERMAN_NOUNS);
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
        clause.link = random_below(random, GERMAN_CONJUNCTIONS);
        clause.subject = german_draw_phrase(random);
        clause.negated = random_below(random, 3) == 0;
        clause.verb = random_below(random, GERMAN_VERBS);
        clause.object = german_draw_phrase(random);
        german_append(language, sentence, &clause);
    }
}

static void german_add(struct language *language, struct pair pair)
{
    vocabulary_add(&language->source, pair.english);
    vocabulary_add(&language->target, pair.translation);
}

void german_create(struct language *language)
{
    const struct vocabulary empty = {RAPT_TOKEN_SPECIALS, {"", "", "(end)"}};
    *language = (struct language){"English", "German", empty, empty, german_draw};
    german_add(language, (struct pair){"the do not", "die keine nicht"});
    for (int i = 0; i < GERMAN_CONJUNCTIONS; i++) german_add(language, german_conjunctions[i]);
    for (int i = 0; i < GERMAN_NOUNS; i++) german_add(language, german_nouns[i]);
    for (int i = 0; i < GERMAN_VERBS; i++) german_add(language, german_verbs[i]);
    for (int i = 0; i < GERMAN_ADJECTIVES; i++) {
        german_add(language,
                   (struct pair){german_adjectives[i].english, german_adjectives[i].german[0]});
        vocabulary_add(&language->target, german_adjectives[i].german[1]);
    }
}
