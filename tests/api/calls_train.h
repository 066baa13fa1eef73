/* calls_train.h - one call of each public function of train.h, for calls.c. */
#ifndef RAPT_TESTS_API_CALLS_TRAIN_H
#define RAPT_TESTS_API_CALLS_TRAIN_H

#include "api/small_world.h"

static rapt_status train_options_default(struct world *w, int null, rapt_message *why)
{
    (void)why;
    rapt_train_options_default(arg(null, 0, &w->train_options), sizeof w->train_options);
    return RAPT_OK;
}

static rapt_status trainer_bytes(struct world *w, int null, rapt_message *why)
{
    (void)why;
    return found(rapt_trainer_bytes(arg(null, 0, w->model), arg(null, 1, &w->train_limits)) > 0);
}

static rapt_status trainer_bytes_with(struct world *w, int null, rapt_message *why)
{
    (void)why;
    return found(rapt_trainer_bytes_with(arg(null, 0, w->model), arg(null, 1, &w->train_options),
                                         arg(null, 2, &w->train_limits)) > 0);
}

static rapt_status trainer_create(struct world *w, int null, rapt_message *why)
{
    rapt_trainer *made = NULL;
    rapt_status status = rapt_trainer_create(
        arg(null, 0, &made), arg(null, 1, w->model), arg(null, 2, &w->train_options),
        arg(null, 3, &w->train_limits), arg(null, 4, &w->allocator), why);
    assert_true((made != NULL) == (status == RAPT_OK));
    rapt_trainer_free(made);
    return status;
}

static rapt_status trainer_free(struct world *w, int null, rapt_message *why)
{
    (void)why;
    rapt_trainer *made = NULL;
    assert_int_equal(
        rapt_trainer_create(&made, w->model, &w->train_options, &w->train_limits, NULL, NULL),
        RAPT_OK);
    rapt_trainer_free(arg(null, 0, made));
    if (null == 0) rapt_trainer_free(made);
    return RAPT_OK;
}

static rapt_status train_gradient(struct world *w, int null, rapt_message *why)
{
    return rapt_train_gradient(arg(null, 0, w->trainer), arg(null, 1, &w->tokens),
                               arg(null, 2, &w->target), arg(null, 3, &w->report), why);
}

/* Uses a trainer of its own, with guided alignment. */
static rapt_status train_align(struct world *w, int null, rapt_message *why)
{
    rapt_config config = *rapt_model_config(w->model);
    rapt_train_options options = w->train_options;
    rapt_model *model = NULL;
    rapt_trainer *trainer = NULL;
    config.size = sizeof config, config.alignment_layer = 1, options.guided_alignment = 0.1f;
    assert_int_equal(rapt_model_create(&model, &config, 1, NULL, NULL), RAPT_OK);
    assert_int_equal(rapt_trainer_create(&trainer, model, &options, &w->train_limits, NULL, NULL),
                     RAPT_OK);
    rapt_status status = rapt_train_align(arg(null, 0, trainer), arg(null, 1, &w->alignment), why);
    rapt_trainer_free(trainer);
    rapt_model_free(model);
    return status;
}

static rapt_status train_step(struct world *w, int null, rapt_message *why)
{
    assert_int_equal(train_gradient(w, -1, NULL), RAPT_OK);
    return rapt_train_step(arg(null, 0, w->trainer), arg(null, 1, &w->report), why);
}

static rapt_status train_evaluate(struct world *w, int null, rapt_message *why)
{
    return rapt_train_evaluate(arg(null, 0, w->trainer), arg(null, 1, &w->tokens),
                               arg(null, 2, &w->target), arg(null, 3, &w->report), why);
}

static rapt_status trainer_gradients(struct world *w, int null, rapt_message *why)
{
    (void)why;
    size_t count;
    long long *tokens;
    return found(rapt_trainer_gradients(arg(null, 0, w->trainer), arg(null, 1, &count),
                                        arg(null, 2, &tokens)) != NULL);
}

static rapt_status trainer_read_gradient(struct world *w, int null, rapt_message *why)
{
    return rapt_trainer_read_gradient(arg(null, 0, w->trainer), small_tensor(w),
                                      arg(null, 1, w->logits), why);
}

/* Uses a trainer of its own, in which one matrix has an adapter of rank 1. */
static rapt_status trainer_read_adapter(struct world *w, int null, rapt_message *why)
{
    const int index = rapt_model_find(w->model, "encoder.layers.0.self_attn.out.weight");
    const rapt_tensor t = rapt_model_tensor(w->model, index);
    rapt_train_options options = w->train_options;
    rapt_trainer *trainer = NULL;
    uint8_t *tuning = calloc((size_t)rapt_model_tensors(w->model), 1);
    float *a = calloc((size_t)t.columns, sizeof *a), *b = calloc((size_t)t.rows, sizeof *b);
    tuning[index] = RAPT_TUNING_LORA;
    options.tuning = tuning, options.lora_rank = 1;
    assert_int_equal(
        rapt_trainer_create(&trainer, w->model, &options, &w->train_limits, NULL, NULL), RAPT_OK);
    rapt_status status = rapt_trainer_read_adapter(arg(null, 0, trainer), index, arg(null, 1, a),
                                                   arg(null, 2, b), why);
    rapt_trainer_free(trainer);
    free(tuning);
    free(a);
    free(b);
    return status;
}

