/* monotonic.c - monotonic attention, which replaces cross-attention in a decoder (`monotonic`):

       q, q2 = x Wq' + bq         k, v, k2 = z Wkv' + bkv        z: the encoder's output
       y = gate(attention(q, k, v, q2, k2, offset)) Wo' + bo

   q2 and k2 are the queries and keys of the softmax in modes that have one. Trainers and blocks
   compute expected outputs. In a session, each head stops at one key per query, and the session
   stores the position of every head for each target. The source's keys and values are stored row by
   row instead of in panels, because a head that moves forward reads few of them per query. */
#include "model/model.h"
#include "model/sublayer.h"

/* ---- configuration ---- */

bool rapt__monotonic_is_soft(const rapt_config *c)
{
    return c->monotonic > RAPT_CROSS_MONOTONIC_HARD;
}

rapt_status rapt__monotonic_check(const rapt_config *c, rapt_message *why)
{
    static const enum config_field meaningless[] = {
        CONFIG_cross_score,  CONFIG_cross_locality, CONFIG_cross_normalizer, CONFIG_score_cap,
        CONFIG_differential, CONFIG_latent_width,   CONFIG_talking_heads,    CONFIG_query_key_norm};
    const char *kind = rapt_config_field_at(CONFIG_monotonic)->word((int)c->monotonic);
    if (c->monotonic_chunk && c->monotonic != RAPT_CROSS_MONOTONIC_CHUNK)
        return rapt__fail(why, RAPT_BAD_ARGUMENT,
                          "monotonic_chunk is %d, but monotonic is %s, not chunk",
                          c->monotonic_chunk, kind);
    if (!c->monotonic) return RAPT_OK;
    if (c->kind != RAPT_KIND_ENCODER_DECODER)
        return rapt__fail(why, RAPT_BAD_ARGUMENT,
                          "monotonic is %s, but the model has no cross-attention", kind);
    for (size_t i = 0; i < sizeof meaningless / sizeof *meaningless; i++) {
        const rapt_config_field *f = rapt_config_field_at((int)meaningless[i]);
        if (rapt__config_get(c, (int)meaningless[i]))
            return rapt__fail(why, RAPT_BAD_ARGUMENT,
                              "%s must be %s with monotonic %s, which computes stops instead of "
                              "weights from scores",
                              f->name, f->word ? f->word(0) : "0", kind);
    }
    return RAPT_OK;
}

/* ---- attention ---- */

/* Returns the attention problem. The caller must set the numbers of sequences and rows. The learned
   offsets are at block + offset; `block` may be NULL if only sizes are needed. */
static rapt_monotonic_attention spec_of(const rapt_config *c, const float *block, size_t offset)
{
    int K = rapt__head_width(c);
    const struct head_rows rows = rapt__head_rows(c, true);
    const rapt_stride query = {0, K, rows.q}, key = {0, K, (ptrdiff_t)rows.k + rows.v};
    return (rapt_monotonic_attention){.size = sizeof(rapt_monotonic_attention),
                                      .heads = c->heads,
                                      .key_heads = rapt__key_heads(c),
                                      .key_width = K,
                                      .value_width = K,
                                      .mode = (rapt_monotonic)(c->monotonic - 1),
                                      .q = query,
                                      .k = key,
                                      .v = key,
                                      .chunk_q = query,
                                      .chunk_k = key,
                                      .out = {0, K, (ptrdiff_t)K * c->heads},
                                      .offset = block ? block + offset : NULL,
                                      .chunk = rapt__config_int(c, CONFIG_monotonic_chunk),
                                      .last_stops = 1};
}

size_t rapt__monotonic_bytes(const rapt_config *c, int batch, int rows, int keys, bool learning,
                             int threads)
{
    rapt_monotonic_attention a = spec_of(c, NULL, 0);
    a.batch = batch;
    a.queries = c->positions ? rapt__min(rows, c->positions) : rows;
    a.keys = c->positions ? rapt__min(keys, c->positions) : keys;
    a.threads = threads;
    return rapt__bytes_or_max(rapt__monotonic_workspace(&a, learning));
}

/* Sets the queries, keys and values of a call, given q, the projections of the targets, and kv, the
   projections of the sources. */
static void read_rows(const rapt_config *c, const float *q, const float *kv,
                      struct monotonic_call *call)
{
    const struct head_rows rows = rapt__head_rows(c, true);
    call->q = q, call->k = kv, call->v = kv + rows.k;
    if (!rapt__monotonic_is_soft(c)) return;
    call->chunk_q = q + rows.q / 2;
    call->chunk_k = kv + 2 * (ptrdiff_t)rows.k;
}

/* Returns a call for these target rows. The caller must set the source. */
static struct monotonic_call call_of(const struct stack *s, int layer, const struct rows *rows)
{
    const struct attention_offsets *offset = rapt__offsets_of(s, layer, true);
    struct monotonic_call call = {
        .a = spec_of(&s->model->config, s->block, offset->monotonic_offset),
        .workspace = s->attention_workspace};
    call.a.batch = rows->batch;
    call.a.queries = rows->longest;
    call.a.query_starts = rows->starts;
    call.a.threads = s->threads;
    return call;
}

/* ---- training ---- */

static struct monotonic_call learning_call(const struct step *s)
{
    const struct pass *p = s->pass;
    const struct dropout d =
        rapt__site(&p->drop, p->drop.attention, s->stack->decoder, s->index, SITE_ATTENTION);
    struct monotonic_call call = call_of(s->stack, s->layer, &p->rows);
    call.a.keys = p->source.longest;
    call.a.key_starts = p->source.starts;
    call.a.noise = p->learning ? p->noise : 0;
    call.a.seed = d.key;
    read_rows(&s->stack->model->config, s->u->q, s->u->kv, &call);
    return call;
}

