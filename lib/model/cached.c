/* cached.c - the decoder's attention at inference. The keys of new tokens or of a new source,
   projected first if the score projects keys, are appended to a cache together with the values.
   Queries then attend to the cache. Also computes attention weights from the queries and the
   cache. */
#include "model/sublayer.h"

static float *packed_of(const struct cache_state *state, int layer)
{
    return state->packed ? state->packed + (size_t)layer * state->packed_size : NULL;
}

static float *distances_of(const struct stack *s, const struct cache_state *state, int layer)
{
    size_t size = rapt__distances_floats(&s->model->config, true);
    return state->distances ? state->distances + (size_t)layer * size : NULL;
}

/* Returns the attention problem of a layer. Its numbers of rows and strides of q, k and v remain 0;
   struct cache and struct cached_queries contain them instead. */
static rapt_attention cached_spec(const struct stack *s, const struct cache_state *state, int layer,
                                  bool cross)
{
    rapt_attention spec = rapt__attention_spec(s, layer, cross, false);
    if (state->distances)
        rapt__distances_use(&s->model->config, true, distances_of(s, state, layer), &spec);
    return spec;
}

void rapt__scores_pack(const struct exec_context *c, const struct stack *s,
                       const struct cache_state *state, bool cross)
{
    struct team *team = c->team;
    int layers = s->model->layout.decoder.count;
    for (int l = 0; state->distances && l < layers; l++)
        rapt__distances_project(c, s, l, distances_of(s, state, l));
    for (int l = 0; state->packed && l < layers; l++) {
        const rapt_attention spec = cached_spec(s, state, l, cross);
        rapt__score_pack(team, &spec, packed_of(state, l));
    }
    if (!state->relative) return;
    const rapt_attention spec = rapt__attention_spec(s, 0, cross, false);
    rapt__relative_fill(team, &spec, state->relative_row, state->relative_zero, state->relative);
}

/* Appends h->k and h->v to the cache of a layer. Unless projected_keys is NULL, the score first
   projects the keys into that array. `positions` holds the position of the first new key of each
   sequence; NULL means that all are 0. */
static void cached_append(struct team *team, const rapt_attention *spec,
                          const struct cache_state *state, int layer, const int *positions,
                          const int *starts, const struct heads *h, float *projected_keys)
{
    struct cache *cache = &state->caches[layer];
    ptrdiff_t K = spec->key_width, W = cache->key_width;
    const float *k = h->k;
    ptrdiff_t k_row = h->k_row;
    if (projected_keys) {
        const struct rows_given rows = {.sequences = cache->sequences,
                                        .starts = starts,
                                        .positions = positions,
                                        .x = h->k,
                                        .x_head = K,
                                        .x_row = h->k_row,
                                        .y = projected_keys,
                                        .y_head = W,
                                        .y_row = W * cache->key_heads};
        rapt__score_keys(team, spec, packed_of(state, layer), &rows);
        k = projected_keys, k_row = rows.y_row;
    }
    rapt__cache_append(team, cache, starts, k, k_row, h->v, h->v_row);
}

void rapt__cross_append(const struct exec_context *c, const struct stack *s, int layer,
                        const struct cache_state *state, const float *states, int rows,
                        const int *starts)
{
    if (s->model->config.monotonic) {
        rapt__monotonic_append(c, s, layer, state, states, rows, starts);
        return;
    }
    const struct sublayer *u = rapt__sublayer_of(s, 0, PART_CROSS);
    const rapt_attention spec = rapt__attention_spec(s, layer, true, false);
    struct linear project =
        rapt__linear_at(&s->model->layout, &rapt__offsets_of(s, layer, true)->kv, s->block);
    struct heads h = rapt__heads_at(&s->model->config, true, NULL, u->kv, u->values);
    rapt__linear_forward(c, &project, states, project.in, rows, u->kv, project.out, ACTIVATION_NONE,
                         NULL);
    rapt__source_keys_normalize(c, s, layer, u, rows);
    rapt__latent_normalize(c, s, layer, true, u, rows);
    rapt__values_repeat(c, s, true, u, rows);
    cached_append(c->team, &spec, state, layer, NULL, starts, &h, u->projected_keys);
}

/* Computes the inputs that attention to a cache derives from the queries: their projections, their
   products with distance vectors, and the centers of local-p. */
