/* recurrence.c - the sublayers that replace self-attention in a decoder (decoder_recurrence).
   Linear attention:

       q, k, v = silu(x Wqkv' + b)       decay = sigmoid(x Wf' + bf), rate = sigmoid(x Wr')
       y = gate(norm(attention(q, k, v, decay, rate))) Wo' + bo

   Each head of q and k is divided by its L2 norm, and `norm` is the RMSNorm of each head.
   RAPT_RECURRENCE_LINEAR omits SiLU and all of these norms, and applies the feature map elu + 1
   instead. Only some kinds have decays or rates. Trainers and blocks process rows in chunks.
   Sessions store the state of each head between calls and process rows one by one, so that results
   are bit-identical however a target is split across calls.

   The other sublayer is the simpler simple recurrent unit, or SSRU (Kim et al. 2019, section 3.1;
   Marian's `ssru`). Its cells are also stored between calls:

       c[t] = f[t] c[t-1] + (1 - f[t]) x[t] W',  f = sigmoid(x V' + b),  y = max(c, 0) */
#include "model/sublayer.h"

/* ---- linear attention ---- */

/* Placeholder for arrays that call_of sets, or that are never read because only sizes are computed.
   NULL would mean that the problem has no such array. */
static const float unread[1];

/* Describes the linear attention of a decoder layer. The caller must set the numbers of sequences
   and rows. */
static rapt_linear_attention linear_spec(const rapt_config *c)
{
    int K = rapt__head_width(c), G = rapt__key_heads(c);
    const rapt_stride row = {0, K, (ptrdiff_t)K * (c->heads + 2 * G)};
    const bool elu = c->decoder_recurrence == RAPT_RECURRENCE_LINEAR;
    return (rapt_linear_attention){.size = sizeof(rapt_linear_attention),
                                   .heads = c->heads,
                                   .key_heads = G,
                                   .key_width = K,
                                   .value_width = K,
                                   .q = row,
                                   .k = row,
                                   .v = row,
                                   .out = {0, K, (ptrdiff_t)K * c->heads},
                                   .gates = {0, 1, G},
                                   .log_decay = rapt__linear_decays(c) ? unread : NULL,
                                   .beta = rapt__linear_rates(c) ? unread : NULL,
                                   .scale = 1,
                                   .feature_map =
                                       elu ? RAPT_FEATURE_MAP_ELU : RAPT_FEATURE_MAP_NONE,
                                   .normalized = elu};
}

size_t rapt__linear_bytes(const rapt_config *config, int rows, bool learning, int threads)
{
    rapt_linear_attention a = linear_spec(config);
    a.rows = rows;
    a.threads = threads;
    return rapt__bytes_or_max(rapt__linear_workspace(&a, learning));
}

size_t rapt__state_floats(const rapt_config *config)
{
    if (!config->decoder_recurrence) return 0;
    if (!rapt__decoder_is_linear(config)) return (size_t)config->width;
    const rapt_linear_attention a = linear_spec(config);
    size_t values = (size_t)a.value_width + (a.normalized != 0);
    return rapt__product((size_t)a.key_heads * (size_t)a.key_width, values);
}

static struct linear_call call_of(const struct step *s)
{
    const rapt_config *config = &s->stack->model->config;
    const struct heads h = rapt__heads_at(config, false, s->u->q, NULL, NULL);
    struct linear_call call = {.a = linear_spec(config),
                               .q = h.q,
                               .k = h.k,
                               .v = h.v,
                               .workspace = s->stack->attention_workspace};
    call.a.batch = s->pass->rows.batch;
    call.a.rows = s->pass->rows.longest;
    call.a.starts = s->pass->rows.starts;
    call.a.log_decay = s->u->log_forget;
    call.a.beta = s->u->rate;
    call.a.threads = s->stack->threads;
    return call;
}

static const struct attention_offsets *offsets_at(const struct step *s)
{
    return rapt__offsets_of(s->stack, s->layer, false);
}

static struct unit_heads units_of(const struct step *s, bool keys)
{
    const rapt_config *c = &s->stack->model->config;
    int K = rapt__head_width(c), G = rapt__key_heads(c);
    return (struct unit_heads){.heads = keys ? G : c->heads,
                               .width = K,
                               .row = (ptrdiff_t)K * (c->heads + 2 * G),
                               .epsilon = rapt__epsilon(c)};
}

static struct head_norm output_norm_of(const struct step *s)
{
    const rapt_config *c = &s->stack->model->config;
    int K = rapt__head_width(c);
    return (struct head_norm){.gain = s->stack->block + offsets_at(s)->output_norm.gain,
                              .heads = c->heads,
                              .width = K,
                              .row = (ptrdiff_t)K * c->heads,
                              .epsilon = rapt__epsilon(c)};
}

