/* operations_model.h - the operations of operations.h on models and their layers, and those that
   train. */
#ifndef RAPT_TESTS_PROCESS_OPERATIONS_MODEL_H
#define RAPT_TESTS_PROCESS_OPERATIONS_MODEL_H

#include "process/operations_text.h"

/* ---- training: the operations of operations.h that train. ---- */

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

/* ---- models: the operations of operations.h on models: creating, saving, loading, reading and
   converting them. ---- */

static rapt_status do_model_create(struct scene *s, uint64_t *h, rapt_message *why)
{
    rapt_model *model = scene_untouched;
    rapt_status status = rapt_model_create(&model, &s->config, 5, s->allocator, why);
    return add_model_made(s, h, status, model);
}

static rapt_status do_model_load(struct scene *s, uint64_t *h, rapt_message *why)
{
    rapt_model *model = scene_untouched;
    rapt_status status = rapt_model_load(&model, s->model_path, s->allocator, why);
    return add_model_made(s, h, status, model);
}

static rapt_status do_model_import(struct scene *s, uint64_t *h, rapt_message *why)
{
    rapt_model *model = scene_untouched;
    rapt_status status = rapt_model_import(&model, s->model_path, s->allocator, why);
    return add_model_made(s, h, status, model);
}

static void no_file(void *user, const char *name, rapt_file_use use, const char *reason)
{
    (void)user, (void)name, (void)use, (void)reason;
}

static rapt_status do_model_import_with(struct scene *s, uint64_t *h, rapt_message *why)
{
    rapt_model *model = scene_untouched;
    rapt_load_options options = {.size = sizeof options, .precision = RAPT_PRECISION_INT8};
    rapt_status status =
        rapt_model_import_with(&model, s->model_path, &options, no_file, NULL, s->allocator, why);
    return add_model_made(s, h, status, model);
}

/* A scene's model cannot be exported to Marian's format, so the export must fail. */
static rapt_status do_model_export(struct scene *s, uint64_t *h, rapt_message *why)
{
    rapt_message reason;
    const rapt_model *model = rapt_translator_model(s->translator);
    rapt_status status = rapt_model_export(model, RAPT_EXPORT_BERGAMOT, "/nowhere", &reason);
    size_t size = rapt_tokenizer_file(s->tokenizer).size;
    add(h, &status, sizeof status);
    add(h, &size, sizeof size);
    if (status != RAPT_BAD_ARGUMENT) *why = reason;
    return status == RAPT_BAD_ARGUMENT ? RAPT_OK : status;
}

static rapt_status do_model_load_with(struct scene *s, uint64_t *h, rapt_message *why)
{
    rapt_model *model = scene_untouched;
    rapt_load_options options = {.size = sizeof options, .precision = RAPT_PRECISION_F16};
    rapt_status status = rapt_model_load_with(&model, s->model_path, &options, s->allocator, why);
    return add_model_made(s, h, status, model);
}

/* Saves the model to s->bytes and loads it from there, from memory and through a callback. */
static int scene_read(void *user, uint64_t at, void *data, size_t count)
{
    memcpy(data, (const char *)user + at, count);
    return 0;
}

static int scene_write(void *user, const void *data, size_t count)
{
    add(user, data, count);
    return 0;
}

static rapt_status do_model_memory(struct scene *s, uint64_t *h, rapt_message *why)
{
    rapt_model *model = scene_untouched;
    size_t size = 0;
    rapt_status status =
        rapt_model_save_memory(s->shared, s->file, sizeof s->file, &size, NULL, 0, why);
    if (status) return status;
    status = rapt_model_load_memory(&model, s->file, size, NULL, s->allocator, why);
    status = add_model_made(s, h, status, model);
    if (status) return status;
    const rapt_reader reader = {scene_read, s->file, size};
    model = scene_untouched;
    status = rapt_model_load_from(&model, &reader, NULL, s->allocator, why);
    return add_model_made(s, h, status, model);
}

static rapt_status do_model_save_to(struct scene *s, uint64_t *h, rapt_message *why)
{
    uint64_t written = *h;
    const rapt_writer writer = {scene_write, &written};
    rapt_status status = rapt_model_save_to(s->shared, &writer, NULL, 0, why);
    if (status == RAPT_OK) add(h, &written, sizeof written);
    return status;
}

static rapt_status do_model_save(struct scene *s, uint64_t *h, rapt_message *why)
{
    rapt_metadata metadata[] = {{"a", "b"}, {"rapt.note", "c"}};
    unlink(s->out_path);
    rapt_status status = rapt_model_save(s->shared, s->out_path, metadata, COUNT(metadata), why);
    if (status) s->changed |= access(s->out_path, F_OK) == 0;
    add_file(s, h, s->out_path);
    unlink(s->out_path);
    return status;
}

/* Saves a packed model, maps it, checks it and writes a tensor. */
static rapt_status do_model_packed(struct scene *s, uint64_t *h, rapt_message *why)
{
    const rapt_save_options options = {.size = sizeof options, .packed = 1};
    rapt_model *model = NULL;
    unlink(s->out_path);
    rapt_status status = rapt_model_save_with(s->shared, s->out_path, &options, NULL, 0, why);
    if (status) s->changed |= access(s->out_path, F_OK) == 0;
    add_file(s, h, s->out_path);
    if (!status) status = rapt_model_load(&model, s->out_path, s->allocator, why);
    if (!status) status = rapt_model_check(model, why);
    float data[1024] = {0};
    size_t size = status ? 0 : small_size(model, 0);
    if (size > COUNT(data)) status = RAPT_BAD_FILE;
    if (!status) status = rapt_model_write(model, 0, data, why);
    if (!status) status = rapt_model_read(model, 0, data, why);
    add(h, data, sizeof data);
    rapt_model_free(model);
    unlink(s->out_path);
    return status;
}

