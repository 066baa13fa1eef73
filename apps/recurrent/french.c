/* french.c - random English sentences of a small grammar and their French translations, which
   need agreement, reordering and phrases.

   sentence = clause (and|but|then clause)*
   clause = subject verbs [object] | subject does not verb [object]
   subject, object = the [adjective] noun

   the -> le, la                                      the article agrees with a later noun
   black cat -> chat noir, black cow -> vache noire   adjective and noun swap and agree
   does not see -> ne voit pas                        the negation encloses the verb
   throws the king away -> jette le roi               two separate words become one,
   railway -> chemin de fer                           and one becomes three */
#include "recurrent.h"
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
    {"gray", {"gris", "grise"}},  {"cold", {"froid", "froide"}},   {"heavy", {"lourd", "lourde"}},
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

static void add_words_both(struct language *language, struct pair pair)
{
    vocabulary_add(&language->source, pair.english);
    vocabulary_add(&language->target, pair.french);
}

/* Appends the words of a phrase and links them to what they translate. */
static void append_target(const struct language *language, struct sentence *sentence,
                          const char *phrase, struct link link)
{
    const int first = sentence->target.count;
    words_append(&language->target, &sentence->target, phrase);
    for (int i = first; i < sentence->target.count; i++) sentence->links[i] = link;
}

/* Appends a word and its translation; returns its position. */
static int append_both(const struct language *language, struct sentence *sentence, struct pair pair)
{
    const int at = sentence->source.count;
    words_append(&language->source, &sentence->source, pair.english);
    append_target(language, sentence, pair.french, (struct link){at, at, at});
    return at;
}

/* The article and the adjective depend on the gender of the noun. */
static void append_noun_phrase(const struct language *language, struct sentence *sentence, int noun,
                               int adjective)
{
    const int feminine = noun >= NOUNS / 2, article = sentence->source.count;
    const int last = article + 1 + (adjective >= 0);
    words_append(&language->source, &sentence->source, "the");
    append_target(language, sentence, feminine ? "la" : "le",
                  (struct link){article, article, last});
    if (adjective >= 0)
        words_append(&language->source, &sentence->source, adjectives[adjective].english);
    append_both(language, sentence, nouns[noun]);
    if (adjective >= 0)
        append_target(language, sentence, adjectives[adjective].french[feminine],
                      (struct link){article + 1, article + 1, last});
}

void french_append(const struct language *language, struct sentence *sentence,
                   const struct clause *clause)
{
    const bool no = clause->negated;
    if (sentence->source.count > 0) append_both(language, sentence, links[clause->link]);
    append_noun_phrase(language, sentence, clause->subject, clause->subject_adjective);
    const int at = sentence->source.count;
    const struct link negation = {at + 1, at, at + 1};
    if (no) {
        words_append(&language->source, &sentence->source, "does not");
        append_target(language, sentence, "ne", negation);
    }
    append_both(language, sentence,
                (struct pair){verbs[clause->verb].english[!no], verbs[clause->verb].french});
    if (no) append_target(language, sentence, "pas", negation);
    if (clause->object >= 0)
        append_noun_phrase(language, sentence, clause->object, clause->object_adjective);
    words_append(&language->source, &sentence->source, verbs[clause->verb].after);
}

static int adjective_or_none(struct random *random)
{
    return random_below(random, 3) == 0 ? random_below(random, ADJECTIVES) : -1;
}

static struct clause draw_clause(struct random *random)
{
    struct clause clause;
    clause.link = random_below(random, LINKS);
    clause.subject = random_below(random, NOUNS);
    clause.subject_adjective = adjective_or_none(random);
    clause.verb = random_below(random, VERBS);
    clause.negated = random_below(random, 4) == 0;
    clause.object = random_below(random, 2) ? random_below(random, NOUNS) : -1;
    clause.object_adjective = adjective_or_none(random);
    return clause;
}

/* Appends clauses until the length is reached, and starts again if it is exceeded. */
static void french_draw(const struct language *language, struct sentence *sentence,
                        struct random *random, int length)
{
    sentence->source.count = sentence->target.count = 0;
    while (sentence->source.count != length) {
        if (sentence->source.count > length) sentence->source.count = sentence->target.count = 0;
        struct clause clause = draw_clause(random);
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
    add_words_both(language, (struct pair){"the does not", "le la ne pas"});
    for (int i = 0; i < LINKS; i++) add_words_both(language, links[i]);
    for (int i = 0; i < NOUNS; i++) add_words_both(language, nouns[i]);
    for (int i = 0; i < ADJECTIVES; i++) {
        add_words_both(language, (struct pair){adjectives[i].english, adjectives[i].french[0]});
        vocabulary_add(&language->target, adjectives[i].french[1]);
    }
    for (int i = 0; i < VERBS; i++) {
        add_words_both(language, (struct pair){verbs[i].english[0], verbs[i].french});
        add_words_both(language, (struct pair){verbs[i].english[1], ""});
        vocabulary_add(&language->source, verbs[i].after);
    }
}
