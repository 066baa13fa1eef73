/* hard.c - the options of train for hard and monotonic attention, as fields of rapt_train_options,
   and as text that a resumed run must repeat. */
#include "training.h"
#include <stdlib.h>
#include <string.h>

void hard_rows(struct hard *h, struct option_row rows[HARD_ROWS])
{
    /* clang-format off */
    const struct option_row own[HARD_ROWS] = {
        {"baseline", OPTION_CHOICE, &h->baseline, "mean|expected", "baseline of the rewards for sampled keys: their running mean, or the loss with expected values [mean]", 0, 0, 0},
        {"expected-share", OPTION_REAL, &h->expected_share, "P", "share of sentences that use expected values instead of sampled keys", 0, 1, 0},
        {"reward-scale", OPTION_REAL, &h->reward_scale, "X", "factor of the rewards for sampled keys [1]", 0, 1e6, 0},
        {"reward-decay", OPTION_REAL, &h->reward_decay, "P", "weight losses N tokens later by (1 - P)^N in the rewards", 0, 1, 0},
        {"reward-entropy", OPTION_REAL, &h->reward_entropy, "X", "factor of an additional reward for the entropy of the sampling weights", -1e6, 1e6, 0},
        {"anneal", OPTION_REAL, &h->anneal, "X", "train an arg-max as a softmax of the scores times a factor that grows from 1 to X", 0, 1e6, 0},
        {"anneal-steps", OPTION_INTEGER, &h->anneal_steps, "N", "number of steps after which the factor is X", 0, 1000000000, 0},
        {"monotonic-noise", OPTION_REAL, &h->monotonic_noise, "X", "standard deviation of the noise that teaches --monotonic where to stop", 0, 1e6, 0},
    };
    /* clang-format on */
    memcpy(rows, own, sizeof own);
}

static bool expects(const struct hard *h)
{
    return h->baseline != NULL && strcmp(h->baseline, "expected") == 0;
}

int hard_check(const struct hard *h, const rapt_config *c)
{
    const struct {
        const char *option;
        bool given;
        rapt_normalizer needed;
    } uses[] = {
        {"baseline expected", expects(h), RAPT_NORMALIZER_SAMPLE},
        {"expected-share", h->expected_share != 0, RAPT_NORMALIZER_SAMPLE},
        {"reward-scale", h->reward_scale != 0, RAPT_NORMALIZER_SAMPLE},
        {"reward-decay", h->reward_decay != 0, RAPT_NORMALIZER_SAMPLE},
        {"reward-entropy", h->reward_entropy != 0, RAPT_NORMALIZER_SAMPLE},
        {"anneal", h->anneal != 0, RAPT_NORMALIZER_ARGMAX},
    };
    for (size_t i = 0; i < sizeof uses / sizeof *uses; i++)
        if (uses[i].given && c->self_normalizer != uses[i].needed &&
            c->cross_normalizer != uses[i].needed)
            return usage_error("train: --%s needs --self-normalizer or --cross-normalizer %s",
                               uses[i].option, rapt_normalizer_name(uses[i].needed));
    if ((h->anneal != 0) != (h->anneal_steps != 0))
        return usage_error("train: --anneal and --anneal-steps must be given together");
    if (h->anneal != 0 && h->anneal < 1)
        return usage_error("train: --anneal %g is less than 1", h->anneal);
    if (h->monotonic_noise != HARD_NOISE && !c->monotonic)
        return usage_error("train: --monotonic-noise needs --monotonic");
    return EXIT_OK;
}

void hard_apply(const struct hard *h, rapt_train_options *options)
{
    options->baseline = expects(h) ? RAPT_BASELINE_EXPECTED : RAPT_BASELINE_MEAN;
    options->expected_share = (float)h->expected_share;
    options->reward_scale = (float)h->reward_scale;
    options->reward_decay = (float)h->reward_decay;
    options->reward_entropy = (float)h->reward_entropy;
    options->anneal = (float)h->anneal, options->anneal_steps = h->anneal_steps;
    options->monotonic_noise = (float)h->monotonic_noise;
}

/* With ten digits, no integer option is written with an exponent, which option_set would refuse. */
static char *append_option(char *text, const char *name, double value)
{
    if (value == 0) return text;
    char *more = xasprintf("%s %s %.10g", text, name, value);
    free(text);
    return more;
}

char *hard_text(const struct hard *h)
{
    char *text = xasprintf("%s", expects(h) ? " baseline expected" : "");
    text = append_option(text, "expected-share", h->expected_share);
    text = append_option(text, "reward-scale", h->reward_scale);
    text = append_option(text, "reward-decay", h->reward_decay);
    text = append_option(text, "reward-entropy", h->reward_entropy);
    text = append_option(text, "anneal", h->anneal);
    text = append_option(text, "anneal-steps", h->anneal_steps);
    if (h->monotonic_noise == HARD_NOISE) return text;
    char *whole = xasprintf("%s monotonic-noise %.9g", text, h->monotonic_noise);
    free(text);
    return whole;
}
