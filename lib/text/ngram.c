/* ngram.c - counts the n-grams that two sequences of ids have in common (clipped counts), for BLEU
   and chrF.

       rank[1](i) = rank of id[i],   rank[n](i) = rank of (rank[n-1](i), id[i+n-1])

   over both sequences together. Two n-grams are equal if and only if their ranks are equal, so it
   is enough to sort pairs of numbers. (This resembles the prefix doubling of Manber and Myers 1990,
   but goes one order at a time.) */
#include "text/text.h"

int rapt__by_number(const void *context, const void *x, const void *y)
{
    uint64_t a = ((const struct ranked *)x)->key, b = ((const struct ranked *)y)->key;
    (void)context;
    return (a > b) - (a < b);
}

static size_t bytes_for(size_t n)
{
    return n * (sizeof(struct ranked) + 2 * sizeof(uint32_t));
}

rapt_status rapt__scored_check(rapt_text hypothesis, rapt_text reference, rapt_message *why)
{
    if ((!hypothesis.bytes && hypothesis.size) || (!reference.bytes && reference.size))
        return rapt__fail(why, RAPT_BAD_ARGUMENT, "the bytes of the %s are NULL",
                          hypothesis.bytes || !hypothesis.size ? "reference" : "hypothesis");
    if (hypothesis.size > RAPT__SCORED_MAX || reference.size > RAPT__SCORED_MAX)
        return rapt__fail(why, RAPT_BAD_ARGUMENT, "the %s has more than %d bytes",
                          hypothesis.size > RAPT__SCORED_MAX ? "hypothesis" : "reference",
                          RAPT__SCORED_MAX);
    return RAPT_OK;
}

rapt_status rapt__ngrams_create(struct ngrams *grams, size_t hypothesis, size_t reference,
                                const rapt_allocator *allocator)
{
    size_t n = hypothesis + reference; /* each at most 2 * RAPT__SCORED_MAX */
    *grams = (struct ngrams){.hypothesis = hypothesis, .reference = reference};
    if (n == 0) return RAPT_OK;
    grams->items = rapt__alloc(allocator, bytes_for(n));
    if (!grams->items) return RAPT_NO_MEMORY;
    grams->ids = (uint32_t *)(grams->items + n);
    grams->ranks = grams->ids + n;
    return RAPT_OK;
}

void rapt__ngrams_free(struct ngrams *grams, const rapt_allocator *allocator)
{
    rapt__free(allocator, grams->items, bytes_for(grams->hypothesis + grams->reference));
}

long long rapt__ngrams_total(size_t length, int order)
{
    return length < (size_t)order ? 0 : (long long)(length - (size_t)order + 1);
}

/* Appends the n-grams of one sequence, ids[begin..begin+length), after `items` items. Returns the
   new number of items. */
static size_t collect(struct ngrams *grams, size_t items, size_t begin, size_t length, int order)
{
    size_t total = (size_t)rapt__ngrams_total(length, order);
    for (size_t i = begin; i < begin + total; i++) {
        uint64_t head = order == 1 ? 0 : grams->ranks[i];
        grams->items[items].key = head << 32 | grams->ids[i + (size_t)order - 1];
        grams->items[items++].position = (uint32_t)i;
    }
    return items;
}

/* Assigns ranks to the sorted items and counts the matches. */
static long long count_matches(struct ngrams *grams, size_t items)
{
    long long matches = 0;
    for (size_t i = 0, next; i < items; i = next) {
        long long hypothesis = 0, reference = 0;
        for (next = i; next < items && grams->items[next].key == grams->items[i].key; next++) {
            size_t position = grams->items[next].position;
            grams->ranks[position] = (uint32_t)i;
            if (position < grams->hypothesis)
                hypothesis++;
            else
                reference++;
        }
        matches += hypothesis < reference ? hypothesis : reference; /* clipped */
    }
    return matches;
}

void rapt__ngrams_match(struct ngrams *grams, int orders, long long *matches)
{
    for (int order = 1; order <= orders; order++) {
        size_t items = collect(grams, 0, 0, grams->hypothesis, order);
        items = collect(grams, items, grams->hypothesis, grams->reference, order);
        rapt__sort(grams->items, items, sizeof *grams->items, rapt__by_number, NULL);
        matches[order - 1] = count_matches(grams, items);
    }
}
