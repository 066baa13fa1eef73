/* exchange.h - what the ranks of a run tell one another during a step and a validation. Functions
   return EXIT_OK, or EXIT_INTERRUPTED as ranks_transfer does. With one rank they do nothing. */
#ifndef TOY_TRANSLATE_EXCHANGE_H
#define TOY_TRANSLATE_EXCHANGE_H

#include "mpi/ranks.h"
#include <rapt/rapt.h>

struct exchange {
    const struct ranks *ranks;
    int shards, first, end; /* of a step; this rank computes shards first .. end - 1 */
    rapt_subtree *nodes;    /* [count] those of all ranks, in order; gradient NULL: of this one */
    int *owner;             /* [count] their ranks */
    int count;
    int own, own_count; /* nodes own .. own + own_count - 1 are of this rank */
    size_t floats;      /* of the gradient */
    size_t *pieces;  /* [ranks + 1] bytes: rank r sums floats of bytes pieces[r] .. pieces[r + 1] */
    float *received; /* the piece of this rank of each node of the others */
    size_t bytes;    /* of received */
    struct flight *flight; /* gradients under way, while the last shard is computed */
    bool waits;            /* they leave when it has been: for measuring what the overlap gains */
    double *seconds;       /* [ranks] spent on shards, since exchange_watch spoke */
    long long steps;       /* since then */
};

void exchange_create(struct exchange *x, const struct ranks *ranks, int shards, size_t floats);
void exchange_free(struct exchange *x);
/* Of memory for what the others send. */
size_t exchange_bytes(const struct ranks *ranks, int shards, size_t floats);

/* data: bytes [0, starts[ranks]), of which this rank has starts[rank] .. starts[rank + 1]; then all
   ranks have all. */
int exchange_parts(const struct exchange *x, void *data, const size_t *starts);
/* Records of all shards, of which this rank has its own, and how long it took. */
int exchange_records(struct exchange *x, rapt_shard *records, double seconds);
/* Gradients go to the ranks that sum them while this one computes its last shard: exchange_depart
   before that, exchange_ready as its rapt_ready_fn, with the exchange as its user, exchange_arrive
   behind it. Then exchange_sum sums them, and gives all to rapt_trainer_gradients. */
void exchange_depart(struct exchange *x, const rapt_trainer *trainer);
void exchange_ready(void *user, const rapt_subtree *tree, size_t from, size_t until);
/* Both of them, once all shards of this rank have been computed. */
void exchange_depart_whole(struct exchange *x, const rapt_trainer *trainer);
int exchange_arrive(struct exchange *x);
int exchange_sum(struct exchange *x, rapt_trainer *trainer);
/* `size` bytes of rank 0 to all. */
int exchange_from_first(const struct exchange *x, void *data, size_t size);
/* Once in a while, of rank 0: names a rank that is much slower than the others. */
void exchange_watch(struct exchange *x);

#endif
