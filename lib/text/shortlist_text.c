/* shortlist_text.c - reads a shortlist from lines "target source probability" as Marian does: a
   word that is not in the vocabulary counts as the unknown token, and only the last of several
   lines with the same tokens counts. Source: marian-dev 1.12, src/data/shortlist.h. */
#include "text/shortlist.h"

#include <string.h>

enum { FIRST = 100, BEST = 100 };           /* Marian's defaults */
static const float PROBABILITY_MAX = 1.01f; /* allows for rounding */

struct lexicon { /* the state of the reader */
    const rapt_tokenizer *source, *target;
    const char *at, *end;
    size_t line;
    bool useful;              /* a line has two known words and a probability above 0 */
    rapt_lexical_pair *pairs; /* [capacity] */
    size_t count, capacity;
};

static bool is_space(char c)
{
    return c == ' ' || c == '\t' || c == '\r';
}

/* Returns the next word of a line, which is empty at the end of the line. */
static rapt_text word(struct lexicon *l)
{
    while (l->at < l->end && is_space(*l->at)) l->at++;
    const char *begin = l->at;
    while (l->at < l->end && *l->at != '\n' && !is_space(*l->at)) l->at++;
    return (rapt_text){begin, (size_t)(l->at - begin)};
}

/* Returns true if a name is NULL, which marks words that have no counterpart on the other side. */
static bool is_null(rapt_text name)
{
    return name.size == 4 && memcmp(name.bytes, "NULL", 4) == 0;
}

static bool read_probability(rapt_text text, float *x)
{
    char copy[64];
    if (text.size == 0 || text.size >= sizeof copy) return false;
    memcpy(copy, text.bytes, text.size);
    copy[text.size] = 0;
    return rapt__float_read(copy, x);
}

/* Returns the token with this name, the unknown token if no token has this name, or -1 if the
   vocabulary contains neither. */
static int32_t token_of(const rapt_tokenizer *t, rapt_text name, bool *known)
{
    int32_t token = rapt_tokenizer_find(t, name);
    *known = token >= 0;
    return *known ? token : rapt_tokenizer_special(t, RAPT_TOKEN_UNKNOWN);
}

/* Reads one line. Sets *usable to true if the line contains a pair of tokens, else to false. */
static rapt_status read_line(struct lexicon *l, rapt_lexical_pair *pair, bool *usable,
                             rapt_message *why)
{
    rapt_text target = word(l), source = word(l), number = word(l), rest = word(l);
    bool known[2];
    *usable = false;
    l->line++;
    if (target.size == 0) return RAPT_OK;
    if (rest.size || !read_probability(number, &pair->probability))
        return rapt__fail(why, RAPT_BAD_FILE,
                          "line %zu is not \"target source probability\" (and the file is not "
                          "a binary shortlist)",
                          l->line);
    if (!(pair->probability >= 0 && pair->probability <= PROBABILITY_MAX))
        return rapt__fail(why, RAPT_BAD_FILE,
                          "line %zu: the probability %.*s is not between 0 and 1", l->line,
                          (int)number.size, number.bytes);
    if (is_null(source) || is_null(target)) return RAPT_OK;
    pair->source = token_of(l->source, source, &known[0]);
    pair->target = token_of(l->target, target, &known[1]);
    *usable = pair->source >= 0 && pair->target >= 0;
    l->useful |= known[0] && known[1] && pair->probability > 0;
    return RAPT_OK;
}

static rapt_status add_lexical_pair(struct lexicon *l, const rapt_lexical_pair *pair,
                                    const rapt_allocator *allocator, rapt_message *why)
{
    if (l->count == l->capacity) {
        rapt_lexical_pair *more = rapt__grown(allocator, l->pairs, &l->capacity, sizeof *l->pairs);
        if (!more) return rapt__fail(why, RAPT_NO_MEMORY, "no memory for its pairs");
        l->pairs = more;
    }
    l->pairs[l->count++] = *pair;
    return RAPT_OK;
}

static rapt_status read_lines(struct lexicon *l, const rapt_allocator *allocator, rapt_message *why)
{
    rapt_status status = RAPT_OK;
    while (!status && l->at < l->end) {
        rapt_lexical_pair pair;
        bool usable;
        status = read_line(l, &pair, &usable, why);
        if (!status && usable) status = add_lexical_pair(l, &pair, allocator, why);
        if (l->at < l->end) l->at++; /* skips the line feed */
    }
    if (status || l->useful) return status;
    return rapt__fail(why, RAPT_BAD_FILE,
                      "no line has a token of each vocabulary and a probability above 0");
}

static int by_pair_and_line(const void *context, const void *x, const void *y)
{
    size_t i = *(const size_t *)x, j = *(const size_t *)y;
    const rapt_lexical_pair *a = (const rapt_lexical_pair *)context + i,
                            *b = (const rapt_lexical_pair *)context + j;
    if (a->source != b->source) return a->source < b->source ? -1 : 1;
    if (a->target != b->target) return a->target < b->target ? -1 : 1;
    return (i > j) - (i < j);
}

/* Sets the probability of a pair to 0 if a later line has the same tokens. */
static rapt_status keep_last(struct lexicon *l, const rapt_allocator *allocator, rapt_message *why)
{
    size_t *order = rapt__alloc(allocator, l->count * sizeof *order);
    if (!order) return rapt__fail(why, RAPT_NO_MEMORY, "no memory for its pairs");
    for (size_t i = 0; i < l->count; i++) order[i] = i;
    rapt__sort(order, l->count, sizeof *order, by_pair_and_line, l->pairs);
    for (size_t i = 1; i < l->count; i++) {
        rapt_lexical_pair *a = &l->pairs[order[i - 1]], *b = &l->pairs[order[i]];
        if (a->source == b->source && a->target == b->target) a->probability = 0;
    }
    rapt__free(allocator, order, l->count * sizeof *order);
    return RAPT_OK;
}

rapt_status rapt__shortlist_parse(rapt_shortlist **shortlist, const char *text, size_t size,
                                  const rapt_tokenizer *source, const rapt_tokenizer *target,
                                  const rapt_allocator *allocator, rapt_message *why)
{
    struct lexicon l = {.source = source, .target = target, .at = text, .end = text + size};
    rapt_status status = read_lines(&l, allocator, why);
    if (!status) status = keep_last(&l, allocator, why);
    if (!status)
        status = rapt_shortlist_create(shortlist, l.pairs, l.count, FIRST, BEST, source, target,
                                       allocator, why);
    rapt__free(allocator, l.pairs, l.capacity * sizeof *l.pairs);
    return status == RAPT_BAD_ARGUMENT ? RAPT_BAD_FILE : status;
}
