/* batch.c - checks one batch and runs it through a trainer's model: teacher forcing (the decoder's
   input is the previous label), label-smoothed cross-entropy, and the backward pass if gradients
   are requested. */
#include "train/train.h"

#include <math.h>
#include <string.h>

/* ---- checks against the model and the limits of the trainer ---- */

static rapt_status check_sources(const rapt_trainer *t, const rapt_tokens *source, int batch,
                                 rapt_message *why)
{
    const rapt_config *c = &t->model->config;
    const struct token_limits limits = {.what = "source",
                                        .vocab = rapt__source_ids(c),
                                        .vectors = c->source_width > 0,
                                        .batch = t->limits.batch,
                                        .tokens = t->limits.source_tokens,
                                        .length = c->positions};
    rapt_status status = rapt__tokens_check(source, &limits, why);
    if (status) return status;
    if (source->batch != batch)
        return rapt__fail(why, RAPT_BAD_ARGUMENT, "%d source sequences, but %d target sequences",
                          source->batch, batch);
    for (int b = 0; b < batch; b++)
        if (source->starts[b + 1] == source->starts[b])
            return rapt__fail(why, RAPT_BAD_ARGUMENT, "source sequence %d is empty", b);
    return RAPT_OK;
}

/* Checks the labels of an encoder-only model: one for each source token, or one for each sequence
   if the model pools. A negative label means that there is no label. */
static rapt_status check_labels(const rapt_trainer *t, const rapt_tokens *source,
                                const rapt_tokens *target, rapt_message *why)
{
    bool pools = t->model->config.pooling != RAPT_POOLING_NONE;
    for (int b = 0; b <= target->batch; b++) {
        int wanted = pools ? b : source->starts[b];
        if (target->starts[b] != wanted)
            return rapt__fail(why, RAPT_BAD_ARGUMENT,
                              "target: starts[%d] is %d; it must be %d: one label for each source "
                              "%s",
                              b, target->starts[b], wanted, pools ? "sequence" : "token");
    }
    int count = target->starts[target->batch];
    if (count > 0 && !target->ids) return rapt__fail(why, RAPT_BAD_ARGUMENT, "target.ids is NULL");
    for (int i = 0; i < count; i++)
        if (target->ids[i] >= t->model->config.target_vocab)
            return rapt__fail(why, RAPT_BAD_ARGUMENT,
                              "target: label ids[%d] is %d; the vocabulary has %d tokens", i,
                              (int)target->ids[i], t->model->config.target_vocab);
    return RAPT_OK;
}

/* Checks the targets of a model with a decoder. */
static rapt_status check_targets(const rapt_trainer *t, const rapt_tokens *target,
                                 rapt_message *why)
{
    const rapt_config *c = &t->model->config;
    const struct token_limits limits = {.what = "target",
                                        .vocab = c->target_vocab,
                                        .batch = t->limits.batch,
                                        .tokens = t->limits.target_tokens,
                                        .length = c->positions +
                                                  1, /* the last token is a label, not an input */
                                        .extra = t->options.frame ? 2 : 0,
                                        .begin_and_end = true};
    rapt_status status = rapt__tokens_check(target, &limits, why);
    for (int b = 0; !status && !t->options.frame && b < target->batch; b++)
        if (target->starts[b + 1] - target->starts[b] < 2)
            return rapt__fail(
                why, RAPT_BAD_ARGUMENT,
                "target: sequence %d has %d tokens; it must be begin, y1 .. yn, end: add begin "
                "and end, or set options.frame",
                b, target->starts[b + 1] - target->starts[b]);
    return status;
}

