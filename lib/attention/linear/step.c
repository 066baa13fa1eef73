/* step.c - linear attention row by row, for decoding. */
#include "attention/linear/linear.h"

#include <string.h>

struct step_memory {    /* memory of a thread */
    float *key, *query; /* [key_width] features */
    float *value, *out; /* [values] */
};

static void lay_out_step(struct arena *part, const void *what, void *to)
{
    const struct linear_problem *l = what;
    struct step_memory *s = to;
    s->key = rapt__arena_floats(part, (size_t)l->width, 1);
    s->query = rapt__arena_floats(part, (size_t)l->width, 1);
    s->value = rapt__arena_floats(part, (size_t)l->values, 1);
    s->out = rapt__arena_floats(part, (size_t)l->values, 1);
}

size_t rapt__linear_step_workspace(const struct linear_problem *l, int team_size)
{
    struct arena arena = {0};
    struct step_memory s;
    rapt__arena_parts(&arena, (size_t)team_size, lay_out_step, l, &s, NULL);
    return arena.overflow ? 0 : arena.used;
}

static void step_features(const struct linear_problem *l, const float *x, float *to)
{
    memcpy(to, x, (size_t)l->width * sizeof *x);
    rapt__linear_features(l, to, l->width);
}

/* Multiplies the state by a row's decay and adds the row's k u' (rapt/linear_attention.h). */
static void step_key(const struct linear_problem *l, const struct linear_item *item,
                     const struct linear_call *call, int row, const struct step_memory *s,
                     float *state)
{
    const rapt_linear_attention *a = l->a;
    ptrdiff_t gate = rapt__linear_at(&a->gates, item, row);
    size_t size = rapt__linear_state_size(l);
    float decay = a->log_decay ? a->log_decay[gate] : 0;
    l->kernels->exp_row(&decay, 1);
    for (size_t i = 0; i < size && a->log_decay; i++) state[i] *= decay;
    step_features(l, call->k + rapt__linear_at(&a->k, item, row), s->key);
    memcpy(s->value, call->v + rapt__linear_at(&a->v, item, row),
           (size_t)a->value_width * sizeof(float));
    if (a->normalized) s->value[a->value_width] = 1;
    if (a->beta) {
        memset(s->out, 0, (size_t)l->values * sizeof *s->out);
        l->kernels->gemv(s->key, l->width, state, l->values, l->values, s->out);
        for (int i = 0; i < l->values; i++) s->value[i] = a->beta[gate] * (s->value[i] - s->out[i]);
    }
    l->kernels->rank1_update(s->key, l->width, s->value, l->values, state, l->values);
}

static void step_query(const struct linear_problem *l, const struct linear_item *item,
                       const struct linear_call *call, int row, const struct step_memory *s,
                       const float *state)
{
    const rapt_linear_attention *a = l->a;
    float *out = call->out + rapt__linear_at(&a->out, item, row);
    step_features(l, call->q + rapt__linear_at(&a->q, item, row), s->query);
    memset(s->out, 0, (size_t)l->values * sizeof *s->out);
    l->kernels->gemv(s->query, l->width, state, l->values, l->values, s->out);
    float factor = a->normalized ? rapt__chunk_inverse(l, s->out) : l->scale;
    for (int i = 0; i < a->value_width; i++) out[i] = factor * s->out[i];
}

void rapt__linear_attention_step(struct team *team, void *argument)
{
    const struct linear_call *call = argument;
    const struct linear_problem l = rapt__linear(&call->a);
    struct arena arena = rapt__arena_over(call->workspace, SIZE_MAX, team->rank);
    struct step_memory s;
    rapt__arena_parts(&arena, (size_t)team->size, lay_out_step, &l, &s, NULL);
    rapt__workspace_begin(team);
    for (int t; (t = rapt__team_take(team)) < call->a.batch * l.key_heads;) {
        const struct linear_item item = rapt__linear_item(&l, t);
        float *state = call->state + rapt__linear_state_at(&l, &item);
        for (int row = 0; row < item.rows; row++) {
            step_key(&l, &item, call, row, &s, state);
            for (int i = 0; i < l.group; i++) {
                const struct linear_item query = rapt__linear_query_item(&l, &item, i);
                step_query(&l, &query, call, row, &s, state);
            }
        }
    }
    rapt__team_barrier(team);
    rapt__workspace_end(team, &arena);
}
