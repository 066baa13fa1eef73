/* operations_model.h - the operations of operations.h on models: creating, saving, loading, reading
   and converting them. */
#ifndef RAPT_TESTS_PROCESS_OPERATIONS_MODEL_H
#define RAPT_TESTS_PROCESS_OPERATIONS_MODEL_H

#include "process/operations_train.h"

static rapt_status do_model_create(struct scene *s, uint64_t *h, rapt_message *why)
{
    rapt_model *model = scene_untouched;
    rapt_status status = rapt_model_create(&model, &s->config, 5, s->allocator, why);
    return made(s, h, status, model);
}

static rapt_status do_model_load(struct scene *s, uint64_t *h, rapt_message *why)
{
    rapt_model *model = scene_untouched;
    rapt_status status = rapt_model_load(&model, s->model_path, s->allocator, why);
    return made(s, h, status, model);
}

static rapt_status do_model_import(struct scene *s, uint64_t *h, rapt_message *why)
{
    rapt_model *model = scene_untouched;
    rapt_status status = rapt_model_import(&model, s->model_path, s->allocator, why);
    return made(s, h, status, model);
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
    return made(s, h, status, model);
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
    return made(s, h, status, model);
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
    status = made(s, h, status, model);
    if (status) return status;
    const rapt_reader reader = {scene_read, s->file, size};
    model = scene_untouched;
    status = rapt_model_load_from(&model, &reader, NULL, s->allocator, why);
    return made(s, h, status, model);
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

#endif
