/* step.c - monotonic attention in inference: finds the key at which each query stops, and computes
   outputs and weights, one query at a time. */
#include "attention/monotonic/monotonic.h"

#include <string.h>

static void lay_out_step(struct arena *part, const void *what, void *to)
{
    const struct monotonic_problem *m = what;
    float **weights = to; /* [ld] */
    *weights = rapt__arena_floats(part, (size_t)m->ld, 1);
}

size_t rapt__monotonic_step_workspace(const struct monotonic_problem *m, int team_size)
{
    struct arena arena = {0};
    float *weights;
    rapt__arena_parts(&arena, (size_t)team_size, lay_out_step, m, &weights, NULL);
    return arena.overflow ? 0 : arena.used;
}

/* Returns the first key, starting with `key`, at which query t stops, or the number of valid keys
   if it does not stop. */
static int find_stop(const struct monotonic_problem *m, const struct monotonic_item *item,
                     const struct monotonic_call *call, int head, int t, int key)
{
    const rapt_monotonic_attention *a = m->a;
    const int existing = item->sequence.existing;
    if (key == existing) return key;
    const float *q = call->q + rapt__monotonic_query(&a->q, item, head, t);
    const float *k = call->k + rapt__monotonic_key(&a->k, item);
    float offset = a->offset ? a->offset[head] : 0;
    for (; key < existing; key++) {
        if (a->last_stops && key == existing - 1) break;
        if (m->scale * m->kernels->dot(q, k + key * a->k.row, a->key_width) + offset >= 0) break;
    }
    return key;
}

/* Returns the first key whose value a query reads if it stops at key `stop`. */
static int first_of(const rapt_monotonic_attention *a, int stop)
{
    return a->mode == RAPT_MONOTONIC_HARD    ? stop
           : a->mode == RAPT_MONOTONIC_CHUNK ? rapt__max(0, stop - (a->chunk - 1))
                                             : 0;
}

/* Computes the weights that query t gives to keys `first` to `stop`. */
static void weigh_softly(const struct monotonic_problem *m, const struct monotonic_item *item,
                         const struct monotonic_call *call, int head, int t, int first, int stop,
                         float *weights)
{
    const rapt_monotonic_attention *a = m->a;
    const float *q = call->chunk_q + rapt__monotonic_query(&a->chunk_q, item, head, t);
    const float *k = call->chunk_k + rapt__monotonic_key(&a->chunk_k, item);
    const int n = stop + 1 - first;
    float max, sum;
    for (int i = 0; i < n; i++)
        weights[i] =
            m->chunk_scale * m->kernels->dot(q, k + (first + i) * a->chunk_k.row, a->key_width);
    m->kernels->softmax_row(weights, n, &max, &sum);
    for (int i = 0; i < n; i++) weights[i] /= sum;
}

static void step_query(const struct monotonic_problem *m, const struct monotonic_item *item,
                       const struct monotonic_call *call, int head, int t, int *position,
                       float *weights)
{
    const rapt_monotonic_attention *a = m->a;
    float *out = call->out + rapt__monotonic_query(&a->out, item, head, t);
    const size_t size = (size_t)a->value_width * sizeof *out;
    int stop = *position = find_stop(m, item, call, head, t, *position), first = first_of(a, stop);
    memset(out, 0, size);
    if (call->stops) call->stops[rapt__monotonic_delay(m, item, head, t)] = stop;
    if (stop == item->sequence.existing) return;
    const float *v = call->v + rapt__monotonic_key(&a->v, item) + first * a->v.row;
    if (m->soft) {
        weigh_softly(m, item, call, head, t, first, stop, weights);
        m->kernels->gemv(weights, stop + 1 - first, v, a->v.row, a->value_width, out);
    } else {
        memcpy(out, v, size);
    }
}

/* Returns an item with the queries of a sequence and the keys that they read. If call->source is
   given, key_starts and key_counts are indexed by call->source[sequence], not by `sequence`. */
static struct monotonic_item item_of(const struct monotonic_problem *m,
                                     const struct monotonic_call *call, int sequence, int head)
{
    rapt_attention plain = m->plain;
    if (call->source) plain.key_starts = NULL, plain.mask.key_counts = NULL;
    struct monotonic_item item = {rapt__sequence(&plain, sequence), head / m->group};
    if (!call->source) return item;
    const struct sequence keys = rapt__sequence(&m->plain, call->source[sequence]);
    item.sequence.key_first = keys.key_first, item.sequence.keys = keys.keys;
    item.sequence.existing = keys.existing;
    item.sequence.key_batch = keys.key_batch, item.sequence.key_row = keys.key_row;
    return item;
}

void rapt__monotonic_step(struct team *team, void *argument)
{
    const struct monotonic_call *call = argument;
    const struct monotonic_problem m = rapt__monotonic(&call->a);
    struct arena arena = rapt__arena_over(call->workspace, SIZE_MAX, team->rank);
    float *weights;
    rapt__arena_parts(&arena, (size_t)team->size, lay_out_step, &m, &weights, NULL);
    rapt__workspace_begin(team);
    for (int i; (i = rapt__team_take(team)) < call->a.batch * call->a.heads;) {
        int head = i % call->a.heads;
        const struct monotonic_item item = item_of(&m, call, i / call->a.heads, head);
        for (int t = 0; t < item.sequence.queries; t++)
            step_query(&m, &item, call, head, t, &call->positions[i], weights);
    }
    rapt__team_barrier(team);
    rapt__workspace_end(team, &arena);
}

void rapt__monotonic_step_weights(const struct monotonic_call *call, int sequence, int row,
                                  int head, float share, float *weights)
{
    const struct monotonic_problem m = rapt__monotonic(&call->a);
    const struct monotonic_item item = item_of(&m, call, sequence, head);
    const int t = row - item.sequence.query_first;
    const int stop = call->stops[rapt__monotonic_delay(&m, &item, head, t)];
    const int first = first_of(&call->a, stop);
    float *own = call->workspace;
    if (stop == item.sequence.existing) return;
    own[0] = 1;
    if (m.soft) weigh_softly(&m, &item, call, head, t, first, stop, own);
    for (int s = first; s <= stop; s++) weights[s] += share * own[s - first];
}
