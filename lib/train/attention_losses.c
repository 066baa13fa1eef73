/* attention_losses.c - rewards of sampled keys, guided alignment and the coverage loss, which train
   attention in addition to the loss on the labels. The rewards are computed here. Guided alignment
   and the coverage loss are losses on cross-attention weights: the backward pass of attention
   computes them, and they are set up and summed here. Also computes the factor by which scores are
   multiplied during annealing. */
#include "train/train.h"

#include <string.h>

/* ---- guided alignment (Chen et al. 2016, as in Marian) ----

   Takes the word alignment of the next batch, gives it to the backward pass as a target for
   cross-attention, and sums the losses on the attention weights. */

rapt_status rapt_train_align(rapt_trainer *t, const rapt_alignment *alignment, rapt_message *why)
{
    if (!t) return rapt__fail(why, RAPT_BAD_ARGUMENT, "trainer is NULL");
    if (alignment && !(t->options.guided_alignment > 0))
        return rapt__fail(why, RAPT_BAD_ARGUMENT,
                          "alignment has no effect while options.guided_alignment is 0");
    if (alignment && !alignment->starts)
        return rapt__fail(why, RAPT_BAD_ARGUMENT, "alignment.starts is NULL");
    t->alignment = alignment ? *alignment : (rapt_alignment){NULL, NULL};
    return RAPT_OK;
}

static rapt_status check_alignment_starts(const rapt_alignment *a, int rows, rapt_message *why)
{
    if (a->starts[0] != 0)
        return rapt__fail(why, RAPT_BAD_ARGUMENT, "alignment: starts[0] is %d, not 0",
                          a->starts[0]);
    for (int r = 0; r < rows; r++)
        if (a->starts[r + 1] < a->starts[r])
            return rapt__fail(why, RAPT_BAD_ARGUMENT,
                              "alignment: starts[%d] is %d, less than starts[%d], which is %d",
                              r + 1, a->starts[r + 1], r, a->starts[r]);
    return RAPT_OK;
}

/* Checks the alignment of label rows first .. end - 1 to a source of `tokens` tokens. All starts
   have already been checked. */
static rapt_status check_alignment_rows(const rapt_alignment *a, int first, int end, int tokens,
                                        rapt_message *why)
{
    for (int r = first; r < end; r++) {
        if (a->starts[r + 1] > a->starts[r] && !a->sources)
            return rapt__fail(why, RAPT_BAD_ARGUMENT, "alignment.sources is NULL");
        for (int i = a->starts[r]; i < a->starts[r + 1]; i++)
            if (a->sources[i] < 0 || a->sources[i] >= tokens)
                return rapt__fail(why, RAPT_BAD_ARGUMENT,
                                  "alignment: sources[%d] is %d; the source has %d tokens", i,
                                  a->sources[i], tokens);
    }
    return RAPT_OK;
}

rapt_status rapt__alignment_check(const rapt_trainer *t, const rapt_tokens *source,
                                  const rapt_tokens *target, rapt_message *why)
{
    const rapt_alignment *a = &t->alignment;
    int row = 0, more = t->options.frame ? 1 : -1; /* number of label rows of a target minus its
                                                      number of tokens */
    if (!a->starts) return RAPT_OK;
    rapt_status status =
        check_alignment_starts(a, target->starts[target->batch] + more * target->batch, why);
    for (int b = 0; !status && b < target->batch; b++) {
        int tokens = target->starts[b + 1] - target->starts[b];
        int end = row + tokens + more;
        status = check_alignment_rows(a, row, end, source->starts[b + 1] - source->starts[b], why);
        row = end;
    }
    return status;
}

const struct guide *rapt__guide_of(rapt_trainer *t, int rows)
{
    if (!t->alignment.starts) return NULL;
    memset(t->guided, 0, (size_t)rows * sizeof *t->guided);
    t->guide = (struct guide){t->options.guided_alignment, t->alignment.starts,
                              t->alignment.sources, t->guided};
    return &t->guide;
}

