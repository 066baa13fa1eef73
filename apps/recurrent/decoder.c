/* decoder.c - the first state of the decoder, and one of its steps, which computes the logits of
   the next word from state, previous word and context, and its backward pass.

   query before:   context[t] = of state[t]       state[t + 1] = cell(state[t], word[t], context[t])
   query present:  context[t] = of state[t + 1]   state[t + 1] = cell(state[t], word[t])
   logits[t] = state[t + 1] W + context[t] U + b

   The context is attention over the keys, or the encoding of the whole source at each step or at
   the first one, or nothing. */
#include "model.h"
#include <string.h>

/* Returns whether the new state is the query. */
static bool late(const struct recurrent *m)
{
    return m->config.query == QUERY_PRESENT;
}

static bool into_cell(const struct recurrent *m)
{
    return m->has_context && !late(m);
}

static void context_forward(struct recurrent *m, int count, int length, int t)
{
    float *context = at_step(m->contexts.x, t, count, m->context);
    if (m->config.encoder == ENCODER_AGAIN) encoder_again(m, count, length, t + late(m));
    if (m->config.attends)
        attend_forward(m, count, length, t);
    else if (m->config.pass == PASS_EACH || t == 0)
        memcpy(context, m->summary.x.h, (size_t)count * (size_t)m->context * sizeof *context);
    else
        clear_rows(context, count, m->context);
}

static void context_backward(struct recurrent *m, int count, int length, int t)
{
    const float *dcontext = at_step(m->contexts.d, t, count, m->context);
    const bool again = m->config.encoder == ENCODER_AGAIN;
    if (again) { /* its activations are those of the last step */
        encoder_again(m, count, length, t + late(m));
        encoder_clear(m, count, length);
    }
    if (m->config.attends)
        attend_backward(m, count, length, t);
    else if (m->config.pass == PASS_EACH || t == 0)
        for (int i = 0; i < count * m->context; i++) m->summary.d.h[i] += dcontext[i];
    if (again) encoder_again_backward(m, count, length, t + late(m));
}

void decoder_step(struct recurrent *m, int count, int length, int t)
{
    const int h = m->config.hidden, e = m->config.embed, wide = m->decoder.gates * h;
    const int words = m->language->target.count;
    float *inputs = at_step(m->inputs.x, t, count, e), *x = at_step(m->x.x, t, count, wide);
    float *context = at_step(m->contexts.x, t, count, m->context);
    float *logits = at_step(m->logits.x, t, count, words);
    clear_rows(inputs, count, e);
    clear_rows(x, count, wide);
    clear_rows(logits, count, words);
    if (into_cell(m)) context_forward(m, count, length, t);
    embed_forward(&m->target, count, m->target_ids + t * count, inputs);
    linear_forward(&m->decoder.input, count, inputs, x);
    if (into_cell(m)) linear_forward(&m->into_cell, count, context, x);
    struct cell_state next = state_at(m->states.x, t + 1, count, h);
    cell_forward(&m->decoder, count, x, state_at(m->states.x, t, count, h), next,
                 tape_at(m->tape, t, count, wide));
    m->cell_steps += (size_t)count;
    if (m->has_context && late(m)) context_forward(m, count, length, t);
    linear_forward(&m->output, count, next.h, logits);
    if (m->has_context) linear_forward(&m->context_output, count, context, logits);
}

/* Propagates the gradient of the logits of step t to states and contexts. */
static void step_backward(struct recurrent *m, int count, int length, int t)
{
    const int h = m->config.hidden, wide = m->decoder.gates * h;
    float *dx = at_step(m->x.d, t, count, wide);
    if (m->has_context && late(m)) context_backward(m, count, length, t);
    cell_backward(&m->decoder, count, state_at(m->states.x, t, count, h),
                  state_at(m->states.x, t + 1, count, h), state_at(m->states.d, t + 1, count, h),
                  dx, state_at(m->states.d, t, count, h), tape_at(m->tape, t, count, wide));
    if (!into_cell(m)) return;
    linear_backward(&m->into_cell, count, at_step(m->contexts.x, t, count, m->context), dx,
                    at_step(m->contexts.d, t, count, m->context));
    context_backward(m, count, length, t);
}

/* Propagates the gradients of all logits to the first state and, if the source is encoded once, to
   keys, values and summary. */
void decoder_backward(struct recurrent *m, int count, int length, int steps)
{
    const int h = m->config.hidden, e = m->config.embed, rows = steps * count;
    clear_state(m->states.d, rows + count, h);
    if (m->config.projected) clear_rows(m->queries.d, rows + count, m->query);
    clear_rows(m->contexts.d, rows, m->context);
    clear_rows(m->x.d, rows, m->decoder.gates * h);
    clear_rows(m->inputs.d, rows, e);
    encoder_clear(m, count, length);
    linear_backward(&m->output, rows, at_step(m->states.x.h, 1, count, h), m->logits.d,
                    at_step(m->states.d.h, 1, count, h));
    if (m->has_context)
        linear_backward(&m->context_output, rows, m->contexts.x, m->logits.d, m->contexts.d);
    for (int t = steps - 1; t >= 0; t--) step_backward(m, count, length, t);
    linear_backward(&m->decoder.input, rows, m->inputs.x, m->x.d, m->inputs.d);
    embed_backward(&m->target, rows, m->target_ids, m->inputs.d);
}

/* ---- the first state: zeros, the encoding, or a hidden layer on the encoding ---- */

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
