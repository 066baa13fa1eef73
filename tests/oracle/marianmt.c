/* marianmt.c - MarianMTModel.forward: embeddings times sqrt(d), sinusoids with all sines before all
   cosines, norms after each residual sum, and the table of tokens as the output matrix. */
#include "marianmt.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const float *find(const struct marianmt *m, const char *scope, const char *name)
{
    char full[160];
    snprintf(full, sizeof full, "%s%s", scope, name);
    for (int i = 0; i < m->count; i++)
        if (strcmp(m->tensors[i].name, full) == 0) return m->tensors[i].data;
    return NULL;
}

/* Computes y [rows][out] = x W' + b of nn.Linear `name`. */
static double *linear(const struct marianmt *m, const char *scope, const char *name,
                      const double *x, int rows, int in, int out)
{
    char weight[64], bias[64];
    snprintf(weight, sizeof weight, "%s.weight", name);
    snprintf(bias, sizeof bias, "%s.bias", name);
    const float *w = find(m, scope, weight), *b = find(m, scope, bias);
    double *y = calloc((size_t)(rows * out) + 1, sizeof *y);
    for (int r = 0; r < rows; r++)
        for (int o = 0; o < out; o++) {
            y[r * out + o] = (double)b[o];
            for (int i = 0; i < in; i++) y[r * out + o] += (double)w[o * in + i] * x[r * in + i];
        }
    return y;
}

/* Sets x = LayerNorm(x + y) and frees y. */
static void add_norm(const struct marianmt *m, const char *scope, const char *name, double *x,
                     double *y, int rows)
{
    char weight[64], bias[64];
    int D = m->width;
    snprintf(weight, sizeof weight, "%s.weight", name);
    snprintf(bias, sizeof bias, "%s.bias", name);
    const float *w = find(m, scope, weight), *b = find(m, scope, bias);
    for (int r = 0; r < rows; r++) {
        double mean = 0, variance = 0, *row = x + r * D;
        for (int j = 0; j < D; j++) row[j] += y[r * D + j], mean += row[j] / D;
        for (int j = 0; j < D; j++) variance += (row[j] - mean) * (row[j] - mean) / D;
        for (int j = 0; j < D; j++)
            row[j] = (row[j] - mean) / sqrt(variance + 1e-5) * (double)w[j] + (double)b[j];
    }
    free(y);
}

/* Computes MarianAttention of rows x over rows z. If causal, row t sees only rows up to t. */
static double *attention(const struct marianmt *m, const char *layer, const char *name,
                         const double *x, int rows, const double *z, int keys, int causal)
{
    char scope[160];
    int D = m->width, K = D / m->heads;
    snprintf(scope, sizeof scope, "%s%s.", layer, name);
    double *q = linear(m, scope, "q_proj", x, rows, D, D),
           *k = linear(m, scope, "k_proj", z, keys, D, D),
           *v = linear(m, scope, "v_proj", z, keys, D, D),
           *mixed = calloc((size_t)(rows * D) + 1, sizeof *mixed),
           *p = calloc((size_t)keys + 1, sizeof *p);
    for (int h = 0; h < m->heads; h++)
        for (int t = 0; t < rows; t++) {
            double sum = 0;
            for (int s = 0; s < keys; s++) {
                double dot = 0;
                for (int j = h * K; j < (h + 1) * K; j++) dot += q[t * D + j] * k[s * D + j];
                p[s] = causal && s > t ? 0 : exp(dot / sqrt(K));
                sum += p[s];
            }
            for (int s = 0; s < keys; s++)
                for (int j = h * K; j < (h + 1) * K; j++)
                    mixed[t * D + j] += p[s] / sum * v[s * D + j];
        }
    double *y = linear(m, scope, "out_proj", mixed, rows, D, D);
    free(q), free(k), free(v), free(mixed), free(p);
    return y;
}

/* Returns the embedding table of that name, or the shared one. */
static const float *table_of(const struct marianmt *m, const char *name)
{
    const float *own = find(m, "", name);
    return own ? own : find(m, "", "model.shared.weight");
}

/* If there is a table of positions in the scope, such as "model.encoder.", it replaces the
   sinusoids. */
static double *embed(const struct marianmt *m, const char *scope, const float *table,
                     const int *ids, int count)
{
    int D = m->width, half = D / 2;
    const float *own = find(m, scope, "embed_positions.weight");
    double *x = calloc((size_t)(count * D) + 1, sizeof *x);
    for (int p = 0; p < count; p++)
        for (int j = 0; j < D; j++) {
            double angle = p / pow(10000, 2.0 * (j % half) / D);
            double position = j < half ? sin(angle) : cos(angle);
            if (own) position = (double)own[p * D + j];
            x[p * D + j] = (double)table[ids[p] * D + j] * (m->scaled ? sqrt(D) : 1) + position;
        }
    return x;
}

static double activate(int activation, double x)
{
    if (activation == MARIANMT_RELU) return fmax(x, 0);
    return activation == MARIANMT_GELU ? x * 0.5 * (1 + erf(x / sqrt(2))) : x / (1 + exp(-x));
}

static void run_layer(const struct marianmt *m, const char *scope, double *x, int rows,
                      const double *states, int keys)
{
    int D = m->width, F = m->ffn_width;
    add_norm(m, scope, "self_attn_layer_norm", x,
             attention(m, scope, "self_attn", x, rows, x, rows, states != NULL), rows);
    if (states)
        add_norm(m, scope, "encoder_attn_layer_norm", x,
                 attention(m, scope, "encoder_attn", x, rows, states, keys, 0), rows);
    double *h = linear(m, scope, "fc1", x, rows, D, F);
    for (int i = 0; i < rows * F; i++) h[i] = activate(m->activation, h[i]);
    add_norm(m, scope, "final_layer_norm", x, linear(m, scope, "fc2", h, rows, F, D), rows);
    free(h);
}

void marianmt_logits(const struct marianmt *m, const int *source, int source_count,
                     const int *target, int target_count, double *logits)
{
    char scope[64];
    const float *inputs = table_of(m, "model.encoder.embed_tokens.weight"),
                *outputs = table_of(m, "model.decoder.embed_tokens.weight"),
                *head = find(m, "", "lm_head.weight"), *bias = find(m, "", "final_logits_bias");
    const float *table = head ? head : outputs; /* tied */
    double *states = embed(m, "model.encoder.", inputs, source, source_count),
           *x = embed(m, "model.decoder.", outputs, target, target_count);
    for (int l = 0; l < m->encoder_layers; l++) {
        snprintf(scope, sizeof scope, "model.encoder.layers.%d.", l);
        run_layer(m, scope, states, source_count, NULL, 0);
    }
    for (int l = 0; l < m->decoder_layers; l++) {
        snprintf(scope, sizeof scope, "model.decoder.layers.%d.", l);
        run_layer(m, scope, x, target_count, states, source_count);
    }
    for (int t = 0; t < target_count; t++)
        for (int n = 0; n < m->vocab; n++) {
            double sum = (double)bias[n];
            for (int j = 0; j < m->width; j++)
                sum += x[t * m->width + j] * (double)table[n * m->width + j];
            logits[t * m->vocab + n] = sum;
        }
    free(states), free(x);
}
