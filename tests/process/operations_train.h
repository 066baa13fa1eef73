/* operations_train.h - the operations of operations.h that train. */
#ifndef RAPT_TESTS_PROCESS_OPERATIONS_TRAIN_H
#define RAPT_TESTS_PROCESS_OPERATIONS_TRAIN_H

#include "process/operations_text.h"

static rapt_status do_trainer(struct scene *s, uint64_t *h, rapt_message *why)
{
    rapt_trainer *trainer = scene_untouched;
    rapt_train_options options;
    rapt_train_options_default(&options, sizeof options);
    rapt_train_limits limits = scene_train_limits(s);
    rapt_status status =
        rapt_trainer_create(&trainer, s->own, &options, &limits, s->allocator, why);
    if (status) {
        s->changed |= trainer != scene_untouched;
        return status;
    }
    s->changed |= rapt_trainer_bytes(s->own, &limits) == 0;
    s->changed |= rapt_trainer_bytes_with(s->own, &options, &limits) == 0;
    add(h, &limits, sizeof limits.size);
    rapt_trainer_free(trainer);
    return status;
}

/* Takes a step of rate 0 in a trainer of its own, in which one matrix has an adapter. */
static rapt_status do_tune(struct scene *s, uint64_t *h, rapt_message *why)
{
    enum { PARAMETERS = 128 };
    uint8_t tuning[PARAMETERS] = {0};
    rapt_trainer *trainer = NULL;
    rapt_train_options options;
    rapt_train_options_default(&options, sizeof options);
    rapt_train_limits limits = scene_train_limits(s);
    const int matrix = rapt_model_find(s->own, "encoder.layers.0.self_attn.out.weight");
    if (matrix < 0 || rapt_model_tensors(s->own) > PARAMETERS) return RAPT_BAD_ARGUMENT;
    tuning[matrix] = RAPT_TUNING_LORA;
    options.tuning = tuning, options.lora_rank = 2, options.rate = 0;
    rapt_status status =
        rapt_trainer_create(&trainer, s->own, &options, &limits, s->allocator, why);
    if (!status)
        status = rapt_train_gradient(trainer, &s->source.tokens, &s->target.tokens, NULL, why);
    if (!status) status = rapt_train_step(trainer, NULL, why);
    if (!status) status = rapt_trainer_read_adapter(trainer, matrix, s->floats, NULL, why);
    if (!status) add(h, s->floats, 2 * sizeof *s->floats);
    rapt_trainer_free(trainer);
    return status;
}

static rapt_status do_train(struct scene *s, uint64_t *h, rapt_message *why)
{
    rapt_report report = {.size = sizeof report};
    size_t count = 0;
    long long *tokens = NULL;
    rapt_trainer_set_rate(s->trainer, 1e-3f);
    rapt_trainer_set_quantized(s->trainer, 1);
    rapt_status status = rapt_train_align(s->trainer, NULL, why);
    if (!status)
        status =
            rapt_train_gradient(s->trainer, &s->source.tokens, &s->target.tokens, &report, why);
    add(h, &report, sizeof report);
    const float *gradients = rapt_trainer_gradients(s->trainer, &count, &tokens);
    add(h, gradients, count * sizeof *gradients);
    if (!status) status = rapt_trainer_read_gradient(s->trainer, 0, s->floats, why);
    if (!status) status = rapt_train_step(s->trainer, &report, why);
    add(h, &report, sizeof report);
    add_text(h, rapt_trainer_products(s->trainer));
    if (!status)
        status =
            rapt_train_evaluate(s->trainer, &s->source.tokens, &s->target.tokens, &report, why);
    add(h, &report, sizeof report);
    add_model(s, h, s->own);
    return status;
}

/* Computes both shards here, then sums them once more as if the halves came from elsewhere. */
static rapt_status do_train_shards(struct scene *s, uint64_t *h, rapt_message *why)
{
    rapt_report report = {.size = sizeof report};
    rapt_shard records[2] = {{.size = sizeof *records}, {.size = sizeof *records}};
    rapt_subtree held;
    float halves[2] = {1, 2};
    const rapt_subtree list[2] = {{0, 1, halves}, {1, 1, halves + 1}};
    int first = 0, end = 0;
    rapt_status status = rapt_shards_range(2, 1, 0, &first, &end, why);
    if (!status) status = rapt_shards_sum(2, list, 2, 1, why);
    rapt_train_shards_discard(s->trainer);
    if (!status)
        status = rapt_train_shard(s->trainer, first, &s->source.tokens, &s->target.tokens,
                                  &records[0], why);
    if (!status)
        status = rapt_train_shard_early(s->trainer, end - 1, &s->source.tokens, &s->target.tokens,
                                        &records[1], NULL, NULL, why);
    s->changed |= rapt_train_shard_sums(s->trainer, &held, 1) != 1;
    if (!status) status = rapt_train_shards_step(s->trainer, records, &report, why);
    add(h, &report, sizeof report);
    add(h, records, sizeof records);
    add(h, halves, sizeof halves);
    add_model(s, h, s->own);
    return status;
}

static rapt_status do_trainer_save(struct scene *s, uint64_t *h, rapt_message *why)
{
    rapt_metadata note = {"a", "b"};
    unlink(s->out_path);
    rapt_status status = rapt_trainer_save(s->trainer, s->out_path, &note, 1, why);
    if (status) s->changed |= access(s->out_path, F_OK) == 0;
    add_file(s, h, s->out_path);
    unlink(s->out_path);
    return status;
}

static rapt_status do_trainer_load(struct scene *s, uint64_t *h, rapt_message *why)
{
    uint64_t before = 1, after = 1;
    add_model(s, &before, s->own);
    rapt_status status = rapt_trainer_load(s->trainer, s->checkpoint_path, why);
    add_model(s, &after, s->own);
    if (status) s->changed |= before != after;
    add(h, &after, sizeof after);
    return status;
}

#endif
