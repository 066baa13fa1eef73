/* block_memory.c - creates a block from a kind of layer, a configuration and limits, with all of
   its working memory in one arena. Also initializes the parameters of a block, and reads and writes
   them by index. */
#include "model/sublayer.h"

static const struct {
    rapt_kind kind; /* kind of model that has such a layer */
    bool decoder, alone;
    enum part part; /* the only part of the layer, if alone; linear attention may replace it */
} kinds[] = {
    [RAPT_BLOCK_KIND_ENCODER] = {RAPT_KIND_ENCODER_ONLY, false, false, PARTS},
    [RAPT_BLOCK_KIND_DECODER] = {RAPT_KIND_ENCODER_DECODER, true, false, PARTS},
    [RAPT_BLOCK_KIND_DECODER_ONLY] = {RAPT_KIND_DECODER_ONLY, true, false, PARTS},
    [RAPT_BLOCK_KIND_SELF_ATTENTION] = {RAPT_KIND_ENCODER_ONLY, false, true, PART_SELF},
    [RAPT_BLOCK_KIND_CAUSAL_ATTENTION] = {RAPT_KIND_DECODER_ONLY, true, true, PART_SELF},
    [RAPT_BLOCK_KIND_CROSS_ATTENTION] = {RAPT_KIND_ENCODER_DECODER, true, true, PART_CROSS},
    [RAPT_BLOCK_KIND_FEEDFORWARD] = {RAPT_KIND_ENCODER_ONLY, false, true, PART_FEEDFORWARD},
};

/* Returns true for a block of causal attention whose configuration selects linear attention. */
static bool alone_is_linear(const rapt_config *c, rapt_block_kind kind)
{
    return kind == RAPT_BLOCK_KIND_CAUSAL_ATTENTION && rapt__decoder_is_linear(c);
}

/* Turns *c into the configuration of a model with a single layer of this kind, and clears the
   fields that concern other parts of a model. */
static void complete(rapt_config *c, rapt_block_kind kind)
{
    bool encoder = kinds[kind].kind != RAPT_KIND_DECODER_ONLY;
    c->kind = kinds[kind].kind;
    c->source_vocab = 0, c->source_width = encoder ? c->width : 0;
    c->target_vocab = 1;
    c->encoder_layers = encoder, c->decoder_layers = c->kind != RAPT_KIND_ENCODER_ONLY;
    c->position = RAPT_POSITION_NONE, c->first_position = 0;
    c->tie = RAPT_TIE_NONE, c->output_bias = c->plain_embedding = 0;
    c->pooling = RAPT_POOLING_NONE;
    c->decoder_start = RAPT_DECODER_START_BEGIN, c->no_source_end = 0;
    c->alignment_layer = c->alignment_heads = 0, c->embedding_norm = c->token_types = c->pooler = 0;
    if (c->kind == RAPT_KIND_ENCODER_ONLY) c->forget_gate = 0;
    if (c->kind != RAPT_KIND_ENCODER_DECODER)
        c->monotonic = RAPT_CROSS_MONOTONIC_NONE, c->monotonic_chunk = 0;
    if (c->kind == RAPT_KIND_ENCODER_ONLY || (kinds[kind].alone && !alone_is_linear(c, kind)))
        c->decoder_recurrence = RAPT_RECURRENCE_NONE;
}

bool rapt__block_reads_source(const rapt_block *b)
{
    return b->kind == RAPT_BLOCK_KIND_DECODER || b->kind == RAPT_BLOCK_KIND_CROSS_ATTENTION;
}

bool rapt__block_has_positions(const rapt_block *b, bool cross)
{
    const rapt_config *c = &b->model.config;
    bool there = false;
    for (int i = 0; i < b->parts_count; i++)
        there = there || b->parts[i] == (cross ? PART_CROSS : PART_SELF);
    return there && rapt__score_has_positions(cross ? c->cross_score : c->self_score);
}

static rapt_status check_block_limits(const rapt_block *b, rapt_message *why)
{
    const rapt_block_limits *l = &b->limits;
    const rapt_config *c = &b->model.config;
    bool source = rapt__block_reads_source(b);
    int max = rapt__tokens_max(c);
    rapt_status status = rapt__int_check("limits.batch", l->batch, 1, rapt__batch_max(c), why);
    if (!status) status = rapt__int_check("limits.rows", l->rows, 1, max, why);
    if (!status)
        status =
            rapt__int_check("limits.source_rows", l->source_rows, source, source ? max : 0, why);
    return status ? status : rapt__int_check("limits.threads", l->threads, 0, INT32_MAX, why);
}

