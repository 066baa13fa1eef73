/* shortlist.c - creates a lexical shortlist from pairs or from a file, and collects the target
   tokens for given source tokens. Source: marian-dev 1.12, src/data/shortlist.cpp. */
#include "text/shortlist.h"

#include "format/format.h"
#include <math.h>
#include <string.h>

/* Maximum size of a file in bytes. The number of target tokens found is rounded up to a multiple of
   MULTIPLE, if the vocabulary has that many. */
enum { FILE_MAX = 1 << 30, MULTIPLE = 8 };

static void lay_out_shortlist(rapt_shortlist *s, struct arena *arena)
{
    s->starts = rapt__arena_take(arena, (size_t)s->source_vocab + 1, sizeof *s->starts);
    s->lists = rapt__arena_take(arena, s->count, sizeof *s->lists);
}

rapt_status rapt__shortlist_make(rapt_shortlist **shortlist, const rapt_tokenizer *source,
                                 const rapt_tokenizer *target, size_t count,
                                 const rapt_allocator *allocator, rapt_message *why)
{
    rapt_shortlist *s = rapt__alloc(allocator, sizeof *s);
    if (!s) return rapt__fail(why, RAPT_NO_MEMORY, "no memory for a shortlist");
    *s = (rapt_shortlist){.allocator = rapt__allocator(allocator),
                          .source_vocab = rapt_tokenizer_vocab(source),
                          .target_vocab = rapt_tokenizer_vocab(target),
                          .shared = source == target,
                          .count = count};
    lay_out_shortlist(s, &s->arena);
    rapt_status status = rapt__arena_reserve(&s->arena, &s->allocator);
    if (status) {
        rapt_shortlist_free(s);
        return rapt__fail(why, status, "no memory for a shortlist of %zu tokens", count);
    }
    lay_out_shortlist(s, &s->arena);
    *shortlist = s;
    return RAPT_OK;
}

void rapt_shortlist_free(rapt_shortlist *s)
{
    if (!s) return;
    rapt_allocator allocator = s->allocator;
    rapt__arena_free(&s->arena, &allocator);
    rapt__free(&allocator, s, sizeof *s);
}

int rapt_shortlist_source_vocab(const rapt_shortlist *s)
{
    return s ? s->source_vocab : 0;
}

int rapt_shortlist_target_vocab(const rapt_shortlist *s)
{
    return s ? s->target_vocab : 0;
}

/* ---- creation from pairs ---- */

/* Orders pairs by source token, then by decreasing probability, then by decreasing target token. */
static int by_likelihood(const void *context, const void *x, const void *y)
{
    (void)context;
    const rapt_lexical_pair *a = x, *b = y;
    if (a->source != b->source) return a->source < b->source ? -1 : 1;
    if (a->probability != b->probability) return a->probability > b->probability ? -1 : 1;
    return (a->target < b->target) - (a->target > b->target);
}

/* Orders pairs by source token, then by target token, then by decreasing probability. */
static int by_target(const void *context, const void *x, const void *y)
{
    (void)context;
    const rapt_lexical_pair *a = x, *b = y;
    if (a->source != b->source) return a->source < b->source ? -1 : 1;
    if (a->target != b->target) return a->target < b->target ? -1 : 1;
    return (a->probability < b->probability) - (a->probability > b->probability);
}

/* Removes pairs whose probability is not above 0, and all but the most likely of duplicate pairs.
   Returns the number of pairs left. */
static size_t unite(rapt_lexical_pair *pairs, size_t count)
{
    size_t left = 0;
    rapt__sort(pairs, count, sizeof *pairs, by_target, NULL);
    for (size_t i = 0; i < count; i++) {
        const rapt_lexical_pair *last = left ? &pairs[left - 1] : NULL;
        bool same = last && last->source == pairs[i].source && last->target == pairs[i].target;
        if (!same && pairs[i].probability > 0) pairs[left++] = pairs[i];
    }
    return left;
}

/* Removes all but the `best` most likely pairs of each source token, and sorts by source and
   target. Returns the number of pairs left. */
static size_t cut(rapt_lexical_pair *pairs, size_t count, int best)
{
    size_t left = 0;
    int of_token = 0;
    rapt__sort(pairs, count, sizeof *pairs, by_likelihood, NULL);
    for (size_t i = 0; i < count; i++) {
        of_token = i && pairs[i].source == pairs[i - 1].source ? of_token + 1 : 0;
        if (of_token < best) pairs[left++] = pairs[i];
    }
    rapt__sort(pairs, left, sizeof *pairs, by_target, NULL);
    return left;
}

