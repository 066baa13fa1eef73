/* language.c - a language whose translation needs to know what belongs to what.

   sentence = clause (and|but|then clause)*     clause = who verbs [whom] | who does not verb [whom]
   who, whom = the [adjective] noun

   the -> le, la                                      the article depends on a noun that comes later
   black cat -> chat noir, black cow -> vache noire   the two change places and agree
   does not see -> ne voit pas                        "not" goes around the verb
   throws the king away -> jette le roi               two words apart are one,
   railway -> chemin de fer                           and one is three */
#include "bottleneck.h"
#include <string.h>

struct pair {
    const char *english, *french;
};
static const struct pair nouns[] = {
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
} adjectives[] = {
    {"black", {"noir", "noire"}}, {"white", {"blanc", "blanche"}}, {"green", {"vert", "verte"}},
    {"grey", {"gris", "grise"}},  {"cold", {"froid", "froide"}},   {"heavy", {"lourd", "lourde"}},
};
static const struct {
    const char *english[2], *after, *french; /* see, sees; "throw ... away" */
} verbs[] = {
    {{"see", "sees"}, "", "voit"},          {{"find", "finds"}, "", "trouve"},
    {{"follow", "follows"}, "", "suit"},    {{"carry", "carries"}, "", "porte"},
    {{"sell", "sells"}, "", "vend"},        {{"know", "knows"}, "", "conna\u00EEt"},
    {{"put", "puts"}, "down", "pose"},      {{"give", "gives"}, "back", "rend"},
    {{"throw", "throws"}, "away", "jette"}, {{"pick", "picks"}, "up", "ramasse"},
};
static const struct pair links[] = {{"and", "et"}, {"but", "mais"}, {"then", "puis"}};

enum {
    NOUNS = sizeof nouns / sizeof *nouns,
    ADJECTIVES = sizeof adjectives / sizeof *adjectives,
    VERBS = sizeof verbs / sizeof *verbs,
    LINKS = sizeof links / sizeof *links
};

/* The place of a word in the vocabulary; count: it is new. */
static int token_of(const struct vocabulary *vocabulary, const char *word, size_t size)
{
    int token = RAPT_TOKEN_SPECIALS;
    while (token < vocabulary->count && (strlen(vocabulary->words[token]) != size ||
                                         memcmp(vocabulary->words[token], word, size) != 0))
        token++;
    return token;
}

/* Gives tokens to the words of a phrase that have none. */
static void learn(struct vocabulary *vocabulary, const char *phrase)
{
    while (*phrase) {
        size_t size = strcspn(phrase, " ");
        if (token_of(vocabulary, phrase, size) == vocabulary->count)
            snprintf(vocabulary->words[vocabulary->count++], LONGEST_WORD, "%.*s", (int)size,
                     phrase);
        phrase += size + (phrase[size] == ' ');
    }
}

static void learn_both(struct language *language, struct pair pair)
{
    learn(&language->english, pair.english);
    learn(&language->french, pair.french);
}

void language_create(struct language *language)
{
    const struct vocabulary empty = {RAPT_TOKEN_SPECIALS, {"", "", "(end)"}};
    *language = (struct language){empty, empty};
    learn_both(language, (struct pair){"the does not", "le la ne pas"});
    for (int i = 0; i < LINKS; i++) learn_both(language, links[i]);
    for (int i = 0; i < NOUNS; i++) learn_both(language, nouns[i]);
    for (int i = 0; i < ADJECTIVES; i++) {
        learn_both(language, (struct pair){adjectives[i].english, adjectives[i].french[0]});
        learn(&language->french, adjectives[i].french[1]);
    }
    for (int i = 0; i < VERBS; i++) {
        learn_both(language, (struct pair){verbs[i].english[0], verbs[i].french});
        learn_both(language, (struct pair){verbs[i].english[1], ""});
        learn(&language->english, verbs[i].after);
    }
}

/* Appends the words of a phrase. */
static void say_in(const struct vocabulary *vocabulary, struct words *words, const char *phrase)
{
    while (*phrase) {
        size_t size = strcspn(phrase, " ");
        words->tokens[words->count++] = token_of(vocabulary, phrase, size);
        phrase += size + (phrase[size] == ' ');
    }
}

static void say_both(const struct language *language, struct sentence *sentence, struct pair pair)
{
    say_in(&language->english, &sentence->english, pair.english);
    say_in(&language->french, &sentence->french, pair.french);
}

static void say_noun_phrase(const struct language *language, struct sentence *sentence, int noun,
                            int adjective)
{
    int female = noun >= NOUNS / 2;
    say_both(language, sentence, (struct pair){"the", female ? "la" : "le"});
    if (adjective >= 0)
        say_in(&language->english, &sentence->english, adjectives[adjective].english);
    say_both(language, sentence, nouns[noun]);
    if (adjective >= 0)
        say_in(&language->french, &sentence->french, adjectives[adjective].french[female]);
}

void sentence_say(const struct language *language, struct sentence *sentence,
                  const struct clause *clause)
{
    const bool no = clause->negated;
    if (sentence->english.count > 0) say_both(language, sentence, links[clause->link]);
    say_noun_phrase(language, sentence, clause->who, clause->who_is);
    if (no) say_both(language, sentence, (struct pair){"does not", "ne"});
    say_both(language, sentence,
             (struct pair){verbs[clause->verb].english[!no], verbs[clause->verb].french});
    if (no) say_in(&language->french, &sentence->french, "pas");
    if (clause->whom >= 0) say_noun_phrase(language, sentence, clause->whom, clause->whom_is);
    say_in(&language->english, &sentence->english, verbs[clause->verb].after);
}

static int adjective_or_none(struct random *random)
{
    return random_below(random, 3) == 0 ? random_below(random, ADJECTIVES) : -1;
}

static struct clause draw_clause(struct random *random)
{
    struct clause clause;
    clause.link = random_below(random, LINKS);
    clause.who = random_below(random, NOUNS);
    clause.who_is = adjective_or_none(random);
    clause.verb = random_below(random, VERBS);
    clause.negated = random_below(random, 4) == 0;
    clause.whom = random_below(random, 2) ? random_below(random, NOUNS) : -1;
    clause.whom_is = adjective_or_none(random);
    return clause;
}

/* Clauses until the length is reached; start anew where it is missed. */
void sentence_draw(const struct language *language, struct sentence *sentence,
                   struct random *random, int length)
{
    sentence->english.count = sentence->french.count = 0;
    while (sentence->english.count != length) {
        if (sentence->english.count > length) sentence->english.count = sentence->french.count = 0;
        struct clause clause = draw_clause(random);
        sentence_say(language, sentence, &clause);
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

void batch_draw(const struct setup *setup, int step, struct sentence *sentences)
{
    struct random random = random_from(setup->seed, (uint64_t)step);
    int length = SHORTEST + random_below(&random, setup->longest - SHORTEST + 1);
    for (int i = 0; i < setup->batch; i++)
        sentence_draw(&setup->language, &sentences[i], &random, length);
}
