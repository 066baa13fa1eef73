/* backward.h - declarations shared by the files of flash backward: the blocks of a pair (one
   sequence and key head) and their workspace. A pair is a table of blocks, each with at most
   ATTEND_ROWS (56) queries of one query head and ATTEND_BLOCK (128) keys. */
#ifndef RAPT_LIB_ATTENTION_FLASH_BACKWARD_H
#define RAPT_LIB_ATTENTION_FLASH_BACKWARD_H

#include "attention/flash/flash.h"

#include <stdatomic.h>

struct block_state {              /* state of a query block, on its own cache line */
    _Alignas(64) atomic_int done; /* number of key blocks whose contributions have been added to
                                     dq */
    int non_finite;               /* q or dout contains an infinity or NaN */
};

/* The query blocks of a pair. Each array holds the data of all blocks, one block after the
   other. */
struct query_blocks {
    struct block_state *state;
    float *q_rows, *dout_rows, *dq;
    float *statistics, *delta;
    float *q_slots, *dout_slots;
};

struct query_block {
    int head, first, rows;
    struct block_state *state;
    float *q_rows, *dout_rows, *dq; /* [rows], with padded widths */
    float *statistics, *delta;      /* [rows][STATISTICS] and [rows] */
    float *q_slots, *dout_slots;    /* written by the kernel function attend_pack */
};

struct key_block {
    int key, keys; /* first key and number of keys */
    bool non_finite;
    float *key_panels, *value_panels; /* in heads.c, value_panels holds padded rows of
                                         values */
    float *key_rows, *dk, *dv, *weights, *dscores;
};

struct flash_backward {
    const struct projected *c;
    const rapt_attention *a;
    const struct kernels *kernels;
    const float *v, *out, *statistics, *dout;
    const struct projected_gradients *d;
    float *relative;             /* [H][query rows + key rows], gradients of the relative bias (see
                                    rapt__relative_sums); NULL if not wanted */
    float *row_sums;             /* [H][query rows] sums of ds of each row, for the biases of
                                    sigmoids and for forget gates; NULL if not wanted */
    int key_heads, group;        /* group: number of query heads per key head */
    bool far;                    /* result of rapt__flash_rows_far */
    bool many;                   /* the team shares pairs with more than OWN_BLOCKS query blocks */
    struct query_blocks queries; /* query blocks of the pair: this member's, or those that the team
                                    shares */
    struct key_block keys;       /* this member's key block */
};

struct backward_pair {
    const struct flash_backward *f;
    struct sequence b;
    int g;
    int per_head, blocks;     /* number of query blocks of one query head, and of the whole pair */
    struct rows_ahead *ahead; /* rows of this member's next pair, to prefetch; may be NULL */
};

/* ---- backward_blocks.c ---- */
/* Maximum number of query blocks for which each member of a team has its own memory. */
enum { OWN_BLOCKS = 128 };
struct backward_part { /* workspace of one member */
    struct query_blocks queries;
    struct key_block keys;
};
/* Lays out a struct backward_part. */
void rapt__flash_backward_part(struct arena *part, const void *bounds, void *to);
/* Lays out the query blocks of the longest pair once for the whole team and returns true, if that
   pair has more than OWN_BLOCKS blocks and the team may share it. A team of one does not share
   pairs. Neither do larger teams with a relative bias or distance vectors, whose gradients a single
   member sums within each pair. */
bool rapt__flash_shared_blocks(struct arena *arena, const struct bounds *b, struct query_blocks *q);
/* Returns the gradients of a row of the bias, or NULL if there is no bias or its gradients are not
   requested. */
float *rapt__flash_bias_gradients(const struct flash_backward *f, const float *bias);

/* The steps of a pair. First pack each query block i and zero its dq. Then run the key blocks j in
   order against all query blocks, and add their dk and dv to the caller's arrays. Finally add dq of
   each block i to the caller's array. */
void rapt__flash_pack_queries(const struct backward_pair *p, int i);
void rapt__flash_backward_keys(const struct backward_pair *p, int j);
void rapt__flash_add_dq(const struct backward_pair *p, int i);

/* Adds the first `width` floats of padded rows to rows that are to_row floats apart. */
void rapt__flash_add_rows(const struct flash_backward *f, const float *from, int rows, int width,
                          float *to, ptrdiff_t to_row);

/* Zeroes this member's dk and dv of `keys` keys. */
void rapt__flash_clear_keys(const struct flash_backward *f, int keys);
/* Adds this member's dk and dv of keys [key, key + keys) to the caller's arrays. */
void rapt__flash_add_keys(const struct backward_pair *p, int key, int keys);

/* ---- numbers.c: gradients of the numbers that a normalizer learns ---- */
/* Lays out the sums of all rows, [H][query rows]. Returns NULL unless the gradients of the numbers
   need these sums. */
float *rapt__flash_numbers_layout(struct arena *arena, const struct bounds *b);
/* Returns the sums of the rows starting at `first`, or NULL if there are no such sums. */
float *rapt__flash_row_sums(const struct flash_backward *f, const struct sequence *b, int h,
                            int first);
/* Returns the sums of ds of each key of head h, for forget gates; NULL if not wanted. */
float *rapt__flash_forget_sums(const struct flash_backward *f, const struct sequence *b, int h);
/* Adds the gradients to the caller's array, once all blocks are done. */
void rapt__flash_add_numbers(struct team *team, const struct flash_backward *f);

/* ---- heads.c ---- */
/* Computes the gradients of a pair with few queries and few keys if q, k and dout are finite.
   Otherwise does nothing and returns false. */
bool rapt__flash_backward_heads(const struct backward_pair *p);

#endif
