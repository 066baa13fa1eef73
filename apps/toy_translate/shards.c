/* shards.c - one step: the batch at the learner's position in, a changed model and its losses out.
   With --shards the batch is split, and the gradients of its parts are added as the library defines
   it, so that other machines may compute some of them. */
#include "learner.h"
#include <stdlib.h>

/* The gradient of one shard, and its record. */
static rapt_status compute(struct learner *learner, int shard, rapt_shard *record,
                           rapt_message *why)
{
    rapt_tokens source, target;
    batches_get_part(&learner->batches, (size_t)learner->state.position, (size_t)shard,
                     (size_t)learner->recipe->shards, &source, &target);
    bool empty = source.batch == 0;
    *record = (rapt_shard){.size = sizeof *record};
    return rapt_train_shard(learner->trainer, shard, empty ? NULL : &source, empty ? NULL : &target,
                            record, why);
}

static rapt_status in_shards(struct learner *learner, rapt_report *report, rapt_message *why)
{
    int shards = learner->recipe->shards;
    rapt_shard *records = xcalloc((size_t)shards, sizeof *records);
    rapt_status status = RAPT_OK;
    for (int k = 0; status == RAPT_OK && k < shards; k++)
        status = compute(learner, k, &records[k], why);
    if (status == RAPT_OK) status = rapt_train_shards_step(learner->trainer, records, report, why);
    free(records);
    return status;
}

rapt_status shards_step(struct learner *learner, rapt_report *report, rapt_message *why)
{
    rapt_tokens source, target;
    if (learner->recipe->shards > 0) return in_shards(learner, report, why);
    batches_get(&learner->batches, (size_t)learner->state.position, &source, &target);
    rapt_status status = rapt_train_gradient(learner->trainer, &source, &target, report, why);
    return status == RAPT_OK ? rapt_train_step(learner->trainer, report, why) : status;
}