/* Computes y = activation(x W' + b). `before` receives x W' + b and may be y. */
static void activated(const struct exec_context *c, const struct step *s,
                      const struct linear_offsets *offset, enum activation activation,
                      float *before, float *y)
{
    const struct linear l = rapt__linear_at(&s->stack->model->layout, offset, s->stack->block);
    rapt__linear_forward(c, &l, s->in, l.in, s->pass->rows.count, before, l.out, activation, y);
}

static void project(const struct exec_context *c, const struct step *s)
{
    const struct attention_offsets *offset = offsets_at(s);
    const struct sublayer *u = s->u;
    int rows = s->pass->rows.count;
    const struct heads h = rapt__heads_at(&s->stack->model->config, false, u->q, NULL, NULL);
    if (rapt__linear_normed(&s->stack->model->config)) {
        const struct unit_heads q = units_of(s, false), k = units_of(s, true);
        activated(c, s, &offset->qkv, ACTIVATION_SILU, u->raw_q ? u->raw_q : u->q, u->q);
        rapt__unit_heads_forward(c, &q, rows, h.q, u->inverse_q);
        rapt__unit_heads_forward(c, &k, rows, h.k, u->inverse_k);
    } else {
        rapt__sublayer_project(c, s, &offset->qkv, s->in, rows, u->q);
    }
    rapt__forget_gates_forward(c, s);
    if (u->rate) activated(c, s, &offset->rate, ACTIVATION_SIGMOID, u->rate_in, u->rate);
}

void rapt__linear_sublayer_forward(const struct exec_context *c, const struct step *s)
{
    const struct sublayer *u = s->u;
    const rapt_config *config = &s->stack->model->config;
    int rows = s->pass->rows.count;
    project(c, s);
    struct linear_call call = call_of(s);
    call.out = u->mixed;
    if (s->pass->caches) {
        const struct cache_state *state = &s->pass->caches->self;
        call.state = state->states +
                     (size_t)s->layer * (size_t)state->sequences * rapt__state_floats(config);
        rapt__linear_attention_step(c->team, &call);
    } else {
        rapt__linear_attention_forward(c->team, &call);
    }
    if (rapt__linear_normed(config)) {
        const struct head_norm norm = output_norm_of(s);
        rapt__head_norm_forward(c, &norm, rows, u->mixed, u->raw_mixed, u->inverse_mixed);
    }
    const float *mixed = rapt__outputs_gate(c, s, false);
    rapt__sublayer_project(c, s, &offsets_at(s)->out, mixed, rows, u->y);
}

/* Converts the gradients of queries, keys and values in the stack's dq, in place, to gradients of
   the projection x W' + b. */
static void project_backward(const struct exec_context *c, const struct step *s)
{
    const rapt_config *config = &s->stack->model->config;
    const struct sublayer *u = s->u;
    float *dq = s->stack->memory->dq;
    int rows = s->pass->rows.count;
    const struct heads h = rapt__heads_at(config, false, u->q, NULL, NULL);
    const struct heads d = rapt__heads_at(config, false, dq, NULL, NULL);
    const struct unit_heads q = units_of(s, false), k = units_of(s, true);
    if (!rapt__linear_normed(config)) return;
    rapt__unit_heads_backward(c, &q, rows, h.q, u->inverse_q, d.q);
    rapt__unit_heads_backward(c, &k, rows, h.k, u->inverse_k, d.k);
    rapt__activate_backward(c, ACTIVATION_SILU, u->raw_q, dq, dq, (size_t)rows * (size_t)q.row);
}

/* Computes the stack's dq, dforget and drate from its dmixed, the gradient of the heads' outputs,
   and adds the gradient of the output norm. */
static void heads_backward(const struct exec_context *c, const struct step *s, float *gradients)
{
    const rapt_config *config = &s->stack->model->config;
    const struct sublayer *u = s->u;
    const struct stack_memory *m = s->stack->memory;
    const struct heads d = rapt__heads_at(config, false, m->dq, NULL, NULL);
    int rows = s->pass->rows.count;
    if (rapt__linear_normed(config)) {
        const struct head_norm norm = output_norm_of(s);
        rapt__head_norm_backward(c, &norm, rows, u->raw_mixed, u->inverse_mixed, m->dmixed,
                                 gradients + offsets_at(s)->output_norm.gain, m->norm_partial);
    }
    rapt__fill(c, m->dq, (size_t)rows * (size_t)d.q_row, 0);
    rapt__fill(c, m->dforget, (size_t)rows * (size_t)rapt__linear_decays(config), 0);
    rapt__fill(c, m->drate, (size_t)rows * (size_t)rapt__linear_rates(config), 0);
    struct linear_call call = call_of(s);
    call.dout = m->dmixed;
    call.d.q = d.q, call.d.k = d.k, call.d.v = d.v;
    if (u->log_forget) call.d.log_decay = m->dforget;
    if (u->rate) call.d.beta = m->drate;
    rapt__linear_attention_backward(c->team, &call);
    project_backward(c, s);
}

