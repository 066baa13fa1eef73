/* tasks_grammar.c - random sentences and their probabilities; counts of n-grams and probabilities
   by them. */
#include "tasks_grammar.h"
#include "kit/program.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

const char *const grammar_words[WORDS] = {
    "the",   "a",      "this",  "every",   "these", "many",   "two",    "dog",   "cat",   "king",
    "girl",  "tower",  "tree",  "car",     "ship",  "dogs",   "cats",   "kings", "girls", "towers",
    "trees", "cars",   "ships", "sleeps",  "falls", "shines", "waits",  "burns", "moves", "sleep",
    "fall",  "shine",  "wait",  "burn",    "move",  "old",    "small",  "red",   "quiet", "new",
    "again", "slowly", "today", "outside", "near",  "behind", "beside", "under", ".",     "[mask]"};

static int grammar_choose(struct sentence *s, struct random *random, int count)
{
    s->nats += log(count);
    return random_below(random, count);
}

static bool perhaps(struct sentence *s, struct random *random, float share)
{
    const bool yes = random_unit(random) < share;
    s->nats -= log((double)(yes ? share : 1 - share));
    return yes;
}

/* Adds determiner, sometimes an adjective, and noun; returns its number. */
static bool add_noun(struct sentence *s, struct random *random)
{
    const bool plural = perhaps(s, random, 0.5F);
    const int determiner = grammar_choose(s, random, 4);
    s->word[s->count++] = determiner == 0 ? DETERMINER : determiner + (plural ? 3 : 0);
    if (perhaps(s, random, 0.4F)) s->word[s->count++] = ADJECTIVE + grammar_choose(s, random, 5);
    s->word[s->count++] = NOUN + (plural ? NOUNS : 0) + grammar_choose(s, random, NOUNS);
    return plural;
}

static void compose(struct sentence *s, struct random *random)
{
    memset(s, 0, sizeof *s);
    bool last = s->plural = add_noun(s, random);
    s->subject = s->count - 1;
    for (int more = 0; more < 2 && perhaps(s, random, 0.6F); more++) {
        s->word[s->count++] = PREPOSITION + grammar_choose(s, random, 4);
        last = add_noun(s, random);
    }
    s->distracted = last != s->plural;
    s->verb = s->count;
    s->word[s->count++] = VERB + (s->plural ? VERBS : 0) + grammar_choose(s, random, VERBS);
    if (perhaps(s, random, 0.5F)) s->word[s->count++] = ADVERB + grammar_choose(s, random, 4);
    s->word[s->count++] = STOP;
}

/* Decides by the words, so that equal sentences are on the same side. */
static bool grammar_held_out(const struct sentence *s)
{
    struct random hash = random_from(19, (uint64_t)s->count);
    for (int i = 0; i < s->count; i++) hash = random_from(random_bits(&hash), (uint64_t)s->word[i]);
    return random_below(&hash, 10) == 0;
}

void sentence_draw(struct sentence *s, struct random *random, bool test)
{
    do compose(s, random);
    while (grammar_held_out(s) != test);
}

void grams_create(struct grams *grams)
{
    size_t count = WORDS;
    for (int n = 0; n < ORDERS; n++, count *= WORDS)
        grams->counts[n] = xcalloc(count, sizeof *grams->counts[n]);
}

void grams_free(struct grams *grams)
{
    for (int n = 0; n < ORDERS; n++) free(grams->counts[n]);
}

/* Returns the index of the n-gram that ends with word `at`. BEGIN precedes the first word. */
static size_t gram(const struct sentence *s, int at, int order)
{
    size_t index = 0;
    for (int i = at - order + 1; i <= at; i++)
        index = index * WORDS + (size_t)(i < 0 ? BEGIN : s->word[i]);
    return index;
}

void grams_add(struct grams *grams, const struct sentence *s)
{
    for (int at = 0; at < s->count; at++)
        for (int n = 0; n < ORDERS; n++) grams->counts[n][gram(s, at, n + 1)]++;
}

/* After a context that was seen N times, with T different next words: (count + T share) / (N + T),
   where share is the probability by the next lower order (Witten et al. 1991). */
void grams_share(const struct grams *grams, const struct sentence *s, int at, double share[ORDERS])
{
    double lower = 1.0 / WORDS;
    for (int n = 0; n < ORDERS; n++) {
        const size_t index = gram(s, at, n + 1), first = index / WORDS * WORDS;
        const int *count = grams->counts[n];
        double seen = 0, kinds = 0;
        for (size_t i = first; i < first + WORDS; i++) seen += count[i], kinds += count[i] > 0;
        share[n] = lower = seen > 0 ? (count[index] + kinds * lower) / (seen + kinds) : lower;
    }
}
