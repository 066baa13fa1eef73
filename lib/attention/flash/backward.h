/* backward.h - flash backward, between its files: the blocks of a pair (one sequence and key
   head) and their workspace. A pair is a table of blocks: 56 queries of one query head by 128
   keys. */
#ifndef RAPT_LIB_ATTENTION_FLASH_BACKWARD_H
#define RAPT_LIB_ATTENTION_FLASH_BACKWARD_H

#include "attention/flash/flash.h"

#include <stdatomic.h>

struct block_state {              /* of a query block, in a cache line of its own */
    _Alignas(64) atomic_int done; /* key blocks that have been added to dq */
    int non_finite;               /* infinity or NaN in q or dout */
};

/* The query blocks of a pair: the arrays of all blocks one after the other. */
struct query_blocks {
    struct block_state *state;
    float *q_rows, *dout_rows, *dq;
    float *statistics, *delta;
    float *q_slots, *dout_slots;
};

struct query_block {
    int head, first, rows;
    struct block_state *state;
    float *q_rows, *dout_rows, *dq; /* [rows] of padded widths */
    float *statistics, *delta;      /* [rows][STATISTICS], [rows] */
    float *q_slots, *dout_slots;    /* of the kernel attend_pack */
};

struct key_block {
    int key, keys; /* the first, how many */
    bool non_finite;
    float *key_panels, *value_panels; /* head by head the second are padded rows of values */
    float *key_rows, *dk, *dv, *weights, *dscores;
};

struct flash_backward {
    const struct projected *c;
    const rapt_attention *a;
    const struct kernels *kernels;
    const float *v, *out, *statistics, *dout;
    const struct projected_gradients *d;
    float *relative; /* its gradients, [H][query rows + key rows], see rapt__relative_sums; NULL:
                        not wanted */
    int key_heads, group;        /* query heads per key head */
    bool far;                    /* rapt__flash_rows_far */
    struct query_blocks queries; /* of the pair: this member's, or member 0's if the team shares
                                    the pair */
    struct key_block keys;       /* this member's */
};

struct backward_pair {
    const struct flash_backward *f;
    struct sequence b;
    int g;
    int per_head, blocks;     /* query blocks: of one query head, of all of them */
    struct rows_ahead *ahead; /* of the pair that this member takes next; NULL: none */
};

/* ---- backward_blocks.c ---- */
struct backward_part { /* the workspace of a member */
    struct query_blocks queries;
    struct key_block keys;
};
void rapt__flash_backward_part(struct arena *part, const void *bounds, void *to);
/* Gradients of a row of the bias; NULL: there is none, or they are not wanted. */
float *rapt__flash_bias_gradients(const struct flash_backward *f, const float *bias);

/* Packs query block i, dq = 0; all key blocks j in order, dk and dv added to the caller's; adds dq
   to the caller's. */
void rapt__flash_pack_queries(const struct backward_pair *p, int i);
void rapt__flash_backward_keys(const struct backward_pair *p, int j);
void rapt__flash_add_dq(const struct backward_pair *p, int i);

/* Adds rows of whole vectors, of which `width` floats exist, to rows to_row apart. */
void rapt__flash_add_rows(const struct flash_backward *f, const float *from, int rows, int width,
                          float *to, ptrdiff_t to_row);

/* dk and dv of this member, of `keys` keys: sets them to 0; adds them to the caller's of keys key,
   key + 1, ... */
void rapt__flash_clear_keys(const struct flash_backward *f, int keys);
void rapt__flash_add_keys(const struct backward_pair *p, int key, int keys);

/* ---- backward_heads.c ---- */
/* A pair of few queries and few keys, all of them finite. False: it is not, and nothing is done. */
bool rapt__flash_backward_heads(const struct backward_pair *p);

#endif
