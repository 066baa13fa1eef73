/* trainer.c - rapt_train_gradient, rapt_train_evaluate and rapt_train_step. */
#include "train/train.h"

#include <math.h>
#include <string.h>

static void add_loss(rapt_report *sums, const struct loss *loss)
{
    sums->loss += loss->loss;
    sums->likelihood += loss->likelihood;
    sums->tokens += loss->tokens;
    sums->correct += loss->correct;
}

static rapt_status check_report(const rapt_report *report, rapt_message *why)
{
    return report ? rapt__struct_check(report, "rapt_report", why) : RAPT_OK;
}

/* Returns an error if gradients of shards are waiting for a step. */
static rapt_status check_shards(const rapt_trainer *t, rapt_message *why)
{
    if (!t->shards.count) return RAPT_OK;
    return rapt__fail(why, RAPT_BAD_ARGUMENT,
                      "shards have been computed: call rapt_train_shards_step or "
                      "rapt_train_shards_discard first");
}

rapt_status rapt__report_write(rapt_report *report, const rapt_report *own, rapt_message *why)
{
    return report ? rapt__struct_write(report, own, sizeof *own, "rapt_report", why) : RAPT_OK;
}

/* Adds the gradient of a batch, or only evaluates the batch, and writes its report. */
static rapt_status run_batch(rapt_trainer *t, const rapt_tokens *source, const rapt_tokens *target,
                             bool gradient, rapt_report *report, rapt_message *why)
{
    if (!t) return rapt__fail(why, RAPT_BAD_ARGUMENT, "trainer is NULL");
    struct loss sums;
    rapt_status status = check_report(report, why);
    if (!status && gradient) status = check_shards(t, why);
    if (!status) status = rapt__trainer_batch(t, source, target, gradient, 0, &sums, why);
    if (status) return status;
    if (!isfinite(sums.loss)) {
        if (gradient) rapt__trainer_discard(t);
        return rapt__fail(why, RAPT_NOT_FINITE, "the loss is %g", sums.loss);
    }
    if (gradient) {
        t->tokens += sums.tokens, t->added = true, t->state.calls++;
        add_loss(&t->sums, &sums);
        t->sums.alignment += t->alignment_loss;
        t->sums.coverage += t->coverage_sum;
        rapt__mean_loss_update(t, sums.loss, sums.tokens);
    }
    rapt_report one = {.size = sizeof one, .step = t->state.steps};
    add_loss(&one, &sums);
    one.alignment = gradient ? t->alignment_loss : 0;
    one.coverage = gradient ? t->coverage_sum : 0;
    return rapt__report_write(report, &one, why);
}

rapt_status rapt_train_gradient(rapt_trainer *trainer, const rapt_tokens *source,
                                const rapt_tokens *target, rapt_report *report, rapt_message *why)
{
    return run_batch(trainer, source, target, true, report, why);
}

rapt_status rapt_train_evaluate(rapt_trainer *trainer, const rapt_tokens *source,
                                const rapt_tokens *target, rapt_report *report, rapt_message *why)
{
    return run_batch(trainer, source, target, false, report, why);
}

void rapt__trainer_discard(rapt_trainer *t)
{
    memset(t->gradients, 0, t->model->layout.floats * sizeof(float));
    t->tokens = 0, t->added = false;
    t->sums = (rapt_report){0};
    t->state.calls++;
}

rapt_status rapt_train_step(rapt_trainer *trainer, rapt_report *report, rapt_message *why)
{
    if (!trainer) return rapt__fail(why, RAPT_BAD_ARGUMENT, "trainer is NULL");
    rapt_status status = check_report(report, why);
    if (!status) status = check_shards(trainer, why);
    if (!status) status = rapt__step_check(trainer, why);
    return status ? status : rapt__trainer_step(trainer, report, why);
}