static rapt_status trainer_products(struct world *w, int null, rapt_message *why)
{
    (void)why;
    return found(rapt_trainer_products(arg(null, 0, w->trainer)) != NULL);
}

static rapt_status shards_range(struct world *w, int null, rapt_message *why)
{
    (void)w;
    int first, end;
    return rapt_shards_range(8, 2, 1, arg(null, 0, &first), arg(null, 1, &end), why);
}

/* Computes the only shard of the trainer. */
static rapt_status compute_shard(struct world *w, int null, rapt_message *why)
{
    w->shard = (rapt_shard){.size = sizeof w->shard};
    return rapt_train_shard(arg(null, 0, w->trainer), 0, arg(null, 1, &w->tokens),
                            arg(null, 2, &w->target), arg(null, 3, &w->shard), why);
}

static rapt_status train_shard(struct world *w, int null, rapt_message *why)
{
    rapt_status status = compute_shard(w, null, why);
    rapt_train_shards_discard(w->trainer);
    return status;
}

static void count_ready(void *user, const rapt_subtree *tree, size_t from, size_t until)
{
    (void)tree;
    *(size_t *)user += until - from;
}

/* If the callback is NULL, its argument is ignored. */
static rapt_status train_shard_early(struct world *w, int null, rapt_message *why)
{
    size_t told = 0, *all = null == 5 ? NULL : &told;
    w->shard = (rapt_shard){.size = sizeof w->shard};
    rapt_status status = rapt_train_shard_early(
        arg(null, 0, w->trainer), 0, arg(null, 1, &w->tokens), arg(null, 2, &w->target),
        arg(null, 3, &w->shard), null >= 4 ? NULL : count_ready, all, why);
    assert_true(told > 0 || status || null >= 4);
    rapt_train_shards_discard(w->trainer);
    return status;
}

static rapt_status train_shard_sums(struct world *w, int null, rapt_message *why)
{
    (void)why;
    rapt_subtree held;
    assert_int_equal(compute_shard(w, -1, NULL), RAPT_OK);
    int count = rapt_train_shard_sums(arg(null, 0, w->trainer), arg(null, 1, &held), 1);
    rapt_train_shards_discard(w->trainer);
    return found(count == 1);
}

static rapt_status shards_sum(struct world *w, int null, rapt_message *why)
{
    w->sums[0] = 1, w->sums[1] = 2;
    rapt_status status = rapt_shards_sum(2, arg(null, 0, w->tree), 2, 1, why);
    assert_true(status || w->sums[0] == 3);
    return status;
}

static rapt_status train_shards_step(struct world *w, int null, rapt_message *why)
{
    assert_int_equal(compute_shard(w, -1, NULL), RAPT_OK);
    rapt_status status = rapt_train_shards_step(arg(null, 0, w->trainer), arg(null, 1, &w->shard),
                                                arg(null, 2, &w->report), why);
    rapt_train_shards_discard(w->trainer);
    return status;
}

static rapt_status train_shards_discard(struct world *w, int null, rapt_message *why)
{
    (void)why;
    assert_int_equal(compute_shard(w, -1, NULL), RAPT_OK);
    rapt_train_shards_discard(arg(null, 0, w->trainer));
    if (null == 0) rapt_train_shards_discard(w->trainer);
    return RAPT_OK;
}

static rapt_status trainer_set_rate(struct world *w, int null, rapt_message *why)
{
    (void)why;
    rapt_trainer_set_rate(arg(null, 0, w->trainer), 1e-3f);
    return RAPT_OK;
}

static rapt_status trainer_set_quantized(struct world *w, int null, rapt_message *why)
{
    (void)why;
    rapt_trainer_set_quantized(arg(null, 0, w->trainer), 1);
    return RAPT_OK;
}

static rapt_status trainer_save(struct world *w, int null, rapt_message *why)
{
    assert_int_equal(train_step(w, -1, NULL), RAPT_OK); /* so that no gradients are pending */
    return rapt_trainer_save(arg(null, 0, w->trainer), arg(null, 1, w->path[2]),
                             arg(null, 2, w->notes), 2, why);
}

static rapt_status trainer_load(struct world *w, int null, rapt_message *why)
{
    return rapt_trainer_load(arg(null, 0, w->trainer), arg(null, 1, w->path[1]), why);
}

#endif
