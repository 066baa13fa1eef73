/* ranks.h - interface header of ranks/: the processes of one training run, on one machine or many,
   and what they exchange during a step. Nothing outside this folder knows MPI.

   Functions that return an int return EXIT_OK, EXIT_INTERRUPTED if this process was asked to end or
   a rank was lost, or another exit code after a message. */
#ifndef TOY_TRANSLATE_RANKS_H
#define TOY_TRANSLATE_RANKS_H

#include <rapt/rapt.h>
#include <stdbool.h>
#include <stddef.h>

/* ---- mpi.c, or alone.c in a build without MPI: bytes from rank to rank ---- */

struct ranks {
    int count, rank; /* rank 0 leads: it writes files and messages */
    bool launched;   /* by mpirun or a similar launcher, perhaps with one rank */
    /* The state of the agreement on how to begin; see training/agree.c. */
    bool alike;   /* all ranks begin with the same program, options and data */
    bool agreed;  /* all ranks know whether the run begins */
    bool refused; /* the run does not begin */
};

/* Joins the other ranks if this process is one of several, and exits if that fails. Otherwise count
   is 1. */
struct ranks ranks_open(void);

struct transfer {
    int rank;   /* the peer */
    bool sends; /* to the peer; otherwise receives from it */
    void *data; /* only read if it is sent */
    size_t size;
    int number; /* equal on both sides; transfers of equal number arrive in the order sent */
};
/* Runs all transfers at once and waits for them. Names ranks that keep the others waiting. */
int ranks_transfer(const struct ranks *ranks, const struct transfer *list, int count);

/* Transfers that go on while this process computes. */
struct flight;
struct flight *ranks_depart(int capacity); /* the expected number of transfers */
/* Begins a transfer. ranks_arrive reports its errors. */
void ranks_begin(struct flight *flight, const struct transfer *transfer);
/* Waits for all transfers, as ranks_transfer does, and frees the flight. */
int ranks_arrive(const struct ranks *ranks, struct flight *flight);

/* Leaves the run. Ends the other ranks, too, unless all ranks have agreed to end. Must be the last
   call. */
void ranks_close(const struct ranks *ranks, int code);

/* ---- exchange.c: gradients, losses and bytes of a step. With one rank, nothing is done. ---- */

struct exchange {
    const struct ranks *ranks;
    int shards, first, end; /* shards of a step; this rank computes first .. end - 1 */
    rapt_subtree *nodes;    /* [count] nodes of all ranks, in order; `gradient` holds only this
                               rank's piece */
    int *owner;             /* [count] the rank that computes each node */
    int count;
    int own, own_count;    /* this rank computes nodes own .. own + own_count - 1 */
    size_t floats;         /* of the gradient */
    size_t *pieces;        /* [ranks + 1] rank r sums the bytes pieces[r] .. pieces[r + 1] - 1 */
    float *received;       /* this rank's piece of every node that another rank computes */
    size_t bytes;          /* size of received */
    struct flight *flight; /* gradients in transit while the last shard is computed */
    bool waits;      /* send only when all shards are computed, to measure what overlapping gains */
    double *seconds; /* [ranks] per shard, summed over the steps since exchange_watch last ran */
    long long steps; /* number of these steps */
};

void exchange_create(struct exchange *x, const struct ranks *ranks, int shards, size_t floats);
void exchange_free(struct exchange *x);
/* Returns the memory needed for what other ranks send, in bytes. */
size_t exchange_bytes(const struct ranks *ranks, int shards, size_t floats);

/* Gives all ranks the whole array `data`. Rank r holds bytes starts[r] to starts[r + 1] - 1 of it.
   starts is [ranks + 1]. */
int exchange_parts(const struct exchange *x, void *data, const size_t *starts);
/* Gives all ranks the records of all shards, and the seconds that each rank took. */
int exchange_records(struct exchange *x, rapt_shard *records, double seconds);

/* Gradients travel to the ranks that sum them while the last shard is computed. exchange_depart
   is called before that shard, exchange_ready is its rapt_ready_fn (with the exchange as user), and
   exchange_arrive is called after it. exchange_sum then adds this rank's piece and gathers the
   whole sum in rapt_trainer_gradients of every rank. */
void exchange_depart(struct exchange *x, const rapt_trainer *trainer);
void exchange_ready(void *user, const rapt_subtree *tree, size_t from, size_t until);
/* Does the work of exchange_depart and exchange_ready after all shards of this rank have been
   computed. */
void exchange_depart_whole(struct exchange *x, const rapt_trainer *trainer);
int exchange_arrive(struct exchange *x);
int exchange_sum(struct exchange *x, rapt_trainer *trainer);
/* Copies `size` bytes from rank 0 to all ranks. */
int exchange_from_first(const struct exchange *x, void *data, size_t size);
/* From time to time, names a rank that is much slower than the others (on rank 0). */
void exchange_watch(struct exchange *x);

/* ---- exchange.c: the gradient of one step ---- */

/* Makes the batch of one shard; a batch of 0 sequences is allowed. Returns EXIT_OK, or another exit
   code after a message. */
typedef int shards_batch_fn(void *user, int shard, rapt_tokens *source, rapt_tokens *target);

/* Computes this rank's shards and adds the gradients of all ranks in the trainer, unless a loss is
   not finite. records [shards] receives those of all ranks. With EXIT_OK, *status is the library's
   result and *why explains it. Can also return the exit code of a failed batch. */
int shards_gradient(struct exchange *x, rapt_trainer *trainer, shards_batch_fn *batch, void *user,
                    rapt_shard *records, rapt_status *status, rapt_message *why);

#endif
