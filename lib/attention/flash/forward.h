/* forward.h - flash forward, between its files: a pair is one sequence and key head. */
#ifndef RAPT_LIB_ATTENTION_FLASH_FORWARD_H
#define RAPT_LIB_ATTENTION_FLASH_FORWARD_H

#include "attention/flash/flash.h"

/* Of one member: the keys and values of a pair as the kernel reads them, and its workspace. */
struct packed_pair {
    float *keys, *values;
    unsigned char *non_finite;
    float *out; /* of rapt__flash_forward_heads */
    float *kernel;
};

struct flash_forward {
    const struct projected *c;
    const rapt_attention *a;
    const struct kernels *kernels;
    const float *v;
    float *out, *lse, *statistics; /* out NULL: statistics alone are wanted */
    int key_heads, group;          /* query heads per key head */
    bool far;                      /* rapt__flash_rows_far */
    struct packed_pair pair;
    float *workspace;         /* of the kernel, this member's */
    struct rows_ahead *ahead; /* of the pair that this member takes next; NULL: none */
};

/* ---- forward_heads.c ---- */
/* The rows of outputs that a member needs as workspace: [queries][padded value width]. */
float *rapt__flash_forward_rows(struct arena *part, const struct bounds *b);
/* A pair of few queries and keys, query head by query head, without packing any keys. False: not
   possible, the pair must be packed. */
bool rapt__flash_forward_heads(const struct flash_forward *f, const struct sequence *b, int g);

#endif
