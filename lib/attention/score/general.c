/* general.c - the general, or multiplicative, score (Luong, Pham and Manning 2015, section
   3.1): x = W q . k, so q' = W q and k' = k. Queries and keys may differ in width. */
#include "attention/score/score.h"

static struct projection queries(const rapt_attention *a, const rapt_gradients *d)
{
    return (struct projection){.heads = a->heads,
                               .in = rapt__query_width(a),
                               .out = a->key_width,
                               .weight = a->learned.array[RAPT_LEARNED_QUERY_WEIGHT],
                               .dweight = d ? d->learned[RAPT_LEARNED_QUERY_WEIGHT] : NULL};
}

const struct score rapt__score_general = {
    .name = "general", .width = rapt__key_width, .queries = {.weights = queries}};