static void fill_shortlist(rapt_shortlist *s, const rapt_lexical_pair *pairs)
{
    size_t at = 0;
    for (int32_t token = 0; token < s->source_vocab; token++) {
        s->starts[token] = at;
        for (; at < s->count && pairs[at].source == token; at++) s->lists[at] = pairs[at].target;
    }
    s->starts[s->source_vocab] = s->count;
}

static rapt_status check_pairs(const rapt_lexical_pair *pairs, size_t count, int source_vocab,
                               int target_vocab, rapt_message *why)
{
    for (size_t i = 0; i < count; i++) {
        const rapt_lexical_pair *p = &pairs[i];
        if (p->source < 0 || p->source >= source_vocab)
            return rapt__fail(why, RAPT_BAD_ARGUMENT,
                              "pairs[%zu]: source is %d; the vocabulary has %d tokens", i,
                              (int)p->source, source_vocab);
        if (p->target < 0 || p->target >= target_vocab)
            return rapt__fail(why, RAPT_BAD_ARGUMENT,
                              "pairs[%zu]: target is %d; the vocabulary has %d tokens", i,
                              (int)p->target, target_vocab);
        if (!isfinite(p->probability))
            return rapt__fail(why, RAPT_BAD_ARGUMENT, "pairs[%zu]: probability is %g", i,
                              (double)p->probability);
    }
    return RAPT_OK;
}

rapt_status rapt_shortlist_create(rapt_shortlist **shortlist, const rapt_lexical_pair *pairs,
                                  size_t count, int first, int best, const rapt_tokenizer *source,
                                  const rapt_tokenizer *target, const rapt_allocator *allocator,
                                  rapt_message *why)
{
    if (!shortlist || !source || !target || (count && !pairs))
        return rapt__fail(why, RAPT_BAD_ARGUMENT, "%s is NULL",
                          !shortlist ? "shortlist"
                          : !source  ? "source"
                          : !target  ? "target"
                                     : "pairs");
    rapt_status status = rapt__int_check("first", first, 0, INT32_MAX, why);
    if (!status) status = rapt__int_check("best", best, 1, INT32_MAX, why);
    if (!status)
        status = check_pairs(pairs, count, rapt_tokenizer_vocab(source),
                             rapt_tokenizer_vocab(target), why);
    if (status) return status;
    size_t bytes = 0;
    rapt_lexical_pair *own = NULL;
    if (rapt__times(count ? count : 1, sizeof *own, &bytes)) own = rapt__alloc(allocator, bytes);
    if (!own) return rapt__fail(why, RAPT_NO_MEMORY, "no memory for %zu pairs", count);
    if (count) memcpy(own, pairs, bytes);
    size_t left = cut(own, unite(own, count), best);
    status = rapt__shortlist_make(shortlist, source, target, left, allocator, why);
    if (!status) {
        (*shortlist)->first = (uint64_t)first, (*shortlist)->best = (uint64_t)best;
        fill_shortlist(*shortlist, own);
    }
    rapt__free(allocator, own, bytes);
    return status;
}

/* ---- loading ---- */

static rapt_status read_any(rapt_shortlist **shortlist, const void *bytes, size_t size,
                            const rapt_tokenizer *source, const rapt_tokenizer *target,
                            const rapt_allocator *allocator, rapt_message *why)
{
    const size_t tokens = (size_t)rapt_tokenizer_vocab(source) + 1;
    rapt__budget_add(allocator, tokens); /* the array of starts does not depend on the file */
    if (rapt__shortlist_is_binary(bytes, size))
        return rapt__shortlist_read(shortlist, bytes, size, source, target, allocator, why);
    return rapt__shortlist_parse(shortlist, bytes, size, source, target, allocator, why);
}

/* Ends the budget within which a shortlist was created. If `status` is RAPT_OK, makes the shortlist
   use the underlying allocator from then on. */
static rapt_status kept(rapt_shortlist **shortlist, const struct budget *budget, rapt_status status,
                        rapt_message *why)
{
    if (status) return rapt__budget_end(budget, status, why);
    (*shortlist)->allocator = budget->under;
    return RAPT_OK;
}

rapt_status rapt_shortlist_load_memory(rapt_shortlist **shortlist, const void *bytes, size_t size,
                                       const rapt_tokenizer *source, const rapt_tokenizer *target,
                                       const rapt_allocator *allocator, rapt_message *why)
{
    if (!shortlist || !bytes || !source || !target)
        return rapt__fail(why, RAPT_BAD_ARGUMENT, "%s is NULL",
                          !shortlist ? "shortlist"
                          : !bytes   ? "bytes"
                          : !source  ? "source"
                                     : "target");
    struct budget budget;
    const rapt_allocator reading = rapt__budget_begin(&budget, allocator);
    rapt__budget_add(&reading, size);
    rapt_status status = read_any(shortlist, bytes, size, source, target, &reading, why);
    return kept(shortlist, &budget, status, why);
}

