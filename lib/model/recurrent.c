/* recurrent.c - a simpler simple recurrent unit, which replaces the decoder's self-attention (Kim
   et al. 2019, section 3.1; Marian's `ssru`). At inference the cells of all targets are stored
   between calls.

       c[t] = f c[t-1] + (1 - f) x W',  f = 1 / (1 + exp(-(x V' + b))),  y = max(c, 0) */
#include "model/sublayer.h"

static const struct recurrent_offsets *offsets_of(const struct step *s)
{
    return &s->stack->model->layout.decoder.layers[s->layer].recurrent;
}

/* Describes the unit of this layer. Its states are the cells of all targets, or NULL if every
   sequence begins in this pass. */
static struct ssru unit_of(const struct step *s)
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
    const struct recurrent_offsets *offset = offsets_of(s);
    const struct ssru unit = unit_of(s);
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
    const struct recurrent_offsets *offset = offsets_of(s);
    const struct ssru unit = unit_of(s);
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
