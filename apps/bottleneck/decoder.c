/* decoder.c - a decoder step and its backward pass: next word from state, previous word and
   context.

   context[t] = attention of state[t] over the annotations, or always both last encoder states
   state[t + 1] = gru(state[t], word[t], context[t])
   logits[t] = state[t + 1] W + context[t] U + b */
#include "recurrent.h"
#include <string.h>

static struct gru_tape tape_at_step(struct gru_tape tape, int t, int count, int width)
{
    return (struct gru_tape){at_step(tape.gates, t, count, width),
                             at_step(tape.inner, t, count, width)};
}

static size_t bytes(int rows, int width)
{
    return (size_t)rows * (size_t)width * sizeof(float);
}

void decoder_step(struct recurrent *m, int count, int length, int t)
{
    const int h = m->hidden, e = m->setup->embed;
    float *inputs = at_step(m->inputs, t, count, e), *x = at_step(m->x, t, count, 3 * h);
    float *context = at_step(m->contexts, t, count, 2 * h);
    float *logits = at_step(m->logits, t, count, m->setup->language.french.count);
    memset(inputs, 0, bytes(count, e));
    memset(x, 0, bytes(count, 3 * h));
    memset(logits, 0, bytes(count, m->setup->language.french.count));
    if (m->attends)
        alignment_forward(m, count, length, t);
    else
        memcpy(context, m->summary, bytes(count, 2 * h));
    embed_forward(&m->target, count, m->target_ids + t * count, inputs);
    linear_forward(&m->decoder.input, count, inputs, x);
    linear_forward(&m->context, count, context, x);
    gru_forward(&m->decoder, count, x, at_step(m->states, t, count, h),
                at_step(m->states, t + 1, count, h), tape_at_step(m->tape, t, count, 3 * h));
    linear_forward(&m->output, count, at_step(m->states, t + 1, count, h), logits);
    linear_forward(&m->context_output, count, context, logits);
}

/* From dlogits of all steps to dkeys, dvalues or dsummary. */
void decoder_backward(struct recurrent *m, int count, int length, int steps)
{
    const int h = m->hidden, e = m->setup->embed, rows = steps * count;
    memset(m->dstates, 0, bytes(rows + count, h));
    memset(m->dcontexts, 0, bytes(rows, 2 * h));
    memset(m->dx, 0, bytes(rows, 3 * h));
    memset(m->dinputs, 0, bytes(rows, e));
    memset(m->dkeys, 0, bytes(length * count, 2 * h));
    memset(m->dvalues, 0, bytes(length * count, 2 * h));
    memset(m->dsummary, 0, bytes(count, 2 * h));
    linear_backward(&m->output, rows, at_step(m->states, 1, count, h), m->dlogits,
                    at_step(m->dstates, 1, count, h));
    linear_backward(&m->context_output, rows, m->contexts, m->dlogits, m->dcontexts);
    for (int t = steps - 1; t >= 0; t--) {
        float *dx = at_step(m->dx, t, count, 3 * h),
              *dcontext = at_step(m->dcontexts, t, count, 2 * h);
        gru_backward(&m->decoder, count, at_step(m->states, t, count, h),
                     at_step(m->dstates, t + 1, count, h), dx, at_step(m->dstates, t, count, h),
                     tape_at_step(m->tape, t, count, 3 * h));
        linear_backward(&m->context, count, at_step(m->contexts, t, count, 2 * h), dx, dcontext);
        if (m->attends)
            alignment_backward(m, count, length, t);
        else
            for (int i = 0; i < count * 2 * h; i++) m->dsummary[i] += dcontext[i];
    }
    linear_backward(&m->decoder.input, rows, m->inputs, m->dx, m->dinputs);
    embed_backward(&m->target, rows, m->target_ids, m->dinputs);
}
