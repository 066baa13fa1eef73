/* batch_check.c - checks a batch against the model and the limits of the trainer. */
#include "train/train.h"

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

rapt_status rapt__batch_check(const rapt_trainer *t, const rapt_tokens *source,
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
