/* heads.c - the parts of an attention sublayer that act on its heads, before or after attention
   itself: norms of queries and keys (query_key_norm), differences of attention maps
   (`differential`), output gates (output_gate), and forget gates (forget_gate, and the decays of
   linear attention). */
#include "model/sublayer.h"

/* The queries or the keys of a sublayer, and the norm that applies to them. */
struct normed {
    struct head_norm norm;
    int rows;
    float *x, *raw, *inverse; /* raw and inverse are NULL at inference */
};

static struct normed normed_of(const struct stack *s, int layer, bool cross,
                               const struct sublayer *u, bool keys, int rows)
{
    const rapt_config *c = &s->model->config;
    const struct attention_offsets *offset = rapt__offsets_of(s, layer, cross);
    struct heads x = rapt__heads_at(c, cross, u->q, u->kv, NULL), raw = {0};
    if (u->raw_q) raw = rapt__heads_at(c, cross, u->raw_q, u->raw_kv, NULL);
    return (struct normed){
        .norm = {.gain = s->block + (keys ? offset->key_norm : offset->query_norm).gain,
                 .heads = keys ? rapt__key_maps(c) : rapt__maps(c),
                 .width = rapt__map_width(c),
                 .row = keys ? x.k_row : x.q_row,
                 .epsilon = rapt__epsilon(c)},
        .rows = rows,
        .x = keys ? x.k : x.q,
        .raw = keys ? raw.k : raw.q,
        .inverse = keys ? u->inverse_k : u->inverse_q};
}

static void apply_norm(const struct exec_context *c, struct normed n)
{
    rapt__head_norm_forward(c, &n.norm, n.rows, n.x, n.raw, n.inverse);
}

void rapt__queries_normalize(const struct exec_context *c, const struct step *s, bool cross)
{
    int rows = s->pass->rows.count;
    if (!s->stack->model->config.query_key_norm) return;
    apply_norm(c, normed_of(s->stack, s->layer, cross, s->u, false, rows));
    if (!cross) apply_norm(c, normed_of(s->stack, s->layer, cross, s->u, true, rows));
}

void rapt__source_keys_normalize(const struct exec_context *c, const struct stack *s, int layer,
                                 const struct sublayer *u, int rows)
{
    if (!s->model->config.query_key_norm) return;
    apply_norm(c, normed_of(s, layer, true, u, true, rows));
}

void rapt__head_norms_backward(const struct exec_context *c, const struct step *s, bool cross,
                               float *gradients)
{
    const rapt_config *config = &s->stack->model->config;
    if (!config->query_key_norm) return;
    const struct attention_offsets *offset = rapt__offsets_of(s->stack, s->layer, cross);
    const struct stack_memory *m = s->stack->memory;
    struct heads d = rapt__heads_at(config, cross, m->dq, m->dkv, NULL);
    int rows = s->pass->rows.count, sources = s->pass->source.count;
    struct normed q = normed_of(s->stack, s->layer, cross, s->u, false, rows);
    struct normed k = normed_of(s->stack, s->layer, cross, s->u, true, cross ? sources : rows);
    rapt__head_norm_backward(c, &q.norm, q.rows, q.raw, q.inverse, d.q,
                             gradients + offset->query_norm.gain, m->norm_partial);
    rapt__head_norm_backward(c, &k.norm, k.rows, k.raw, k.inverse, d.k,
                             gradients + offset->key_norm.gain, m->norm_partial);
}

/* ---- differences of attention maps (`differential`) ----

   Each of a head's two attention maps uses half of the elements of the head's queries and keys.
   lib/attention computes each map as if it were a head, so the values of a head are stored twice.
   If several heads share keys, their first maps precede their second maps, because maps that share
   keys must be adjacent. */

/* Returns the number of heads that share each key. */
static int group_of(const rapt_config *c)
{
    return c->heads / rapt__key_heads(c);
}

static struct difference difference_of(const struct stack *s, int layer, bool cross)
{
    const rapt_config *c = &s->model->config;
    const struct attention_offsets *offset = rapt__offsets_of(s, layer, cross);
    return (struct difference){.vectors = s->block + offset->differential,
                               .gain = s->block + offset->differential_norm.gain,
                               .heads = c->heads,
                               .width = rapt__head_width(c),
                               .group = group_of(c),
                               .initial = (float)(0.8 - 0.6 * rapt__exp(-0.3 * layer)),
                               .epsilon = rapt__epsilon(c)};
}

int rapt__map_of(const struct stack *s, int layer, bool cross, int head, int i, float *share)
{
    const rapt_config *c = &s->model->config;
    int group = group_of(c);
    *share = 1;
    if (!c->differential) return head;
    const struct difference d = difference_of(s, layer, cross);
    if (i > 0) *share = -rapt__difference_lambda(&d);
    return (head / group * 2 + i) * group + head % group;
}

