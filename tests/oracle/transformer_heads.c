/* transformer_heads.c - what changes the queries, keys or outputs of the heads of attention row by
   row, in double. */
#include "transformer_layers.h"

#include <math.h>
#include <stdlib.h>

/* Normalizes queries or keys as Henry et al. 2020 do, by the norm of Zhang and Sennrich 2019: x_i
   becomes x_i g_i / sqrt(mean of x^2 + epsilon). */
void oracle_norm_heads(const rapt_config *c, const double *gain, int heads, int K, int row,
                       int rows, double *x)
{
    double epsilon = c->norm_epsilon > 0 ? (double)c->norm_epsilon : 1e-5;
    for (int r = 0; r < rows && gain; r++)
        for (int h = 0; h < heads; h++) {
            double *head = x + (ptrdiff_t)r * row + h * K, mean = 0;
            for (int i = 0; i < K; i++) mean += head[i] * head[i] / K;
            for (int i = 0; i < K; i++) head[i] *= gain[i] / sqrt(mean + epsilon);
        }
}

/* Qiu et al. 2025: element i of head h is multiplied by the sigmoid of W x, which has
   one element for each head or for each element. */
void oracle_gate_heads(const struct oracle_model *m, const double *gate, int rows, const double *in,
                       double *mixed)
{
    const rapt_config *c = &m->config;
    int K = oracle_head_width(c), Q = c->heads * K;
    if (!gate) return;
    int gates = c->output_gate == RAPT_OUTPUT_GATE_HEAD ? c->heads : Q;
    double *z = oracle_zeros(rows, gates);
    oracle_affine(m, TWO_TERMS, rows, c->width, gates, in, gate, NULL, z);
    for (int r = 0; r < rows; r++)
        for (int i = 0; i < Q; i++)
            mixed[r * Q + i] /= 1 + exp(-z[r * gates + (gates == Q ? i : i / K)]);
    free(z);
}

/* Lin et al. 2025: f = sigmoid(w . x + b) for each head. */
double *oracle_log_forget(const struct oracle_model *m, double *const forget[2], int gates,
                          int rows, const double *in)
{
    if (!forget[0]) return NULL;
    double *z = oracle_zeros(rows, gates);
    oracle_affine(m, TWO_TERMS, rows, m->config.width, gates, in, forget[0], forget[1], z);
    for (int i = 0; i < rows * gates; i++) z[i] = -log1p(exp(-z[i]));
    return z;
}

double *oracle_repeat(const rapt_config *c, const double *v, int v_row, int rows)
{
    int K = oracle_head_width(c), G = (c->key_heads ? c->key_heads : c->heads) * K;
    double *to = oracle_zeros(rows, 2 * G);
    for (int s = 0; s < rows; s++)
        for (int i = 0; i < 2 * G; i++) to[s * 2 * G + i] = v[s * v_row + i / (2 * K) * K + i % K];
    return to;
}

/* Returns the place of the first attention of a head: r heads that share keys have their first
   attentions, then their second ones. */
static int first_map(const rapt_config *c, int head)
{
    int r = c->key_heads > 0 ? c->heads / c->key_heads : 1;
    return head / r * 2 * r + head % r;
}

/* Ye et al. 2024: lambda = exp(q1 . k1) - exp(q2 . k2) + init in layer l, where init = 0.8 - 0.6
   exp(-0.3 (l - 1)). A head is (1 - init) times the norm of the difference. */
void oracle_subtract(const rapt_config *c, const double *vectors, const double *gain, int layer,
                     int rows, int keys, const double *maps, double *out, const double *of_maps,
                     double *weights)
{
    int K = oracle_head_width(c), M = K / 2, H = c->heads;
    int r = c->key_heads > 0 ? H / c->key_heads : 1;
    double init = 0.8 - 0.6 * exp(-0.3 * (layer - 1)), first = 0, second = 0;
    for (int i = 0; i < M; i++) {
        first += vectors[i] * vectors[M + i];
        second += vectors[2 * M + i] * vectors[3 * M + i];
    }
    double lambda = exp(first) - exp(second) + init;
    for (int i = 0; i < rows * H * K; i++) {
        int row = i / (H * K), head = i / K % H;
        int at = (row * 2 * H + first_map(c, head)) * K + i % K;
        out[i] = maps[at] - lambda * maps[at + r * K];
    }
    oracle_norm_heads(c, gain, H, K, H * K, rows, out);
    for (int i = 0; i < rows * H * K; i++) out[i] *= 1 - init;
    for (int i = 0, all = rows * keys; weights && i < H * all; i++) {
        int at = first_map(c, i / all) * all + i % all;
        weights[i] = of_maps[at] - lambda * of_maps[at + r * all];
    }
}
