/* attend.h - multi-head attention as a layer: rapt's attention between four linear layers.

   y += concat over heads of attention(x Wq, source Wk, source Wv) Wo     Vaswani et al. 2017, 3.2.2

   x [batch][queries][width], source [batch][keys][width]; source = x: self-attention. */
#ifndef KIT_ATTEND_H
#define KIT_ATTEND_H

#include "kit/layers.h"
#include "kit/workspace.h"
#include <rapt/attention.h>

struct attend {
    int width, heads, causal;
    struct linear query, key, value, out;
    /* Of the last forward pass: */
    rapt_attention problem;
    float *q, *k, *v, *context, *lse; /* [queries][width], [keys][width] twice, [queries][width] */
    float *dq, *dk, *dv, *dcontext;
    size_t capacity[2]; /* rows of queries, of keys */
    struct workspace workspace;
};
void attend_create(struct attend *attend, struct params *params, struct random *random, int width,
                   int heads, int causal);
void attend_free(struct attend *attend);
void attend_forward(struct attend *attend, int batch, int queries, int keys, const float *x,
                    const float *source, float *y);
/* The backward pass of the last forward pass. dx and dsource may be the same array. */
void attend_backward(struct attend *attend, const float *x, const float *source, const float *dy,
                     float *dx, float *dsource);
/* The attention weights of one sequence, averaged over heads, [queries][keys]. */
void attend_weights(struct attend *attend, int sequence, float *weights);

#endif
