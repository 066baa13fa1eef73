/* decoder.c - one word after the other, from the state, the word before and a context.

   context[t] = attention of state[t] over the annotations, or always both last states of the
   encoder; state[t + 1] = gru(state[t], word[t], context[t]); the next word is the likeliest by
   state[t + 1] and context[t]. */
#include "recurrent.h"
#include <string.h>

static struct gru_tape tape_part(struct gru_tape tape, int t, int count, int width)
{
    return (struct gru_tape){part(tape.gates, t, count, width), part(tape.inner, t, count, width)};
}

static size_t bytes(int rows, int width)
{
    return (size_t)rows * (size_t)width * sizeof(float);
}

void decoder_step(struct recurrent *m, int count, int length, int t)
{
    const int h = m->hidden, e = m->setup->embed;
    float *said = part(m->said, t, count, e), *x = part(m->x, t, count, 3 * h);
    float *context = part(m->contexts, t, count, 2 * h);
    float *scores = part(m->scores, t, count, m->setup->language.french.count);
    memset(said, 0, bytes(count, e));
    memset(x, 0, bytes(count, 3 * h));
    memset(scores, 0, bytes(count, m->setup->language.french.count));
    if (m->attends)
        attend_forward(m, count, length, t);
    else
        memcpy(context, m->whole, bytes(count, 2 * h));
    embed_forward(&m->target, count, m->target_ids + t * count, said);
    linear_forward(&m->decoder.input, count, said, x);
    linear_forward(&m->context, count, context, x);
    gru_forward(&m->decoder, count, x, part(m->states, t, count, h),
                part(m->states, t + 1, count, h), tape_part(m->tape, t, count, 3 * h));
    linear_forward(&m->output, count, part(m->states, t + 1, count, h), scores);
    linear_forward(&m->glimpsed, count, context, scores);
}

/* From dscores of all steps to dnotes, dvalues or dwhole. */
void decoder_backward(struct recurrent *m, int count, int length, int steps)
{
    const int h = m->hidden, e = m->setup->embed, rows = steps * count;
    memset(m->dstates, 0, bytes(rows + count, h));
    memset(m->dcontexts, 0, bytes(rows, 2 * h));
    memset(m->dx, 0, bytes(rows, 3 * h));
    memset(m->dsaid, 0, bytes(rows, e));
    memset(m->dnotes, 0, bytes(length * count, 2 * h));
    memset(m->dvalues, 0, bytes(length * count, 2 * h));
    memset(m->dwhole, 0, bytes(count, 2 * h));
    linear_backward(&m->output, rows, part(m->states, 1, count, h), m->dscores,
                    part(m->dstates, 1, count, h));
    linear_backward(&m->glimpsed, rows, m->contexts, m->dscores, m->dcontexts);
    for (int t = steps - 1; t >= 0; t--) {
        float *dx = part(m->dx, t, count, 3 * h), *dcontext = part(m->dcontexts, t, count, 2 * h);
        gru_backward(&m->decoder, count, part(m->states, t, count, h),
                     part(m->dstates, t + 1, count, h), dx, part(m->dstates, t, count, h),
                     tape_part(m->tape, t, count, 3 * h));
        linear_backward(&m->context, count, part(m->contexts, t, count, 2 * h), dx, dcontext);
        if (m->attends)
            attend_backward(m, count, length, t);
        else
            for (int i = 0; i < count * 2 * h; i++) m->dwhole[i] += dcontext[i];
    }
    linear_backward(&m->decoder.input, rows, m->said, m->dx, m->dsaid);
    embed_backward(&m->target, rows, m->target_ids, m->dsaid);
}
