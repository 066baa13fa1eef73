/* session_memory.c - checks limits and creates a session. All memory of a session is in one arena,
   apart from struct rapt_session itself and what a search with a shortlist or terms allocates. */
#include "generate/generate.h"

#include <string.h>

enum {
    GROUP_ROWS = 128, /* maximum number of rows that the encoder reads at a time; more if
                         config.positions is larger or limits.self_weights is set */
    WEIGHTS_ROWS = 64 /* encoder rows whose attention weights are read at a time */
};

/* Returns the limits with defaults filled in. The token limits of an encoder or decoder that the
   model does not have become 0. */
static rapt_limits fill_in(const rapt_model *model, const rapt_limits *limits)
{
    rapt_limits l = *limits;
    rapt_kind kind = model->config.kind;
    l.threads = rapt__team_size(l.threads); /* fixed here: the layout depends on it */
    if (l.beams == 0) l.beams = 1;
    if (l.target_tokens == 0) l.target_tokens = l.batch * l.beams;
    if (kind == RAPT_KIND_DECODER_ONLY) l.source_tokens = 0;
    if (kind == RAPT_KIND_ENCODER_ONLY) l.target_length = l.target_tokens = 0;
    return l;
}

static rapt_status check_session_limits(const rapt_model *model, const rapt_limits *l,
                                        rapt_message *why)
{
    const rapt_config *c = &model->config;
    bool reads = c->kind != RAPT_KIND_DECODER_ONLY, decodes = c->kind != RAPT_KIND_ENCODER_ONLY;
    int max = rapt__tokens_max(c), most = RAPT_PRODUCTS_BF16_TILES;
    rapt_status status = rapt__int_check("limits.batch", l->batch, 1, rapt__batch_max(c), why);
    if (!status) status = rapt__int_check("limits.beams", l->beams, 0, 1 << 10, why);
    if (!status) status = rapt__int_check("limits.target_tokens", l->target_tokens, 0, max, why);
    if (!status) status = rapt__int_check("limits.threads", l->threads, 0, INT32_MAX, why);
    if (!status) status = rapt__int_check("limits.products", (int)l->products, 0, most, why);
    if (!status && (l->products == RAPT_PRODUCTS_OPENBLAS || l->products == RAPT_PRODUCTS_AUTO))
        return rapt__fail(why, RAPT_BAD_ARGUMENT,
                          "limits.products: sessions support neither RAPT_PRODUCTS_OPENBLAS nor "
                          "RAPT_PRODUCTS_AUTO");
    if (!status && reads)
        status = rapt__int_check("limits.source_tokens", l->source_tokens, 1, max, why);
    if (!status && decodes && (l->target_length < 1 || l->target_length > c->positions))
        return rapt__fail(
            why, RAPT_BAD_ARGUMENT,
            "limits.target_length is %d; it must be from 1 to %d, the model's maximum",
            l->target_length, c->positions);
    return status;
}

static struct cache_form cache_form_of(const rapt_session *s)
{
    return (struct cache_form){s->model->config.latent_width > 0, s->limits.bf16_cache != 0};
}

/* Lays out the caches of all layers, each with `panels` panels of keys, and what score functions
   need: packed parameters, distance vectors, relative biases and a history of weights. `history` is
   the number of floats in that history per layer and head. */
