/* attend.h - multi-head attention as a layer: rapt's attention between four linear layers.

   y += concat over heads of attention(x Wq, memory Wk, memory Wv) Wo     Vaswani et al. 2017, 3.2.2

   x [batch][queries][width], memory [batch][keys][width]; with memory = x it is self-attention. */
#ifndef KIT_ATTEND_H
#define KIT_ATTEND_H

#include "kit/layers.h"
#include <rapt/attention.h>

struct attend {
    int width, heads, causal;
    struct linear query, key, value, out;
    /* Of the last forward: */
    rapt_attention problem;
    float *q, *k, *v, *mixed, *lse; /* [queries][width], [keys][width] twice, [queries][width] */
    float *dq, *dk, *dv, *dmixed;
    void *workspace;
    size_t capacity[2], workspace_bytes; /* rows there is memory for; bytes */
};
void attend_create(struct attend *attend, struct params *params, struct random *random, int width,
                   int heads, int causal);
void attend_free(struct attend *attend);
void attend_forward(struct attend *attend, int batch, int queries, int keys, const float *x,
                    const float *memory, float *y);
/* Of the forward before it. dx and dmemory may be the same. */
void attend_backward(struct attend *attend, const float *x, const float *memory, const float *dy,
                     float *dx, float *dmemory);
/* The mean over heads of the weights of one sequence, [queries][keys]. */
void attend_weights(struct attend *attend, int sequence, float *weights);

#endif
