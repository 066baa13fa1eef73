/* initial.c - the first state of the decoder, forward and backward: zeros, the encoding of the
   source, or the output of a network with a hidden layer that reads the encoding. */
#include "model.h"
#include <string.h>

static void initial_add(float *to, const float *from, size_t count)
{
    for (size_t i = 0; i < count; i++) to[i] += from[i];
}

void initial_forward(struct recurrent *m, int count)
{
    const int h = m->config.hidden;
    const size_t floats = (size_t)count * (size_t)h;
    struct cell_state first = m->states.x;
    clear_state(first, count, h);
    if (m->config.pass == PASS_INITIAL) {
        memcpy(first.h, m->summary.x.h, floats * sizeof(float));
        if (first.c) memcpy(first.c, m->summary.x.c, floats * sizeof(float));
    } else if (m->config.pass == PASS_NETWORK) {
        clear_rows(m->inside.x, count, h);
        linear_forward(&m->hidden, count, m->summary.x.h, m->inside.x);
        tanh_forward(floats, m->inside.x, m->inside.x);
        linear_forward(&m->initial[0], count, m->inside.x, first.h);
        tanh_forward(floats, first.h, first.h);
        if (first.c) linear_forward(&m->initial[1], count, m->inside.x, first.c);
    }
}

void initial_backward(struct recurrent *m, int count)
{
    const int h = m->config.hidden;
    const size_t floats = (size_t)count * (size_t)h;
    struct cell_state first = m->states.x, d = m->states.d;
    if (m->config.pass == PASS_INITIAL) {
        initial_add(m->summary.d.h, d.h, floats);
        if (d.c) initial_add(m->summary.d.c, d.c, floats);
    } else if (m->config.pass == PASS_NETWORK) {
        clear_rows(m->inside.d, count, h);
        clear_rows(m->start.d, count, h);
        clear_rows(m->start.x, count, h);
        tanh_backward(floats, first.h, d.h, m->start.d);
        linear_backward(&m->initial[0], count, m->inside.x, m->start.d, m->inside.d);
        if (d.c) linear_backward(&m->initial[1], count, m->inside.x, d.c, m->inside.d);
        tanh_backward(floats, m->inside.x, m->inside.d, m->start.x);
        linear_backward(&m->hidden, count, m->summary.x.h, m->start.x, m->summary.d.h);
    }
}
