/* model.c - creates models, gives access to their parameters by index, and checks tokens. The
   layout and everything else derived from the configuration are in one arena; the block of
   parameters is in another arena or in a mapped file. */
#include "model/model.h"

#include <assert.h>
#include <math.h>
#include <string.h>

/* Lays out all memory of a model except its block. If the arena has no memory yet, only counts the
   bytes needed. */
static void lay_out(rapt_model *m, enum layout_kind matrices, struct arena *arena)
{
    const rapt_config *c = &m->config;
    bool sinusoids = c->position <= RAPT_POSITION_CONCATENATED_N1;
    rapt__layout_make(&m->layout, c, matrices, arena);
    m->config_text = rapt__arena_take(arena, CONFIG_TEXT, 1);
    m->sinusoids =
        sinusoids ? rapt__arena_floats(arena, (size_t)c->positions, (size_t)c->width) : NULL;
    bool slopes = c->relative_bias == RAPT_RELATIVE_BIAS_ALIBI;
    m->slopes = slopes ? rapt__arena_floats(arena, (size_t)rapt__maps(c), 1) : NULL;
    size_t distances = rapt__distances_sinusoids(c);
    m->distances = distances ? rapt__arena_floats(arena, distances, 1) : NULL;
    size_t buckets = rapt__distances_buckets(c);
    m->distance_buckets =
        buckets ? rapt__arena_take(arena, buckets, sizeof *m->distance_buckets) : NULL;
}

rapt_status rapt__model_make_bare(rapt_model **model, const rapt_config *config,
                                  enum layout_kind matrices, const rapt_allocator *allocator,
                                  rapt_message *why)
{
    rapt_status status = rapt__config_check(config, why);
    if (status) return status;
    rapt_model *m = rapt__alloc(allocator, sizeof *m);
    if (!m) return rapt__fail(why, RAPT_NO_MEMORY, "no memory for a model");
    *m = (rapt_model){
        .allocator = rapt__allocator(allocator), .config = *config, .bound = (double)INFINITY};
    lay_out(m, matrices, &m->arena);
    size_t size = m->arena.used;
    status = rapt__arena_reserve(&m->arena, allocator);
    if (status) {
        rapt__free(allocator, m, sizeof *m);
        return rapt__fail(why, status, "no memory for the layout of a model (%zu bytes)", size);
    }
    lay_out(m, matrices, &m->arena);
    status = rapt__config_write(&m->config, m->config_text, CONFIG_TEXT);
    assert(!status);
    if (m->sinusoids) rapt__positions_fill(config, m->sinusoids);
    rapt__distances_sinusoids_fill(config, m->distances);
    rapt__distances_buckets_fill(config, m->distance_buckets);
    int maps = rapt__maps(config);
    for (int h = 0; m->slopes && h < maps; h++) m->slopes[h] = (float)rapt__slope(maps, h);
    *model = m;
    return RAPT_OK;
}

static void lay_out_block(rapt_model *m, struct arena *arena)
{
    m->block = rapt__arena_floats(arena, m->layout.floats, 1);
}

rapt_status rapt__model_take_block(rapt_model *m, rapt_message *why)
{
    lay_out_block(m, &m->weights);
    size_t bytes = m->weights.used;
    rapt_status status = rapt__arena_reserve(&m->weights, &m->allocator);
    if (status) {
        m->weights = (struct arena){0};
        return rapt__fail(why, status, "no memory for the parameters of a model (%zu bytes)",
                          bytes);
    }
    lay_out_block(m, &m->weights);
    return RAPT_OK;
}

rapt_status rapt__model_own_block(rapt_model *m, rapt_message *why)
{
    float *mapped = m->block;
    if (!m->map.bytes) return RAPT_OK;
    rapt_status status = rapt__model_take_block(m, why);
    if (status) {
        m->block = mapped;
        return status;
    }
    memcpy(m->block, mapped, m->layout.floats * sizeof *mapped);
    rapt__disk_unmap(&m->map);
    return RAPT_OK;
}

rapt_status rapt__model_make(rapt_model **model, const rapt_config *config,
                             enum layout_kind matrices, const rapt_allocator *allocator,
                             rapt_message *why)
{
    rapt_model *made = NULL;
    rapt_status status = rapt__model_make_bare(&made, config, matrices, allocator, why);
    if (!made) return status;
    status = rapt__model_take_block(made, why);
    if (status)
        rapt_model_free(made);
    else
        *model = made;
    return status;
}

rapt_status rapt_model_create(rapt_model **model, const rapt_config *config, uint64_t seed,
                              const rapt_allocator *allocator, rapt_message *why)
{
    rapt_config own;
    rapt_model *made = NULL;
    if (!model) return rapt__fail(why, RAPT_BAD_ARGUMENT, "rapt_model_create: model is NULL");
    rapt_status status = rapt__struct_read(&own, sizeof own, config, "rapt_config", why);
    if (!status) status = rapt__model_make(&made, &own, IN_PANELS, allocator, why);
    if (!made) return status;
    rapt__parameters_init(&made->layout, seed, made->block);
    *model = made;
    return status;
}

void rapt_model_free(rapt_model *model)
{
    if (!model) return;
    rapt_allocator allocator = model->allocator;
    rapt__scales_free(model);
    rapt__free(&allocator, model->notes.pairs, model->notes.size);
    rapt__disk_unmap(&model->map);
    rapt__arena_free(&model->weights, &allocator);
    rapt__arena_free(&model->arena, &allocator);
    rapt__free(&allocator, model, sizeof *model);
}

const rapt_config *rapt_model_config(const rapt_model *model)
{
    return model ? &model->config : NULL;
}

