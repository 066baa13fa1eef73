/* flash.h - the flash path: softmax and sigmoid attention of projected queries and keys in tiles.
   It computes the forward pass, the backward pass and the weights, and stores no queries x keys
   matrix. */
#ifndef RAPT_LIB_ATTENTION_FLASH_H
#define RAPT_LIB_ATTENTION_FLASH_H

#include "attention/projected.h"

/* Returns true if this path supports the problem. Ignores the arrays q and k. */
bool rapt__flash_supports(const struct projected *c);

/* Lays out enough workspace for any of the functions below. */
void rapt__flash_layout(struct arena *arena, const struct bounds *b);

/* All members of a team call these functions. Each function lays out its workspace after the
   present contents of the arena. */
void rapt__flash_forward(struct team *team, const struct projected *c, const float *v, float *out,
                         const rapt_attention_saved *saved, struct arena *arena);
/* Compute the statistics [H][query rows][STATISTICS] in the arena if forward did not save them: for
   all rows, or only for query rows [first, first + rows) of one sequence and head. */
const float *rapt__flash_statistics(struct team *team, const struct projected *c,
                                    struct arena *arena);
const float *rapt__flash_statistics_of(struct team *team, const struct projected *c, int sequence,
                                       int head, int first, int rows, struct arena *arena);
void rapt__flash_backward(struct team *team, const struct projected *c, const float *v,
                          const float *out, const float *statistics, const float *dout,
                          const struct projected_gradients *d, struct arena *arena);
/* Computes weights[rows][keys of the sequence] for query rows [first, first + rows) of one sequence
   and head, before dropout. */
void rapt__flash_weights(struct team *team, const struct projected *c, const float *statistics,
                         int sequence, int head, int first, int rows, float *weights,
                         struct arena *arena);

/* ---- heads.c ---- */
/* Describes the keys of key head g of a sequence for attend_head. Does not set the arrays of
   queries and values. low and high are workspace of [queries] floats each. Returns false if
   attend_head cannot compute the pair or packing its keys is faster. */
bool rapt__flash_head(const struct projected *c, const struct sequence *b, int g, float *low,
                      float *high, struct attend_head *head);
/* Sets everything that depends on the query head, for the queries starting at `first`: queries,
   their masks and biases, the learned number, and the key and row of dropout. Does not change low,
   high and the number of queries. */
void rapt__flash_head_queries(const struct projected *c, const struct sequence *b, int h, int first,
                              struct attend_head *head);
/* Returns the rows of x, which are *row floats apart, as rows of whole vectors: x itself if width
   is a multiple of 16, else copies in `to` [rows][padded width], padded with 0. Sets *row to the
   distance between the returned rows. */
const float *rapt__flash_whole_rows(const float *x, ptrdiff_t *row, int rows, int width, float *to);

/* Returns true if the rows of queries, keys and values of all pairs (twice as many with gradients)
   do not fit into the caches near a core. Prefetching the rows of the next pair is then
   worthwhile. */
bool rapt__flash_rows_far(const struct projected *c, bool gradients);

/* ---- forward.c, backward.c: their workspaces, used by rapt__flash_layout ---- */
void rapt__flash_forward_layout(struct arena *arena, const struct bounds *b);
float *rapt__flash_statistics_layout(struct arena *arena, const struct bounds *b);
void rapt__flash_backward_layout(struct arena *arena, const struct bounds *b);

#endif
