/* sublayer.c - the sublayers that make up a layer: self-attention, cross-attention and the
   position-wise feed-forward network (Vaswani et al. 2017, sections 3.2 and 3.3). In a decoder,
   linear attention or a recurrent unit (recurrence.c) may replace self-attention, and monotonic
   attention (monotonic.c) may replace cross-attention.

       self(x)        = heads(x Wq', x Wk', x Wv') Wo'      Wq, Wk, Wv in one matrix
       cross(x)       = heads(x Wq', z Wk', z Wv') Wo'      z: the encoder's output
       feedforward(x) = activation(x W1' + b1) W2' + b2
       gated(x)       = (activation(x W1' + b1) * (x V' + c)) W2' + b2     W1, V in one matrix

   The projections of attention also have biases, which are omitted here. Queries and keys may be
   normalized, a head may be the difference of two attention maps, the outputs of heads may be
   gated, and a decoder's self-attention may have forget gates (heads.c). Keys and values may be
   computed from latent rows (latent.c), and scores may depend on distance vectors (positions.c).
   The operator * multiplies element by element. Gated feed-forward layers follow Shazeer 2020. */
#include "model/sublayer.h"

static const struct stack_offsets *stack_offsets_of(const struct stack *s)
{
    return s->decoder ? &s->model->layout.decoder : &s->model->layout.encoder;
}

static const struct layer_offsets *layer_of(const struct step *s)
{
    return &stack_offsets_of(s->stack)->layers[s->layer];
}

static struct linear linear_of(const struct step *s, const struct linear_offsets *offset)
{
    return rapt__linear_at(&s->stack->model->layout, offset, s->stack->block);
}

void rapt__sublayer_project(const struct exec_context *c, const struct step *s,
                            const struct linear_offsets *offset, const float *x, int rows, float *y)
{
    struct linear l = linear_of(s, offset);
    rapt__linear_forward(c, &l, x, l.in, rows, y, l.out, ACTIVATION_NONE, NULL);
}

void rapt__sublayer_project_backward(const struct exec_context *c, const struct step *s,
                                     const struct linear_offsets *offset, const float *x,
                                     const float *dy, int rows, float *dx, bool add,
                                     float *gradients)
{
    struct linear l = linear_of(s, offset);
    rapt__linear_backward_weight(c, &l, x, l.in, dy, l.out, rows, gradients + offset->weight,
                                 offset->bias ? gradients + offset->bias : NULL);
    if (dx) rapt__linear_backward_input(c, &l, dy, l.out, rows, dx, l.in, add);
}

/* ---- attention ---- */

struct heads rapt__heads_at(const rapt_config *c, bool cross, float *q, float *kv, float *values)
{
    const struct head_rows rows = rapt__head_rows(c, cross);
    ptrdiff_t value = rows.v ? rows.k : rows.k - c->latent_width, row = rows.k + rows.v;
    float *k = cross ? kv : q ? q + rows.q : NULL;
    ptrdiff_t all = cross ? row : rows.q + row;
    struct heads h = {q, k, k ? k + value : NULL, cross ? rows.q : all, all, all};
    if (values) h.v = values;
    if (values && rows.v) h.v_row = (ptrdiff_t)2 * rows.v;
    return h;
}

struct heads rapt__heads_of(const struct stack *s, bool cross, const struct sublayer *u)
{
    const rapt_config *c = &s->model->config;
    struct heads h = rapt__heads_at(c, cross, u->q, u->kv, u->values);
    if (u->latent_q) h.q = u->latent_q, h.q_row = (ptrdiff_t)c->heads * rapt__head_rows(c, cross).k;
    return h;
}

/* Returns the array that attention writes to: u->maps if the outputs of heads are computed from
   that array, otherwise u->mixed. */
static float *attended(const struct sublayer *u)
{
    return u->maps ? u->maps : u->mixed;
}

const struct attention_offsets *rapt__offsets_of(const struct stack *s, int layer, bool cross)
{
    const struct layer_offsets *at = &stack_offsets_of(s)->layers[layer];
    return cross ? &at->cross : &at->self;
}