/* Reads an open file into a new array of file->size + 1 bytes, which the caller frees after
   success. */
static rapt_status read_bytes(const struct disk_source *file, const rapt_allocator *allocator,
                              char **bytes, rapt_message *why)
{
    if (file->size > FILE_MAX)
        return rapt__fail(why, RAPT_BAD_FILE, "the file has more than 2^30 bytes");
    *bytes = rapt__alloc(allocator, (size_t)file->size + 1);
    if (!*bytes) return rapt__fail(why, RAPT_NO_MEMORY, "out of memory while reading");
    rapt_status status = rapt__disk_read(file, 0, *bytes, (size_t)file->size, why);
    if (status) rapt__free(allocator, *bytes, (size_t)file->size + 1);
    return status;
}

rapt_status rapt_shortlist_load(rapt_shortlist **shortlist, const char *path,
                                const rapt_tokenizer *source, const rapt_tokenizer *target,
                                const rapt_allocator *allocator, rapt_message *why)
{
    if (!shortlist || !path || !source || !target)
        return rapt__fail(why, RAPT_BAD_ARGUMENT, "%s is NULL",
                          !shortlist ? "shortlist"
                          : !path    ? "path"
                          : !source  ? "source"
                                     : "target");
    struct disk_source file;
    char *bytes = NULL;
    rapt_message reason = {""};
    struct budget budget;
    const rapt_allocator reading = rapt__budget_begin(&budget, allocator);
    rapt_status status = rapt__disk_open_inflated(&file, path, &reading, why);
    if (status) return rapt__budget_end(&budget, status, why);
    status = read_bytes(&file, &reading, &bytes, &reason);
    if (!status) {
        status = read_any(shortlist, bytes, (size_t)file.size, source, target, &reading, &reason);
        rapt__free(&reading, bytes, (size_t)file.size + 1);
    }
    rapt__disk_close(&file);
    status = kept(shortlist, &budget, status, &reason);
    return status ? rapt__fail(why, status, "%s: %.300s", file.label.text, reason.text) : RAPT_OK;
}

/* ---- queries ---- */

/* Sets the bit of a token and counts the token in *found if the bit was not set. */
static void mark(unsigned char *marks, int32_t token, int *found)
{
    unsigned char bit = (unsigned char)(1 << token % 8);
    *found += !(marks[token / 8] & bit);
    marks[token / 8] |= bit;
}

static void mark_all(const rapt_shortlist *s, const int32_t *source, size_t count,
                     unsigned char *marks, int *found)
{
    int32_t first = s->first < (uint64_t)s->target_vocab ? (int32_t)s->first : s->target_vocab;
    for (int32_t token = 0; token < first; token++) mark(marks, token, found);
    for (size_t i = 0; i < count; i++) {
        if (s->shared) mark(marks, source[i], found);
        for (uint64_t at = s->starts[source[i]]; at < s->starts[source[i] + 1]; at++)
            mark(marks, s->lists[at], found);
    }
    for (int32_t token = first; token < s->target_vocab && *found % MULTIPLE; token++)
        mark(marks, token, found);
}

rapt_status rapt_shortlist_tokens(const rapt_shortlist *s, const int32_t *source, size_t count,
                                  int32_t *tokens, int capacity, int *found, rapt_message *why)
{
    if (!s || !found || (count && !source) || (capacity && !tokens))
        return rapt__fail(why, RAPT_BAD_ARGUMENT, "%s is NULL",
                          !s                   ? "shortlist"
                          : !found             ? "found"
                          : (count && !source) ? "source"
                                               : "tokens");
    for (size_t i = 0; i < count; i++)
        if (source[i] < 0 || source[i] >= s->source_vocab)
            return rapt__fail(why, RAPT_BAD_ARGUMENT,
                              "source[%zu] is %d; the vocabulary has %d tokens", i, (int)source[i],
                              s->source_vocab);
    size_t bytes = (size_t)s->target_vocab / 8 + 1;
    unsigned char *marks = rapt__alloc(&s->allocator, bytes);
    if (!marks) return rapt__fail(why, RAPT_NO_MEMORY, "no memory for a list of tokens");
    memset(marks, 0, bytes);
    *found = 0;
    mark_all(s, source, count, marks, found);
    bool fits = *found <= capacity;
    for (int32_t token = 0, at = 0; fits && token < s->target_vocab; token++)
        if (marks[token / 8] >> token % 8 & 1) tokens[at++] = token;
    rapt__free(&s->allocator, marks, bytes);
    if (fits) return RAPT_OK;
    return rapt__fail(why, RAPT_BAD_ARGUMENT, "capacity is %d; there are %d tokens", capacity,
                      *found);
}