/* Returns a workspace size in bytes that suffices for every attention sublayer of the layer, for
   sequences of any lengths within the limits. */
static size_t workspace_bytes(const rapt_block *b)
{
    const rapt_block_limits *l = &b->limits;
    rapt_config c = b->model.config;
    size_t max = 0;
    c.positions = 0;
    for (int i = 0; i < b->parts_count; i++) {
        bool cross = b->parts[i] == PART_CROSS;
        const struct attention_use which = {.decoder = b->decoder, .cross = cross};
        const bool linear = b->parts[i] == PART_LINEAR;
        if (!cross && !linear && b->parts[i] != PART_SELF) continue;
        size_t bytes = linear
                           ? rapt__linear_bytes(&c, l->rows, true, l->threads)
                           : rapt__attention_bytes_of(&c, &which, l->batch, l->rows,
                                                      cross ? l->source_rows : l->rows, l->threads);
        max = rapt__max_size(max, bytes);
    }
    return max;
}

static void block_lay_out(rapt_block *b, struct arena *arena)
{
    const rapt_config *c = &b->model.config;
    struct layer_parts parts = {.alone = b->alone};
    int rows = b->limits.rows, source_rows = b->limits.source_rows;
    for (int i = 0; i < b->parts_count; i++) parts.has[b->parts[i]] = true;
    struct arena parameters = {0}; /* the caller's */
    rapt__layer_layout_make(&b->model.layout, c, b->decoder, &parts, arena);
    rapt__arena_floats(&parameters, b->model.layout.floats, 1);
    arena->overflow |= parameters.overflow;
    bool slopes = c->relative_bias == RAPT_RELATIVE_BIAS_ALIBI;
    b->model.slopes = slopes ? rapt__arena_floats(arena, (size_t)rapt__maps(c), 1) : NULL;
    size_t distances = rapt__distances_sinusoids(c);
    b->model.distances = distances ? rapt__arena_floats(arena, distances, 1) : NULL;
    size_t buckets = rapt__distances_buckets(c);
    b->model.distance_buckets = buckets ? rapt__arena_take(arena, buckets, sizeof(int)) : NULL;
    rapt__layer_memory(&b->memory, c, b->decoder, b->parts, b->parts_count, rows, source_rows,
                       arena);
    b->dsource = rapt__arena_floats(arena, (size_t)source_rows, (size_t)c->width);
    b->partial = rapt__arena_floats(arena, rapt__norm_partial(rows, c->width), 1);
    b->pack = rapt__arena_floats(arena, PACK_FLOATS, 1);
    b->attention_workspace = rapt__arena_take(arena, 1, workspace_bytes(b));
}

static rapt_status read_arguments(rapt_block *own, rapt_block_kind kind, const rapt_config *config,
                                  const rapt_block_limits *limits, rapt_message *why)
{
    rapt_config *c = &own->model.config;
    rapt_status status =
        rapt__int_check("kind", (int)kind, 0, (int)RAPT_BLOCK_KIND_FEEDFORWARD, why);
    if (!status) status = rapt__struct_read(c, sizeof *c, config, "rapt_config", why);
    if (!status)
        status =
            rapt__struct_read(&own->limits, sizeof own->limits, limits, "rapt_block_limits", why);
    if (status) return status;
    complete(c, kind);
    own->kind = kind, own->decoder = kinds[kind].decoder, own->alone = kinds[kind].alone;
    own->parts[0] = alone_is_linear(c, kind) ? PART_LINEAR : kinds[kind].part;
    own->parts_count = own->alone ? 1 : rapt__parts_of(c, own->decoder, own->parts);
    bool positions = rapt__block_has_positions(own, false) || rapt__block_has_positions(own, true);
    bool yarn = c->rotary && c->rotary_scaling == RAPT_ROTARY_SCALING_YARN;
    if (yarn && !c->rotary_positions) c->rotary_positions = c->positions;
    if (!positions) c->positions = 1; /* any valid value, since it is ignored */
    status = rapt__config_check(c, why);
    if (!status && yarn)
        status = rapt__int_check("rotary_positions", c->rotary_positions, 1, INT32_MAX, why);
    if (!status && own->parts[0] == PART_FEEDFORWARD)
        status = rapt__int_check("ffn_width", c->ffn_width, 1, INT32_MAX, why);
    if (!status) status = check_block_limits(own, why);
    if (!status)
        own->limits.threads = rapt__team_size(own->limits.threads); /* affects memory use */
    return status;
}

