/* transformer_monotonic.c - monotonic cross-attention of a model, in double: the expected values of
   training, or hard stops (monotonic_attention.h). */
#include "monotonic_attention.h"
#include "transformer_layers.h"

#include <stdlib.h>

/* Returns the problem of one sentence. Because noise depends on its index, the problem has empty
   sentences before it. starts is [2][SENTENCES + 1]. */
static rapt_monotonic_attention problem_of(const struct oracle_model *m,
                                           const struct oracle_monotonic *x, int *starts)
{
    const rapt_config *c = &m->config;
    int K = oracle_head_width(c), G = c->key_heads ? c->key_heads : c->heads;
    int soft = c->monotonic > RAPT_CROSS_MONOTONIC_HARD;
    const rapt_stride query = {0, K, (soft ? 2 : 1) * c->heads * K},
                      key = {0, K, (soft ? 3 : 2) * G * K};
    rapt_monotonic_attention a = {.batch = x->target->number + 1,
                                  .heads = c->heads,
                                  .key_heads = G,
                                  .queries = x->target->count,
                                  .keys = x->source->count,
                                  .key_width = K,
                                  .value_width = K,
                                  .q = query,
                                  .k = key,
                                  .v = key,
                                  .chunk_q = query,
                                  .chunk_k = key,
                                  .last_stops = 1,
                                  .noise = x->seed ? (float)m->noise : 0,
                                  .seed = x->seed};
    a.mode = c->monotonic == RAPT_CROSS_MONOTONIC_HARD    ? RAPT_MONOTONIC_HARD
             : c->monotonic == RAPT_CROSS_MONOTONIC_CHUNK ? RAPT_MONOTONIC_CHUNK
                                                          : RAPT_MONOTONIC_LOOKBACK;
    a.chunk = c->monotonic_chunk ? c->monotonic_chunk : 4;
    for (int b = 0; b <= x->target->number + 1; b++) {
        starts[b] = b > x->target->number ? x->target->count : 0;
        starts[SENTENCES + 1 + b] = b > x->target->number ? x->source->count : 0;
    }
    a.query_starts = starts, a.key_starts = starts + SENTENCES + 1;
    return a;
}

/* Computes a head: out [T][K] and weights [T][S], both 0 at first. */
static void compute_head(const struct oracle_model *m, const struct oracle_monotonic *x,
                         const rapt_monotonic_attention *a,
                         const struct oracle_monotonic_inputs *in, int head, double *out,
                         double *weights)
{
    double *alpha = oracle_zeros(x->target->count, x->source->count),
           *delays = oracle_zeros(x->target->count, 1);
    const struct oracle_monotonic_results r = {out, alpha, weights, delays};
    int position = 0;
    if (m->expects_stops) oracle_monotonic_head(a, in, x->target->number, head, &r);
    for (int t = 0; !m->expects_stops && t < x->target->count; t++)
        oracle_monotonic_stop(a, in, x->target->number, head, t, &position,
                              out + t * a->value_width, weights + t * x->source->count);
    free(alpha);
    free(delays);
}

void oracle_monotonic_heads(const struct oracle_model *m, const struct oracle_monotonic *x,
                            double *mixed, double *weights)
{
    int starts[2 * (SENTENCES + 1)], H = m->config.heads;
    const rapt_monotonic_attention a = problem_of(m, x, starts);
    int K = a.key_width, G = a.key_heads * K;
    const struct oracle_monotonic_inputs in = {.q = x->q,
                                               .k = x->kv,
                                               .v = x->kv + G,
                                               .chunk_q = x->q + H * K,
                                               .chunk_k = x->kv + 2 * G,
                                               .offset = x->offset};
    for (int h = 0; h < H; h++) {
        double *out = oracle_zeros(x->target->count, K),
               *own = oracle_zeros(x->target->count, x->source->count);
        compute_head(m, x, &a, &in, h, out, own);
        for (int i = 0; i < x->target->count * K; i++)
            mixed[i / K * H * K + h * K + i % K] = out[i];
        for (int i = 0; weights && i < x->target->count * x->source->count; i++)
            weights[h * x->target->count * x->source->count + i] = own[i];
        free(out);
        free(own);
    }
}
