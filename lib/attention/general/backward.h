/* backward.h - general backward, between its files: the sequence and key head at hand, its
   workspace, and one row of it. */
#ifndef RAPT_LIB_ATTENTION_GENERAL_BACKWARD_H
#define RAPT_LIB_ATTENTION_GENERAL_BACKWARD_H

#include "attention/general/general.h"

/* What the rows of one head and sequence add to gradients that sequences share. */
struct head_sums {
    float *vector, *filters, *feature_weight;
    float *relative; /* of all heads and sequences, see rapt__relative_sums; NULL: there is none */
};
struct head_sum_sizes { /* floats of each of the first three, whole vectors; 0: there is none */
    size_t vector, filters, feature_weight;
};

struct backward_rows { /* the workspace of a member */
    struct row_space space;
    struct row_block block;
    float *key_panels, *value_panels;  /* [panels][width][16], [panels][value width][16] */
    float *dkeys;                      /* [panels][width][16]: additive */
    float *dz, *dnext;                 /* [capacity] */
    float *dq;                         /* [width]: where it is not wanted */
    float *transposed;                 /* [panels of channels][keys][16]: recurrent, as below */
    float *dfilters, *dfeature_weight; /* of a head, [channels] and [width] rows in whole panels */
    float *product;                    /* as large as the larger of these two */
    float *dsums, *dfeatures; /* [width][capacity], [channels][capacity + 2 filter_width] */
    float *weights;           /* [queries][capacity] */
};

struct general_backward {
    const struct projected *c;
    const struct kernels *kernels;
    const float *v, *dout;
    const struct projected_gradients *d;
    int key_heads, group;  /* query heads per key head */
    struct head_sums sums; /* of all members: [heads][batch] of the first three */
    struct head_sum_sizes sizes;
    struct backward_rows mine;
};

struct backward_keys { /* a sequence and key head */
    const struct general_backward *f;
    struct sequence b;
    struct row_keys keys;
    const float *key_rows;  /* k' as it was given */
    float *dkeys, *dvalues; /* rows of the caller's; NULL: not wanted */
};

struct backward_row {
    const struct backward_keys *p;
    struct row *r;
    int head, t;
    const float *dout_dots; /* element s is dout.v of key s; NULL: not known yet */
    float *dz;              /* dw, dz, dx, one after the other */
    float *dnext; /* recurrent: gradient of its weights from the next query, then that of the query
                     before */
    struct head_sums sums;         /* of the head and sequence */
    const struct row_block *block; /* that keeps weights and dx of this row, `index` of its own, for
                                      products of all; NULL: the row adds to all gradients itself */
    int index;
};

static inline int rapt__row_length(const struct row *r)
{
    return r->end - r->first;
}

/* ---- query_backward.c ---- */
void rapt__row_backward(const struct backward_row *l); /* all gradients of a row */

/* ---- location_aware.c ---- */
/* From g in dsums: dL, df, dF and the gradient of the weights of the query before. */
void rapt__features_backward(const struct backward_row *l);

#endif
