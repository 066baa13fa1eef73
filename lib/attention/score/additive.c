/* additive.c - the additive score (Bahdanau, Cho and Bengio 2015, appendix A.1.2), also called
   concat: x = v . tanh(W q + U k + b), so q' = W q + b and k' = U k, both as wide as the hidden
   layer. Location-aware scores (Chorowski et al. 2015, section 2.2) have an additional term L f
   inside the tanh: f is the convolution of learned filters with the weights of the previous query,
   and L is a learned matrix. Coverage scores (Tu et al. 2016, section 3; See, Liu and Manning 2017,
   section 2.3) have an additional term w c: c is the sum of the weights of the previous queries,
   and w is a learned vector. The files in general/ add these terms. */
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

static struct features location_features(const rapt_attention *a, const rapt_gradients *d)
{
    const rapt_attention_parameters *l = &a->parameters;
    return (struct features){.channels = l->channels,
                             .filter_width = l->filter_width,
                             .filters = l->array[RAPT_ATTENTION_PARAMETER_FILTERS],
                             .weight = l->array[RAPT_ATTENTION_PARAMETER_FEATURE_WEIGHT],
                             .dfilters = d ? d->parameters[RAPT_ATTENTION_PARAMETER_FILTERS] : NULL,
                             .dweight =
                                 d ? d->parameters[RAPT_ATTENTION_PARAMETER_FEATURE_WEIGHT] : NULL};
}

static struct features coverage_features(const rapt_attention *a, const rapt_gradients *d)
{
    return (struct features){
        .channels = 1,
        .filter_width = 1,
        .summed = true,
        .weight = a->parameters.array[RAPT_ATTENTION_PARAMETER_COVERAGE_WEIGHT],
        .dweight = d ? d->parameters[RAPT_ATTENTION_PARAMETER_COVERAGE_WEIGHT] : NULL};
}

const struct score rapt__score_additive = {.name = "additive",
                                           .additive = true,
                                           .width = hidden_width,
                                           .queries = {.weights = queries},
                                           .keys = {.weights = keys}};
const struct score rapt__score_location_aware = {.name = "location-aware",
                                                 .additive = true,
                                                 .features = location_features,
                                                 .width = hidden_width,
                                                 .queries = {.weights = queries},
                                                 .keys = {.weights = keys}};
const struct score rapt__score_coverage = {.name = "coverage",
                                           .additive = true,
                                           .features = coverage_features,
                                           .width = hidden_width,
                                           .queries = {.weights = queries},
                                           .keys = {.weights = keys}};
