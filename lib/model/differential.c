/* differential.c - attention sublayers whose heads are differences of two attentions
   (`differential`). Each attention has half of the head's queries and keys, and the attention layer
   computes it as a head of its own, a "map". The values of a head are therefore stored twice. If
   several heads share keys, their first maps precede their second ones, because maps that share
   keys must be adjacent. */
#include "model/sublayer.h"

/* Returns the number of heads that share keys. */
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
