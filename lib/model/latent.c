/* latent.c - attention sublayers whose keys and values are computed from latent rows (latent_width;
   DeepSeek-AI 2024, section 2.1). Let c be the latent row of a token after its norm, and let p be
   the P rotated elements of its key, which all heads share. Then head h has

       k_h = (p, A_h' c)    v_h = B_h c    q_h . k_h = (q_h's first P elements) . p + (A_h q) . c

   where q is the rest of q_h. The keys and values of individual heads are never computed: instead,
   A_h is applied to the queries, and B_h is applied to the weighted sums of latent rows. As seen by
   lib/attention, all heads therefore share one key head, whose keys are (p, c) and whose values are
   c. Training, prefill and decoding all compute attention in this way, so processing a prompt at
   once is bit-identical to decoding it token by token. With latent_query_width, all q_h are linear
   functions of another latent row. */
#include "model/sublayer.h"

static struct head_norm norm_of(const struct stack *s, int layer, bool cross, ptrdiff_t row)
{
    const rapt_config *c = &s->model->config;
    return (struct head_norm){.gain =
                                  s->block + rapt__offsets_of(s, layer, cross)->latent_norm.gain,
                              .heads = 1,
                              .width = c->latent_width,
                              .row = row,
                              .epsilon = rapt__epsilon(c)};
}

void rapt__latent_normalize(const struct exec_context *c, const struct stack *s, int layer,
                            bool cross, const struct sublayer *u, int rows)
{
    const rapt_config *config = &s->model->config;
    if (!config->latent_width) return;
    struct heads h = rapt__heads_at(config, cross, u->q, u->kv, NULL), raw = {0};
    if (u->raw_q) raw = rapt__heads_at(config, cross, u->raw_q, u->raw_kv, NULL);
    const struct head_norm n = norm_of(s, layer, cross, h.v_row);
    rapt__head_norm_forward(c, &n, rows, h.v, raw.v, u->inverse_k);
}

/* ---- latent rows of queries ---- */

static struct head_norm query_norm_of(const struct step *s, bool cross, ptrdiff_t row)
{
    const rapt_config *c = &s->stack->model->config;
    size_t gain = rapt__offsets_of(s->stack, s->layer, cross)->latent_query_norm.gain;
    return (struct head_norm){.gain = s->stack->block + gain,
                              .heads = 1,
                              .width = c->latent_query_width,
                              .row = row,
                              .epsilon = rapt__epsilon(c)};
}

static struct linear query_up_of(const struct step *s, bool cross)
{
    return rapt__linear_at(&s->stack->model->layout,
                           &rapt__offsets_of(s->stack, s->layer, cross)->query_up, s->stack->block);
}

/* Normalizes the latent rows of the queries, which are in u->q, and computes u->queries, the
   queries of all heads, from them. */
static void expand_queries(const struct exec_context *c, const struct step *s, bool cross)
{
    const struct sublayer *u = s->u;
    int rows = s->pass->rows.count;
    if (!u->queries) return;
    const struct heads h = rapt__heads_at(&s->stack->model->config, cross, u->q, u->kv, NULL);
    const struct head_norm n = query_norm_of(s, cross, h.q_row);
    const struct linear l = query_up_of(s, cross);
    rapt__head_norm_forward(c, &n, rows, u->q, u->raw_q, u->inverse_q);
    rapt__linear_forward(c, &l, u->q, h.q_row, rows, u->queries, l.out, ACTIVATION_NONE, NULL);
}

/* Backpropagates the stack's dqueries: computes dq, the gradients of the latent rows, and adds the
   gradients of the parameters. */
static void expand_queries_backward(const struct exec_context *c, const struct step *s, bool cross,
                                    float *gradients)
{
    const struct stack_memory *m = s->stack->memory;
    const struct sublayer *u = s->u;
    const struct attention_offsets *offset = rapt__offsets_of(s->stack, s->layer, cross);
    int rows = s->pass->rows.count;
    if (!u->queries) return;
    const struct heads h = rapt__heads_at(&s->stack->model->config, cross, u->q, u->kv, NULL);
    const struct head_norm n = query_norm_of(s, cross, h.q_row);
    const struct linear l = query_up_of(s, cross);
    rapt__linear_backward_weight(c, &l, u->q, h.q_row, m->dqueries, l.out, rows,
                                 gradients + offset->query_up.weight, NULL);
    rapt__linear_backward_input(c, &l, m->dqueries, l.out, rows, m->dq, h.q_row, false);
    rapt__head_norm_backward(c, &n, rows, u->raw_q, u->inverse_q, m->dq,
                             gradients + offset->latent_query_norm.gain, m->norm_partial);
}

/* ---- queries and outputs ---- */

/* Returns the linear maps A_h, which apply to all elements of the queries except the rotated
   elements at the beginning of each head. */
