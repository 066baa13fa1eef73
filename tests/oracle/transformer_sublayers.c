/* transformer_sublayers.c - sublayers of a decoder other than attention with a softmax and
   feed-forward layers, in double. */
#include "recurrences.h"
#include "transformer_layers.h"

#include <math.h>
#include <stdlib.h>

/* ---- what replaces self-attention, row by row: the unit of Kim et al. 2019, and linear attention.
   The latter is that of Katharopoulos et al. 2020 (arXiv 2006.16236, equations 18 to 20), and the
   delta rule with and without decays (Yang et al. 2024, arXiv 2406.06484, section 3, and
   2412.06464, section 3) without short convolutions; decays are sigmoids of gates. The state is the
   transpose of theirs. ---- */

/* A sublayer's projections, and its sizes. */
struct linear_rows {
    const rapt_config *c;
    int K, H, G, row; /* row: numbers per row of qkv */
    double *qkv, *log_decay, *rate;
};

static int is_plain(const rapt_config *c)
{
    return c->decoder_recurrence == RAPT_RECURRENCE_LINEAR;
}

/* x becomes SiLU x, and each head of queries and keys is divided by its length. */
static void normalize_rows(const struct linear_rows *r, int rows)
{
    double epsilon = r->c->norm_epsilon > 0 ? (double)r->c->norm_epsilon : 1e-5;
    for (int i = 0; i < rows * r->row; i++) r->qkv[i] /= 1 + exp(-r->qkv[i]);
    for (int t = 0; t < rows; t++)
        for (int h = 0; h < r->H + r->G; h++) {
            double *head = r->qkv + t * r->row + h * r->K, squares = epsilon;
            for (int i = 0; i < r->K; i++) squares += head[i] * head[i];
            for (int i = 0; i < r->K; i++) head[i] /= sqrt(squares);
        }
}

static double feature(const rapt_config *c, double x)
{
    if (!is_plain(c)) return x;
    return x > 0 ? x + 1 : exp(x);
}

/* Updates S [K][K] and the sum of features z [K] by row t of key head g. */
static void update(const struct linear_rows *r, int t, int g, double *S, double *z)
{
    int K = r->K;
    const double *k = r->qkv + t * r->row + (r->H + g) * K, *v = k + r->G * K;
    double decay = r->log_decay ? exp(r->log_decay[t * r->G + g]) : 1;
    for (int i = 0; i < K * K; i++) S[i] *= decay;
    for (int i = 0; i < K; i++) z[i] += feature(r->c, k[i]);
    for (int j = 0; j < K; j++) {
        double u = v[j];
        for (int i = 0; i < K && r->rate; i++) u -= S[i * K + j] * k[i];
        if (r->rate) u *= r->rate[t * r->G + g];
        for (int i = 0; i < K; i++) S[i * K + j] += feature(r->c, k[i]) * u;
    }
}

/* Reads row t of head h from the state. */
static void read_row(const struct linear_rows *r, int t, int h, const double *S, const double *z,
                     double *out)
{
    int K = r->K;
    const double *q = r->qkv + t * r->row + h * K;
    double sum = 0;
    for (int i = 0; i < K; i++) sum += feature(r->c, q[i]) * z[i];
    for (int j = 0; j < K; j++) {
        double y = 0;
        for (int i = 0; i < K; i++) y += feature(r->c, q[i]) * S[i * K + j];
        out[j] = is_plain(r->c) ? y / sum : y;
    }
}

/* Computes the outputs of all heads, mixed [rows][H][K]. */
static void heads(const struct linear_rows *r, int rows, double *mixed)
{
    for (int h = 0; h < r->H; h++) {
        double *S = oracle_zeros(r->K, r->K), *z = oracle_zeros(1, r->K);
        for (int t = 0; t < rows; t++) {
            update(r, t, h / (r->H / r->G), S, z);
            read_row(r, t, h, S, z, mixed + (t * r->H + h) * r->K);
        }
        free(S);
        free(z);
    }
}