rapt_attention rapt__attention_spec(const struct stack *s, int layer, bool cross, bool learning)
{
    const struct stack_offsets *stack = stack_offsets_of(s);
    const struct attention_use which = {.decoder = s->decoder,
                                        .cross = cross,
                                        .learning = learning,
                                        .offset = &rapt__offsets_of(s, layer, cross)->score,
                                        .all = rapt__offsets_of(s, layer, cross),
                                        .block = s->block,
                                        .buckets = s->model->distance_buckets,
                                        .relative = stack->relative ? s->block + stack->relative
                                                                    : s->model->slopes};
    rapt_attention a = rapt__attention_of(&s->model->config, &which);
    a.threads = s->threads;
    return a;
}

static rapt_attention problem_of(const struct step *s, bool cross)
{
    const struct pass *p = s->pass;
    const struct rows *rows = &p->rows, *keys = cross ? &p->source : rows;
    struct heads h = rapt__heads_of(s->stack, cross, s->u);
    rapt_attention a = rapt__attention_spec(s->stack, s->layer, cross, p->learning);
    a.batch = rows->batch, a.queries = rows->longest, a.keys = keys->longest;
    a.q = (rapt_stride){0, a.key_width, h.q_row};
    a.k = (rapt_stride){0, a.key_width, h.k_row};
    a.v = (rapt_stride){0, a.value_width, h.v_row};
    a.query_starts = rows->starts, a.key_starts = keys->starts;
    a.log_forget = s->u->log_forget;
    if (!cross)
        rapt__distances_use(&s->stack->model->config, s->stack->decoder, s->u->distances, &a);
    struct dropout d =
        rapt__site(&p->drop, p->drop.attention, s->stack->decoder, s->index, SITE_ATTENTION);
    a.dropout = p->drop.attention;
    a.seed = d.key;
    rapt__attention_learning(&a, p);
    return a;
}

static void attention_forward(const struct exec_context *c, const struct step *s, bool cross)
{
    const struct attention_offsets *offset = rapt__offsets_of(s->stack, s->layer, cross);
    const struct pass *p = s->pass;
    rapt__sublayer_project(c, s, cross ? &offset->q : &offset->qkv, s->in, p->rows.count, s->u->q);
    rapt__queries_normalize(c, s, cross);
    rapt__latent_queries(c, s, cross);
    if (!cross) rapt__latent_normalize(c, s->stack, s->layer, false, s->u, p->rows.count);
    rapt__forget_gates_forward(c, s);
    if (!cross) rapt__values_repeat(c, s->stack, false, s->u, p->rows.count);
    if (p->caches) {
        rapt__attend_cached(c, s, cross);
    } else {
        if (cross) rapt__sublayer_project(c, s, &offset->kv, p->states, p->source.count, s->u->kv);
        if (cross) rapt__source_keys_normalize(c, s->stack, s->layer, s->u, p->source.count);
        if (cross) rapt__latent_normalize(c, s->stack, s->layer, true, s->u, p->source.count);
        if (cross) rapt__values_repeat(c, s->stack, true, s->u, p->source.count);
        if (!cross) rapt__distances_project(c, s->stack, s->layer, s->u->distances);
        struct heads h = rapt__heads_of(s->stack, cross, s->u);
        rapt_attention a = problem_of(s, cross);
        const rapt_attention_saved saved = {.chosen = s->u->chosen, .statistics = s->u->statistics};
        rapt__attention_forward(c->team, &a, h.q, h.k, h.v, attended(s->u), &saved,
                                s->stack->attention_workspace);
    }
    rapt__maps_subtract(c, s, cross);
    rapt__latent_values(c, s, cross);
    const float *mixed = rapt__outputs_gate(c, s, cross);
    rapt__sublayer_project(c, s, &offset->out, mixed, p->rows.count, s->u->y);
}

