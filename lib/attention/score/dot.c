/* dot.c - scores that are dot products (Luong, Pham and Manning 2015, section 3.1). The plain score
   is x = q . k, the scaled one q . k / sqrt(K) (Vaswani et al. 2017, section 3.2.1); both have q' =
   q and k' = k. The general or multiplicative score is x = W q . k. It has q' = W q and k' = k, so
   queries and keys may differ in width. */
#include "attention/score/score.h"

const struct score rapt__score_scaled_dot = {
    .name = "scaled-dot", .scaled = true, .width = rapt__key_width};
const struct score rapt__score_dot = {.name = "dot", .width = rapt__key_width};

static struct projection queries(const rapt_attention *a, const rapt_gradients *d)
{
    return (struct projection){.heads = a->heads,
                               .in = rapt__query_width(a),
                               .out = a->key_width,
                               .weight = a->parameters.array[RAPT_ATTENTION_PARAMETER_QUERY_WEIGHT],
                               .dweight =
                                   d ? d->parameters[RAPT_ATTENTION_PARAMETER_QUERY_WEIGHT] : NULL};
}

const struct score rapt__score_general = {
    .name = "general", .width = rapt__key_width, .queries = {.weights = queries}};