void rapt__linear_sublayer_backward(const struct exec_context *c, const struct step *s,
                                    const float *dy, float *din, bool add, float *gradients)
{
    const struct attention_offsets *offset = offsets_at(s);
    const struct stack_memory *m = s->stack->memory;
    const rapt_config *config = &s->stack->model->config;
    int rows = s->pass->rows.count;
    bool gated = config->output_gate != RAPT_OUTPUT_GATE_NONE;
    rapt__sublayer_project_backward(c, s, &offset->out, gated ? s->u->gated : s->u->mixed, dy, rows,
                                    gated ? m->dgated : m->dmixed, false, gradients);
    add = rapt__outputs_gate_backward(c, s, false, din, add, gradients);
    heads_backward(c, s, gradients);
    add = rapt__forget_gates_backward(c, s, din, add, gradients);
    if (s->u->rate) {
        rapt__activate_backward(c, ACTIVATION_SIGMOID, s->u->rate_in, m->drate, m->drate,
                                (size_t)rows * (size_t)rapt__linear_rates(config));
        rapt__sublayer_project_backward(c, s, &offset->rate, s->in, m->drate, rows, din, add,
                                        gradients);
        add = true;
    }
    rapt__sublayer_project_backward(c, s, &offset->qkv, s->in, m->dq, rows, din, add, gradients);
}

/* ---- the recurrent unit ---- */

static const struct recurrent_offsets *ssru_offsets(const struct step *s)
{
    return &s->stack->model->layout.decoder.layers[s->layer].recurrent;
}

/* Describes the recurrent unit of this layer. Its states are the cells of all targets, or NULL if
   every sequence begins in this pass. */
static struct ssru ssru_of(const struct step *s)
{
    const struct pass *p = s->pass;
    size_t width = (size_t)s->stack->model->config.width;
    struct ssru unit = {p->rows.batch, (int)width, p->rows.starts, NULL};
    if (p->caches) {
        const struct cache_state *state = &p->caches->self;
        unit.states = state->states + (size_t)s->layer * (size_t)state->sequences * width;
    }
    return unit;
}

void rapt__recurrent_forward(const struct exec_context *c, const struct step *s)
{
    const struct recurrent_offsets *offset = ssru_offsets(s);
    const struct ssru unit = ssru_of(s);
    const struct layout *layout = &s->stack->model->layout;
    const struct linear both[] = {rapt__linear_at(layout, &offset->input, s->stack->block),
                                  rapt__linear_at(layout, &offset->forget, s->stack->block)};
    float *const to[] = {s->u->q, s->u->q + unit.width};
    int rows = s->pass->rows.count, D = unit.width;
    ptrdiff_t pair = 2 * (ptrdiff_t)D; /* a row of q holds candidates and gate inputs */
    rapt__linears_forward(c, both, 2, s->in, D, rows, to, pair);
    rapt__ssru_forward(c, &unit, s->u->q, s->u->mixed, s->u->y);
}

void rapt__recurrent_backward(const struct exec_context *c, const struct step *s, const float *dy,
                              float *din, bool add, float *gradients)
{
    const struct recurrent_offsets *offset = ssru_offsets(s);
    const struct ssru unit = ssru_of(s);
    const struct layout *layout = &s->stack->model->layout;
    const struct linear input = rapt__linear_at(layout, &offset->input, s->stack->block),
                        forget = rapt__linear_at(layout, &offset->forget, s->stack->block);
    const struct stack_memory *m = s->stack->memory;
    int rows = s->pass->rows.count, D = unit.width;
    ptrdiff_t pair = 2 * (ptrdiff_t)D; /* a row of q holds candidates and gate inputs */
    rapt__activate_backward(c, ACTIVATION_RELU, s->u->mixed, dy, m->dmixed,
                            (size_t)rows * (size_t)D);
    rapt__ssru_backward(c, &unit, s->u->q, s->u->mixed, m->dmixed, m->dq);
    rapt__linear_backward_weight(c, &input, s->in, D, m->dq, pair, rows,
                                 gradients + offset->input.weight, NULL);
    rapt__linear_backward_weight(c, &forget, s->in, D, m->dq + D, pair, rows,
                                 gradients + offset->forget.weight,
                                 gradients + offset->forget.bias);
    rapt__linear_backward_input(c, &input, m->dq, pair, rows, din, D, add);
    rapt__linear_backward_input(c, &forget, m->dq + D, pair, rows, din, D, true);
}
