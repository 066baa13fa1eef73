/* attention.c - Bahdanau, Cho and Bengio 2015, section 3.1; Vaswani et al. 2017, section 3.2. */
#include "attention.h"

#include <math.h>
#include <stdlib.h>

int oracle_queries(const rapt_attention *a, int b)
{
    return a->query_starts ? a->query_starts[b + 1] - a->query_starts[b] : a->queries;
}

int oracle_keys(const rapt_attention *a, int b)
{
    return a->key_starts ? a->key_starts[b + 1] - a->key_starts[b] : a->keys;
}

int oracle_sees(const rapt_attention *a, int b, int h, int t, int s)
{
    const rapt_mask *m = &a->mask;
    int keys = m->key_counts ? m->key_counts[b] : oracle_keys(a, b);
    int place = m->corner == RAPT_CORNER_BOTTOM_RIGHT ? t + keys - oracle_queries(a, b) : t;
    if (s >= keys) return 0;
    if (m->causal && s > place) return 0;
    if (m->window && (s < place - m->before || s > place + m->after)) return 0;
    if (m->allowed && !m->allowed[b * m->allowed_stride.batch + h * m->allowed_stride.head +
                                  t * m->allowed_stride.row + s])
        return 0;
    return 1;
}

static ptrdiff_t place_of(const rapt_stride *s, const int *starts, int b, int h, int row)
{
    if (starts) return h * s->head + (starts[b] + row) * s->row;
    return b * s->batch + h * s->head + row * s->row;
}

static double scale_of(const rapt_attention *a)
{
    if (a->scale != 0) return (double)a->scale;
    return a->score == RAPT_SCORE_DOT ? 1 : 1 / sqrt(a->key_width);
}

void oracle_row(const rapt_attention *a, const struct oracle_inputs *in, int b, int h, int t,
                double *weights, double *lse, double *magnitude)
{
    int keys = oracle_keys(a, b), g = h / (a->heads / (a->key_heads ? a->key_heads : a->heads));
    const double *q = in->q + place_of(&a->q, a->query_starts, b, h, t);
    double most = -INFINITY, sum = 0;
    *magnitude = 0;
    for (int s = 0; s < keys; s++) {
        weights[s] = -INFINITY;
        if (!oracle_sees(a, b, h, t, s)) continue;
        const double *k = in->k + place_of(&a->k, a->key_starts, b, g, s);
        double dot = 0, size = 0, bias = 0;
        for (int i = 0; i < a->key_width; i++) dot += q[i] * k[i], size += fabs(q[i] * k[i]);
        if (a->mask.bias)
            bias = in->bias[b * a->mask.bias_stride.batch + h * a->mask.bias_stride.head +
                            t * a->mask.bias_stride.row + s];
        weights[s] = dot * scale_of(a) + bias;
        if (bias == -INFINITY) continue;
        most = fmax(most, weights[s]);
        *magnitude = fmax(*magnitude, size * fabs(scale_of(a)) + fabs(bias));
    }
    for (int s = 0; s < keys; s++) {
        weights[s] = weights[s] == -INFINITY ? 0 : exp(weights[s] - most);
        sum += weights[s];
    }
    for (int s = 0; s < keys && sum > 0; s++) weights[s] /= sum;
    *lse = sum > 0 ? most + log(sum) : -INFINITY;
}

static void philox(const uint32_t key[2], const uint32_t counter[4], uint32_t x[4])
{
    uint32_t k[2] = {key[0], key[1]};
    for (int i = 0; i < 4; i++) x[i] = counter[i];
    for (int round = 0; round < 10; round++, k[0] += 0x9E3779B9u, k[1] += 0xBB67AE85u) {
        uint64_t left = 0xD2511F53ull * x[0], right = 0xCD9E8D57ull * x[2];
        uint32_t y[4] = {(uint32_t)(right >> 32) ^ x[1] ^ k[0], (uint32_t)right,
                         (uint32_t)(left >> 32) ^ x[3] ^ k[1], (uint32_t)left};
        for (int i = 0; i < 4; i++) x[i] = y[i];
    }
}

/* key = the first two words at counter (word, 2^64 - 1). */
static void mix(uint32_t key[2], int word)
{
    const uint32_t counter[4] = {(uint32_t)word, 0, UINT32_MAX, UINT32_MAX};
    uint32_t x[4];
    philox(key, counter, x);
    key[0] = x[0], key[1] = x[1];
}

double oracle_keep(const rapt_attention *a, int b, int h, int t, int s)
{
    uint32_t key[2] = {(uint32_t)a->seed, (uint32_t)(a->seed >> 32)}, x[4];
    const uint32_t counter[4] = {(uint32_t)(s / 64 * 16 + s % 16), 0, (uint32_t)t, 0};
    double share = (double)a->dropout;
    if (a->dropout == 0) return 1;
    mix(key, b);
    mix(key, h);
    philox(key, counter, x);
    return x[s / 16 % 4] < (uint32_t)(share * 4294967296.0) ? 0 : 1 / (1 - share);
}

double oracle_attention(const rapt_attention *a, const struct oracle_inputs *in, const double *dout,
                        double *out, double *lse)
{
    int group = a->heads / (a->key_heads ? a->key_heads : a->heads), first = 0, rows = 0;
    double *weights = malloc(((size_t)a->keys + 1) * sizeof *weights), total = 0;
    for (int b = 0; b < a->batch; b++) rows += oracle_queries(a, b);
    for (int b = 0; b < a->batch; first += oracle_queries(a, b), b++)
        for (int h = 0; h < a->heads; h++)
            for (int t = 0; t < oracle_queries(a, b); t++) {
                double log_sum, magnitude;
                ptrdiff_t row = place_of(&a->out, a->query_starts, b, h, t);
                oracle_row(a, in, b, h, t, weights, &log_sum, &magnitude);
                if (lse) lse[(ptrdiff_t)h * rows + first + t] = log_sum;
                for (int i = 0; i < a->value_width; i++) {
                    double sum = 0;
                    for (int s = 0; s < oracle_keys(a, b); s++) {
                        if (weights[s] == 0) continue;
                        ptrdiff_t v = place_of(&a->v, a->key_starts, b, h / group, s);
                        sum += weights[s] * oracle_keep(a, b, h, t, s) * in->v[v + i];
                    }
                    if (out) out[row + i] = sum;
                    if (dout) total += sum * dout[row + i];
                }
            }
    free(weights);
    return total;
}
