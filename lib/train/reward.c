/* reward.c - computes rewards and baselines of sampled keys from the losses of rows, for REINFORCE
   (the score-function estimator: Williams 1992; with a baseline as in Mnih et al. 2014, "Recurrent
   models of visual attention", section 3):

       reward of row r of the decoder = -scale sum over j >= r of (1 - decay)^(j - r) loss[j]
       reward of a row of the encoder = -scale sum of the losses of its whole sequence
       baseline                       = the same sum with expected[j] in place of loss[j]

   The keys that a row attends to cannot change the losses of earlier rows. So without decay, and
   apart from the scale, the mean of (baseline - reward) d log p[chosen] is the gradient of the
   expected loss. The baseline does not bias it, because expected[j] does not depend on the batch's
   own draws. The option `baseline` selects expected[j]. With RAPT_BASELINE_MEAN it is mean_loss, a
   running mean of the loss per token over earlier batches, which starts at the loss of a uniform
   guess. With RAPT_BASELINE_EXPECTED it is the loss of row j if attention uses expected values
   instead of draws. This accounts for the difficulty of the token, so only the effect of the draw
   remains.

   The fraction expected_share of the sequences attends to expected values and needs no rewards. The
   choice depends only on the batch's key and the index of the sequence: a sequence is chosen if
   word 0 of rapt__philox(mix(key, "ex"), index), divided by 2^32, is below that fraction. */
#include "train/train.h"

enum { EXPECTED = 0x6578 };

static const double memory = 0.95; /* weight of the old mean in the new one */

double rapt__mean_loss_first(const rapt_model *model)
{
    return rapt__log((double)model->config.target_vocab);
}

void rapt__mean_loss_update(rapt_trainer *t, double loss, long long tokens)
{
    if (tokens > 0)
        t->state.mean_loss = memory * t->state.mean_loss + (1 - memory) * loss / (double)tokens;
}

void rapt__expected_draw(rapt_trainer *t, int batch, uint64_t key)
{
    uint32_t bits[4];
    for (int b = 0; b < batch; b++) {
        rapt__philox(rapt__mix(key, EXPECTED), (uint64_t)b, 0, bits);
        t->expected[b] = bits[0] * 0x1p-32 < (double)t->options.expected_share;
    }
}

float rapt__anneal_now(const rapt_trainer *t)
{
    const rapt_train_options *o = &t->options;
    if (t->state.steps >= o->anneal_steps) return 0;
    return (float)rapt__pow((double)o->anneal, (double)t->state.steps / o->anneal_steps);
}

/* Sums of losses and of expected losses over rows. */
struct cost {
    double loss, expected;
};

/* Scales the running sums by `keep` and adds the loss of a row, if the row has a label. */
static void add_cost(const rapt_trainer *t, int row, double keep, struct cost *c)
{
    c->loss *= keep, c->expected *= keep;
    if (t->labels[row] < 0) return;
    bool mean = t->options.baseline == RAPT_BASELINE_MEAN;
    c->loss += (double)t->losses[row];
    c->expected += mean ? t->state.mean_loss : (double)t->expected_losses[row];
}

/* Writes the reward and the baseline of a row for all heads, into arrays [heads][rows]. */
static void write_row(const rapt_trainer *t, int row, int rows, const struct cost *c, float *reward,
                      float *baseline)
{
    double scale = t->options.reward_scale != 0 ? (double)t->options.reward_scale : 1;
    for (int h = 0; h < t->model->config.heads; h++) {
        reward[(ptrdiff_t)h * rows + row] = (float)(-scale * c->loss);
        baseline[(ptrdiff_t)h * rows + row] = (float)(-scale * c->expected);
    }
}

void rapt__rewards_fill(rapt_trainer *t, const struct rows *source, const struct rows *target)
{
    const rapt_config *config = &t->model->config;
    bool decodes = config->kind != RAPT_KIND_ENCODER_ONLY;
    const struct rows *labeled = decodes ? target : source;
    for (int b = 0; b < labeled->batch; b++) {
        struct cost all = {0}, later = {0};
        if (config->pooling) add_cost(t, b, 1, &all);
        for (int r = labeled->starts[b + 1] - 1; !config->pooling && r >= labeled->starts[b]; r--) {
            add_cost(t, r, 1, &all);
            add_cost(t, r, 1 - (double)t->options.reward_decay, &later);
            if (decodes)
                write_row(t, r, labeled->count, &later, t->decoder_reward, t->decoder_baseline);
        }
        if (source->count == 0) continue;
        for (int r = source->starts[b]; r < source->starts[b + 1]; r++)
            write_row(t, r, source->count, &all, t->encoder_reward, t->encoder_baseline);
    }
}
