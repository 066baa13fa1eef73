/* transformer_projections.c - what a layer does between its projections and attention, in double.
 */
#include "attention.h"
#include "transformer_layers.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- distances: the distance vectors of a layer, in double: parameters of the layer (Shaw et
   al. 2018), projected sinusoids (Dai et al. 2019, section 3.3) or projected rows that the layers
   share (He et al. 2021, section 3.1), for distances or their buckets. ---- */

/* Dai et al. 2019: row i - j of R is the encoding of position i - j of Vaswani et al. 2017, with
   all sines before all cosines. Row n of the result is for key j = i + n - before. */
static double *sinusoids(const rapt_config *c, int before, int rows)
{
    int D = c->width;
    double *R = oracle_zeros(rows, D);
    for (int n = 0; n < rows; n++)
        for (int i = 0; i < D / 2; i++) {
            double angle = (before - n) / pow(10000, 2.0 * i / D);
            R[n * D + i] = (double)(float)sin(angle);
            R[n * D + D / 2 + i] = (double)(float)cos(angle);
        }
    return R;
}

/* Sets v->buckets. */
static void bucket(struct oracle_vectors *v, const rapt_config *c)
{
    rapt_distances *d = &v->shape;
    int B = c->relative_buckets, rows = d->before + 1 + d->after;
    v->buckets = malloc((size_t)rows * sizeof *v->buckets);
    for (int n = 0; n < rows; n++)
        v->buckets[n] = oracle_log_bucket(n - d->before, B, d->before) + B - 1;
    d->buckets = v->buckets, d->bucket_count = d->after ? 2 * B - 1 : B;
}

struct oracle_vectors oracle_vectors_make(const struct oracle_model *m,
                                          const struct oracle_layer *l, int decoder)
{
    static const float there[1];
    const rapt_config *c = &m->config;
    struct oracle_vectors v = {.shape.before = 0};
    rapt_distances *d = &v.shape;
    int D = c->width, Q = c->heads * oracle_head_width(c);
    if (!l->distance_keys && !l->distance_key) return v;
    int C = c->relative_distance > 0 ? c->relative_distance : 128;
    d->before = C, d->after = decoder ? 0 : C;
    int rows = d->before + 1 + d->after, all_rows = 2 * C + 1;
    if (c->relative_bias == RAPT_RELATIVE_BIAS_DEBERTA && c->relative_buckets) {
        bucket(&v, c);
        rows = d->bucket_count, all_rows = 2 * c->relative_buckets - 1;
    }
    d->shared = l->distance_keys != NULL;
    d->keys = there;
    v.in.distance_keys = l->distance_keys;
    if (l->distance_values) d->values = there, v.in.distance_values = l->distance_values;
    if (l->content_bias) d->content_bias = there, v.in.content_bias = l->content_bias;
    if (l->position_bias) d->position_bias = there, v.in.position_bias = l->position_bias;
    if (!l->distance_key) return v;
    double *own = l->distances ? NULL : sinusoids(c, d->before, rows);
    const double *all = own ? own : l->distances;
    v.in.distance_keys = v.keys = oracle_zeros(rows, Q);
    oracle_affine(m, TWO_TERMS, rows, D, Q, all, l->distance_key, NULL, v.keys);
    if (l->distance_query) {
        double *y = oracle_zeros(rows, Q);
        d->queries = there, v.in.distance_queries = v.queries = oracle_zeros(rows, Q);
        /* row n is for j - i = n - C, or for that bucket; K_r is indexed by i - j, so Q_r, indexed
           by j - i, runs the other way: from C down to -C or, in a decoder, to 0 */
        oracle_affine(m, TWO_TERMS, rows, D, Q, all + (all_rows - rows) * D, l->distance_query,
                      NULL, y);
        for (int n = 0; n < rows; n++)
            for (int i = 0; i < Q; i++) v.queries[n * Q + i] = y[(rows - 1 - n) * Q + i];
        free(y);
    }
    free(own);
    return v;
}

void oracle_vectors_free(struct oracle_vectors *v)
{
    free(v->keys), free(v->queries), free(v->buckets);
}

/* He et al. 2021, equation 4: three terms divide the score by sqrt(3 d). */
void oracle_vectors_use(const struct oracle_vectors *v, const rapt_config *c, rapt_attention *a,
                        struct oracle_inputs *in)
{
    a->distances = v->shape;
    double d = a->score == RAPT_SCORE_SCALED_DOT ? a->key_width : 1;
    if (c->relative_bias == RAPT_RELATIVE_BIAS_DEBERTA) a->scale = (float)(1 / sqrt(3 * d));
    in->distance_keys = v->in.distance_keys, in->distance_queries = v->in.distance_queries;
    in->distance_values = v->in.distance_values;
    in->content_bias = v->in.content_bias, in->position_bias = v->in.position_bias;
}

/* ---- heads: what changes the queries, keys or outputs of the heads of attention row by row, in
   double. ---- */

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

/* Returns the index of the first attention of a head. The r heads that share keys have all their
   first attentions, then all their second ones. */
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

/* ---- latent: latent attention of DeepSeek-V2 (2405.04434, section 2.1), in double: keys and
   values of all heads are computed from the latent rows c, which are normalized as Zhang and
   Sennrich 2019 do, and queries from rows of their own (equations 12 to 14). ---- */

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

/* Computes what an int8 model multiplies: queries W_uk' q, which are quantized as rows of a
   product. Keys and values are then the latent rows themselves. */
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