rapt_status rapt_block_create(rapt_block **block, rapt_block_kind kind, const rapt_config *config,
                              const rapt_block_limits *limits, const rapt_allocator *allocator,
                              rapt_message *why)
{
    rapt_block own = {.allocator = rapt__allocator(allocator)};
    if (!block) return rapt__fail(why, RAPT_BAD_ARGUMENT, "rapt_block_create: block is NULL");
    rapt_status status = read_arguments(&own, kind, config, limits, why);
    if (status) return status;
    block_lay_out(&own, &own.arena);
    size_t bytes = own.arena.used;
    status = rapt__arena_reserve(&own.arena, allocator);
    if (status) return rapt__fail(why, status, "no memory for a block of %zu bytes", bytes);
    rapt_block *b = rapt__alloc(allocator, sizeof *b);
    if (!b) {
        rapt__arena_free(&own.arena, allocator);
        return rapt__fail(why, RAPT_NO_MEMORY, "no memory for a block");
    }
    block_lay_out(&own, &own.arena);
    int maps = rapt__maps(&own.model.config);
    for (int h = 0; own.model.slopes && h < maps; h++)
        own.model.slopes[h] = (float)rapt__slope(maps, h);
    rapt__distances_sinusoids_fill(&own.model.config, own.model.distances);
    rapt__distances_buckets_fill(&own.model.config, own.model.distance_buckets);
    *b = own;
    *block = b;
    return RAPT_OK;
}

void rapt_block_free(rapt_block *block)
{
    if (!block) return;
    rapt_allocator allocator = block->allocator;
    rapt__arena_free(&block->arena, &allocator);
    rapt__free(&allocator, block, sizeof *block);
}

/* ---- parameters ---- */

size_t rapt_block_floats(const rapt_block *block)
{
    return block ? block->model.layout.floats : 0;
}

rapt_status rapt__block_aligned(const float *parameters, rapt_message *why)
{
    if ((uintptr_t)parameters % 64 == 0) return RAPT_OK;
    return rapt__fail(why, RAPT_BAD_ARGUMENT, "parameters are not aligned to 64 bytes");
}

rapt_status rapt_block_init(const rapt_block *block, uint64_t seed, float *parameters,
                            rapt_message *why)
{
    if (!block || !parameters)
        return rapt__fail(why, RAPT_BAD_ARGUMENT, "%s is NULL", block ? "parameters" : "block");
    rapt_status status = rapt__block_aligned(parameters, why);
    if (status) return status;
    for (size_t i = 0; i < block->model.layout.floats; i++) parameters[i] = 0;
    rapt__parameters_init(&block->model.layout, seed, parameters);
    return RAPT_OK;
}

int rapt_block_tensors(const rapt_block *block)
{
    return block ? rapt_model_tensors(&block->model) : 0;
}

rapt_tensor rapt_block_tensor(const rapt_block *block, int index)
{
    return rapt_model_tensor(block ? &block->model : NULL, index);
}

int rapt_block_find(const rapt_block *block, const char *name)
{
    return rapt_model_find(block ? &block->model : NULL, name);
}

/* Returns parameter `index`. If it does not exist or an argument is NULL, returns NULL and sets the
   message. */
static const struct parameter *parameter_of(const rapt_block *block, const float *parameters,
                                            int index, const float *data, rapt_message *why)
{
    int count = rapt_block_tensors(block);
    if (block && parameters && data && index >= 0 && index < count)
        return &block->model.layout.parameters[index];
    if (!block || !parameters || !data)
        rapt__fail(why, RAPT_BAD_ARGUMENT, "%s is NULL",
                   !block        ? "block"
                   : !parameters ? "parameters"
                                 : "data");
    else
        rapt__fail(why, RAPT_BAD_ARGUMENT, "index is %d; the block has %d tensors", index, count);
    return NULL;
}

rapt_status rapt_block_read(const rapt_block *block, const float *parameters, int index,
                            float *data, rapt_message *why)
{
    const struct parameter *p = parameter_of(block, parameters, index, data, why);
    if (!p) return RAPT_BAD_ARGUMENT;
    rapt__parameter_get(p, parameters, 0, rapt__parameter_count(p), data);
    return RAPT_OK;
}

rapt_status rapt_block_write(const rapt_block *block, float *parameters, int index,
                             const float *data, rapt_message *why)
{
    const struct parameter *p = parameter_of(block, parameters, index, data, why);
    if (!p) return RAPT_BAD_ARGUMENT;
    rapt__parameter_set(p, parameters, 0, rapt__parameter_count(p), data);
    return RAPT_OK;
}