static void prepare_queries(struct team *team, const struct step *s, const rapt_attention *spec,
                            const struct cache_state *state, const struct heads *h)
{
    const struct pass *p = s->pass;
    ptrdiff_t K = spec->key_width, W = state->caches[s->layer].key_width, H = spec->heads;
    const float *packed = packed_of(state, s->layer);
    struct rows_given rows = {.sequences = p->rows.batch,
                              .starts = p->rows.starts,
                              .positions = p->caches->past,
                              .x = h->q,
                              .x_head = K,
                              .x_row = h->q_row,
                              .y = s->u->projected_q,
                              .y_head = W,
                              .y_row = H * W};
    if (s->u->projected_q) rapt__score_queries(team, spec, packed, &rows);
    rows.y = s->u->by_query;
    if (s->u->by_query) rapt__score_distances(team, spec, packed, &rows);
    rows.y = s->u->center_hidden;
    if (s->u->centers) rapt__score_centers(team, spec, packed, &rows, state->counts, s->u->centers);
}

static struct cached_queries queries_of(const struct stack *s, const rapt_attention *spec,
                                        const struct rows *rows, const struct stack_caches *caches,
                                        const struct sublayer *u, int layer, bool cross)
{
    const struct cache_state *state = cross ? &caches->cross : &caches->self;
    struct heads h = rapt__heads_of(s, cross, u);
    struct cached_queries q = {.spec = spec,
                               .count = rows->batch,
                               .starts = rows->starts,
                               .sequence = cross ? caches->source_of : NULL,
                               .positions = caches->past,
                               .q = h.q,
                               .q_row = h.q_row,
                               .centers = u->centers,
                               .relative = state->relative,
                               .relative_row = state->relative_row,
                               .relative_zero = state->relative_zero,
                               .by_query = u->by_query,
                               .out = u->maps ? u->maps : u->mixed,
                               .out_row = spec->out.row,
                               .statistics = u->statistics};
    if (state->history) q.history = &state->history[layer];
    if (u->projected_q)
        q.q = u->projected_q, q.q_row = (ptrdiff_t)spec->heads * state->caches[0].key_width;
    return q;
}

void rapt__attend_cached(const struct exec_context *c, const struct step *s, bool cross)
{
    const struct stack_caches *caches = s->pass->caches;
    const struct rows *rows = &s->pass->rows;
    const struct cache_state *state = cross ? &caches->cross : &caches->self;
    const rapt_attention spec = cached_spec(s->stack, state, s->layer, cross);
    struct heads h = rapt__heads_of(s->stack, cross, s->u);
    if (!cross)
        cached_append(c->team, &spec, state, s->layer, caches->past, rows->starts, &h,
                      s->u->projected_keys);
    if (!cross && spec.distances.queries)
        rapt__cache_distances(c->team, &state->caches[s->layer], &spec, rows->starts, h.k, h.k_row,
                              s->stack->attention_workspace);
    if (s->u->log_forget)
        rapt__cache_forget(c->team, &state->caches[s->layer], rows->starts, s->u->log_forget);
    prepare_queries(c->team, s, &spec, state, &h);
    struct cached_queries q = queries_of(s->stack, &spec, rows, caches, s->u, s->layer, cross);
    rapt__cache_attend(c->team, &state->caches[s->layer], &q, s->stack->attention_workspace);
}

void rapt__decoder_weights(const struct stack *s, const struct rows *rows,
                           const struct stack_caches *caches, bool cross, int layer, int head,
                           int sequence, int row, float share, float *weights)
{
    if (cross && s->model->config.monotonic) {
        rapt__monotonic_stop_weights(s, rows, caches, layer, head, sequence, row, share, weights);
        return;
    }
    const struct sublayer *u = rapt__sublayer_of(s, layer, cross ? PART_CROSS : PART_SELF);
    const struct cache_state *state = cross ? &caches->cross : &caches->self;
    const rapt_attention spec = cached_spec(s, state, layer, cross);
    struct cached_queries q = queries_of(s, &spec, rows, caches, u, layer, cross);
    const rapt_config *c = &s->model->config;
    for (int i = 0; i < rapt__maps(c) / c->heads; i++) {
        float of_map;
        int map = rapt__map_of(s, layer, cross, head, i, &of_map);
        rapt__cache_weights(&state->caches[layer], &q, sequence, row, map, of_map * share, weights,
                            s->attention_workspace);
    }
}