static rapt_status check_batch(const rapt_trainer *t, const rapt_tokens *source,
                               const rapt_tokens *target, rapt_message *why)
{
    const rapt_config *c = &t->model->config;
    if (!target || !target->starts)
        return rapt__fail(why, RAPT_BAD_ARGUMENT, "%s is NULL",
                          target ? "target.starts" : "target");
    rapt_status status = RAPT_OK;
    if (c->kind != RAPT_KIND_DECODER_ONLY) status = check_sources(t, source, target->batch, why);
    if (status) return status;
    if (c->kind == RAPT_KIND_ENCODER_ONLY) return check_labels(t, source, target, why);
    return check_targets(t, target, why);
}

/* ---- forward and backward ---- */

/* Arguments of work_on_batch, which every thread of the team runs. */
struct batch {
    rapt_trainer *trainer;
    bool quantized;                       /* computes with the model quantized to 8 bits */
    const rapt_model *forward, *backward; /* the models whose parameters the two passes read */
    struct stack encoder, decoder;        /* context of the forward pass */
    struct pass source, target;           /* rows.count is 0 if there is no encoder or decoder */
    bool gradient;
    float smoothing;
    struct loss sums;     /* sums of the batch */
    struct loss expected; /* the same sums if attention uses expected values instead of draws */
};

static struct stack stack_of(rapt_trainer *t, const rapt_model *model, bool decoder)
{
    return (struct stack){.model = model,
                          .block = model->block,
                          .decoder = decoder,
                          .memory = decoder ? &t->decoder : &t->encoder,
                          .attention_workspace = t->attention_workspace,
                          .threads = t->limits.threads,
                          .final = t->shards.early.ready ? rapt__shards_final : NULL,
                          .argument = t};
}

/* The task of a pass through the model: where to sum the losses, and whether to compute
   gradients. */
struct aim {
    bool gradient;
    struct loss *sums;
};

/* Computes the loss from rows of states. If aim->gradient is set, also adds to the gradients of the
   output layer and sets dstates to the gradient of the states. If the model is quantized, the
   backward pass uses the quantized weights as floats. */
static void loss_of_rows(const struct exec_context *c, struct batch *b, const struct aim *aim,
                         const float *states, int rows, float *dstates)
{
    rapt_trainer *t = b->trainer;
    const struct linear_offsets *offset = &b->backward->layout.output;
    struct linear output =
        rapt__linear_at(&b->forward->layout, &b->forward->layout.output, b->forward->block);
    output.weight = b->backward->block + offset->weight;
    float *dbias = aim->gradient && offset->bias ? t->gradients + offset->bias : NULL;
    rapt__loss(c, &output, states, rows, t->labels, b->smoothing, aim->sums,
               aim->gradient ? dstates : NULL, aim->gradient ? t->gradients + offset->weight : NULL,
               dbias, t->loss_workspace);
}

/* Pools the encoder's output and computes the loss of the pooled rows. If aim->gradient is set,
   stores the gradient of the encoder's output in t->encoder.dout. */
static void pooled_loss(const struct exec_context *c, struct batch *b, const struct aim *aim,
                        const float *states)
{
    rapt_trainer *t = b->trainer;
    const rapt_config *config = &t->model->config;
    const struct rows *rows = &b->source.rows;
    const struct pool pool = {config->pooling == RAPT_POOLING_MEAN, rows->batch, config->width,
                              rows->starts};
    const bool pooler = config->pooler;
    rapt__pool_forward(c, &pool, states, t->pooled);
    if (pooler) rapt__pooler_forward(c, b->forward, t->pooled, rows->batch, t->hidden);
    loss_of_rows(c, b, aim, pooler ? t->hidden : t->pooled, rows->batch,
                 pooler ? t->dhidden : t->dpooled);
    if (!aim->gradient) return;
    if (pooler)
        rapt__pooler_backward(c, b->backward, t->pooled, t->hidden, rows->batch, t->dhidden,
                              t->dpooled, t->gradients);
    rapt__pool_backward(c, &pool, t->dpooled, t->encoder.dout);
}

/* Runs the encoder and the decoder, if the model has them, and computes the loss. Sets
   target->states to the encoder's output and returns it, or NULL if there is no source. */
