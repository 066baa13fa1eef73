/* backward.h - declarations shared by the files of the general backward pass: sums of gradients,
   workspace, a key head of a sequence, and one of its rows. */
#ifndef RAPT_LIB_ATTENTION_GENERAL_BACKWARD_H
#define RAPT_LIB_ATTENTION_GENERAL_BACKWARD_H

#include "attention/general/general.h"

/* Gradients that are first summed over the rows of one head and sequence. */
struct head_sums {
    float *vector, *filters, *feature_weight, *number;
    float *talking_scores, *talking_weights; /* row h of each matrix, for head h */
    float *relative; /* sums for all heads and sequences (see rapt__relative_sums); NULL if there is
                        no relative bias */
};
struct head_sum_sizes { /* sizes of these arrays in floats, rounded up to whole vectors; 0 if not
                           used */
    size_t vector, filters, feature_weight, number, talking;
};

struct backward_rows { /* workspace of one thread */
    struct row_space space;
    struct row_block block;
    float *key_panels, *value_panels; /* [panels][width][16] and [panels][value width][16] */
    float *dkeys;                     /* [panels][width][16], for additive scores */
    float *dz, *dnext;                /* [capacity] */
    float *dq;         /* [width], receives the gradient of q if the caller did not request it */
    float *transposed; /* [panels of channels][keys][16]; the fields from this one to `weights` are
                          for recurrent scores */
    float *dfilters, *dfeature_weight; /* sums of one head: `channels` rows of filter_width floats,
                                          and `width` rows of `channels` floats, padded to whole
                                          vectors */
    float *product;                    /* scratch space, large enough for dfilters or
                                          dfeature_weight */
    float *dsums, *dfeatures;      /* [width][capacity] and [channels][capacity + 2 filter_width] */
    float *weights;                /* [queries][capacity] row t is what query t + 1 reads as
                                      `before` */
    struct talking talking;        /* this field and the fields after it are for talking heads */
    struct row_block *blocks;      /* [heads] */
    float *du, *dy;                /* [heads][capacity] gradients of u, and of y */
    struct general_backward *part; /* [key heads] copies of the struct that contains this one, each
                                      with the panels of its key head */
    struct backward_keys *keys;    /* [key heads] */
    struct backward_row *rows;     /* [heads] */
};

struct general_backward {
    const struct projected *c;
    const struct kernels *kernels;
    const float *v, *dout;
    const struct projected_gradients *d;
    int key_heads, group;  /* group: number of query heads per key head */
    struct head_sums sums; /* sums, shared by all threads; all but `relative` are [heads][batch] */
    struct head_sum_sizes sizes;
    struct backward_rows mine;
};

struct backward_keys { /* a key head of a sequence */
    const struct general_backward *f;
    struct sequence b;
    struct row_keys keys;
    const float *key_rows;  /* the rows of k', which are packed in keys.panels */
    float *dkeys, *dvalues; /* rows of f->d->k and f->d->v; NULL if not requested */
};

struct backward_row {
    const struct backward_keys *p;
    struct row *r;
    int head, t;
    const float *dout_dots; /* element s is dout.v of key s; NULL if not computed yet */
    float *dz;              /* holds dw, then dz, then dx */
    float *dnext; /* for recurrent scores: holds the gradient of the next query's `before`, which
                     rapt__row_backward replaces with the gradient of this query's `before` */
    struct head_sums sums;         /* sums of the head and sequence */
    const struct row_block *block; /* if not NULL, receives this row's weights and dx at `index`, so
                                      that the products of all rows of the block are computed
                                      together. If NULL, rapt__row_backward adds to all gradients
                                      itself */
    int index;
};

static inline int rapt__row_length(const struct row *r)
{
    return r->end - r->first;
}

/* ---- backward.c ---- */
/* Packs the keys and values of a key head of a sequence. For additive scores, also zeroes the dkeys
   in the workspace. */
struct backward_keys rapt__backward_keys(const struct general_backward *f, int sequence, int g);
/* For additive scores, adds the dkeys in the workspace, which are stored in panels, to p->dkeys. */
void rapt__backward_dkeys(const struct backward_keys *p);
/* Zeroes and returns the sums of head h. */
struct head_sums rapt__backward_sums(const struct backward_keys *p, int h);
/* Add gradients for the rows of a block that starts at row t of head h. The first function computes
   the gradients of values from the weights stored in the block. The second computes the gradients
   of queries and keys from the dx stored there. */
void rapt__backward_values(const struct backward_keys *p, const struct row_block *block, int h,
                           int t);
void rapt__backward_products(const struct backward_keys *p, const struct row_block *block, int h,
                             int t);

/* ---- talking_backward.c ---- */
void rapt__talking_backward_layout(struct arena *part, const struct bounds *b,
                                   struct backward_rows *r);
/* Adds the gradients of all heads of a sequence. */
void rapt__talking_backward(const struct general_backward *f, int sequence);

/* ---- query_backward.c ---- */
void rapt__row_backward(const struct backward_row *l); /* adds the gradients of a row */
/* The last two steps of rapt__row_backward. The first turns the gradient of the weights in dz into
   dx, and adds the gradients of the normalizer, the center and the biases. The second adds the
   gradients of the score. */
void rapt__row_normalizer_backward(const struct backward_row *l);
void rapt__row_score_backward(const struct backward_row *l);

#endif
