/* output_gate.c - gates the outputs of attention sublayers (output_gate). */
#include "model/sublayer.h"

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
