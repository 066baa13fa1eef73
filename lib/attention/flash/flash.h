/* flash.h - the flash path: softmax and sigmoid attention on projected queries and keys, in tiles.
   It computes the forward pass, the backward pass and the weights, without storing a queries x keys
   matrix. The second half of this header is only for the files in this folder. */
#ifndef RAPT_LIB_ATTENTION_FLASH_H
#define RAPT_LIB_ATTENTION_FLASH_H

#include "attention/projected.h"

#include <stdatomic.h>

/* Returns true if this path supports the problem. Ignores the arrays q and k. */
bool rapt__flash_supports(const struct projected *c);

/* Lays out enough workspace for rapt__flash_forward, and for one of the functions that compute
   statistics, followed by rapt__flash_backward or rapt__flash_weights. */
void rapt__flash_layout(struct arena *arena, const struct bounds *b);

/* All threads of a team call these functions. Each function lays out its workspace after the
   current contents of the arena. */
void rapt__flash_forward(struct team *team, const struct projected *c, const float *v, float *out,
                         const rapt_attention_saved *saved, struct arena *arena);
/* Compute the statistics that forward did not save, and return them as an array [H][query
   rows][STATISTICS] in the arena. The first function computes them for all rows, and the second
   only for query rows [first, first + rows) of one sequence and head. */
const float *rapt__flash_statistics(struct team *team, const struct projected *c,
                                    struct arena *arena);
const float *rapt__flash_statistics_of(struct team *team, const struct projected *c, int sequence,
                                       int head, int first, int rows, struct arena *arena);
void rapt__flash_backward(struct team *team, const struct projected *c, const float *v,
                          const float *out, const float *statistics, const float *dout,
                          const struct projected_gradients *d, struct arena *arena);
/* Computes the weights before dropout, weights[rows][keys of the sequence], for query rows [first,
   first + rows) of one sequence and head. */
void rapt__flash_weights(struct team *team, const struct projected *c, const float *statistics,
                         int sequence, int head, int first, int rows, float *weights,
                         struct arena *arena);

/* ---- heads.c ---- */
/* Describes the keys of key head g of a sequence for the kernel attend_head. Does not set the
   arrays of queries and values. low and high are workspaces with one float per query, to which
   *head may point. Returns false if attend_head cannot compute the pair, or if packing its keys is
   faster. */
bool rapt__flash_head(const struct projected *c, const struct sequence *b, int g, float *low,
                      float *high, struct attend_head *head);
/* Sets everything that depends on the query head, for the queries starting at `first`: queries,
   their masks and biases, the learned parameter, and the random key and row for dropout. Does not
   change low, high or the number of queries. */
void rapt__flash_head_queries(const struct projected *c, const struct sequence *b, int h, int first,
                              struct attend_head *head);
/* Returns the rows of x, which are *row floats apart, as rows of whole vectors: x itself if width
   is a multiple of 16, else copies in `to` [rows][padded width], padded with 0. Sets *row to the
   distance between the returned rows. */
const float *rapt__flash_whole_rows(const float *x, ptrdiff_t *row, int rows, int width, float *to);

/* Returns true if the queries, keys and values of all pairs (with `gradients`, twice their size) do
   not fit in the caches near a core (rapt__near_size). Prefetching the rows of the next pair is
   then worthwhile. */
bool rapt__flash_rows_far(const struct projected *c, bool gradients);

/* ---- forward.c, backward.c: workspaces, used by rapt__flash_layout ---- */
void rapt__flash_forward_layout(struct arena *arena, const struct bounds *b);
float *rapt__flash_statistics_layout(struct arena *arena, const struct bounds *b);
void rapt__flash_backward_layout(struct arena *arena, const struct bounds *b);

/* ---- for the files in this folder; a pair is a sequence and a key head ---- */

enum {
    PACKED_KEYS = 4096, /* a pair with more keys is packed part by part */
    PART_KEYS = 512,    /* maximum number of keys in a part */
    SET_CALLS = 8 /* maximum number of kernel calls, of at most ATTEND_ROWS rows each, that read a
                     part one after another */
};

/* The memory of one thread. It holds the packed keys and values of a pair or of a part of it, and
   the kernel's workspace. */
struct packed_pair {
    float *keys, *values;
    unsigned char *non_finite;
    float *out;              /* used by rapt__flash_forward_heads */
    float *kernel;           /* workspace of one call, or of SET_CALLS calls if there are more than
                                PACKED_KEYS keys */
    struct attend_row *rows; /* [ATTEND_ROWS] for each of these calls */
    struct visible_keys *visible; /* [ATTEND_ROWS] for each call; NULL if there are at most
                                     PACKED_KEYS keys */
};

struct flash_forward {
    const struct projected *c;
    const rapt_attention *a;
    const struct kernels *kernels;
    const float *v;
    float *out, *lse, *statistics; /* if out is NULL, only statistics are computed */
    int key_heads, group;          /* group: number of query heads per key head */
    bool far;                      /* result of rapt__flash_rows_far */
    struct packed_pair pair;       /* memory of this thread, or of thread 0 for a shared pair */
    struct packed_pair mine;
    struct rows_ahead *ahead; /* rows of this thread's next pair, to prefetch; may be NULL */
};

/* ---- forward_rows.c ---- */
/* Packs the valid keys among [first, end) of a pair and, unless only statistics are computed, their
   values. Key `base` is the first key in `to`. first and base must be multiples of 16. */
void rapt__flash_pack(const struct flash_forward *f, const struct sequence *b, int g, int first,
                      int end, int base, const struct packed_pair *to);
