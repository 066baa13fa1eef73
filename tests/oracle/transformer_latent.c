/* transformer_latent.c - latent attention of DeepSeek-V2 (2405.04434, section 2.1), in double: keys
   and values of all heads are computed from the latent rows c, which are normalized as Zhang and
   Sennrich 2019 do, and queries from rows of their own (equations 12 to 14). */
#include "transformer_layers.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

int oracle_latent_rotary(const rapt_config *c, int cross)
{
    if (!c->rotary || cross) return 0;
    return c->rotary_width ? c->rotary_width : oracle_head_width(c);
}

double *oracle_latent_queries(const struct oracle_model *m, double *const up[2], int cross,
                              int rows, const double *x, int row)
{
    const rapt_config *c = &m->config;
    int width = c->latent_query_width;
    int all = c->heads * (oracle_latent_rotary(c, cross) + oracle_head_width(c));
    if (!up[1]) return NULL;
    double *latent = oracle_zeros(rows, width), *q = oracle_zeros(rows, all);
    for (int t = 0; t < rows; t++)
        memcpy(latent + t * width, x + t * row, (size_t)width * sizeof *x);
    oracle_norm_heads(c, up[0], 1, width, width, rows, latent);
    oracle_affine(m, TWO_TERMS, rows, width, all, latent, up[1], NULL, q);
    free(latent);
    return q;
}

/* Computes k_h = (p, W_uk c) and v_h = W_uv c for all rows and heads. `up` holds W_uk transposed,
   [H R][K], and W_uv [H K][R]. */
static void expand(const rapt_config *c, const struct oracle_latent *l, const double *up[2],
                   int rows, const double *keys, int row, int P)
{
    int R = c->latent_width, K = oracle_head_width(c), H = c->heads;
    for (int i = 0; i < rows * H; i++) {
        int h = i % H;
        const double *p = keys + (ptrdiff_t)(i / H) * row, *latent = p + P;
        double *k = l->k + (ptrdiff_t)i * (P + K), *v = l->v + (ptrdiff_t)i * K;
        memcpy(k, p, (size_t)P * sizeof *k);
        for (int j = 0; j < K; j++)
            for (int r = 0; r < R; r++) {
                k[P + j] += up[0][(h * R + r) * K + j] * latent[r];
                v[j] += up[1][(h * K + j) * R + r] * latent[r];
            }
    }
}

/* Computes what a model in 8 bits multiplies: queries W_uk' q, since they are quantized as rows of
   a product. Keys and values are then the latent rows themselves. */
static void absorb(const struct oracle_model *m, const struct oracle_latent *l, const double *up[2],
                   int queries, const double *q, int q_row, int rows, const double *keys, int row,
                   int P)
{
    const rapt_config *c = &m->config;
    int R = c->latent_width, K = oracle_head_width(c), H = c->heads;
    double *x = oracle_zeros(queries, K), *y = oracle_zeros(queries, R);
    for (int h = 0; h < H; h++) {
        for (int t = 0; t < queries; t++) {
            const double *from = q + (ptrdiff_t)t * q_row + h * (P + K);
            memcpy(l->q + (t * H + h) * (P + R), from, (size_t)P * sizeof *q);
            memcpy(x + t * K, from + P, (size_t)K * sizeof *q);
        }
        oracle_affine(m, TWO_TERMS, queries, K, R, x, up[0] + (ptrdiff_t)h * R * K, NULL, y);
        for (int t = 0; t < queries; t++)
            memcpy(l->q + (t * H + h) * (P + R) + P, y + t * R, (size_t)R * sizeof *q);
    }
    for (int s = 0; s < rows; s++) {
        const double *from = keys + (ptrdiff_t)s * row;
        memcpy(l->k + s * (P + R), from, (size_t)(P + R) * sizeof *from);
        memcpy(l->v + s * R, from + P, (size_t)R * sizeof *from);
    }
    free(x);
    free(y);
}

struct oracle_latent oracle_latent_make(const struct oracle_model *m, const double *up[2],
                                        int queries, const double *q, int q_row, int rows,
                                        const double *keys, int row, int P)
{
    const rapt_config *c = &m->config;
    int R = c->latent_width, K = oracle_head_width(c), H = c->heads;
    struct oracle_latent l = {.key_heads = m->int8 ? 1 : H,
                              .key_width = P + (m->int8 ? R : K),
                              .value_width = m->int8 ? R : K};
    l.q = oracle_zeros(queries, H * l.key_width);
    l.k = oracle_zeros(rows, l.key_heads * l.key_width);
    l.v = oracle_zeros(rows, l.key_heads * l.value_width);
    l.out = oracle_zeros(queries, H * l.value_width);
    if (m->int8) {
        absorb(m, &l, up, queries, q, q_row, rows, keys, row, P);
        return l;
    }
    for (int t = 0; t < queries; t++)
        memcpy(l.q + t * H * (P + K), q + (ptrdiff_t)t * q_row, (size_t)(H * (P + K)) * sizeof *q);
    expand(c, &l, up, rows, keys, row, P);
    return l;
}

void oracle_latent_narrow(const rapt_config *c, int cross, const struct oracle_latent *l,
                          rapt_attention *a)
{
    int P = oracle_latent_rotary(c, cross);
    a->key_heads = l->key_heads, a->key_width = l->key_width, a->value_width = l->value_width;
    a->q.head = a->k.head = l->key_width, a->v.head = l->value_width;
    a->out = (rapt_stride){0, l->value_width, (ptrdiff_t)a->heads * l->value_width};
    a->relative.rotary_width = P;
    if (a->score == RAPT_SCORE_SCALED_DOT) a->scale = (float)(1 / sqrt(P + oracle_head_width(c)));
}

void oracle_latent_finish(const struct oracle_model *m, struct oracle_latent *l,
                          const double *up[2], int queries, double *mixed)
{
    const rapt_config *c = &m->config;
    int R = c->latent_width, K = oracle_head_width(c), H = c->heads;
    double *x = oracle_zeros(queries, R), *y = oracle_zeros(queries, K);
    if (!m->int8) memcpy(mixed, l->out, (size_t)(queries * H * K) * sizeof *mixed);
    for (int h = 0; h < H && m->int8; h++) {
        for (int t = 0; t < queries; t++)
            memcpy(x + t * R, l->out + (t * H + h) * R, (size_t)R * sizeof *x);
        oracle_affine(m, TWO_TERMS, queries, R, K, x, up[1] + (ptrdiff_t)h * K * R, NULL, y);
        for (int t = 0; t < queries; t++)
            memcpy(mixed + (t * H + h) * K, y + t * K, (size_t)K * sizeof *y);
    }
    free(l->q), free(l->k), free(l->v), free(l->out);
    free(x), free(y);
}