static void lay_out_cache_state(rapt_session *s, struct cache_state *state, bool cross,
                                int sequences, size_t panels, size_t history, struct arena *arena)
{
    const rapt_config *c = &s->model->config;
    const struct attention_use which = {.decoder = true, .cross = cross};
    const rapt_attention spec = rapt__attention_of(c, &which);
    size_t layers = (size_t)s->model->layout.decoder.count;
    int slots = s->limits.batch * s->limits.beams;
    bool changes = rapt__score_changes(&spec, false) || rapt__score_changes(&spec, true) ||
                   rapt__locality_centered(&spec) || spec.distances.keys;
    *state = (struct cache_state){.packed_size = changes ? rapt__score_packed(&spec) + LANES : 0};
    state->packed_size = state->packed_size / LANES * LANES;
    state->caches = rapt__arena_take(arena, layers, sizeof *state->caches);
    state->packed = rapt__arena_floats(arena, layers, state->packed_size);
    if (!cross)
        state->distances = rapt__arena_floats(arena, layers, rapt__distances_floats(c, true));
    if (spec.relative.slopes || spec.relative.table) {
        /* Tiles also read the biases of later keys, although the causal mask hides these keys. */
        state->relative_zero = rapt__session_target_capacity(s, 1);
        state->relative_row = 2 * state->relative_zero;
        state->relative =
            rapt__arena_floats(arena, (size_t)spec.heads, (size_t)state->relative_row);
    }
    const struct cache shape = {.sequences = sequences,
                                .key_heads = spec.key_heads,
                                .key_width = rapt__score_width(&spec),
                                .value_width = spec.value_width,
                                .form = cache_form_of(s),
                                .forget_heads = spec.log_forget ? spec.heads : 0,
                                .distance_heads = spec.distances.queries ? spec.heads : 0,
                                .distance_panel = rapt__distance_panel(&spec)};
    bool recurrent = rapt__score_recurrent(&spec);
    if (recurrent) state->history = rapt__arena_take(arena, layers, sizeof *state->history);
    for (size_t i = 0; i < layers; i++) {
        struct cache cache;
        struct attention_history one;
        rapt__cache_layout(state->caches ? &state->caches[i] : &cache, &shape, panels, arena);
        if (recurrent)
            rapt__history_layout(state->history ? &state->history[i] : &one, slots, spec.heads,
                                 history, arena);
    }
}

/* Lays out the states of a recurrent decoder. */
static void lay_out_states(rapt_session *s, int slots, struct arena *arena)
{
    size_t rows = rapt__product((size_t)s->model->layout.decoder.count, (size_t)slots);
    size_t floats = rapt__state_floats(&s->model->config);
    s->self = (struct cache_state){.sequences = slots};
    s->self.states = rapt__arena_floats(arena, rows, floats);
    s->self.spare_states = rapt__arena_floats(arena, rows, floats);
}

/* Lays out the keys and values of monotonic cross-attention and the positions of its heads. */
static void lay_out_monotonic(rapt_session *s, struct arena *arena)
{
    const rapt_config *c = &s->model->config;
    const struct head_rows row = rapt__head_rows(c, true);
    size_t layers = (size_t)s->model->layout.decoder.count;
    struct monotonic_state *m = &s->cross.monotonic;
    s->cross = (struct cache_state){.sequences = s->limits.batch};
    m->starts = s->source_starts;
    m->rows = (size_t)s->limits.source_tokens;
    m->targets = s->limits.batch * s->limits.beams;
    m->keys = rapt__arena_floats(arena, rapt__product(layers, m->rows), (size_t)(row.k + row.v));
    size_t positions = rapt__positions_count(s);
    m->positions = rapt__arena_take(arena, positions, sizeof *m->positions);
    m->spare = rapt__arena_take(arena, positions, sizeof *m->spare);
}

static void lay_out_caches(rapt_session *s, struct arena *arena)
{
    const rapt_limits *l = &s->limits;
    int slots = l->batch * l->beams;
    size_t self =
        rapt__product((size_t)slots, rapt__ceil_div_size((size_t)l->target_length, LANES));
    if (s->model->config.decoder_recurrence)
        lay_out_states(s, slots, arena);
    else
        lay_out_cache_state(s, &s->self, false, slots, self, rapt__product(self, LANES), arena);
    if (s->model->config.kind != RAPT_KIND_ENCODER_DECODER) return;
    if (s->model->config.monotonic) {
        lay_out_monotonic(s, arena);
        return;
    }
    /* Each source may leave its last panel partly empty. */
    size_t tokens = (size_t)l->source_tokens, cross = tokens / LANES + (size_t)l->batch;
    lay_out_cache_state(s, &s->cross, true, l->batch, cross,
                        rapt__product(tokens, (size_t)l->beams), arena);
}

