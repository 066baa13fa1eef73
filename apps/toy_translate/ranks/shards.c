/* shards.c - computes the gradient of a step from the batches of its shards, added in the order
   that the library defines, whichever rank computes which shard. The gradients of a rank are sent
   while it computes its last shard. */
#include "ranks.h"

#include "kit/program.h"
#include <math.h>

/* Computes the gradient of one shard and its record. */
static int compute_shard(struct exchange *x, rapt_trainer *trainer, int shard,
                         shards_batch_fn *batch, void *user, rapt_shard *record,
                         rapt_status *status, rapt_message *why)
{
    bool departs = shard + 1 == x->end && x->ranks->count > 1 && !x->waits;
    rapt_tokens source, target;
    int code = batch(user, shard, &source, &target);
    if (code != EXIT_OK) return code;
    bool empty = source.batch == 0;
    *record = (rapt_shard){.size = sizeof *record};
    if (departs) exchange_depart(x, trainer);
    *status = rapt_train_shard_early(trainer, shard, empty ? NULL : &source, empty ? NULL : &target,
                                     record, departs ? exchange_ready : NULL, x, why);
    return EXIT_OK;
}

static bool all_finite(const rapt_shard *records, int count)
{
    for (int k = 0; k < count; k++)
        if (!isfinite(records[k].loss)) return false;
    return true;
}

/* Checks for an interrupt before every shard, since mpirun gives an interrupted rank little
   time. */
int shards_gradient(struct exchange *x, rapt_trainer *trainer, shards_batch_fn *batch, void *user,
                    rapt_shard *records, rapt_status *status, rapt_message *why)
{
    double start = now();
    int code = EXIT_OK;
    *status = RAPT_OK;
    for (int k = x->first; *status == RAPT_OK && k < x->end; k++) {
        if (x->ranks->count > 1 && interrupted()) return EXIT_INTERRUPTED;
        code = compute_shard(x, trainer, k, batch, user, &records[k], status, why);
        if (code != EXIT_OK) return code;
    }
    if (*status != RAPT_OK) return EXIT_OK;
    double seconds = now() - start;
    if (x->ranks->count > 1 && x->waits) exchange_depart_whole(x, trainer);
    code = exchange_records(x, records, seconds);
    if (code == EXIT_OK) code = exchange_arrive(x);
    if (code == EXIT_OK && all_finite(records, x->shards)) code = exchange_sum(x, trainer);
    exchange_watch(x);
    return code;
}