void rapt__guide_end(rapt_trainer *t, int rows)
{
    t->alignment_loss = 0;
    for (int r = 0; t->alignment.starts && r < rows; r++) t->alignment_loss += t->guided[r];
    t->alignment = (rapt_alignment){NULL, NULL};
}

/* ---- the coverage loss of See, Liu and Manning 2017, section 2.3 ---- */

rapt_status rapt__coverage_check(const rapt_train_options *o, const rapt_config *c,
                                 rapt_message *why)
{
    rapt_status status = rapt__float_check("coverage_loss", o->coverage_loss, 0, 1e6, why);
    if (status || o->coverage_loss == 0) return status;
    char text[FLOAT_TEXT];
    rapt__number_write((double)o->coverage_loss, text);
    if (c->kind != RAPT_KIND_ENCODER_DECODER || !rapt__score_has_coverage(c->cross_score))
        return rapt__fail(
            why, RAPT_BAD_ARGUMENT,
            "coverage_loss is %s, but the model has no cross-attention with the score "
            "coverage",
            text);
    if (rapt__normalizer_is_hard(c->cross_normalizer))
        return rapt__fail(
            why, RAPT_BAD_ARGUMENT,
            "coverage_loss is %s, but cross_normalizer %s gives all weight to one key", text,
            rapt_normalizer_name(c->cross_normalizer));
    if (c->differential)
        return rapt__fail(
            why, RAPT_BAD_ARGUMENT,
            "coverage_loss is %s, but with differential attention the weights of a head are "
            "the difference of two attention maps",
            text);
    return RAPT_OK;
}

static size_t coverage_losses(const rapt_trainer *t, int rows)
{
    return (size_t)t->model->config.heads * (size_t)rows;
}

void rapt__coverage_layout(rapt_trainer *t, int rows, struct arena *arena)
{
    if (t->options.coverage_loss > 0)
        t->coverage.losses =
            rapt__arena_take(arena, coverage_losses(t, rows), sizeof *t->coverage.losses);
}

const struct coverage_loss *rapt__coverage_begin(rapt_trainer *t, int rows)
{
    const rapt_config *c = &t->model->config;
    if (!t->coverage.losses) return NULL;
    memset(t->coverage.losses, 0, coverage_losses(t, rows) * sizeof *t->coverage.losses);
    t->coverage.weight = t->options.coverage_loss / ((float)c->heads * (float)c->decoder_layers);
    return &t->coverage;
}

void rapt__coverage_end(rapt_trainer *t, int rows)
{
    size_t count = t->coverage.losses ? coverage_losses(t, rows) : 0;
    t->coverage_sum = 0;
    for (size_t i = 0; i < count; i++) t->coverage_sum += t->coverage.losses[i];
}

/* ---- rewards and baselines of sampled keys ----

   Both are computed from the losses of rows, for REINFORCE (the score-function estimator: Williams
   1992; with a baseline as in Mnih et al. 2014, "Recurrent models of visual attention", section 3):

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

   A fraction of the sequences, expected_share, attends to expected values and needs no rewards. The
   choice depends only on the batch's random key and the index of the sequence: a sequence is chosen
   if word 0 of rapt__philox(rapt__mix(key, EXPECTED), index, 0), divided by 2^32, is below that
   fraction. */

enum { EXPECTED = 0x6578 };

static const double mean_memory = 0.95; /* weight of the old mean in the new one */

double rapt__mean_loss_first(const rapt_model *model)
{
    return rapt__log((double)model->config.target_vocab);
}

void rapt__mean_loss_update(rapt_trainer *t, double loss, long long tokens)
{
    if (tokens > 0)
        t->state.mean_loss =
            mean_memory * t->state.mean_loss + (1 - mean_memory) * loss / (double)tokens;
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
static void write_reward(const rapt_trainer *t, int row, int rows, const struct cost *c,
                         float *reward, float *baseline)
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
                write_reward(t, r, labeled->count, &later, t->decoder_reward, t->decoder_baseline);
        }
        if (source->count == 0) continue;
        for (int r = source->starts[b]; r < source->starts[b + 1]; r++)
            write_reward(t, r, source->count, &all, t->encoder_reward, t->encoder_baseline);
    }
}
