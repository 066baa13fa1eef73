/* index_ranks.c - joins the indices that the ranks made of their own segments. Afterwards all ranks
   have the index of all pairs, in order, and the ids of the first ones, as many as every rank may
   hold. */
#include "index.h"
#include <stdlib.h>
#include <string.h>

struct shares {
    const struct exchange all;
    struct share *of;   /* [ranks] */
    size_t *pairs;      /* [ranks + 1] rank r made the pairs pairs[r] .. pairs[r + 1] - 1 */
    size_t *ids;        /* [ranks + 1] and holds the ids ids[r] .. ids[r + 1] - 1 */
    size_t *bytes;      /* [ranks + 1] offsets in the array being joined */
    size_t count, rank; /* number of ranks, and this rank */
};

/* Joins an array that has the elements of this rank at its beginning. */
static int join_parts(struct shares *s, void *array, const size_t *starts, size_t size)
{
    char *data = array;
    size_t own = starts[s->rank + 1] - starts[s->rank];
    if (array == NULL) return EXIT_OK;
    if (own > 0) memmove(data + starts[s->rank] * size, data, own * size);
    for (size_t r = 0; r <= s->count; r++) s->bytes[r] = starts[r] * size;
    return exchange_parts(&s->all, data, s->bytes);
}

/* Exchanges the shares, so that all ranks come to the same conclusions. */
static int exchange_shares(struct shares *s, struct share *share)
{
    s->of[s->rank] = *share;
    for (size_t r = 0; r <= s->count; r++) s->bytes[r] = r * sizeof *s->of;
    int code = exchange_parts(&s->all, s->of, s->bytes);
    if (code != EXIT_OK) return code;
    *share = (struct share){.max_ids = UINT64_MAX};
    for (size_t r = 0; r < s->count; r++) {
        const struct share *one = &s->of[r];
        if (share->code == EXIT_OK) share->code = one->code;
        if (share->skipped.count == 0) share->skipped.first = one->skipped.first;
        share->skipped.count += one->skipped.count;
        if (one->max_ids < share->max_ids) share->max_ids = one->max_ids;
        s->pairs[r + 1] = s->pairs[r] + one->count;
    }
    return share->code;
}

static int join_pairs(struct shares *s, struct examples *examples)
{
    int code = EXIT_OK;
    for (int i = 0; i < 2 && code == EXIT_OK; i++)
        code = join_parts(s, examples->where[i], s->pairs, sizeof *examples->where[i]);
    if (code == EXIT_OK) code = join_parts(s, examples->source, s->pairs, sizeof *examples->source);
    if (code == EXIT_OK) code = join_parts(s, examples->target, s->pairs, sizeof *examples->target);
    if (code == EXIT_OK)
        code = join_parts(s, examples->digests, s->pairs, sizeof *examples->digests);
    examples->count = s->pairs[s->count];
    return code;
}

/* Decides how many examples are held: the first ones, up to one that its rank does not hold or that
   does not fit. */
static void agree_held(struct shares *s, struct examples *examples, uint64_t max_ids)
{
    size_t n = 0, used = 0;
    bool more = true;
    for (size_t r = 0; r < s->count; r++) {
        size_t first = used;
        for (; more && n < s->pairs[r + 1]; n += more) {
            size_t count = (size_t)examples->source[n] + examples->target[n];
            more = used + count <= first + s->of[r].ids && used + count <= max_ids;
            if (more) used += count;
        }
        s->ids[r + 1] = used;
    }
    examples->held = n;
}

static int join_ids(struct shares *s, struct examples *examples)
{
    size_t all = s->ids[s->count];
    size_t space = all > examples->ids_count ? all : examples->ids_count;
    examples->ids = xreallocarray(examples->ids, space, sizeof *examples->ids);
    int code = join_parts(s, examples->ids, s->ids, sizeof *examples->ids);
    examples->ids = xreallocarray(examples->ids, all, sizeof *examples->ids);
    examples->ids_count = examples->ids_capacity = all;
    return code;
}

/* Sends the seen words to rank 0, which writes them. Ranks take turns, since there may be many. */
static int join_words(struct shares *s, struct seen *seen, char *list)
{
    const struct ranks *ranks = s->all.ranks;
    if (s->rank > 0 && list != NULL)
        return ranks_transfer(ranks, &(struct transfer){0, true, list, s->of[s->rank].words, 0}, 1);
    int code = EXIT_OK;
    for (size_t r = 1; r < s->count && s->rank == 0 && code == EXIT_OK; r++) {
        size_t size = s->of[r].words;
        char *words = size > 0 ? xcalloc(size, 1) : NULL;
        if (size > 0)
            code = ranks_transfer(ranks, &(struct transfer){(int)r, false, words, size, 0}, 1);
        if (code == EXIT_OK) seen_add_list(seen, words);
        free(words);
    }
    return code;
}

int index_join(struct examples *examples, struct share *share, struct seen *seen)
{
    size_t count = (size_t)examples->ranks->count;
    struct shares s = {.all = {.ranks = examples->ranks},
                       .of = xcalloc(count, sizeof *s.of),
                       .pairs = xcalloc(count + 1, sizeof *s.pairs),
                       .ids = xcalloc(count + 1, sizeof *s.ids),
                       .bytes = xcalloc(count + 1, sizeof *s.bytes),
                       .count = count,
                       .rank = (size_t)examples->ranks->rank};
    char *list = seen != NULL && s.rank > 0 ? seen_list(seen) : NULL;
    share->count = examples->count;
    share->ids = examples->ids_count;
    share->max_ids = examples->max_ids;
    share->words = list != NULL ? strlen(list) + 1 : 0;
    int code = exchange_shares(&s, share);
    if (code == EXIT_OK) code = join_pairs(&s, examples);
    if (code == EXIT_OK) agree_held(&s, examples, share->max_ids);
    if (code == EXIT_OK) code = join_ids(&s, examples);
    if (code == EXIT_OK && seen != NULL) code = join_words(&s, seen, list);
    free(list);
    free(s.of);
    free(s.pairs);
    free(s.ids);
    free(s.bytes);
    return code;
}