static struct head_map key_map_of(const struct step *s, bool cross)
{
    const struct stack *stack = s->stack;
    const rapt_config *c = &stack->model->config;
    const struct head_rows rows = rapt__head_rows(c, cross);
    int queries = rapt__latent_queries_row(c, cross);
    return (struct head_map){
        .all = rapt__linear_at(&stack->model->layout,
                               &rapt__offsets_of(stack, s->layer, cross)->key_up, stack->block),
        .heads = c->heads,
        .x_head = queries / c->heads,
        .x_row = c->latent_query_width ? queries : rapt__heads_at(c, cross, NULL, NULL, NULL).q_row,
        .y_head = rows.k,
        .y_row = (ptrdiff_t)c->heads * rows.k};
}

/* Returns the linear maps B_h from weighted sums of latent rows to the outputs of heads. */
static struct head_map value_map_of(const struct step *s, bool cross)
{
    const struct stack *stack = s->stack;
    const rapt_config *c = &stack->model->config;
    int K = rapt__head_width(c), R = c->latent_width;
    return (struct head_map){
        .all = rapt__linear_at(&stack->model->layout,
                               &rapt__offsets_of(stack, s->layer, cross)->value_up, stack->block),
        .heads = c->heads,
        .x_head = R,
        .x_row = (ptrdiff_t)c->heads * R,
        .y_head = K,
        .y_row = (ptrdiff_t)c->heads * K};
}

void rapt__latent_queries(const struct exec_context *c, const struct step *s, bool cross)
{
    const rapt_config *config = &s->stack->model->config;
    const struct sublayer *u = s->u;
    int rows = s->pass->rows.count, P = rapt__latent_rotary(config, cross);
    if (!config->latent_width) return;
    expand_queries(c, s, cross);
    const struct head_map m = key_map_of(s, cross);
    const float *q = u->queries ? u->queries : u->q;
    rapt__heads_copy(c, m.heads, P, rows, q, m.x_head, m.x_row, u->latent_q, m.y_head, m.y_row);
    rapt__head_map_forward(c, &m, rows, q + P, u->latent_q + P);
}

void rapt__latent_values(const struct exec_context *c, const struct step *s, bool cross)
{
    if (!s->stack->model->config.latent_width) return;
    const struct head_map m = value_map_of(s, cross);
    rapt__head_map_forward(c, &m, s->pass->rows.count, s->u->maps, s->u->mixed);
}

void rapt__latent_values_backward(const struct exec_context *c, const struct step *s, bool cross,
                                  float *gradients)
{
    const rapt_config *config = &s->stack->model->config;
    const struct stack_memory *m = s->stack->memory;
    int rows = s->pass->rows.count, keys = cross ? s->pass->source.count : rows;
    if (!config->latent_width) return;
    const struct head_map map = value_map_of(s, cross);
    rapt__head_map_backward(c, &map, rows, s->u->maps, m->dmixed, m->dmaps,
                            gradients +
                                rapt__offsets_of(s->stack, s->layer, cross)->value_up.weight);
    const struct heads h = rapt__heads_of(s->stack, cross, s->u);
    rapt__fill(c, m->dvalues, (size_t)keys * (size_t)h.v_row, 0);
    rapt__fill(c, m->dlatent_q, (size_t)rows * (size_t)h.q_row, 0);
}

void rapt__latent_backward(const struct exec_context *c, const struct step *s, bool cross,
                           float *gradients)
{
    const rapt_config *config = &s->stack->model->config;
    const struct stack_memory *m = s->stack->memory;
    const struct sublayer *u = s->u;
    int rows = s->pass->rows.count, keys = cross ? s->pass->source.count : rows;
    int P = rapt__latent_rotary(config, cross);
    if (!config->latent_width) return;
    const struct attention_offsets *offset = rapt__offsets_of(s->stack, s->layer, cross);
    const struct head_map map = key_map_of(s, cross);
    const float *q = u->queries ? u->queries : u->q;
    float *dq = u->queries ? m->dqueries : m->dq;
    if (u->queries) rapt__fill(c, dq, (size_t)rows * (size_t)map.x_row, 0);
    rapt__heads_copy(c, map.heads, P, rows, m->dlatent_q, map.y_head, map.y_row, dq, map.x_head,
                     map.x_row);
    rapt__head_map_backward(c, &map, rows, q + P, m->dlatent_q + P, dq + P,
                            gradients + offset->key_up.weight);
    expand_queries_backward(c, s, cross, gradients);
    struct heads d = rapt__heads_at(config, cross, m->dq, m->dkv, NULL);
    struct heads raw = rapt__heads_at(config, cross, u->raw_q, u->raw_kv, NULL);
    const struct head_norm n = norm_of(s->stack, s->layer, cross, d.v_row);
    rapt__rows_add(c, config->latent_width, keys, m->dvalues, d.v_row, d.v, d.v_row);
    rapt__head_norm_backward(c, &n, keys, raw.v, u->inverse_k, d.v,
                             gradients + offset->latent_norm.gain, m->norm_partial);
}
