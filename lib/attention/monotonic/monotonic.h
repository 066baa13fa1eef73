/* monotonic.h - monotonic attention (rapt/monotonic_attention.h): expected alignments and their
   gradients for training, and the keys at which queries stop in inference.

   An item is a key head of a sequence with the query heads that share its keys (in step.c, with one
   query head). Each item is computed by one thread of the team. The alignment of a query depends on
   the alignment of the previous query, so rows are computed in order; only products of queries,
   keys and values are computed in blocks of rows. No recurrence divides by a product of
   probabilities, because such a product may underflow. */
#ifndef RAPT_LIB_ATTENTION_MONOTONIC_H
#define RAPT_LIB_ATTENTION_MONOTONIC_H

#include "attention/problem.h"

enum { MONOTONIC_ROWS = 16 }; /* rows of a block of queries */

/* ---- forward.c: energies and alignments of a block of queries ---- */
struct monotonic_problem { /* a checked problem, and numbers derived from it */
    const rapt_monotonic_attention *a;
    const struct kernels *kernels;
    rapt_attention plain; /* has the shapes, layouts and key counts of the problem */
    int key_heads, group; /* query heads per key head */
    int ld;               /* length of a row with one float per key: the number of keys, rounded up
                             to a multiple of 16 */
    float scale, chunk_scale;
    bool soft; /* the mode has chunk energies */
};
struct monotonic_problem rapt__monotonic(const rapt_monotonic_attention *a);

struct monotonic_item {
    struct sequence sequence;
    int key_head;
};
/* Returns item `index` of the batch * key_heads items. */
struct monotonic_item rapt__monotonic_item(const struct monotonic_problem *m, int index);

/* Return the offset of row t in a query head, and the offset of the first key in the item's key
   head. */
static inline ptrdiff_t rapt__monotonic_query(const rapt_stride *s,
                                              const struct monotonic_item *item, int head, int t)
{
    return rapt__query_at(s, &item->sequence, head, t);
}
static inline ptrdiff_t rapt__monotonic_key(const rapt_stride *s, const struct monotonic_item *item)
{
    return rapt__key_at(s, &item->sequence, item->key_head, 0);
}

/* Returns the index of a query in delays. */
static inline ptrdiff_t rapt__monotonic_delay(const struct monotonic_problem *m,
                                              const struct monotonic_item *item, int head, int t)
{
    return (ptrdiff_t)head * rapt__query_rows(&m->plain) + item->sequence.query_first + t;
}

/* A block of queries of one head: rows of `ld` floats, one float per key, and packed keys. */
struct monotonic_block {
    int head, first, rows;
    float *key_panels, *chunk_panels; /* keys in panels, multiplied by the scales */
    float *stop;                      /* [MONOTONIC_ROWS][ld] p */
    float *keep;                      /* [MONOTONIC_ROWS][ld] 1 - p */
    float *energies;                  /* [MONOTONIC_ROWS][ld] chunk energies */
    float *weights;                   /* [MONOTONIC_ROWS][ld] */
};
void rapt__monotonic_layout(struct arena *arena, const struct monotonic_problem *m,
                            struct monotonic_block *b);
/* Packs the keys of an item. */
void rapt__monotonic_pack(const struct monotonic_problem *m, const struct monotonic_item *item,
                          const float *k, const float *chunk_k, struct monotonic_block *b);
/* Computes stop and keep for the queries of a block. */
void rapt__monotonic_stops(const struct monotonic_problem *m, const struct monotonic_item *item,
                           const float *q, const struct monotonic_block *b);
/* Computes the chunk energies. */
void rapt__monotonic_energies(const struct monotonic_problem *m, const struct monotonic_item *item,
                              const float *chunk_q, const struct monotonic_block *b);

/* ---- recurrence.c: rows of n keys ---- */
/* Computes the alignment before the first query: 1 for key 0, and 0 for all others. */
void rapt__monotonic_begin(int n, float *alpha);
/* Computes reach and alpha, the probabilities that a query reaches each key and that it stops
   there. `before` is the alignment of the previous query. */
void rapt__monotonic_align(const float *stop, const float *keep, const float *before, int n,
                           float *reach, float *alpha);
/* From the gradient of alpha, computes the gradient of the energies whose sigmoid is `stop`.
   Replaces dalpha with the gradient of the previous query's alignment. Returns the sum of the
   gradients of these energies. */
double rapt__monotonic_align_backward(const float *stop, const float *keep, const float *reach,
                                      int n, float *dalpha, float *denergies);

/* Scratch rows [ld] for the softmax over a chunk or prefix. */
struct monotonic_scratch {
    float *exponentials, *ratios, *sums, *tops;
};
void rapt__monotonic_scratch_layout(struct arena *arena, const struct monotonic_problem *m,
                                    struct monotonic_scratch *s);
/* Computes the weights of values from the chunk energies and the alignment of a query. */
void rapt__monotonic_weights(const struct monotonic_problem *m, const float *energies,
                             const float *alpha, int n, const struct monotonic_scratch *s,
                             float *weights);
/* Computes the gradients of alpha and of the chunk energies from the gradient of the weights. The
   scratch rows must not have changed since rapt__monotonic_weights. */
void rapt__monotonic_weights_backward(const struct monotonic_problem *m, const float *energies,
                                      const float *alpha, const float *dweights, int n,
                                      const struct monotonic_scratch *s, float *dalpha,
                                      float *denergies);

/* ---- forward.c, backward.c, step.c ---- */
/* Return the workspace size in bytes, or 0 if it overflows size_t. */
size_t rapt__monotonic_forward_workspace(const struct monotonic_problem *m, int team_size);
size_t rapt__monotonic_backward_workspace(const struct monotonic_problem *m, int team_size);
size_t rapt__monotonic_step_workspace(const struct monotonic_problem *m, int team_size);

#endif