void rapt__encoder_weights(struct team *team, const struct stack *s, const struct rows *all,
                           int layer, int map, int sequence, int first, int rows, float *weights)
{
    const struct pass pass = {.rows = *all};
    const struct step step = {
        .stack = s, .pass = &pass, .layer = layer, .u = rapt__sublayer_of(s, layer, PART_SELF)};
    const rapt_attention a = problem_of(&step, false);
    struct heads h = rapt__heads_of(s, false, step.u);
    const rapt_attention_saved saved = {.chosen = step.u->chosen, .statistics = step.u->statistics};
    rapt__attention_weights(team, &a, h.q, h.k, &saved, sequence, map, first, rows, weights,
                            s->attention_workspace);
}

static void attention_backward(const struct exec_context *c, const struct step *s, bool cross,
                               const float *dy, float *din, bool add, float *dstates,
                               float *gradients)
{
    const struct attention_offsets *offset = rapt__offsets_of(s->stack, s->layer, cross);
    struct stack_memory *m = s->stack->memory;
    int rows = s->pass->rows.count, sources = s->pass->source.count;
    const rapt_config *config = &s->stack->model->config;
    struct heads h = rapt__heads_of(s->stack, cross, s->u);
    struct heads d = rapt__heads_at(config, cross, m->dq, m->dkv, m->dvalues);
    float *dq = m->dlatent_q ? m->dlatent_q : d.q;
    bool gated = config->output_gate != RAPT_OUTPUT_GATE_NONE;
    rapt__sublayer_project_backward(c, s, &offset->out, gated ? s->u->gated : s->u->mixed, dy, rows,
                                    gated ? m->dgated : m->dmixed, false, gradients);
    add = rapt__outputs_gate_backward(c, s, cross, din, add, gradients);
    rapt__maps_backward(c, s, cross, gradients);
    rapt__latent_values_backward(c, s, cross, gradients);
    rapt__fill(c, m->dq, (size_t)rows * (size_t)d.q_row, 0);
    if (cross) rapt__fill(c, m->dkv, (size_t)sources * (size_t)d.k_row, 0);
    if (s->u->forget) rapt__fill(c, m->dforget, (size_t)rows * (size_t)rapt__maps(config), 0);
    rapt_attention a = problem_of(s, cross);
    rapt_gradients to = rapt__gradients_of(&offset->score, gradients);
    to.q = dq, to.k = d.k, to.v = d.v;
    size_t relative = cross ? 0 : stack_offsets_of(s->stack)->relative;
    if (relative && a.relative.table) to.table = gradients + relative;
    if (relative && a.relative.slopes) to.slopes = gradients + relative;
    if (a.log_forget) to.log_forget = m->dforget;
    if (!cross) rapt__distances_gradients(c, s, gradients, &to);
    const rapt_attention_saved saved = {.chosen = s->u->chosen, .statistics = s->u->statistics};
    const rapt_reinforce reinforce = {
        .reward = s->pass->reward, .baseline = s->pass->baseline, .entropy = s->pass->entropy};
    bool guided = cross && s->layer + 1 == config->alignment_layer;
    const struct weight_losses losses = {guided ? s->pass->losses.guide : NULL,
                                         cross ? s->pass->losses.coverage : NULL};
    rapt__attention_backward(c->team, &a, h.q, h.k, h.v, attended(s->u), &saved,
                             m->dmaps ? m->dmaps : m->dmixed, &reinforce, &losses, &to,
                             s->stack->attention_workspace);
    rapt__values_backward(c, s, cross);
    rapt__latent_backward(c, s, cross, gradients);
    if (!cross) rapt__distances_project_backward(c, s, gradients);
    rapt__head_norms_backward(c, s, cross, gradients);
    add = rapt__forget_gates_backward(c, s, din, add, gradients);
    if (cross)
        rapt__sublayer_project_backward(c, s, &offset->kv, s->pass->states, m->dkv, sources,
                                        dstates, true, gradients);
    rapt__sublayer_project_backward(c, s, cross ? &offset->q : &offset->qkv, s->in, m->dq, rows,
                                    din, add, gradients);
}

/* ---- feed-forward ---- */

