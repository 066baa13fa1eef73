/* talking.h - declarations shared by the files of talking heads, in addition to those of
   general.h. */
#ifndef RAPT_LIB_ATTENTION_GENERAL_TALKING_H
#define RAPT_LIB_ATTENTION_GENERAL_TALKING_H

#include "attention/general/general.h"

struct talking_range { /* keys [first, end), whole panels */
    int first, end;
    bool together; /* rows see enough keys in common to be computed together */
};

/* Lays out one block for each head and returns them. Those of additive scores have weights, too. */
struct row_block *rapt__talking_blocks(struct arena *part, const struct bounds *b, bool backward);
/* Sets t->rows to query `query` of all heads. With `decided`, the keys that a hard normalizer has
   chosen are read from c->chosen. */
void rapt__talking_rows(struct talking *t, const struct projected *c, const struct sequence *b,
                        int query, bool decided);
/* Starts a block of *rows queries, whose rows are then in t->block, and returns the keys that at
   least one of them sees in at least one head. Sets *rows to 1 if the queries see too few keys in
   common to be computed together. */
struct talking_range rapt__talking_block(struct talking *t, const struct projected *c,
                                         const struct sequence *b, int query, int *rows,
                                         bool decided);
/* Computes to[h][s] = sum over g of matrix[h][g] from[g][s], or the same with the transposed
   matrix, for keys [first, end) of the query. If `matrix` is NULL, copies `from`. */
void rapt__talking_mix(const struct talking *t, const float *matrix, bool transposed,
                       const float *from, float *to);
/* Copies the weights u of head h after dropout to row i of the weights of a block. */
void rapt__talking_keep(const struct talking *t, int h, const struct row_block *block, int i);
/* Sets t->seen[s] to -infinity if all heads hide key s, else to 0. */
void rapt__talking_seen(const struct talking *t);

#endif