static void linear_attention(const struct oracle_model *m, const struct oracle_layer *l, int rows,
                             const double *in, double *y)
{
    const rapt_config *c = &m->config;
    int D = c->width, K = oracle_head_width(c), H = c->heads, G = c->key_heads ? c->key_heads : H;
    struct linear_rows r = {.c = c, .K = K, .H = H, .G = G, .row = (H + 2 * G) * K};
    double *mixed = oracle_zeros(rows, H * K);
    r.qkv = oracle_zeros(rows, r.row);
    oracle_affine(m, TWO_TERMS, rows, D, r.row, in, l->linear_qkv[0], l->linear_qkv[1], r.qkv);
    if (!is_plain(c)) normalize_rows(&r, rows);
    r.log_decay = oracle_log_forget(m, l->linear_forget, G, rows, in);
    if (l->linear_rate) {
        r.rate = oracle_zeros(rows, G);
        oracle_affine(m, TWO_TERMS, rows, D, G, in, l->linear_rate, NULL, r.rate);
        for (int i = 0; i < rows * G; i++) r.rate[i] = 1 / (1 + exp(-r.rate[i]));
    }
    heads(&r, rows, mixed);
    oracle_norm_heads(c, l->linear_output, H, K, H * K, rows, mixed);
    oracle_gate_heads(m, l->linear_gate, rows, in, mixed);
    oracle_affine(m, ONE_TERM, rows, H * K, D, mixed, l->linear_out[0], l->linear_out[1], y);
    free(r.qkv);
    free(r.log_decay);
    free(r.rate);
    free(mixed);
}

/* Kim et al. 2019, section 3.1: c_t = f_t c_(t-1) + (1 - f_t) x_t, and the output is its positive
   part. */
static void simple_unit(const struct oracle_model *m, const struct oracle_layer *l, int rows,
                        const double *in, double *y)
{
    int D = m->config.width;
    double *x = oracle_zeros(rows, D), *z = oracle_zeros(rows, D), *c = oracle_zeros(1, D);
    oracle_affine(m, TWO_TERMS, rows, D, D, in, l->input[0], NULL, x);
    oracle_affine(m, TWO_TERMS, rows, D, D, in, l->forget[0], l->forget[1], z);
    for (int t = 0; t < rows; t++)
        for (int j = 0; j < D; j++) {
            double f = 1 / (1 + exp(-z[t * D + j]));
            c[j] = f * c[j] + (1 - f) * x[t * D + j];
            y[t * D + j] = fmax(c[j], 0);
        }
    free(x);
    free(z);
    free(c);
}

void oracle_recurrent(const struct oracle_model *m, const struct oracle_layer *l, int rows,
                      const double *in, double *y)
{
    if (m->config.decoder_recurrence == RAPT_RECURRENCE_SSRU)
        simple_unit(m, l, rows, in, y);
    else
        linear_attention(m, l, rows, in, y);
}

/* ---- monotonic cross-attention: the expected values of training, or hard stops
   (recurrences.h) ---- */

/* Returns the problem of one sentence. Because noise depends on its index, the problem has empty
   sentences before it. starts is [2][SENTENCES + 1]. */
static rapt_monotonic_attention monotonic_problem(const struct oracle_model *m,
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
static void monotonic_head(const struct oracle_model *m, const struct oracle_monotonic *x,
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
    const rapt_monotonic_attention a = monotonic_problem(m, x, starts);
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
        monotonic_head(m, x, &a, &in, h, out, own);
        for (int i = 0; i < x->target->count * K; i++)
            mixed[i / K * H * K + h * K + i % K] = out[i];
        for (int i = 0; weights && i < x->target->count * x->source->count; i++)
            weights[h * x->target->count * x->source->count + i] = own[i];
        free(out);
        free(own);
    }
}