/* Returns the largest number of rows that one call can compute in whole tiles. */
static inline int rapt__flash_call_rows(const struct flash_forward *f)
{
    return ATTEND_ROWS / f->kernels->tile_rows * f->kernels->tile_rows;
}
/* Computes the outputs of rows [first, first + rows), at most ATTEND_ROWS, where rows are numbered
   head by head over the query heads that share key head g. The pair must have been packed in
   f->pair. */
void rapt__flash_forward_call(const struct flash_forward *f, const struct sequence *b, int g,
                              int first, int rows);
/* Computes all rows of a pair, at most ATTEND_ROWS, in one call. The keys and values have not been
   packed; the kernel packs them block by block. */
void rapt__flash_forward_plain(const struct flash_forward *f, const struct sequence *b, int g,
                               int rows);
/* Works like rapt__flash_forward_call for at most SET_CALLS * rapt__flash_call_rows rows of a pair
   with more than PACKED_KEYS keys. */
void rapt__flash_forward_set(const struct flash_forward *f, const struct sequence *b, int g,
                             int first, int rows);

/* ---- heads.c ---- */
/* Lays out a thread's padded output rows, [queries][padded value width]. Returns NULL if the width
   of values is a multiple of 16, because rows then need no padding. */
float *rapt__flash_forward_rows(struct arena *part, const struct bounds *b);
/* Computes the outputs of a pair with few queries and keys, one query head at a time, without
   packing keys. Returns false if the pair must be computed in another way; some outputs may then
   have been written. */
bool rapt__flash_forward_heads(const struct flash_forward *f, const struct sequence *b, int g);

/* ---- backward: the blocks of a pair and their workspace ----
   A pair is divided into a table of blocks, each with at most ATTEND_ROWS (56) queries of one query
   head and at most ATTEND_BLOCK (128) keys. */

struct block_state {              /* state of a query block, on its own cache line */
    _Alignas(64) atomic_int done; /* number of key blocks whose contributions have been added to
                                     dq */
    int non_finite;               /* q or dout contains an infinity or NaN */
};

/* The query blocks of a pair. Each array holds the data of all these blocks, one after another. */
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
    float *row_sums;             /* [H][query rows] sum of ds over each row, for the biases of
                                    sigmoids and for forget gates; NULL if not wanted */
    int key_heads, group;        /* group: number of query heads per key head */
    bool far;                    /* result of rapt__flash_rows_far */
    bool many;                   /* the team shares pairs with more than OWN_BLOCKS query blocks */
    struct query_blocks queries; /* query blocks of the pair, in this thread's memory or in memory
                                    that the team shares */
    struct key_block keys;       /* this thread's key block */
};

struct backward_pair {
    const struct flash_backward *f;
    struct sequence b;
    int g;
    int per_head, blocks;     /* number of query blocks of one query head, and of the whole pair */
    struct rows_ahead *ahead; /* rows of this thread's next pair, to prefetch; may be NULL */
};

/* ---- backward_blocks.c ---- */
/* Maximum number of query blocks for which each thread of a team has its own memory. */
enum { OWN_BLOCKS = 128 };
struct backward_part { /* workspace of one thread */
    struct query_blocks queries;
    struct key_block keys;
};
/* Lays out a struct backward_part. */
void rapt__flash_backward_part(struct arena *part, const void *bounds, void *to);
/* If the longest pair has more than OWN_BLOCKS query blocks and the team may share it, lays out
   these blocks once for the whole team and returns true. A team of one thread does not share pairs.
   Neither does a larger team if there is a relative bias or distance vectors, because their
   gradients are summed within each pair by a single thread. */
bool rapt__flash_shared_blocks(struct arena *arena, const struct bounds *b, struct query_blocks *q);
/* Returns the gradients of a row of the bias, or NULL if there is no bias or its gradients are not
   requested. */
float *rapt__flash_bias_gradients(const struct flash_backward *f, const float *bias);

/* The three steps of a pair. The first is called for each query block i. It packs the block and
   zeroes its dq. The second is called for each key block j, in order. It processes all query blocks
   against block j, and adds the dk and dv of block j to the caller's arrays. The third is called
   for each query block i, and adds its dq to the caller's array. */
void rapt__flash_pack_queries(const struct backward_pair *p, int i);
void rapt__flash_backward_keys(const struct backward_pair *p, int j);
void rapt__flash_add_dq(const struct backward_pair *p, int i);

/* Adds the first `width` floats of padded rows to rows that are to_row floats apart. */
void rapt__flash_add_rows(const struct flash_backward *f, const float *from, int rows, int width,
                          float *to, ptrdiff_t to_row);

/* Zeroes this thread's dk and dv for `keys` keys. */
void rapt__flash_clear_keys(const struct flash_backward *f, int keys);
/* Adds this thread's dk and dv for keys [key, key + keys) to the caller's arrays. */
void rapt__flash_add_keys(const struct backward_pair *p, int key, int keys);

/* ---- backward.c: sums for the gradients of learned parameters ---- */
/* Returns the sums of ds for the rows starting at `first`, or NULL if they are not wanted. */
float *rapt__flash_row_sums(const struct flash_backward *f, const struct sequence *b, int h,
                            int first);
/* Returns the sums of ds for each key in head h, for forget gates, or NULL if they are not
   wanted. */
float *rapt__flash_forget_sums(const struct flash_backward *f, const struct sequence *b, int h);

/* ---- heads.c ---- */
/* Computes the gradients of a pair if it has few queries, rapt__flash_head accepts it, and q, k and
   dout are finite. Otherwise adds nothing and returns false. */
bool rapt__flash_backward_heads(const struct backward_pair *p);

#endif