static struct dropout hidden_site(const struct step *s)
{
    return rapt__site(&s->pass->drop, s->pass->drop.hidden, s->stack->decoder, s->index,
                      SITE_HIDDEN);
}

static enum activation activation_of(const rapt_config *config)
{
    static const enum activation of[] = {[RAPT_ACTIVATION_RELU] = ACTIVATION_RELU,
                                         [RAPT_ACTIVATION_GELU] = ACTIVATION_GELU,
                                         [RAPT_ACTIVATION_SILU] = ACTIVATION_SILU,
                                         [RAPT_ACTIVATION_GELU_TANH] = ACTIVATION_GELU_TANH};
    return of[config->activation];
}

static void feedforward_forward(const struct exec_context *c, const struct step *s)
{
    const struct feedforward_offsets *offset = &layer_of(s)->feedforward;
    const rapt_config *config = &s->stack->model->config;
    int rows = s->pass->rows.count, F = config->ffn_width;
    struct linear in = linear_of(s, &offset->in);
    rapt__linear_forward(c, &in, s->in, in.in, rows, s->u->hidden, in.out,
                         config->ffn_gated ? ACTIVATION_NONE : activation_of(config), s->u->active);
    if (config->ffn_gated)
        rapt__gate_forward(c, activation_of(config), s->u->hidden, rows, F, s->u->active);
    struct dropout d = hidden_site(s);
    if (d.below) rapt__dropout_rows(c, &d, s->u->active, rows, F, s->u->active);
    rapt__sublayer_project(c, s, &offset->out, s->u->active, rows, s->u->y);
}

static void feedforward_backward(const struct exec_context *c, const struct step *s,
                                 const float *dy, float *din, bool add, float *gradients)
{
    const struct feedforward_offsets *offset = &layer_of(s)->feedforward;
    const rapt_config *config = &s->stack->model->config;
    const struct stack_memory *m = s->stack->memory;
    float *dhidden = m->dhidden, *dactive = config->ffn_gated ? m->dactive : dhidden;
    int rows = s->pass->rows.count, F = config->ffn_width;
    rapt__sublayer_project_backward(c, s, &offset->out, s->u->active, dy, rows, dactive, false,
                                    gradients);
    struct dropout d = hidden_site(s);
    if (d.below) rapt__dropout_rows(c, &d, dactive, rows, F, dactive);
    if (config->ffn_gated)
        rapt__gate_backward(c, activation_of(config), s->u->hidden, dactive, rows, F, dhidden);
    else
        rapt__activate_backward(c, activation_of(config), s->u->hidden, dactive, dhidden,
                                (size_t)rows * (size_t)F);
    rapt__sublayer_project_backward(c, s, &offset->in, s->in, dhidden, rows, din, add, gradients);
}

void rapt__sublayer_forward(const struct exec_context *c, const struct step *s, enum part part)
{
    if (part == PART_FEEDFORWARD)
        feedforward_forward(c, s);
    else if (part == PART_RECURRENT)
        rapt__recurrent_forward(c, s);
    else if (part == PART_LINEAR)
        rapt__linear_sublayer_forward(c, s);
    else if (part == PART_CROSS && s->stack->model->config.monotonic)
        rapt__monotonic_sublayer_forward(c, s);
    else
        attention_forward(c, s, part == PART_CROSS);
}

void rapt__sublayer_backward(const struct exec_context *c, const struct step *s, enum part part,
                             const float *dy, float *din, bool add, float *dstates,
                             float *gradients)
{
    if (part == PART_FEEDFORWARD)
        feedforward_backward(c, s, dy, din, add, gradients);
    else if (part == PART_RECURRENT)
        rapt__recurrent_backward(c, s, dy, din, add, gradients);
    else if (part == PART_LINEAR)
        rapt__linear_sublayer_backward(c, s, dy, din, add, gradients);
    else if (part == PART_CROSS && s->stack->model->config.monotonic)
        rapt__monotonic_sublayer_backward(c, s, dy, din, add, dstates, gradients);
    else
        attention_backward(c, s, part == PART_CROSS, dy, din, add, dstates, gradients);
}
