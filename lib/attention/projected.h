/* projected.h - attention once its score is prepared. Each score turns queries and keys into rows
   q' and k' of which only one of two things is left to do:

       x[t][s] = scale q'[t].k'[s]                    all scores of the dot family
       x[t][s] = vector . tanh(q'[t] + k'[s] + L f)   additive; location-aware with L f

   then cap, bias, relative bias and masks, weighing, and the sum of values. Two ways lead through
   it: tiles (forward.c, backward.c: dot products weighed softly, at the machine's speed) and rows
   (rows_forward.c, rows_backward.c: everything, one query at a time). */
#ifndef RAPT_LIB_ATTENTION_CORE_H
#define RAPT_LIB_ATTENTION_CORE_H

#include "attention/problem.h"

struct projected {
    const rapt_attention *a;         /* rows, masks, reach, weighing, dropout, v and out */
    const float *q, *k;              /* q', k': heads as in a; NULL k': only if there are no keys */
    rapt_stride q_stride, k_stride;  /* used as a's are, batch strides not where starts are given */
    int width;                       /* floats of a row of q' and k' */
    float scale;                     /* of the dot product */
    const float *vector;             /* [H][width]: additive; NULL: dot product */
    const float *relative;           /* [H][relative_row]: added to x[t][s] from element */
    int relative_row, relative_zero; /*   s - place + relative_zero; NULL: none */
    const float *centers;            /* [H][query rows]: of local-p; NULL: not local-p */
};

/* Added to, in the layout of what they belong to; NULL: not wanted. */
struct projected_gradients {
    float *q, *k, *v, *bias, *vector, *relative, *centers, *filters, *feature_weight;
};

/* Whether tiles can do it. */
bool rapt__flash_supports(const struct projected *c);

/* ---- mask.c ---- */
/* The relative bias of query t of head h: element s is that of key s. */
const float *rapt__relative_row(const struct projected *c, const struct sequence *b, int h, int t);

/* ---- forward.c, backward.c (tiles), rows_forward.c, rows_backward.c ---- */
void rapt__flash_forward(struct team *team, const struct projected *c, const float *v, float *out,
                         float *lse, void *workspace);
void rapt__flash_backward(struct team *team, const struct projected *c, const float *v,
                          const float *out, const float *lse, const float *dout,
                          const struct projected_gradients *d, void *workspace);
void rapt__general_forward(struct team *team, const struct projected *c, const float *v, float *out,
                           float *lse, void *workspace);
void rapt__general_backward(struct team *team, const struct projected *c, const float *v,
                            const float *out, const float *lse, const float *dout,
                            const struct projected_gradients *d, void *workspace);
/* Weights of rows [first, first + rows) of one sequence and head, whole scratch for one member. */
void rapt__general_weights(const struct projected *c, const float *lse, int sequence, int head,
                           int first, int rows, float *weights, void *workspace);

/* ---- rows_workspace.c ---- */
/* Floats of scratch for each of rapt__rows_...; false: more than fits. */
bool rapt__general_workspace(const struct bounds *b, size_t *floats);

#endif
