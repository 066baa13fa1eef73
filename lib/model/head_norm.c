/* head_norm.c - normalizes the queries and keys of attention sublayers (query_key_norm). */
#include "model/sublayer.h"

/* The queries or the keys of a sublayer, and their norm. */
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

static void normalize(const struct exec_context *c, struct normed n)
{
    rapt__head_norm_forward(c, &n.norm, n.rows, n.x, n.raw, n.inverse);
}

void rapt__queries_normalize(const struct exec_context *c, const struct step *s, bool cross)
{
    int rows = s->pass->rows.count;
    if (!s->stack->model->config.query_key_norm) return;
    normalize(c, normed_of(s->stack, s->layer, cross, s->u, false, rows));
    if (!cross) normalize(c, normed_of(s->stack, s->layer, cross, s->u, true, rows));
}

void rapt__source_keys_normalize(const struct exec_context *c, const struct stack *s, int layer,
                                 const struct sublayer *u, int rows)
{
    if (!s->model->config.query_key_norm) return;
    normalize(c, normed_of(s, layer, true, u, true, rows));
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
