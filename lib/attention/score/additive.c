/* additive.c - the additive score (Bahdanau, Cho and Bengio 2015, appendix A.1.2), also called
   concat: x = v . tanh(W q + U k + b), so q' = W q + b and k' = U k, which are as wide as the
   hidden layer. Location-aware scores (Chorowski et al. 2015, section 2.2) also have a term L f
   inside the tanh; the files in general/ add it. */
#include "attention/score/score.h"

static struct projection queries(const rapt_attention *a, const rapt_gradients *d)
{
    return (struct projection){
        .heads = a->heads,
        .in = rapt__query_width(a),
        .out = a->parameters.hidden,
        .weight = a->parameters.array[RAPT_ATTENTION_PARAMETER_QUERY_WEIGHT],
        .bias = a->parameters.array[RAPT_ATTENTION_PARAMETER_HIDDEN_BIAS],
        .dweight = d ? d->parameters[RAPT_ATTENTION_PARAMETER_QUERY_WEIGHT] : NULL,
        .dbias = d ? d->parameters[RAPT_ATTENTION_PARAMETER_HIDDEN_BIAS] : NULL};
}

static struct projection keys(const rapt_attention *a, const rapt_gradients *d)
{
    return (struct projection){.heads = rapt__key_heads_of(a),
                               .in = a->key_width,
                               .out = a->parameters.hidden,
                               .weight = a->parameters.array[RAPT_ATTENTION_PARAMETER_KEY_WEIGHT],
                               .dweight =
                                   d ? d->parameters[RAPT_ATTENTION_PARAMETER_KEY_WEIGHT] : NULL};
}

static int hidden_width(const rapt_attention *a)
{
    return a->parameters.hidden;
}

const struct score rapt__score_additive = {.name = "additive",
                                           .additive = true,
                                           .width = hidden_width,
                                           .queries = {.weights = queries},
                                           .keys = {.weights = keys}};
const struct score rapt__score_location_aware = {.name = "location-aware",
                                                 .additive = true,
                                                 .recurrent = true,
                                                 .width = hidden_width,
                                                 .queries = {.weights = queries},
                                                 .keys = {.weights = keys}};
