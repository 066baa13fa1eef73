/* forward.h - flash forward, shared by its files. A pair is one sequence and key head. */
#ifndef RAPT_LIB_ATTENTION_FLASH_FORWARD_H
#define RAPT_LIB_ATTENTION_FLASH_FORWARD_H

#include "attention/flash/flash.h"

/* Memory of one member: the packed keys and values of a pair, and workspace of the kernel. */
struct packed_pair {
    float *keys, *values;
    unsigned char *non_finite;
    float *out; /* for rapt__flash_forward_heads */
    float *kernel;
};

struct flash_forward {
    const struct projected *c;
    const rapt_attention *a;
    const struct kernels *kernels;
    const float *v;
    float *out, *lse, *statistics; /* out NULL: only statistics are wanted */
    int key_heads, group;          /* query heads per key head */
    bool far;                      /* rapt__flash_rows_far */
    struct packed_pair pair;
    float *workspace;         /* this member's, for the kernel */
    struct rows_ahead *ahead; /* rows of the pair that this member takes next; may be NULL */
};

/* ---- forward_heads.c ---- */
/* Lays out the rows of outputs that a member needs as workspace: [queries][padded value width]. */
float *rapt__flash_forward_rows(struct arena *part, const struct bounds *b);
/* Computes a pair of few queries and keys, query head by query head, without packing keys. Returns
   false if the pair must be packed. */
bool rapt__flash_forward_heads(const struct flash_forward *f, const struct sequence *b, int g);

#endif