void rapt__values_repeat(const struct exec_context *c, const struct stack *s, bool cross,
                         const struct sublayer *u, int rows)
{
    const rapt_config *config = &s->model->config;
    if (!config->differential) return;
    struct heads h = rapt__heads_at(config, cross, u->q, u->kv, NULL);
    rapt__heads_repeat(c, rapt__key_heads(config), rapt__head_width(config), rows, h.v, h.v_row,
                       u->values);
}

void rapt__maps_subtract(const struct exec_context *c, const struct step *s, bool cross)
{
    const struct sublayer *u = s->u;
    if (!s->stack->model->config.differential) return;
    const struct difference d = difference_of(s->stack, s->layer, cross);
    rapt__difference_forward(c, &d, s->pass->rows.count, u->maps, u->mixed, u->raw_mixed,
                             u->inverse_mixed);
}

void rapt__maps_backward(const struct exec_context *c, const struct step *s, bool cross,
                         float *gradients)
{
    const rapt_config *config = &s->stack->model->config;
    const struct stack_memory *m = s->stack->memory;
    const struct sublayer *u = s->u;
    if (!config->differential) return;
    const struct attention_offsets *offset = rapt__offsets_of(s->stack, s->layer, cross);
    const struct difference d = difference_of(s->stack, s->layer, cross);
    size_t keys = (size_t)(cross ? s->pass->source.count : s->pass->rows.count);
    rapt__difference_backward(c, &d, s->pass->rows.count, u->maps, u->raw_mixed, u->inverse_mixed,
                              m->dmixed, m->dmaps, gradients + offset->differential,
                              gradients + offset->differential_norm.gain, m->norm_partial,
                              m->dlambda);
    size_t row = (size_t)rapt__key_maps(config) * (size_t)rapt__head_width(config);
    rapt__fill(c, m->dvalues, keys * row, 0);
}

void rapt__values_backward(const struct exec_context *c, const struct step *s, bool cross)
{
    const rapt_config *config = &s->stack->model->config;
    const struct stack_memory *m = s->stack->memory;
    if (!config->differential) return;
    struct heads d = rapt__heads_at(config, cross, m->dq, m->dkv, NULL);
    rapt__heads_repeat_backward(c, rapt__key_heads(config), rapt__head_width(config),
                                cross ? s->pass->source.count : s->pass->rows.count, m->dvalues,
                                d.v, d.v_row);
}

/* ---- output gates ---- */

static struct output_gate gate_of(const rapt_config *c)
{
    int gates = rapt__gates(c), elements = c->heads * rapt__head_width(c);
    return (struct output_gate){gates, elements / gates};
}

const float *rapt__outputs_gate(const struct exec_context *c, const struct step *s, bool cross)
{
    const rapt_config *config = &s->stack->model->config;
    const struct sublayer *u = s->u;
    int rows = s->pass->rows.count;
    if (!config->output_gate) return u->mixed;
    const struct output_gate g = gate_of(config);
    rapt__sublayer_project(c, s, &rapt__offsets_of(s->stack, s->layer, cross)->gate, s->in, rows,
                           u->gate);
    rapt__output_gate_forward(c, &g, rows, u->gate, u->mixed, u->gated);
    return u->gated;
}

bool rapt__outputs_gate_backward(const struct exec_context *c, const struct step *s, bool cross,
                                 float *din, bool add, float *gradients)
{
    const rapt_config *config = &s->stack->model->config;
    const struct stack_memory *m = s->stack->memory;
    const struct sublayer *u = s->u;
    int rows = s->pass->rows.count;
    if (!config->output_gate) return add;
    const struct output_gate g = gate_of(config);
    rapt__output_gate_backward(c, &g, rows, u->gate, u->mixed, m->dgated, m->dgate, m->dmixed);
    rapt__sublayer_project_backward(c, s, &rapt__offsets_of(s->stack, s->layer, cross)->gate, s->in,
                                    m->dgate, rows, din, add, gradients);
    return true;
}

/* ---- forget gates and decays ---- */

static size_t gates_of(const struct step *s)
{
    const struct linear_offsets *gates = &rapt__offsets_of(s->stack, s->layer, false)->forget;
    return (size_t)s->pass->rows.count * (size_t)gates->out;
}

void rapt__forget_gates_forward(const struct exec_context *c, const struct step *s)
{
    const struct sublayer *u = s->u;
    if (!u->forget) return;
    rapt__sublayer_project(c, s, &rapt__offsets_of(s->stack, s->layer, false)->forget, s->in,
                           s->pass->rows.count, u->forget);
    rapt__log_sigmoid_forward(c, u->forget, gates_of(s), u->log_forget);
}

bool rapt__forget_gates_backward(const struct exec_context *c, const struct step *s, float *din,
                                 bool add, float *gradients)
{
    const struct sublayer *u = s->u;
    float *d = s->stack->memory->dforget;
    if (!u->forget) return add;
    rapt__log_sigmoid_backward(c, u->forget, d, gates_of(s), d);
    rapt__sublayer_project_backward(c, s, &rapt__offsets_of(s->stack, s->layer, false)->forget,
                                    s->in, d, s->pass->rows.count, din, add, gradients);
    return true;
}
