/* shards.c - one step: the batch at the learner's position in, a changed model and its losses out.
   With --shards the batch is split, and the gradients of its parts are added as the library defines
   it, so that other machines may compute some of them. */
#include "learner.h"
#include <math.h>
#include <stdlib.h>

/* The gradient of one shard, and its record. */
static rapt_status compute(struct learner *learner, int shard, rapt_shard *record,
                           rapt_message *why)
{
    struct exchange *x = &learner->exchange;
    bool last = shard + 1 == x->end && x->ranks->count > 1;
    rapt_tokens source, target;
    batches_get_part(&learner->batches, (size_t)learner->state.position, (size_t)shard,
                     (size_t)learner->recipe->shards, &source, &target);
    bool empty = source.batch == 0;
    *record = (rapt_shard){.size = sizeof *record};
    if (last) exchange_depart(x, learner->trainer);
    return rapt_train_shard_early(learner->trainer, shard, empty ? NULL : &source,
                                  empty ? NULL : &target, record, last ? exchange_ready : NULL, x,
                                  why);
}

static bool all_finite(const rapt_shard *records, int count)
{
    for (int k = 0; k < count; k++)
        if (!isfinite(records[k].loss)) return false;
    return true;
}

/* The shards of this rank, then those of the others. A rank that leads may be asked to end while it
   computes, and has little time. */
static int in_shards(struct learner *learner, rapt_shard *records, rapt_status *status,
                     rapt_message *why)
{
    struct exchange *x = &learner->exchange;
    double start = now();
    *status = RAPT_OK;
    for (int k = x->first; *status == RAPT_OK && k < x->end; k++) {
        if (x->ranks->count > 1 && interrupted()) return EXIT_INTERRUPTED;
        *status = compute(learner, k, &records[k], why);
    }
    if (*status != RAPT_OK) return EXIT_OK;
    int code = exchange_records(x, records, now() - start);
    if (code == EXIT_OK) code = exchange_arrive(x);
    if (code == EXIT_OK && all_finite(records, x->shards)) code = exchange_sum(x, learner->trainer);
    exchange_watch(x);
    return code;
}

int shards_step(struct learner *learner, rapt_status *status, rapt_report *report,
                rapt_message *why)
{
    rapt_tokens source, target;
    int shards = learner->recipe->shards, code = EXIT_OK;
    if (shards > 0) {
        rapt_shard *records = xcalloc((size_t)shards, sizeof *records);
        code = in_shards(learner, records, status, why);
        if (code == EXIT_OK && *status == RAPT_OK)
            *status = rapt_train_shards_step(learner->trainer, records, report, why);
        else if (code != EXIT_OK)
            rapt_train_shards_discard(learner->trainer);
        free(records);
        return code;
    }
    batches_get(&learner->batches, (size_t)learner->state.position, &source, &target);
    *status = rapt_train_gradient(learner->trainer, &source, &target, report, why);
    if (*status == RAPT_OK) *status = rapt_train_step(learner->trainer, report, why);
    return EXIT_OK;
}
