/* validate.c - computes the negative log-likelihood per token of the validation pairs, for the
   current parameters and for the mean of the last epochs. The better of the two models is saved if
   it is the best so far. */
#include "learner.h"
#include <math.h>
#include <stdlib.h>

/* The loss of one batch. */
struct batch_loss {
    double likelihood; /* NaN if not finite */
    long long tokens;
};

static int evaluate_batch(struct learner *learner, size_t b, struct batch_loss *loss)
{
    rapt_tokens source, target;
    rapt_report report = {.size = sizeof report};
    rapt_message why = {""};
    int code = batches_get(&learner->valid_batches, b, &source, &target);
    if (code != EXIT_OK) return code;
    rapt_status status = rapt_train_evaluate(learner->trainer, &source, &target, &report, &why);
    *loss = (struct batch_loss){status == RAPT_NOT_FINITE ? (double)NAN : report.likelihood,
                                report.tokens};
    if (status == RAPT_OK || status == RAPT_NOT_FINITE) return EXIT_OK;
    return failed("validation: %s", *why.text ? why.text : rapt_status_text(status));
}

/* Computes the loss per token. Each rank evaluates some of the batches, and all ranks add all
   losses in the same order. */
static int validation_loss(struct learner *learner, double *loss)
{
    const struct ranks *ranks = learner->exchange.ranks;
    size_t batches = learner->valid_batches.count, count = (size_t)ranks->count;
    struct batch_loss sum = {0, 0}, *losses = xcalloc(batches, sizeof *losses);
    size_t *starts = xcalloc(count + 1, sizeof *starts);
    int code = EXIT_OK;
    for (size_t r = 0; r <= count; r++) starts[r] = batches * r / count * sizeof *losses;
    size_t first = starts[ranks->rank] / sizeof *losses;
    size_t end = starts[ranks->rank + 1] / sizeof *losses;
    for (size_t b = first; code == EXIT_OK && b < end; b++)
        code = evaluate_batch(learner, b, &losses[b]);
    if (code == EXIT_OK) code = exchange_parts(&learner->exchange, losses, starts);
    for (size_t b = 0; b < batches; b++) {
        sum.likelihood += losses[b].likelihood;
        sum.tokens += losses[b].tokens;
    }
    *loss = sum.likelihood / (double)sum.tokens;
    free(losses);
    free(starts);
    return code;
}

static int validate_mean(struct learner *learner, double raw, double best, bool within_epoch,
                         double *loss)
{
    int code = EXIT_OK;
    average_apply(&learner->average, learner->model);
    code = validation_loss(learner, loss);
    learner->valid_loss = *loss;
    if (code == EXIT_OK && *loss < raw && *loss < best) code = best_save(learner, within_epoch);
    average_undo(&learner->average, learner->model);
    return code;
}

int validate(struct learner *learner, struct state *state, bool within_epoch, double *loss)
{
    double start = now(), raw = NAN, mean = NAN;
    int code = validation_loss(learner, &raw);
    if (code == EXIT_OK && learner->average.count > 1)
        code = validate_mean(learner, raw, state->best, within_epoch, &mean);
    if (code != EXIT_OK) return code;
    *loss = mean < raw ? mean : raw;
    if (*loss < state->best) {
        learner->valid_loss = raw;
        if (!(mean < raw)) code = best_save(learner, within_epoch);
        state->best = *loss;
        state->since = 0;
    } else {
        code = best_restore(learner);
        state->since++;
    }
    learner->valid_loss = NAN; /* for models that are saved before the next validation */
    learner->validation_seconds = now() - start;
    return code;
}
