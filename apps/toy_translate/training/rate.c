/* rate.c - the fraction of the run that is done, whether it is computed in 8-bit arithmetic there,
   and the learning rate:

       rate = peak * min(1, rise) * decay

       rise    step / warmup; with "linear" at least fraction / 0.2, so that a short run is not all
               warm-up
       decay   inverse-sqrt: sqrt(warmup / max(step, warmup)) (Vaswani et al. 2017, section 5.3)
               linear: 1 - fraction
               constant: 1 */
#include "learner.h"
#include <math.h>
#include <string.h>

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
    const double rounding = 1e-9; /* of 1 - 0.7, which is more than 3.0 / 10 */
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