static const float *batch_forward(const struct exec_context *c, struct batch *b,
                                  const struct aim *aim, const struct pass *source,
                                  struct pass *target)
{
    rapt_trainer *t = b->trainer;
    bool decodes = t->model->config.kind != RAPT_KIND_ENCODER_ONLY;
    const float *states = NULL, *last = NULL;
    if (source->rows.count) last = states = rapt__stack_forward(c, &b->encoder, source);
    target->states = states;
    if (decodes) last = rapt__stack_forward(c, &b->decoder, target);
    if (t->model->config.pooling)
        pooled_loss(c, b, aim, states);
    else
        loss_of_rows(c, b, aim, last, decodes ? target->rows.count : source->rows.count,
                     decodes ? t->decoder.dout : t->encoder.dout);
    return states;
}

/* Computes the losses for RAPT_BASELINE_EXPECTED, with one more forward pass. */
static void batch_expect(const struct exec_context *c, struct batch *b)
{
    const struct aim aim = {false, &b->expected};
    struct pass source = b->source, target = b->target;
    source.expected = target.expected = b->trainer->all_expected;
    batch_forward(c, b, &aim, &source, &target);
}

/* Runs the backward pass through the decoder and the encoder, if the model has them. `states` is
   the encoder's output, or NULL if there is no source. */
static void batch_backward(const struct exec_context *c, struct batch *b, const struct pass *target,
                           const float *states)
{
    rapt_trainer *t = b->trainer;
    const struct stack encoder = stack_of(t, b->backward, false),
                       decoder = stack_of(t, b->backward, true);
    if (t->model->config.kind != RAPT_KIND_ENCODER_ONLY) {
        size_t states_size = (size_t)b->source.rows.count * (size_t)t->model->config.width;
        if (states) rapt__fill(c, t->encoder.dout, states_size, 0);
        rapt__stack_backward(c, &decoder, target, t->encoder.dout, t->gradients, t->partial);
    }
    if (states) rapt__stack_backward(c, &encoder, &b->source, NULL, t->gradients, t->partial);
}

/* Quantizes the parameters if the batch requires it, and runs the forward pass. If gradients are
   requested, also computes the rewards of sampled keys and runs the backward pass. */
static void work_on_batch(struct team *team, void *argument)
{
    struct batch *b = argument;
    rapt_trainer *t = b->trainer;
    struct products products = t->products;
    if (b->quantized) products.rounded = t->quantized.rounded;
    const struct exec_context c = {team, rapt__kernels(), t->pack, &products, NULL};
    if (b->quantized) rapt__quantized_fill(&c, t);
    struct pass target = b->target;
    const struct aim aim = {b->gradient, &b->sums};
    if (b->gradient && t->options.baseline == RAPT_BASELINE_EXPECTED) batch_expect(&c, b);
    const float *states = batch_forward(&c, b, &aim, &b->source, &target);
    if (!b->gradient) return;
    if (t->losses) {
        if (team->rank == 0) rapt__rewards_fill(t, &b->source.rows, &b->target.rows);
        rapt__team_barrier(team);
    }
    batch_backward(&c, b, &target, states);
}

/* Makes the decoder's inputs and labels from begin, y1 .. yn, end: the inputs are all tokens but
   the last, and the labels are all tokens but the first. With options.frame, begin and end come
   from the options; otherwise, the target contains them. */
static void split_target(rapt_trainer *t, const rapt_tokens *target)
{
    const rapt_train_options *o = &t->options;
    int n = 0;
    t->input_starts[0] = 0;
    for (int b = 0; b < target->batch; b++) {
        int first = target->starts[b], end = target->starts[b + 1];
        if (o->frame) t->inputs[n] = o->begin;
        for (int i = first; o->frame && i < end; i++) {
            t->labels[n++] = target->ids[i];
            t->inputs[n] = target->ids[i];
        }
        if (o->frame) t->labels[n++] = o->end;
        for (int i = first; !o->frame && i + 1 < end; i++, n++) {
            t->inputs[n] = target->ids[i];
            t->labels[n] = target->ids[i + 1];
        }
        t->input_starts[b + 1] = n;
    }
}