/* Computes the stack's dq and dkv, the gradients of the projections, from its dmixed, and adds the
   gradient of the learned offsets. */
static void heads_backward(const struct exec_context *c, const struct step *s, float *gradients)
{
    const rapt_config *config = &s->stack->model->config;
    const struct stack_memory *m = s->stack->memory;
    const struct head_rows rows = rapt__head_rows(config, true);
    struct monotonic_call call = learning_call(s);
    rapt__fill(c, m->dq, (size_t)s->pass->rows.count * (size_t)rows.q, 0);
    rapt__fill(c, m->dkv, (size_t)s->pass->source.count * (size_t)(rows.k + rows.v), 0);
    call.dout = m->dmixed;
    call.d.q = m->dq, call.d.k = m->dkv, call.d.v = m->dkv + rows.k;
    if (rapt__monotonic_is_soft(config)) {
        call.d.chunk_q = m->dq + rows.q / 2;
        call.d.chunk_k = m->dkv + 2 * (ptrdiff_t)rows.k;
    }
    call.d.offset = gradients + rapt__offsets_of(s->stack, s->layer, true)->monotonic_offset;
    rapt__monotonic_backward(c->team, &call);
}

void rapt__monotonic_sublayer_backward(const struct exec_context *c, const struct step *s,
                                       const float *dy, float *din, bool add, float *dstates,
                                       float *gradients)
{
    const struct attention_offsets *offset = rapt__offsets_of(s->stack, s->layer, true);
    const struct stack_memory *m = s->stack->memory;
    int rows = s->pass->rows.count, sources = s->pass->source.count;
    bool gated = s->stack->model->config.output_gate != RAPT_OUTPUT_GATE_NONE;
    rapt__sublayer_project_backward(c, s, &offset->out, gated ? s->u->gated : s->u->mixed, dy, rows,
                                    gated ? m->dgated : m->dmixed, false, gradients);
    add = rapt__outputs_gate_backward(c, s, true, din, add, gradients);
    heads_backward(c, s, gradients);
    rapt__sublayer_project_backward(c, s, &offset->kv, s->pass->states, m->dkv, sources, dstates,
                                    true, gradients);
    rapt__sublayer_project_backward(c, s, &offset->q, s->in, m->dq, rows, din, add, gradients);
}

/* ---- inference ---- */

/* Returns the keys and values that a layer computed from all sources. */
static float *source_of(const rapt_config *c, const struct monotonic_state *state, int layer)
{
    const struct head_rows rows = rapt__head_rows(c, true);
    return state->keys + (size_t)layer * state->rows * (size_t)(rows.k + rows.v);
}

static struct monotonic_call cached_call(const struct stack *s, int layer, const struct rows *rows,
                                         const struct stack_caches *caches)
{
    const rapt_config *c = &s->model->config;
    const struct monotonic_state *state = &caches->cross.monotonic;
    const struct sublayer *u = rapt__sublayer_of(s, layer, PART_CROSS);
    struct monotonic_call call = call_of(s, layer, rows);
    call.a.keys = c->positions;
    call.a.key_starts = state->starts;
    call.source = caches->source_of;
    call.positions = state->positions + (ptrdiff_t)layer * state->targets * c->heads;
    call.stops = u->chosen;
    read_rows(c, u->q, source_of(c, state, layer), &call);
    return call;
}

void rapt__monotonic_append(const struct exec_context *c, const struct stack *s, int layer,
                            const struct cache_state *state, const float *states, int rows,
                            const int *starts)
{
    const struct linear project =
        rapt__linear_at(&s->model->layout, &rapt__offsets_of(s, layer, true)->kv, s->block);
    int first = 0;
    while (first < state->sequences && starts[first + 1] == 0) first++;
    if (rows == 0) return;
    float *to = source_of(&s->model->config, &state->monotonic, layer) +
                (ptrdiff_t)state->monotonic.starts[first] * project.out;
    rapt__linear_forward(c, &project, states, project.in, rows, to, project.out, ACTIVATION_NONE,
                         NULL);
}

void rapt__monotonic_stop_weights(const struct stack *s, const struct rows *rows,
                                  const struct stack_caches *caches, int layer, int head,
                                  int sequence, int row, float share, float *weights)
{
    const struct monotonic_call call = cached_call(s, layer, rows, caches);
    rapt__monotonic_step_weights(&call, sequence, row, head, share, weights);
}

void rapt__monotonic_sublayer_forward(const struct exec_context *c, const struct step *s)
{
    const struct attention_offsets *offset = rapt__offsets_of(s->stack, s->layer, true);
    const struct pass *p = s->pass;
    rapt__sublayer_project(c, s, &offset->q, s->in, p->rows.count, s->u->q);
    if (!p->caches) rapt__sublayer_project(c, s, &offset->kv, p->states, p->source.count, s->u->kv);
    struct monotonic_call call =
        p->caches ? cached_call(s->stack, s->layer, &p->rows, p->caches) : learning_call(s);
    call.out = s->u->mixed;
    if (p->caches)
        rapt__monotonic_step(c->team, &call);
    else
        rapt__monotonic_forward(c->team, &call);
    const float *mixed = rapt__outputs_gate(c, s, true);
    rapt__sublayer_project(c, s, &offset->out, mixed, p->rows.count, s->u->y);
}