/* Returns the size in bytes of the workspace for the decoder's self- or cross-attention. */
static size_t cached_bytes(const rapt_session *s, bool cross, int threads)
{
    const rapt_config *c = &s->model->config;
    const struct attention_use which = {.decoder = true, .cross = cross};
    rapt_attention spec = rapt__attention_of(c, &which);
    spec.threads = threads;
    if (cross && c->monotonic) return rapt__monotonic_bytes(c, 0, 0, c->positions, false, threads);
    return rapt__cache_workspace(&spec, c->positions, cache_form_of(s));
}

/* Returns the size in bytes of a workspace that is large enough for attention in the encoder, for
   attention over the caches, and for reading weights. */
static size_t workspace_of(const rapt_session *s, int rows)
{
    const rapt_config *c = &s->model->config;
    const rapt_limits *l = &s->limits;
    const bool there[] = {rows > 0, c->kind != RAPT_KIND_ENCODER_ONLY,
                          c->kind == RAPT_KIND_ENCODER_DECODER};
    size_t max = 0;
    for (int i = 0; i < 3; i++) {
        size_t bytes = i == 0 ? rapt__attention_bytes(c, false, l->batch, rows, 0, l->threads)
                       : i == 1 && rapt__decoder_is_linear(c)
                           ? rapt__linear_bytes(c, 0, false, l->threads)
                           : cached_bytes(s, i == 2, l->threads);
        if (there[i]) max = rapt__max_size(max, bytes);
    }
    return rapt__max_size(max, rapt__product(s->weights_workspace, (size_t)l->threads));
}

/* Returns the size in bytes of one thread's workspace for reading the decoder's attention weights:
   a multiple of 64, as every size of an arena is, or SIZE_MAX if it overflows. */
static size_t weights_workspace_of(const rapt_session *s)
{
    const rapt_config *c = &s->model->config;
    const bool there[] = {s->limits.self_weights && c->kind != RAPT_KIND_ENCODER_ONLY,
                          c->kind == RAPT_KIND_ENCODER_DECODER};
    size_t max = 0;
    for (int cross = 0; cross < 2; cross++)
        if (there[cross]) max = rapt__max_size(max, cached_bytes(s, cross, 1));
    return max;
}

/* Lays out enough memory for the alignments of any search. A search with fewer sources may have
   longer targets, so the sizes are maxima over all numbers of sources. */
static void lay_out_record(rapt_session *s, struct arena *arena)
{
    const rapt_limits *l = &s->limits;
    size_t floats = 0, parents = 0, beams = (size_t)l->beams;
    if (!l->alignments || s->model->config.kind != RAPT_KIND_ENCODER_DECODER) return;
    for (int sources = 1; sources <= l->batch; sources++) {
        size_t length = (size_t)rapt__session_target_capacity(s, sources);
        size_t tokens = rapt__min_size((size_t)l->source_tokens,
                                       (size_t)sources * (size_t)s->model->config.positions);
        floats = rapt__max_size(floats, rapt__product(rapt__product(length, beams), tokens));
        parents = rapt__max_size(parents, rapt__product(length + 1, (size_t)sources * beams));
    }
    rapt__record_layout(&s->record, floats, parents, arena);
}

