/* alignment.c - the alignment model: additive attention of one decoder state over the annotations,
   forward, backward and its weights.

   e[s] = v . tanh(W state + U annotation[s] + b)     w = softmax(e)
   context = sum over s of w[s] annotation[s]

   Bahdanau, Cho and Bengio 2015, appendix A.1.2. The annotations are both keys and values; strides
   describe their time-major layout, nothing is copied. */
#include "recurrent.h"

static rapt_attention problem(const struct recurrent *m, int count, int length)
{
    const int h = m->hidden;
    const rapt_stride by_time = {.batch = 2 * h, .row = (ptrdiff_t)2 * h * count};
    return (rapt_attention){
        .size = sizeof(rapt_attention),
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
        .learned = {.hidden = m->setup->alignment_width,
                    .array = {[RAPT_LEARNED_QUERY_WEIGHT] = m->query,
                              [RAPT_LEARNED_KEY_WEIGHT] = m->key,
                              [RAPT_LEARNED_HIDDEN_BIAS] = m->bias,
                              [RAPT_LEARNED_HIDDEN_VECTOR] = m->vector}},
    };
}

void alignment_forward(struct recurrent *m, int count, int length, int t)
{
    const int h = m->hidden;
    rapt_attention a = problem(m, count, length);
    const rapt_attention_saved saved = {.size = sizeof saved, .lse = at_step(m->lse, t, count, 1)};
    rapt_attention_forward(&a, at_step(m->states, t, count, h), m->annotations, m->annotations,
                           at_step(m->contexts, t, count, 2 * h), &saved,
                           workspace_for(&m->workspace, &a), NULL);
}

void alignment_backward(struct recurrent *m, int count, int length, int t)
{
    const int h = m->hidden;
    rapt_attention a = problem(m, count, length);
    const rapt_attention_saved saved = {.size = sizeof saved, .lse = at_step(m->lse, t, count, 1)};
    rapt_gradients d = {.size = sizeof d,
                        .q = at_step(m->dstates, t, count, h),
                        .k = m->dkeys,
                        .v = m->dvalues,
                        .learned = {[RAPT_LEARNED_QUERY_WEIGHT] = m->dquery,
                                    [RAPT_LEARNED_KEY_WEIGHT] = m->dkey,
                                    [RAPT_LEARNED_HIDDEN_BIAS] = m->dbias,
                                    [RAPT_LEARNED_HIDDEN_VECTOR] = m->dvector}};
    rapt_attention_backward(&a, at_step(m->states, t, count, h), m->annotations, m->annotations,
                            at_step(m->contexts, t, count, 2 * h), &saved,
                            at_step(m->dcontexts, t, count, 2 * h), NULL, &d,
                            workspace_for(&m->workspace, &a), NULL);
}

void alignment_weights(struct recurrent *m, int count, int length, int t, int sentence,
                       float *weights)
{
    rapt_attention a = problem(m, count, length);
    const rapt_attention_saved saved = {.size = sizeof saved, .lse = at_step(m->lse, t, count, 1)};
    rapt_attention_weights(&a, at_step(m->states, t, count, m->hidden), m->annotations, &saved,
                           sentence, 0, 0, 1, weights, workspace_for(&m->workspace, &a), NULL);
}
