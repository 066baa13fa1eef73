/* language.c - random English sentences of a small grammar and their French translations, which
   need agreement, reordering and phrases.

   sentence = clause (and|but|then clause)*
   clause = subject verbs [object] | subject does not verb [object]
   subject, object = the [adjective] noun

   the -> le, la                                      the article agrees with a later noun
   black cat -> chat noir, black cow -> vache noire   adjective and noun swap and agree
   does not see -> ne voit pas                        the negation encloses the verb
   throws the king away -> jette le roi               two separate words become one,
   railway -> chemin de fer                           and one becomes three */
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

/* The token of a word; count: it is not in the vocabulary. */
static int token_of(const struct vocabulary *vocabulary, const char *word, size_t size)
{
    int token = RAPT_TOKEN_SPECIALS;
    while (token < vocabulary->count && (strlen(vocabulary->words[token]) != size ||
                                         memcmp(vocabulary->words[token], word, size) != 0))
        token++;
    return token;
}

/* Adds the unknown words of a phrase to the vocabulary. */
static void add_words(struct vocabulary *vocabulary, const char *phrase)
{
    while (*phrase) {
        size_t size = strcspn(phrase, " ");
        if (token_of(vocabulary, phrase, size) == vocabulary->count)
            snprintf(vocabulary->words[vocabulary->count++], MAX_WORD, "%.*s", (int)size, phrase);
        phrase += size + (phrase[size] == ' ');
    }
}

static void add_words_both(struct language *language, struct pair pair)
{
    add_words(&language->english, pair.english);
    add_words(&language->french, pair.french);
}

void language_create(struct language *language)
{
    const struct vocabulary empty = {RAPT_TOKEN_SPECIALS, {"", "", "(end)"}};
    *language = (struct language){empty, empty};
    add_words_both(language, (struct pair){"the does not", "le la ne pas"});
    for (int i = 0; i < LINKS; i++) add_words_both(language, links[i]);
    for (int i = 0; i < NOUNS; i++) add_words_both(language, nouns[i]);
    for (int i = 0; i < ADJECTIVES; i++) {
        add_words_both(language, (struct pair){adjectives[i].english, adjectives[i].french[0]});
        add_words(&language->french, adjectives[i].french[1]);
    }
    for (int i = 0; i < VERBS; i++) {
        add_words_both(language, (struct pair){verbs[i].english[0], verbs[i].french});
        add_words_both(language, (struct pair){verbs[i].english[1], ""});
        add_words(&language->english, verbs[i].after);
    }
}

/* Appends the words of a phrase. */
static void append(const struct vocabulary *vocabulary, struct words *words, const char *phrase)
{
    while (*phrase) {
        size_t size = strcspn(phrase, " ");
        words->tokens[words->count++] = token_of(vocabulary, phrase, size);
        phrase += size + (phrase[size] == ' ');
    }
}

static void append_both(const struct language *language, struct sentence *sentence,
                        struct pair pair)
{
    append(&language->english, &sentence->english, pair.english);
    append(&language->french, &sentence->french, pair.french);
}

static void append_noun_phrase(const struct language *language, struct sentence *sentence, int noun,
                               int adjective)
{
    int feminine = noun >= NOUNS / 2;
    append_both(language, sentence, (struct pair){"the", feminine ? "la" : "le"});
    if (adjective >= 0)
        append(&language->english, &sentence->english, adjectives[adjective].english);
    append_both(language, sentence, nouns[noun]);
    if (adjective >= 0)
        append(&language->french, &sentence->french, adjectives[adjective].french[feminine]);
}

void sentence_append(const struct language *language, struct sentence *sentence,
                     const struct clause *clause)
{
    const bool no = clause->negated;
    if (sentence->english.count > 0) append_both(language, sentence, links[clause->link]);
    append_noun_phrase(language, sentence, clause->subject, clause->subject_adjective);
    if (no) append_both(language, sentence, (struct pair){"does not", "ne"});
    append_both(language, sentence,
                (struct pair){verbs[clause->verb].english[!no], verbs[clause->verb].french});
    if (no) append(&language->french, &sentence->french, "pas");
    if (clause->object >= 0)
        append_noun_phrase(language, sentence, clause->object, clause->object_adjective);
    append(&language->english, &sentence->english, verbs[clause->verb].after);
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

/* Appends clauses until the length is reached; starts again if it is exceeded. */
void sentence_draw(const struct language *language, struct sentence *sentence,
                   struct random *random, int length)
{
    sentence->english.count = sentence->french.count = 0;
    while (sentence->english.count != length) {
        if (sentence->english.count > length) sentence->english.count = sentence->french.count = 0;
        struct clause clause = draw_clause(random);
        sentence_append(language, sentence, &clause);
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
    int length = MIN_WORDS + random_below(&random, setup->max_words - MIN_WORDS + 1);
    for (int i = 0; i < setup->batch; i++)
        sentence_draw(&setup->language, &sentences[i], &random, length);
}
