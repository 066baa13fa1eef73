/* step.c - makes one step with the batch at the learner's position. With --shards the batch is
   split, and other ranks may compute some of its parts. */
#include "learner.h"
#include <stdlib.h>

/* Gives the trainer the word alignments of the current batch, if there are any. */
static int align_batch(struct learner *learner)
{
    rapt_message why = {""};
    if (learner->recipe->guided == NULL) return EXIT_OK;
    const rapt_alignment alignment = alignments_batch(&learner->alignments, &learner->batches);
    if (rapt_train_align(learner->trainer, &alignment, &why) == RAPT_OK) return EXIT_OK;
    return failed("%s", why.text);
}

static int part_of_batch(void *user, int shard, rapt_tokens *source, rapt_tokens *target)
{
    struct learner *learner = user;
    int code = batches_get_part(&learner->batches, (size_t)learner->state.position, (size_t)shard,
                                (size_t)learner->recipe->shards, source, target);
    if (code == EXIT_OK && source->batch > 0) code = align_batch(learner);
    learner->unread = code != EXIT_OK;
    return code;
}

static int step_in_shards(struct learner *learner, int shards, rapt_status *status,
                          rapt_report *report, rapt_message *why)
{
    rapt_shard *records = xcalloc((size_t)shards, sizeof *records);
    int code = shards_gradient(&learner->exchange, learner->trainer, part_of_batch, learner,
                               records, status, why);
    if (code == EXIT_OK && *status == RAPT_OK)
        *status = rapt_train_shards_step(learner->trainer, records, report, why);
    else if (code != EXIT_OK)
        rapt_train_shards_discard(learner->trainer);
    free(records);
    return code;
}

int step_make(struct learner *learner, rapt_status *status, rapt_report *report, rapt_message *why)
{
    rapt_tokens source, target;
    int shards = learner->recipe->shards;
    if (shards > 0) return step_in_shards(learner, shards, status, report, why);
    int code = batches_get(&learner->batches, (size_t)learner->state.position, &source, &target);
    if (code == EXIT_OK) code = align_batch(learner);
    learner->unread = code != EXIT_OK;
    if (learner->unread) return code;
    *status = rapt_train_gradient(learner->trainer, &source, &target, report, why);
    if (*status == RAPT_OK) *status = rapt_train_step(learner->trainer, report, why);
    return EXIT_OK;
}
