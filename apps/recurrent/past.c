/* past.c - intra-attention (Cheng, Dong and Lapata 2016, section 3.1), forward, backward and
   weights: a step of the encoder begins with a mixture of all its states so far instead of the
   previous state.

   a_i = v tanh(U h_i + W [x_t; m_{t-1}] + b)   m_t = sum over i <= t of softmax(a)_i h_i
   h_{t+1} = cell(m_t, x_t)

   State 0, which is zero, is one of the states, so that a step may read nothing. The memories c of
   an LSTM are mixed by the same weights. These are equations (4) to (10) of the paper, except that
   x and m share one matrix W. */
#include "model.h"
#include <string.h>

static int value_width(const struct recurrent *m)
{
    return m->config.encoder_hidden * (m->config.cell == CELL_LSTM ? 2 : 1);
}

static int query_width(const struct recurrent *m)
{
    return m->config.embed + m->config.encoder_hidden;
}

static rapt_attention problem(const struct recurrent *m, int count, int t)
{
    const int q = query_width(m), k = m->config.encoder_hidden, v = value_width(m);
    const struct past *past = &m->sides[0].past;
    rapt_attention a = {
        .size = sizeof(rapt_attention),
        .batch = count,
        .heads = 1,
        .queries = 1,
        .keys = t + 1,
        .query_width = q,
        .key_width = k,
        .value_width = v,
        .q = {.batch = q, .row = (ptrdiff_t)q * count},
        .k = {.batch = k, .row = (ptrdiff_t)k * count},
        .v = {.batch = v, .row = (ptrdiff_t)v * count},
        .out = {.batch = v, .row = (ptrdiff_t)v * count},
        .score = RAPT_SCORE_ADDITIVE,
        .threads = 1,
        .parameters = past->widths,
    };
    for (int i = 0; i < RAPT_ATTENTION_PARAMETER_COUNT; i++)
        a.parameters.array[i] = past->learned[i];
    return a;
}

void past_create(struct recurrent *m, struct random *random)
{
    struct past *past = &m->sides[0].past;
    past->widths = (rapt_attention_parameters){.hidden = m->config.width};
    const rapt_attention a = problem(m, 1, 0);
    learned_create(m, &a, random, past->learned, past->dlearned);
}

void past_arrays(struct recurrent *m, struct series (*series)(struct recurrent *m, int width),
                 struct states (*states)(struct recurrent *m, int width))
{
    struct past *past = &m->sides[0].past;
    past->queries = series(m, query_width(m));
    past->values = series(m, value_width(m));
    past->out = series(m, value_width(m));
    past->mixed = states(m, m->config.encoder_hidden);
    past->lse = series(m, 1).x;
}

/* Copies left and right side by side into wide [count][left + right], or adds the parts of wide to
   them. */
static void past_join(int count, int left_width, int right_width, const float *left,
                      const float *right, float *wide)
{
    const int width = left_width + right_width;
    for (int b = 0; b < count; b++) {
        memcpy(wide + b * width, left + b * left_width, (size_t)left_width * sizeof *wide);
        if (right_width > 0)
            memcpy(wide + b * width + left_width, right + b * right_width,
                   (size_t)right_width * sizeof *wide);
    }
}

static void part(int count, int left_width, int right_width, const float *wide, float *left,
                 float *right)
{
    const int width = left_width + right_width;
    for (int b = 0; b < count; b++) {
        for (int i = 0; i < left_width; i++) left[b * left_width + i] += wide[b * width + i];
        for (int i = 0; i < right_width; i++)
            right[b * right_width + i] += wide[b * width + left_width + i];
    }
}

void past_forward(struct recurrent *m, int count, int t)
{
    const int e = m->config.embed, k = m->config.encoder_hidden, v = value_width(m);
    struct side *side = &m->sides[0];
    struct past *past = &side->past;
    const struct cell_state state = state_at(side->states.x, t, count, k);
    const struct cell_state mixed = state_at(past->mixed.x, t, count, k);
    float *query = at_step(past->queries.x, t, count, e + k),
          *out = at_step(past->out.x, t, count, v);
    const rapt_attention_saved saved = {.size = sizeof saved,
                                        .lse = at_step(past->lse, t, count, 1)};
    rapt_attention a = problem(m, count, t);
    clear_state(mixed, count, k);
    past_join(count, k, v - k, state.h, state.c, at_step(past->values.x, t, count, v));
    past_join(count, e, k, at_step(m->embedded.x, t, count, e),
              t > 0 ? at_step(past->mixed.x.h, t - 1, count, k) : mixed.h, query);
    must(rapt_attention_forward(&a, query, side->states.x.h, past->values.x, out, &saved,
                                workspace_for(&m->workspace, &a), NULL));
    part(count, k, v - k, out, mixed.h, mixed.c);
}

void past_clear(struct recurrent *m, int count, int length)
{
    struct past *past = &m->sides[0].past;
    const int rows = count * (length + 1);
    clear_rows(past->queries.d, rows, query_width(m));
    clear_rows(past->values.d, rows, value_width(m));
    clear_state(past->mixed.d, rows, m->config.encoder_hidden);
}

void past_complete(struct recurrent *m, int count, int t)
{
    const int k = m->config.encoder_hidden, v = value_width(m);
    const struct cell_state d = state_at(m->sides[0].states.d, t + 1, count, k);
    part(count, k, v - k, at_step(m->sides[0].past.values.d, t + 1, count, v), d.h, d.c);
}

void past_backward(struct recurrent *m, int count, int t)
{
    const int e = m->config.embed, k = m->config.encoder_hidden, v = value_width(m);
    struct side *side = &m->sides[0];
    struct past *past = &side->past;
    const struct cell_state dmixed = state_at(past->mixed.d, t, count, k);
    float *dquery = at_step(past->queries.d, t, count, e + k);
    float *dout = at_step(past->out.d, t, count, v);
    const rapt_attention_saved saved = {.size = sizeof saved,
                                        .lse = at_step(past->lse, t, count, 1)};
    rapt_attention a = problem(m, count, t);
    rapt_gradients d = {.size = sizeof d, .q = dquery, .k = side->states.d.h, .v = past->values.d};
    for (int i = 0; i < RAPT_ATTENTION_PARAMETER_COUNT; i++) d.parameters[i] = past->dlearned[i];
    past_join(count, k, v - k, dmixed.h, dmixed.c, dout);
    must(rapt_attention_backward(&a, at_step(past->queries.x, t, count, e + k), side->states.x.h,
                                 past->values.x, at_step(past->out.x, t, count, v), &saved, dout,
                                 NULL, &d, workspace_for(&m->workspace, &a), NULL));
    /* The first mixture has no predecessor; its gradient goes where nothing reads it. */
    part(count, e, k, dquery, at_step(m->embedded.d, t, count, e),
         at_step(past->mixed.d.h, t > 0 ? t - 1 : 0, count, k));
}

void recurrent_past(struct recurrent *m, const struct sentence *sentence, float *weights)
{
    const int length = sentence->source.count + 1;
    const struct past *past = &m->sides[0].past;
    recurrent_loss(m, sentence, 1);
    memset(weights, 0, (size_t)(length * length) * sizeof *weights);
    for (int t = 0; t < length; t++) {
        const rapt_attention_saved saved = {.size = sizeof saved, .lse = past->lse + t};
        rapt_attention a = problem(m, 1, t);
        must(rapt_attention_weights(&a, at_step(past->queries.x, t, 1, query_width(m)),
                                    m->sides[0].states.x.h, &saved, 0, 0, 0, 1,
                                    weights + t * length, workspace_for(&m->workspace, &a), NULL));
    }
}
