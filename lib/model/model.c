/* model.c - what is learned, in one block, and the doors to it. */
#include "model/model.h"

#include <string.h>

/* Walks the arena: counts while it is empty, hands out when it is real. */
static void lay_out(rapt_model *m, struct arena *arena)
{
    const rapt_config *c = &m->config;
    bool sinusoids = c->position <= RAPT_POSITION_CONCATENATED_N1;
    rapt__layout_make(&m->layout, c, arena);
    m->block = rapt__arena_floats(arena, m->layout.floats, 1);
    m->sinusoids =
        sinusoids ? rapt__arena_floats(arena, (size_t)c->positions, (size_t)c->width) : NULL;
}

rapt_status rapt__model_make(rapt_model **model, const rapt_config *config,
                             const rapt_allocator *allocator, rapt_message *why)
{
    rapt_status status = rapt_config_check(config, why);
    if (status) return status;
    rapt_model *m = rapt__alloc(allocator, sizeof *m);
    if (!m) return rapt__fail(why, RAPT_NO_MEMORY, "no memory for a model");
    *m = (rapt_model){.allocator = rapt__allocator(allocator), .config = *config};
    lay_out(m, &m->arena);
    size_t bytes = m->arena.used;
    status = rapt__arena_reserve(&m->arena, allocator);
    if (status) {
        rapt__free(allocator, m, sizeof *m);
        return rapt__fail(why, status, "no memory for a model of %zu bytes", bytes);
    }
    lay_out(m, &m->arena);
    if (m->sinusoids)
        rapt__positions_fill(config->position, config->positions, config->width, m->sinusoids);
    *model = m;
    return RAPT_OK;
}

rapt_status rapt_model_create(rapt_model **model, const rapt_config *config, uint64_t seed,
                              const rapt_allocator *allocator, rapt_message *why)
{
    rapt_status status = rapt__model_make(model, config, allocator, why);
    if (!status) rapt__parameters_init(&(*model)->layout, seed, (*model)->block);
    return status;
}

void rapt_model_free(rapt_model *model)
{
    if (!model) return;
    rapt_allocator allocator = model->allocator;
    rapt__free(&allocator, model->metadata, model->metadata_size);
    rapt__arena_free(&model->arena, &allocator);
    rapt__free(&allocator, model, sizeof *model);
}

rapt_config rapt_model_config(const rapt_model *model)
{
    return model->config;
}

size_t rapt_model_parameters(const rapt_model *model)
{
    size_t count = 0;
    for (int i = 0; i < model->layout.count; i++)
        count +=
            (size_t)model->layout.parameters[i].rows * (size_t)model->layout.parameters[i].columns;
    return count;
}

size_t rapt_model_bytes(const rapt_model *model)
{
    return sizeof *model + model->arena.size + model->metadata_size;
}

const char *rapt_model_metadata(const rapt_model *model, const char *key)
{
    const char *at = model->metadata, *end = at + model->metadata_size;
    while (at && at < end) {
        const char *value = at + strlen(at) + 1;
        if (strcmp(at, key) == 0) return value;
        at = value + strlen(value) + 1;
    }
    return NULL;
}

int rapt_model_tensors(const rapt_model *model)
{
    return model->layout.count;
}

rapt_tensor rapt_model_tensor(const rapt_model *model, int index)
{
    if (index < 0 || index >= model->layout.count) return (rapt_tensor){0};
    const struct parameter *p = &model->layout.parameters[index];
    return (rapt_tensor){p->name, p->rows, p->columns};
}

int rapt_model_find(const rapt_model *model, const char *name)
{
    for (int i = 0; i < model->layout.count; i++)
        if (strcmp(model->layout.parameters[i].name, name) == 0) return i;
    return -1;
}

rapt_status rapt_model_read(const rapt_model *model, int index, float *data)
{
    if (index < 0 || index >= model->layout.count) return RAPT_BAD_ARGUMENT;
    const struct parameter *p = &model->layout.parameters[index];
    rapt__parameter_get(p, model->block, 0, (size_t)p->rows * (size_t)p->columns, data);
    return RAPT_OK;
}

rapt_status rapt_model_write(rapt_model *model, int index, const float *data)
{
    if (index < 0 || index >= model->layout.count) return RAPT_BAD_ARGUMENT;
    const struct parameter *p = &model->layout.parameters[index];
    rapt__parameter_set(p, model->block, 0, (size_t)p->rows * (size_t)p->columns, data);
    return RAPT_OK;
}
