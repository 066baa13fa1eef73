/* forget_gate.c - computes the forget gates of self-attention in a decoder (forget_gate) and the
   decays of linear attention. */
#include "model/sublayer.h"

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
