/* validate.c - validation: negative log-likelihood per token of held-out pairs, of the current
   parameters and of the mean of the last epochs; the better of the two is saved if it is the best
   so far. */
#include "learner.h"
#include <math.h>

static int loss_of(struct learner *learner, double *loss)
{
    struct batches *batches = &learner->valid_batches;
    double likelihood = 0;
    long long tokens = 0;
    rapt_message why = {""};
    for (size_t b = 0; b < batches->count; b++) {
        rapt_tokens source, target;
        rapt_report report = {.size = sizeof report};
        batches_get(batches, b, &source, &target);
        rapt_status status = rapt_train_evaluate(learner->trainer, &source, &target, &report, &why);
        likelihood += status == RAPT_NOT_FINITE ? NAN : report.likelihood;
        tokens += report.tokens;
        if (status != RAPT_OK && status != RAPT_NOT_FINITE)
            return failed("validation: %s", *why.text ? why.text : rapt_status_text(status));
    }
    *loss = likelihood / (double)tokens;
    return EXIT_OK;
}

static int validate_mean(struct learner *learner, double raw, double best, bool within_epoch,
                         double *loss)
{
    int code = EXIT_OK;
    average_apply(&learner->average, learner->model);
    code = loss_of(learner, loss);
    learner->valid_loss = *loss;
    if (code == EXIT_OK && *loss < raw && *loss < best) code = best_save(learner, within_epoch);
    average_undo(&learner->average, learner->model);
    return code;
}

int validate(struct learner *learner, struct state *state, bool within_epoch, double *loss)
{
    double start = now(), raw = NAN, mean = NAN;
    int code = loss_of(learner, &raw);
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
    learner->valid_loss = NAN; /* of models that are saved before the next validation */
    learner->validation_seconds = now() - start;
    return code;
}