static struct drop drop_of(const rapt_trainer *t, bool training, int shard)
{
    if (!training) return (struct drop){0};
    const rapt_train_options *o = &t->options;
    return (struct drop){o->dropout, o->attention_dropout, o->ffn_dropout,
                         rapt__mix(o->seed, (uint64_t)(t->state.calls + shard))};
}

/* Sets up the passes of a batch. `shard` is the shard number in a sharded step, otherwise 0. */
static struct batch batch_prepare(rapt_trainer *t, const rapt_tokens *source,
                                  const rapt_tokens *target, bool gradient, int shard)
{
    static const int none[1] = {0};
    struct batch b = {.trainer = t, .gradient = gradient};
    rapt_kind kind = t->model->config.kind;
    b.quantized = t->options.quantize_aware && (t->state.quantized || !gradient);
    b.forward = b.quantized ? &t->quantized.forward : t->model;
    b.backward = b.quantized ? &t->quantized.backward : t->model;
    b.encoder = stack_of(t, b.forward, false);
    b.decoder = stack_of(t, b.forward, true);
    b.smoothing = t->options.label_smoothing;
    b.source.drop = b.target.drop = drop_of(t, gradient, shard);
    b.source.learning = b.target.learning = gradient;
    b.source.reward = t->encoder_reward, b.source.baseline = t->encoder_baseline;
    b.target.reward = t->decoder_reward, b.target.baseline = t->decoder_baseline;
    b.sums.rows = t->losses, b.expected.rows = t->expected_losses;
    if (t->expected && gradient) rapt__expected_draw(t, target->batch, b.source.drop.key);
    b.source.expected = b.target.expected = t->expected;
    b.source.entropy = b.target.entropy = t->options.reward_entropy;
    b.target.noise = t->options.monotonic_noise;
    b.source.anneal = b.target.anneal = rapt__anneal_now(t);
    b.source.rows = b.target.rows = (struct rows){0, 0, none, 0};
    if (kind != RAPT_KIND_DECODER_ONLY) {
        b.source.ids = source->ids;
        b.source.vectors = source->vectors;
        b.source.rows = rapt__rows(source->batch, source->starts);
    }
    if (kind == RAPT_KIND_ENCODER_ONLY) {
        size_t count = (size_t)target->starts[target->batch];
        if (count) memcpy(t->labels, target->ids, sizeof *t->labels * count);
        return b;
    }
    split_target(t, target);
    b.target.ids = t->inputs;
    b.target.rows = rapt__rows(target->batch, t->input_starts);
    b.target.source = b.source.rows;
    if (gradient) b.target.losses.guide = rapt__guide_of(t, b.target.rows.count);
    if (gradient) b.target.losses.coverage = rapt__coverage_begin(t, b.target.rows.count);
    return b;
}

rapt_status rapt__trainer_batch(rapt_trainer *t, const rapt_tokens *source,
                                const rapt_tokens *target, bool gradient, int shard,
                                struct loss *sums, rapt_message *why)
{
    rapt_status status = check_batch(t, source, target, why);
    if (!status && gradient) status = rapt__alignment_check(t, source, target, why);
    if (status) return status;
    struct batch b = batch_prepare(t, source, target, gradient, shard);
    rapt__team_run(t->limits.threads, work_on_batch, &b);
    if (gradient) rapt__guide_end(t, b.target.rows.count);
    if (gradient) rapt__coverage_end(t, b.target.rows.count);
    /* If the baseline is not finite, the gradient is useless. Report the baseline as the loss, so
       that the caller rejects the batch. */
    if (!isfinite(b.expected.loss)) b.sums.loss = b.expected.loss;
    *sums = b.sums;
    return RAPT_OK;
}
