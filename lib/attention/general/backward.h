/* backward.h - declarations shared by the files of general backward: the current sequence and key
   head, its workspace, and one of its rows. */
#ifndef RAPT_LIB_ATTENTION_GENERAL_BACKWARD_H
#define RAPT_LIB_ATTENTION_GENERAL_BACKWARD_H

#include "attention/general/general.h"

/* Gradients that sequences share, summed over the rows of one head and sequence. */
struct head_sums {
    float *vector, *filters, *feature_weight, *number;
    float *relative; /* sums for all heads and sequences (see rapt__relative_sums); NULL if there is
                        no relative bias */
};
struct head_sum_sizes { /* sizes of the first four arrays in floats, rounded up to whole vectors; 0
                           if not used */
    size_t vector, filters, feature_weight, number;
};

struct backward_rows { /* workspace of one member */
    struct row_space space;
    struct row_block block;
    float *key_panels, *value_panels; /* [panels][width][16] and [panels][value width][16] */
    float *dkeys;                     /* [panels][width][16], for additive scores */
    float *dz, *dnext;                /* [capacity] */
    float *dq;         /* [width], receives the gradient of q if the caller does not want
                          it */
    float *transposed; /* [panels of channels][keys][16]; this array and those below are for
                          recurrent scores */
    float *dfilters, *dfeature_weight; /* sums of one head: [channels] and [width] rows, padded to
                                          whole vectors */
    float *product;                    /* scratch space, large enough for dfilters or
                                          dfeature_weight */
    float *dsums, *dfeatures; /* [width][capacity] and [channels][capacity + 2 filter_width] */
    float *weights;           /* [queries][capacity] `before` of the next query */
};

struct general_backward {
    const struct projected *c;
    const struct kernels *kernels;
    const float *v, *dout;
    const struct projected_gradients *d;
    int key_heads, group;  /* group: number of query heads per key head */
    struct head_sums sums; /* sums of all members; the first four are [heads][batch] */
    struct head_sum_sizes sizes;
    struct backward_rows mine;
};

struct backward_keys { /* a sequence and key head */
    const struct general_backward *f;
    struct sequence b;
    struct row_keys keys;
    const float *key_rows;  /* rows of k' in the original array */
    float *dkeys, *dvalues; /* the caller's rows; NULL if not wanted */
};

struct backward_row {
    const struct backward_keys *p;
    struct row *r;
    int head, t;
    const float *dout_dots; /* element s is dout.v of key s; NULL if not computed yet */
    float *dz;              /* dw, then dz, then dx */
    float *dnext; /* for recurrent scores: on entry, the gradient of the next query's `before`; on
                     return, that of this query's */
    struct head_sums sums;         /* sums of the head and sequence */
    const struct row_block *block; /* keeps dx and, unless the normalizer is hard, the weights of
                                      this row at `index`, for products of all rows. If NULL,
                                      rapt__row_backward adds to all gradients itself */
    int index;
};

static inline int rapt__row_length(const struct row *r)
{
    return r->end - r->first;
}

/* ---- query_backward.c ---- */
void rapt__row_backward(const struct backward_row *l); /* adds the gradients of a row */

/* ---- features.c ---- */
/* Adds to the gradients of filters and feature weights, and sets dnext, from the gradient of
   k + L f in dsums. */
void rapt__features_backward(const struct backward_row *l);

#endif
