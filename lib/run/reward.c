/* reward.c - losses per row in, rewards and baselines of sampled keys out, for REINFORCE (the
   score-function estimator: Williams 1992; with a baseline as in Mnih et al. 2014, "Recurrent
   models of visual attention", section 3):

       reward of row r of the decoder = -sum of the losses of rows r, r + 1, ... of its sequence
       reward of a row of the encoder = -sum of the losses of its whole sequence
       baseline                       = the same sum with mean_loss for each loss

   The keys that a row attends to cannot change the losses before it, so the gradient
   (baseline - reward) d log p[chosen], has the gradient of the expected loss for its mean.
   mean_loss is a running mean of the loss per token over batches before this one, at first that of
   a uniform guess: it does not depend on the batch's own draws, so it does not bias the gradient.
 */
#include "run/trainer.h"

static const double decay = 0.95; /* of the running mean */

double rapt__mean_loss_first(const rapt_model *model)
{
    return rapt__log((double)model->config.target_vocab);
}

void rapt__mean_loss_update(rapt_trainer *t, double loss, long long tokens)
{
    if (tokens > 0)
        t->state.mean_loss = decay * t->state.mean_loss + (1 - decay) * loss / (double)tokens;
}

/* Of some rows: their losses, and what was expected. */
struct cost {
    double loss, expected;
};

static void add(const rapt_trainer *t, int row, struct cost *c)
{
    if (t->labels[row] < 0) return;
    c->loss += (double)t->losses[row];
    c->expected += t->state.mean_loss;
}

/* Of one row, in all heads; each has `rows` rows. */
static void write_row(const rapt_trainer *t, int row, int rows, const struct cost *c, float *reward,
                      float *baseline)
{
    for (int h = 0; h < t->model->config.heads; h++) {
        reward[(ptrdiff_t)h * rows + row] = (float)-c->loss;
        baseline[(ptrdiff_t)h * rows + row] = (float)-c->expected;
    }
}

void rapt__rewards_fill(rapt_trainer *t, const struct rows *source, const struct rows *target)
{
    const rapt_config *config = &t->model->config;
    bool decodes = config->kind != RAPT_KIND_ENCODER_ONLY;
    const struct rows *labeled = decodes ? target : source;
    for (int b = 0; b < labeled->batch; b++) {
        struct cost c = {0};
        if (config->pooling) add(t, b, &c);
        for (int r = labeled->starts[b + 1] - 1; !config->pooling && r >= labeled->starts[b]; r--) {
            add(t, r, &c);
            if (decodes)
                write_row(t, r, labeled->count, &c, t->decoder_reward, t->decoder_baseline);
        }
        if (source->count == 0) continue;
        for (int r = source->starts[b]; r < source->starts[b + 1]; r++)
            write_row(t, r, source->count, &c, t->encoder_reward, t->encoder_baseline);
    }
}
