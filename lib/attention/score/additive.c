/* additive.c - the additive score (Bahdanau, Cho and Bengio 2015, appendix A.1.2), also
   called concat: x = v . tanh(W q + U k + b), so q' = W q + b and k' = U k, in the width of the
   hidden layer. Location-aware scores (Chorowski et al. 2015, section 2.2) add L f inside the
   tanh, which the core does. */
#include "attention/score/score.h"

struct projection rapt__additive_queries(const rapt_attention *a, const rapt_gradients *d)
{
    return (struct projection){.heads = a->heads,
                               .in = rapt__query_width(a),
                               .out = a->learned.hidden,
                               .weight = a->learned.query_weight,
                               .bias = a->learned.hidden_bias,
                               .dweight = d ? d->query_weight : NULL,
                               .dbias = d ? d->hidden_bias : NULL};
}

struct projection rapt__additive_keys(const rapt_attention *a, const rapt_gradients *d)
{
    return (struct projection){.heads = rapt__key_heads_of(a),
                               .in = a->key_width,
                               .out = a->learned.hidden,
                               .weight = a->learned.key_weight,
                               .dweight = d ? d->key_weight : NULL};
}
