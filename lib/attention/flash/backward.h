/* backward.h - flash backward, shared by its files: the blocks of a pair (one sequence and key
   head) and their workspace. A pair is a table of blocks of 56 queries of one query head by 128
   keys. */
#ifndef RAPT_LIB_ATTENTION_FLASH_BACKWARD_H
#define RAPT_LIB_ATTENTION_FLASH_BACKWARD_H

#include "attention/flash/flash.h"

#include <stdatomic.h>

struct block_state {              /* of a query block, on a cache line of its own */
    _Alignas(64) atomic_int done; /* number of key blocks added to dq */
    int non_finite;               /* q or dout hold infinity or NaN */
};

/* The query blocks of a pair; each array holds all blocks one after the other. */
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
    float *q_slots, *dout_slots;    /* from the kernel attend_pack */
};

struct key_block {
    int key, keys; /* first key, number of keys */
    bool non_finite;
    float *key_panels, *value_panels; /* in the head-by-head path, value_panels are padded rows of
                                         values */
    float *key_rows, *dk, *dv, *weights, *dscores;
};

struct flash_backward {
    const struct projected *c;
    const rapt_attention *a;
    const struct kernels *kernels;
    const float *v, *out, *statistics, *dout;
    const struct projected_gradients *d;
    float *relative;             /* gradients of the relative bias, [H][query rows + key rows], see
                                    rapt__relative_sums; NULL if not wanted */
    int key_heads, group;        /* query heads per key head */
    bool far;                    /* rapt__flash_rows_far */
    struct query_blocks queries; /* of the pair: this member's, or member 0's if the team shares the
                                    pair */
    struct key_block keys;       /* this member's */
};

struct backward_pair {
    const struct flash_backward *f;
    struct sequence b;
    int g;
    int per_head, blocks;     /* query blocks of one query head; of all of them */
    struct rows_ahead *ahead; /* rows of the pair that this member takes next; may be NULL */
};

/* ---- backward_blocks.c ---- */
struct backward_part { /* workspace of a member */
    struct query_blocks queries;
    struct key_block keys;
};
void rapt__flash_backward_part(struct arena *part, const void *bounds, void *to);
/* Returns the gradients of a row of the bias, or NULL if there is no bias or they are not
   wanted. */
float *rapt__flash_bias_gradients(const struct flash_backward *f, const float *bias);

/* The steps of a pair: pack query block i and zero its dq; run key block j against all query blocks
   (j in order) and add its dk and dv to the caller's; add dq of block i to the caller's. */
void rapt__flash_pack_queries(const struct backward_pair *p, int i);
void rapt__flash_backward_keys(const struct backward_pair *p, int j);
void rapt__flash_add_dq(const struct backward_pair *p, int i);

/* Adds rows of whole vectors, the first `width` floats of each, to rows that are to_row apart. */
void rapt__flash_add_rows(const struct flash_backward *f, const float *from, int rows, int width,
                          float *to, ptrdiff_t to_row);

/* Zero this member's dk and dv of `keys` keys, and add them to the caller's of keys key, key + 1,
   ... */
void rapt__flash_clear_keys(const struct flash_backward *f, int keys);
void rapt__flash_add_keys(const struct backward_pair *p, int key, int keys);

/* ---- backward_heads.c ---- */
/* Computes a pair of few queries and few keys that are all finite. Returns false, having done
   nothing, for any other pair. */
bool rapt__flash_backward_heads(const struct backward_pair *p);

#endif
