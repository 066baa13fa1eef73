/* forward.h - declarations shared by the files of general forward. */
#ifndef RAPT_LIB_ATTENTION_GENERAL_FORWARD_H
#define RAPT_LIB_ATTENTION_GENERAL_FORWARD_H

#include "attention/general/talking.h"

struct forward_rows { /* workspace of one member */
    struct row_space space;
    struct row_block block;
    float *before;            /* [capacity] `before` of the next row, for recurrent scores */
    struct talking talking;   /* with talking heads, which do not use the members above */
    struct row_block *blocks; /* [heads] with talking heads */
};

struct general_forward {
    const struct projected *c;
    const struct kernels *kernels;
    const float *v;
    float *out, *lse;
    int key_heads, group; /* group: number of query heads per key head */
    float *panels;        /* keys of all sequences and key heads, shared by all members */
    struct forward_rows mine;
};

/* ---- forward.c ---- */
struct row_keys rapt__forward_keys(const struct general_forward *f, const struct sequence *b,
                                   int g);
/* Computes the outputs of all rows of a block from the weights stored in it. */
void rapt__forward_sum(const struct general_forward *f, const struct row_block *block,
                       const struct row_keys *keys, float *out);

/* ---- talking.c ---- */
void rapt__talking_forward_layout(struct arena *part, const struct bounds *b,
                                  struct forward_rows *r);
/* Computes the outputs of query rows [first, first + rows) in all heads of a sequence. */
void rapt__talking_attend(const struct general_forward *f, const struct sequence *b, int first,
                          int rows);
/* Copies the weights u of a query row of head h to a plain array [keys of the sequence]. */
void rapt__talking_copy(const struct general_forward *f, const struct sequence *b, int h, int query,
                        float *weights);

#endif