static void lay_out_session(rapt_session *s, struct arena *arena)
{
    const rapt_config *c = &s->model->config;
    const rapt_limits *l = &s->limits;
    size_t batch = (size_t)l->batch, slots = batch * (size_t)l->beams;
    int source = c->kind == RAPT_KIND_DECODER_ONLY ? 0 : l->source_tokens;
    int target = c->kind == RAPT_KIND_ENCODER_ONLY ? 0 : l->target_tokens;
    int longest = l->self_weights ? source : rapt__max(c->positions, GROUP_ROWS);
    int rows = s->encoder_rows = rapt__min(source, longest);
    enum stack_keeps keeps = l->self_weights ? KEEPS_SELF : KEEPS_CROSS;
    rapt__stack_layout(&s->encoder, c, false, rows, 0, keeps, arena);
    rapt__stack_layout(&s->decoder, c, true, target,
                       c->kind == RAPT_KIND_ENCODER_DECODER ? rows : 0, keeps, arena);
    s->weights_rows = l->self_weights ? rapt__min(WEIGHTS_ROWS, rows) : 0;
    s->some_weights = rapt__arena_floats(arena, (size_t)s->weights_rows, (size_t)c->positions);
    s->states = rapt__arena_floats(arena, rows < source ? (size_t)source : 0, (size_t)c->width);
    s->weights_workspace = weights_workspace_of(s);
    s->attention_workspace = rapt__arena_take(arena, 1, workspace_of(s, rows));
    s->pack = rapt__arena_floats(arena, PACK_FLOATS, 1);
    int answers = c->kind != RAPT_KIND_ENCODER_ONLY ? target : c->pooling ? l->batch : source;
    s->logits = rapt__arena_floats(arena, (size_t)answers, (size_t)c->target_vocab);
    s->pooled = rapt__arena_floats(arena, source ? batch : 0, (size_t)c->width);
    s->hidden = rapt__arena_floats(arena, c->pooler ? batch : 0, (size_t)c->width);
    s->group_starts = rapt__arena_take(arena, batch + 1, sizeof(int));
    s->source_starts = rapt__arena_take(arena, batch + 1, sizeof(int));
    s->target_starts = rapt__arena_take(arena, slots + 1, sizeof(int));
    s->past = rapt__arena_take(arena, slots, sizeof(int));
    s->length = rapt__arena_take(arena, slots, sizeof(int));
    s->source_of = rapt__arena_take(arena, slots, sizeof(int));
    s->source_length = rapt__arena_take(arena, slots, sizeof(int));
    s->parents = rapt__arena_take(arena, slots, sizeof(int));
    s->capacity = rapt__arena_take(arena, slots, sizeof(int));
    if (c->kind == RAPT_KIND_ENCODER_ONLY) return;
    lay_out_caches(s, arena);
    rapt__search_layout(&s->search, l, c->target_vocab, arena);
    lay_out_record(s, arena);
}

/* Copies the caller's limits, checks them and fills in defaults. */
static rapt_status read_limits(rapt_limits *own, const rapt_model *model, const rapt_limits *limits,
                               rapt_message *why)
{
    rapt_status status = rapt__struct_read(own, sizeof *own, limits, "rapt_limits", why);
    if (!status) status = check_session_limits(model, own, why);
    if (!status) *own = fill_in(model, own);
    return status;
}

size_t rapt_session_bytes(const rapt_model *model, const rapt_limits *limits)
{
    rapt_session s = {.model = model};
    if (!model || read_limits(&s.limits, model, limits, NULL)) return 0;
    lay_out_session(&s, &s.arena);
    return s.arena.overflow ? 0 : s.arena.used + sizeof s;
}

/* Allocates the arena of a session and lays it out. `raw` means that the memory is not zeroed. */
static rapt_status build(rapt_session *s, rapt_message *why)
{
    s->arena.raw = true;
    lay_out_session(s, &s->arena);
    size_t bytes = s->arena.used;
    if (rapt__arena_reserve(&s->arena, &s->allocator))
        return rapt__fail(why, RAPT_NO_MEMORY, "no memory for a session of %zu bytes", bytes);
    lay_out_session(s, &s->arena);
    for (int i = 0; i <= s->limits.batch; i++) s->source_starts[i] = 0;
    return RAPT_OK;
}

rapt_status rapt_session_create(rapt_session **session, const rapt_model *model,
                                const rapt_limits *limits, const rapt_allocator *allocator,
                                rapt_message *why)
{
    rapt_limits l;
    if (!session || !model)
        return rapt__fail(why, RAPT_BAD_ARGUMENT, "%s is NULL", session ? "model" : "session");
    rapt_status status = read_limits(&l, model, limits, why);
    if (status) return status;
    rapt_session *s = rapt__alloc(allocator, sizeof *s);
    if (!s) return rapt__fail(why, RAPT_NO_MEMORY, "no memory for a session");
    *s = (rapt_session){.allocator = rapt__allocator(allocator), .model = model, .limits = l};
    status = build(s, why);
    if (status)
        rapt_session_free(s);
    else
        *session = s;
    return status;
}

void rapt_session_free(rapt_session *session)
{
    if (!session) return;
    rapt_allocator allocator = session->allocator;
    rapt__listed_rows_free(&session->listed, session);
    rapt__terms_end(session);
    rapt__arena_free(&session->arena, &allocator);
    rapt__free(&allocator, session, sizeof *session);
}
