/* forward.h - declarations shared by the files of flash forward. A pair is one sequence and key
   head. */
#ifndef RAPT_LIB_ATTENTION_FLASH_FORWARD_H
#define RAPT_LIB_ATTENTION_FLASH_FORWARD_H

#include "attention/flash/flash.h"

/* Memory of one member: the packed keys and values of a pair, and workspace for the kernel. */
struct packed_pair {
    float *keys, *values;
    unsigned char *non_finite;
    float *out; /* used by rapt__flash_forward_heads */
    float *kernel;
};

struct flash_forward {
    const struct projected *c;
    const rapt_attention *a;
    const struct kernels *kernels;
    const float *v;
    float *out, *lse, *statistics; /* if out is NULL, only statistics are wanted */
    int key_heads, group;          /* group: number of query heads per key head */
    bool far;                      /* result of rapt__flash_rows_far */
    struct packed_pair pair;
    float *workspace;         /* workspace of this member for the kernel */
    struct rows_ahead *ahead; /* rows of this member's next pair, to prefetch; may be NULL */
};

/* ---- forward_heads.c ---- */
/* Lays out the rows of outputs that a member needs as workspace: [queries][padded value width]. */
float *rapt__flash_forward_rows(struct arena *part, const struct bounds *b);
/* Computes a pair of few queries and keys, one query head at a time, without packing keys. Returns
   false if the pair must be packed. */
bool rapt__flash_forward_heads(const struct flash_forward *f, const struct sequence *b, int g);

#endif
