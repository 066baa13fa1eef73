/* step.c - makes one step with the batch at the learner's position and the rate of that step. With
   --shards the batch is split, and other ranks may compute some of its parts. */
#include "learner.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

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

/* The fraction of the run that is done, whether the run is computed in 8-bit arithmetic from there
   on, and the learning rate:

       rate = peak * min(1, rise) * decay

       rise    step / warmup; with "linear" at least fraction / 0.2, so that a short run is not all
               warm-up
       decay   inverse-sqrt: sqrt(warmup / max(step, warmup)) (Vaswani et al. 2017, section 5.3)
               linear: 1 - fraction
               constant: 1 */

double elapsed(const struct learner *learner)
{
    return learner->before + now() - learner->start;
}

static double max(double a, double b)
{
    return a > b ? a : b;
}

double share_done(const struct learner *learner)
{
    const struct recipe *recipe = learner->recipe;
    const struct state *state = &learner->state;
    double share = 0;
    double epochs =
        (double)(state->epoch - 1) + (double)state->position / (double)learner->batches.count;
    if (recipe->steps > 0) share = max(share, (double)state->step / recipe->steps);
    if (recipe->epochs > 0) share = max(share, epochs / recipe->epochs);
    double time = learner->clock >= 0 ? learner->clock : elapsed(learner);
    /* Leaves time for the last validation. */
    if (recipe->minutes > 0)
        share =
            max(share, time / max(1e-9, 60 * recipe->minutes - 1.5 * learner->validation_seconds));
    return share < 1 ? share : 1;
}

bool quantized_now(const struct learner *learner)
{
    const double rounding = 1e-9; /* allows for rounding: 1 - 0.7 is more than 3.0 / 10 */
    return share_done(learner) + learner->recipe->quantize_aware >= 1 - rounding;
}

double time_left(const struct learner *learner)
{
    double share = share_done(learner), spent = elapsed(learner);
    return share > 0 && spent > 1 ? spent * (1 - share) / share : -1;
}

double rate_now(const struct learner *learner)
{
    const struct recipe *recipe = learner->recipe;
    double step = (double)(learner->state.step + 1), warmup = max(1, recipe->warmup);
    double rise = step / warmup, share = share_done(learner);
    bool linear = strcmp(recipe->schedule, "linear") == 0;
    if (linear) rise = max(rise, share / 0.2);
    double rate = recipe->rate * (rise < 1 ? rise : 1);
    if (linear) return rate * (1 - share);
    if (strcmp(recipe->schedule, "inverse-sqrt") == 0)
        return step > warmup ? rate * sqrt(warmup / step) : rate;
    return rate;
}
