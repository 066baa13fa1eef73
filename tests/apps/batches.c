/* batches.c - the batches of toy_translate: against their definition, with plain arrays: sorted by
   class of length and the draws in order, split where the budget is full, whole batches shuffled. */
#include "kit/random.h"
#include "learner.h"
#include "testing.h"
#include <string.h>

const char program_name[] = "batches";

struct key {
    uint64_t rank;
    size_t length, index;
};

static int by_length(const void *a, const void *b)
{
    const struct key *x = a, *y = b;
    if (x->length != y->length) return x->length < y->length ? -1 : 1;
    if (x->rank != y->rank) return x->rank < y->rank ? -1 : 1;
    return x->index < y->index ? -1 : x->index > y->index;
}