static rapt_status do_model_read(struct scene *s, uint64_t *h, rapt_message *why)
{
    rapt_tensor tensor = rapt_model_tensor(s->own, 1);
    int index = rapt_model_find(s->own, tensor.name);
    size_t numbers[] = {rapt_model_parameters(s->own), rapt_model_bytes(s->own),
                        rapt_model_config(s->own)->size, small_size(s->own, index)};
    rapt_status status = rapt_model_read(s->own, index, s->floats, why);
    if (!status) status = rapt_model_write(s->own, index, s->floats, why);
    float scales[512];
    if (!status && tensor.rows <= 512) status = rapt_model_scales(s->own, index, scales, NULL, why);
    add(h, numbers, sizeof numbers);
    add(h, s->floats, numbers[3] * sizeof *s->floats);
    return status;
}

/* Converts a copy of the model and computes with it; a failed call leaves the copy unchanged. */
static rapt_status do_model_set_precision(struct scene *s, uint64_t *h, rapt_message *why)
{
    rapt_model *model = NULL;
    rapt_session *session = NULL;
    rapt_limits limits = scene_limits(s);
    float before[1024] = {0}, after[1024] = {0};
    size_t size = 0;
    rapt_status status =
        rapt_model_save_memory(s->shared, s->file, sizeof s->file, &size, NULL, 0, why);
    if (!status) status = rapt_model_load_memory(&model, s->file, size, NULL, s->allocator, why);
    if (!status && small_size(model, 0) > COUNT(before)) status = RAPT_BAD_FILE;
    if (!status) status = rapt_model_read(model, 0, before, why);
    if (!status) {
        status = rapt_model_set_precision(model, RAPT_PRECISION_INT8, 0, why);
        rapt_precision precision = rapt_model_precision(model);
        rapt_model_read(model, 0, after, NULL);
        add(h, &precision, sizeof precision);
        if (status) s->changed |= memcmp(before, after, sizeof before) != 0;
        add(h, after, sizeof after);
    }
    if (!status) status = rapt_session_create(&session, model, &limits, s->allocator, why);
    rapt_session_free(session);
    rapt_model_free(model);
    return status;
}

/* ---- layers: the operations of operations.h on layers and plain arrays. ---- */

enum { BLOCK_ROWS = 6, BLOCK_WIDTH_MAX = 64 };

/* Fills x with values in 0 .. 1 that are the same in every call. */
static inline void block_fill(float *x, int count)
{
    for (int i = 0; i < count; i++) x[i] = small_uniform(21, (uint64_t)i);
}

/* Runs a layer of the scene's configuration forward and backward, and reads and writes a
   parameter. */
static rapt_status block_step(struct scene *s, rapt_block *block, uint64_t *h, rapt_message *why)
{
    const int width = s->config.width;
    float *parameters = s->layer[0], *gradients = s->layer[1];
    static const int starts[] = {0, 4, BLOCK_ROWS}, source_starts[] = {0, 1, 3};
    float x[BLOCK_ROWS * BLOCK_WIDTH_MAX], y[BLOCK_ROWS * BLOCK_WIDTH_MAX];
    float dx[BLOCK_ROWS * BLOCK_WIDTH_MAX] = {0};
    block_fill(x, BLOCK_ROWS * width);
    const rapt_block_rows rows = {.size = sizeof rows,
                                  .starts = starts,
                                  .source_starts = source_starts,
                                  .source = x,
                                  .batch = 2,
                                  .learning = 1,
                                  .dropout = 0.25f};
    rapt_status status = rapt_block_init(block, 5, parameters, why);
    int index = rapt_block_find(block, "self_attn.out.weight");
    index = index < 0 ? rapt_block_tensors(block) - 1 : index;
    rapt_tensor tensor = rapt_block_tensor(block, index);
    s->changed |= (size_t)tensor.rows * (size_t)tensor.columns > SCENE_FLOATS;
    if (!status) status = rapt_block_read(block, parameters, index, s->floats, why);
    if (!status) status = rapt_block_write(block, parameters, index, s->floats, why);
    if (!status) status = rapt_block_forward(block, parameters, &rows, x, y, why);
    if (!status)
        status = rapt_block_backward(block, parameters, &rows, y, dx, NULL, gradients, why);
    add(h, y, (size_t)(BLOCK_ROWS * width) * sizeof *y);
    add(h, dx, (size_t)(BLOCK_ROWS * width) * sizeof *dx);
    add(h, gradients, rapt_block_floats(block) * sizeof *gradients);
    return status;
}

static rapt_status do_block(struct scene *s, uint64_t *h, rapt_message *why)
{
    const rapt_block_limits limits = {.size = sizeof limits,
                                      .batch = 2,
                                      .rows = BLOCK_ROWS,
                                      .source_rows = 3,
                                      .threads = s->threads};
    rapt_block *block = scene_untouched;
    rapt_status status =
        rapt_block_create(&block, RAPT_BLOCK_KIND_DECODER, &s->config, &limits, s->allocator, why);
    if (status) {
        s->changed |= block != scene_untouched;
        return status;
    }
    const size_t floats = rapt_block_floats(block);
    if (floats > SCENE_FLOATS || s->config.width > BLOCK_WIDTH_MAX) {
        s->changed = true; /* the arrays of a scene are too small: the test is wrong */
    } else {
        memset(s->layer[1], 0, floats * sizeof(float));
        status = block_step(s, block, h, why);
    }
    rapt_block_free(block);
    return status;
}

#endif
