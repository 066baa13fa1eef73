/* attend.c - where the decoder looks: additive attention, one query at a time.

   e[s] = v . tanh(W state + U note[s] + b)    w = softmax(e)    context = sum over s of w[s]
   note[s]

   Bahdanau, Cho and Bengio 2015, appendix A.1.2. The annotations are keys and values at once, and
   lie by time: strides say so, nothing is copied. */
#include "recurrent.h"
#include <stdlib.h>

static rapt_attention problem(const struct recurrent *m, int count, int length)
{
    const int h = m->hidden;
    const rapt_stride by_time = {.batch = 2 * h, .row = (ptrdiff_t)2 * h * count};
    return (rapt_attention){
        .batch = count,
        .heads = 1,
        .queries = 1,
        .keys = length,
        .query_width = h,
        .key_width = 2 * h,
        .value_width = 2 * h,
        .q = {.batch = h, .row = h},
        .k = by_time,
        .v = by_time,
        .out = {.batch = 2 * h, .row = 2 * h},
        .score = RAPT_SCORE_ADDITIVE,
        .threads = 1,
        .learned = {.hidden = m->setup->align,
                    .array = {[RAPT_LEARNED_QUERY_WEIGHT] = m->query,
                              [RAPT_LEARNED_KEY_WEIGHT] = m->key,
                              [RAPT_LEARNED_HIDDEN_BIAS] = m->bias,
                              [RAPT_LEARNED_HIDDEN_VECTOR] = m->vector}},
    };
}

static void reserve(struct recurrent *m, const rapt_attention *a)
{
    rapt_message why = {""};
    if (rapt_attention_check(a, &why) != RAPT_OK) exit(failed("attention: %s", why.text));
    size_t bytes = (rapt_attention_workspace(a) + 63) & ~(size_t)63;
    if (bytes <= m->workspace_bytes) return;
    free(m->workspace);
    m->workspace = aligned_alloc(64, bytes);
    m->workspace_bytes = bytes;
    if (m->workspace == NULL) exit(failed("out of memory"));
}

void attend_forward(struct recurrent *m, int count, int length, int t)
{
    const int h = m->hidden;
    rapt_attention a = problem(m, count, length);
    reserve(m, &a);
    rapt_attention_forward(&a, part(m->states, t, count, h), m->annotations, m->annotations,
                           part(m->contexts, t, count, 2 * h), part(m->lse, t, count, 1),
                           m->workspace);
}

void attend_backward(struct recurrent *m, int count, int length, int t)
{
    const int h = m->hidden;
    rapt_attention a = problem(m, count, length);
    rapt_gradients d = {.q = part(m->dstates, t, count, h),
                        .k = m->dnotes,
                        .v = m->dvalues,
                        .learned = {[RAPT_LEARNED_QUERY_WEIGHT] = m->dquery,
                                    [RAPT_LEARNED_KEY_WEIGHT] = m->dkey,
                                    [RAPT_LEARNED_HIDDEN_BIAS] = m->dbias,
                                    [RAPT_LEARNED_HIDDEN_VECTOR] = m->dvector}};
    reserve(m, &a);
    rapt_attention_backward(&a, part(m->states, t, count, h), m->annotations, m->annotations,
                            part(m->contexts, t, count, 2 * h), part(m->lse, t, count, 1),
                            part(m->dcontexts, t, count, 2 * h), &d, m->workspace);
}

void attend_weights(struct recurrent *m, int count, int length, int t, int sentence, float *weights)
{
    rapt_attention a = problem(m, count, length);
    reserve(m, &a);
    rapt_attention_weights(&a, part(m->states, t, count, m->hidden), m->annotations,
                           part(m->lse, t, count, 1), sentence, 0, 0, 1, weights, m->workspace);
}
