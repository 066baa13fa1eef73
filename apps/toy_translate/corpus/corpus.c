/* corpus.c - draws a training set and a held-out set from the grammar, and writes them out. */
#include "grammar.h"
#include "kit/random.h"

#include <stdlib.h>
#include <string.h>

/* A set of texts, stored as 64-bit hashes (open addressing, 0 is empty). A hash collision, which
   is improbable, skips a sentence or ends the draw with an error. */
struct set {
    uint64_t *hash;
    size_t mask, count;
};
enum { SOURCE = 1, TARGET, PAIR, SOURCE_WORD, TARGET_WORD }; /* kinds of text */

struct draw {
    struct corpus *corpus;
    const corpus_grammar *grammar;
    struct set seen;
    size_t used; /* bytes of corpus->text */
    char *why;
};

/* Mixes the hash with splitmix64; the result is never 0. */
static uint64_t hash_of(int kind, const char *text, size_t size, uint64_t hash)
{
    hash = hash_bytes(hash ^ (HASH_EMPTY + (uint64_t)kind), text, size);
    hash = corpus_random(&hash);
    return hash ? hash : 1;
}

static uint64_t hash_pair(const char *source, const char *target)
{
    return hash_of(PAIR, target, strlen(target), hash_of(SOURCE, source, strlen(source), 0));
}

static uint64_t *find_slot(const struct set *set, uint64_t hash)
{
    size_t at = (size_t)hash & set->mask;
    while (set->hash[at] && set->hash[at] != hash) at = (at + 1) & set->mask;
    return &set->hash[at];
}

static bool set_has(const struct set *set, uint64_t hash)
{
    return set->hash && *find_slot(set, hash);
}

static bool set_add(struct set *set, uint64_t hash)
{
    if (2 * set->count >= set->mask) {
        struct set larger = {NULL, 2 * set->mask + 1, set->count};
        larger.hash = calloc(larger.mask + 1, sizeof *larger.hash);
        if (!larger.hash) return false;
        for (size_t i = 0; set->hash && i <= set->mask; i++)
            if (set->hash[i]) *find_slot(&larger, set->hash[i]) = set->hash[i];
        free(set->hash);
        *set = larger;
    }
    uint64_t *slot = find_slot(set, hash);
    set->count += !*slot;
    *slot = hash;
    return true;
}

static bool add_pair(struct set *set, const char *source, const char *target)
{
    return set_add(set, hash_of(SOURCE, source, strlen(source), 0)) &&
           set_add(set, hash_of(TARGET, target, strlen(target), 0)) &&
           set_add(set, hash_pair(source, target));
}

/* If `learn` is true, adds the words of a sentence to the set, and returns false if memory runs
   out. Otherwise returns true if the set contains all of them. */
static bool set_words(struct set *set, int kind, const char *text, bool learn)
{
    while (*text) {
        size_t size = strcspn(text, " ");
        uint64_t hash = hash_of(kind, text, size, 0);
        if (learn ? !set_add(set, hash) : !set_has(set, hash)) return false;
        text += size;
        text += strspn(text, " ");
    }
    return true;
}

static bool pair_words(struct set *set, const struct corpus_pair *pair, bool learn)
{
    return set_words(set, SOURCE_WORD, pair->source, learn) &&
           set_words(set, TARGET_WORD, pair->target, learn);
}

static const char *keep_text(struct draw *d, const char *text)
{
    size_t size = strlen(text) + 1;
    char *copy = memcpy(d->corpus->text + d->used, text, size);
    d->used += size;
    return copy;
}

static bool complain(char *why, const char *what, const char *which)
{
    snprintf(why, CORPUS_TEXT, "%s%.180s", what, which);
    return false;
}

/* Draws new pairs. Held-out pairs use only words of the training set. */
static bool draw_pairs(struct draw *d, uint64_t *state, struct corpus_pair *pairs, size_t count,
                       bool training)
{
    size_t tries = 200 * count + 10000, at = 0;
    char source[CORPUS_TEXT], target[CORPUS_TEXT];
    struct corpus_pair pair = {source, target};
    while (at < count && tries--) {
        if (!corpus_sentence(d->grammar, state, NULL, source, target)) continue;
        if (set_has(&d->seen, hash_of(SOURCE, source, strlen(source), 0))) {
            if (!set_has(&d->seen, hash_pair(source, target)))
                return complain(d->why, "the grammar gives two translations of: ", source);
            continue;
        }
        if (set_has(&d->seen, hash_of(TARGET, target, strlen(target), 0))) continue;
        if (!training && !pair_words(&d->seen, &pair, false)) continue;
        if (!add_pair(&d->seen, source, target) || (training && !pair_words(&d->seen, &pair, true)))
            return complain(d->why, "out of memory", "");
        pairs[at].source = keep_text(d, source);
        pairs[at++].target = keep_text(d, target);
    }
    return at == count || complain(d->why, "the grammar has too few sentences", "");
}

/* Draws both sets. The showcase is added to `seen` first, so that it is never drawn. */
static bool draw_corpus(struct draw *d, uint64_t seed)
{
    struct corpus *corpus = d->corpus;
    uint64_t state = seed;
    size_t count;
    const struct corpus_pair *show = corpus_showcase(d->grammar, &count);
    for (size_t i = 0; i < count; i++)
        if (!add_pair(&d->seen, show[i].source, show[i].target))
            return complain(d->why, "out of memory", "");
    if (!draw_pairs(d, &state, corpus->train, corpus->train_count, true)) return false;
    for (size_t i = 0; i < count; i++)
        if (!pair_words(&d->seen, &show[i], false))
            return complain(d->why, "the training set lacks words of: ", show[i].source);
    return draw_pairs(d, &state, corpus->heldout, corpus->heldout_count, false);
}

bool corpus_draw(struct corpus *corpus, const corpus_grammar *grammar, uint64_t seed,
                 size_t train_count, size_t heldout_count, char why[CORPUS_TEXT])
{
    struct draw d = {.corpus = corpus, .grammar = grammar, .why = why};
    *corpus = (struct corpus){.train_count = train_count, .heldout_count = heldout_count};
    if (train_count > 10000000 || heldout_count > 10000000)
        return complain(why, "more than ten million pairs", "");
    corpus->train = calloc(train_count + 1, sizeof *corpus->train);
    corpus->heldout = calloc(heldout_count + 1, sizeof *corpus->heldout);
    corpus->text = malloc((train_count + heldout_count + 1) * 2 * CORPUS_TEXT);
    bool done = false;
    if (!corpus->train || !corpus->heldout || !corpus->text)
        complain(why, "out of memory", "");
    else
        done = draw_corpus(&d, seed);
    free(d.seen.hash);
    if (!done) corpus_free(corpus);
    return done;
}

void corpus_free(struct corpus *corpus)
{
    free(corpus->train);
    free(corpus->heldout);
    free(corpus->text);
    *corpus = (struct corpus){0};
}

bool corpus_write(FILE *file, const struct corpus_pair *pairs, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (fprintf(file, "%s\t%s\n", pairs[i].source, pairs[i].target) < 0) return false;
    return !fflush(file);
}
