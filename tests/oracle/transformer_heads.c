/* transformer_heads.c - what changes the queries, keys or outputs of the heads of attention row by
   row, in double. */
#include "transformer_layers.h"

#include <math.h>
#include <stdlib.h>

/* Normalizes queries or keys as Henry et al. 2020 do, by the norm of Zhang and Sennrich 2019: x_i
   becomes x_i g_i / sqrt(mean of x^2 + epsilon). */
void oracle_norm_heads(const rapt_config *c, const double *gain, int heads, int row, int rows,
                       double *x)
{
    int K = oracle_head_width(c);
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
