/* backward.h - general backward, shared by its files: the current sequence and key head, its
   workspace, and one row of it. */
#ifndef RAPT_LIB_ATTENTION_GENERAL_BACKWARD_H
#define RAPT_LIB_ATTENTION_GENERAL_BACKWARD_H

#include "attention/general/general.h"

/* Sums over the rows of one head and sequence, for gradients that sequences share. */
struct head_sums {
    float *vector, *filters, *feature_weight;
    float *relative; /* of all heads and sequences, see rapt__relative_sums; NULL means no relative
                        bias */
};
struct head_sum_sizes { /* floats of each of the first three, in whole vectors; 0 if not used */
    size_t vector, filters, feature_weight;
};

struct backward_rows { /* workspace of a member */
    struct row_space space;
    struct row_block block;
    float *key_panels, *value_panels;  /* [panels][width][16], [panels][value width][16] */
    float *dkeys;                      /* [panels][width][16], for additive scores */
    float *dz, *dnext;                 /* [capacity] */
    float *dq;                         /* [width], used if dq is not wanted */
    float *transposed;                 /* [panels of channels][keys][16], for recurrent scores, as
                                          all below */
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
    const float *key_rows;  /* k' in place */
    float *dkeys, *dvalues; /* the caller's rows; NULL if not wanted */
};

struct backward_row {
    const struct backward_keys *p;
    struct row *r;
    int head, t;
    const float *dout_dots; /* element s is dout.v of key s; NULL if not computed yet */
    float *dz;              /* dw, dz, dx, one after the other */
    float *dnext; /* recurrent: gradient of its weights from the next query, then of those of the
                     previous query */
    struct head_sums sums;         /* of the head and sequence */
    const struct row_block *block; /* keeps weights and dx of this row at `index`, for products of
                                      all rows; NULL means the row adds to all gradients itself */
    int index;
};

static inline int rapt__row_length(const struct row *r)
{
    return r->end - r->first;
}

/* ---- query_backward.c ---- */
void rapt__row_backward(const struct backward_row *l); /* adds all gradients of a row */

/* ---- location_aware.c ---- */
/* Computes dL, df, dF and the gradient of the weights of the previous query from g in dsums. */
void rapt__features_backward(const struct backward_row *l);

#endif