size_t rapt_model_parameters(const rapt_model *model)
{
    size_t count = 0;
    for (int i = 0; model && i < model->layout.count; i++)
        count += rapt__parameter_count(&model->layout.parameters[i]);
    return count;
}

size_t rapt_model_bytes(const rapt_model *model)
{
    if (!model) return 0;
    const struct model_notes *notes = &model->notes;
    return sizeof *model + model->arena.size + model->weights.size + model->map.size + notes->size +
           notes->scale_count * sizeof *notes->scale_lines;
}

/* ---- parameters by index ---- */

int rapt_model_tensors(const rapt_model *model)
{
    return model ? model->layout.count : 0;
}

static const struct parameter *parameter_of(const rapt_model *model, int index)
{
    bool there = model && index >= 0 && index < model->layout.count;
    return there ? &model->layout.parameters[index] : NULL;
}

rapt_tensor rapt_model_tensor(const rapt_model *model, int index)
{
    const struct parameter *p = parameter_of(model, index);
    return p ? (rapt_tensor){p->name, p->rows, p->columns} : (rapt_tensor){NULL, 0, 0};
}

int rapt_model_find(const rapt_model *model, const char *name)
{
    for (int i = 0; model && name && i < model->layout.count; i++)
        if (strcmp(model->layout.parameters[i].name, name) == 0) return i;
    return -1;
}

static rapt_status no_parameter(const rapt_model *model, int index, const float *data,
                                rapt_message *why)
{
    if (!model || !data)
        return rapt__fail(why, RAPT_BAD_ARGUMENT, "%s is NULL", model ? "data" : "model");
    return rapt__fail(why, RAPT_BAD_ARGUMENT, "index is %d; the model has %d tensors", index,
                      model->layout.count);
}

rapt_status rapt_model_read(const rapt_model *model, int index, float *data, rapt_message *why)
{
    const struct parameter *p = parameter_of(model, index);
    if (!p || !data) return no_parameter(model, index, data, why);
    rapt__parameter_get(p, model->block, 0, rapt__parameter_count(p), data);
    return RAPT_OK;
}

rapt_status rapt_model_write(rapt_model *model, int index, const float *data, rapt_message *why)
{
    const struct parameter *p = parameter_of(model, index);
    if (!p || !data) return no_parameter(model, index, data, why);
    rapt_status status = rapt__model_needs_floats(model, "written to", why);
    if (!status) status = rapt__model_own_block(model, why);
    if (status) return status;
    rapt__parameter_set(p, model->block, 0, rapt__parameter_count(p), data);
    model->bound = (double)INFINITY;
    return RAPT_OK;
}

/* ---- checks of tokens ---- */

static rapt_status check_token_starts(const rapt_tokens *t, const struct token_limits *l,
                                      rapt_message *why)
{
    if (t->starts[0] != 0)
        return rapt__fail(why, RAPT_BAD_ARGUMENT, "%s: starts[0] is %d, not 0", l->what,
                          t->starts[0]);
    for (int b = 0; b < t->batch; b++)
        if (t->starts[b + 1] < t->starts[b])
            return rapt__fail(why, RAPT_BAD_ARGUMENT,
                              "%s: starts[%d] is %d, less than starts[%d], which is %d", l->what,
                              b + 1, t->starts[b + 1], b, t->starts[b]);
    long long count = t->starts[t->batch] + (long long)l->extra * t->batch;
    const char *note = l->begin_and_end ? " (including begin and end)" : "";
    if (count > l->tokens)
        return rapt__fail(why, RAPT_BAD_ARGUMENT,
                          "the batch has %lld %s tokens%s, but limits.%s_tokens is %d", count,
                          l->what, note, l->what, l->tokens);
    for (int b = 0; b < t->batch; b++)
        if (t->starts[b + 1] - t->starts[b] > l->length - l->extra)
            return rapt__fail(why, RAPT_BAD_ARGUMENT,
                              "%s: sequence %d has %d tokens%s, but the maximum is %d", l->what, b,
                              t->starts[b + 1] - t->starts[b] + l->extra, note, l->length);
    return RAPT_OK;
}

rapt_status rapt__tokens_check(const rapt_tokens *t, const struct token_limits *l,
                               rapt_message *why)
{
    if (!t || !t->starts)
        return rapt__fail(why, RAPT_BAD_ARGUMENT, "%s%s is NULL", l->what, t ? ".starts" : "");
    if (t->batch < 0 || t->batch > l->batch)
        return rapt__fail(why, RAPT_BAD_ARGUMENT, "%s: batch is %d; it must be 0 to %d", l->what,
                          t->batch, l->batch);
    rapt_status status = check_token_starts(t, l, why);
    if (status) return status;
    if (l->vectors ? t->ids != NULL : t->vectors != NULL)
        return rapt__fail(why, RAPT_BAD_ARGUMENT, "%s has %s, but must have %s", l->what,
                          l->vectors ? "ids" : "vectors", l->vectors ? "vectors" : "ids");
    int count = t->starts[t->batch];
    if (count > 0 && !t->ids && !t->vectors)
        return rapt__fail(why, RAPT_BAD_ARGUMENT, "%s.%s is NULL", l->what,
                          l->vectors ? "vectors" : "ids");
    for (int i = 0; i < count && !l->vectors; i++)
        if (t->ids[i] < 0 || t->ids[i] >= l->vocab)
            return rapt__fail(why, RAPT_BAD_ARGUMENT,
                              "%s: ids[%d] is %d; the vocabulary has %d tokens", l->what, i,
                              (int)t->ids[i], l->vocab);
    return RAPT_OK;
}
