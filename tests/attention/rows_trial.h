/* rows_trial.h - the general way through attention by its definition, in double, from prepared
   queries and keys on (lib/attention/core.h), and problems to try it with. */
#ifndef RAPT_TESTS_ROWS_TRIAL_H
#define RAPT_TESTS_ROWS_TRIAL_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "attention/projected.h"

enum { Q, K, V, BIAS, VECTOR, RELATIVE, CENTERS, FILTERS, FEATURES, INPUTS };

struct shape { /* what a trial is made of */
    int batch, heads, key_heads, queries, keys, width, value_width;
    rapt_score score; /* dot, additive, location-aware */
    rapt_locality locality;
    rapt_normalizer normalizer;
    float cap, radius, dropout;
    bool bias, relative, causal, ragged, previous;
};

struct trial {
    struct shape s;
    rapt_attention a;
    struct projected c;
    size_t n[INPUTS], outs, rows; /* floats of each input; of out; query rows of all heads */
    float *x[INPUTS], *dx[INPUTS], *out, *lse, *dout, *previous, *reward, *baseline;
    uint8_t *allowed; /* [queries][keys]: key 1 and query 2 are hidden */
    int *chosen, *starts[2], counts[8];
};

static inline float *numbers(size_t n, double from, double to, uint64_t key)
{
    float *x = malloc((n + 1) * sizeof *x);
    for (size_t i = 0; i < n; i++) x[i] = (float)(from + (to - from) * rapt__uniform(key, i));
    return x;
}

static inline int rows_before(const struct trial *t, int keys, int b)
{
    return t->starts[keys] ? t->starts[keys][b] : b * (keys ? t->s.keys : t->s.queries);
}

static inline int rows_in(const struct trial *t, int keys, int b)
{
    return rows_before(t, keys, b + 1) - rows_before(t, keys, b);
}

/* Keys that nobody sees hold NaN: those that do not exist, and key 1. */
static inline void poison(struct trial *t)
{
    for (int b = 0; b < t->s.batch; b++)
        for (int s = 0; s < rows_in(t, 1, b); s++) {
            if (s != 1 && s < t->counts[b]) continue;
            ptrdiff_t row = rows_before(t, 1, b) + s;
            for (int i = 0; i < t->s.key_heads * t->s.width; i++)
                t->x[K][row * t->s.key_heads * t->s.width + i] = NAN;
            for (int i = 0; i < t->s.key_heads * t->s.value_width; i++)
                t->x[V][row * t->s.key_heads * t->s.value_width + i] = NAN;
        }
}

static inline void make_starts(struct trial *t)
{
    const struct shape *s = &t->s;
    for (int keys = 0; keys < 2 && s->ragged; keys++) {
        int max = keys ? s->keys : s->queries;
        t->starts[keys] = calloc((size_t)s->batch + 1, sizeof(int));
        for (int b = 0; b < s->batch; b++) /* the first is the longest */
            t->starts[keys][b + 1] = t->starts[keys][b] + (b ? max * (b % 3 + 1) / 4 : max);
    }
    for (int b = 0; b < s->batch; b++) t->counts[b] = rows_in(t, 1, b) - b % 2;
}

static inline void make_inputs(struct trial *t)
{
    const struct shape *s = &t->s;
    size_t H = (size_t)s->heads, G = (size_t)s->key_heads, W = (size_t)s->width;
    size_t rows = (size_t)rows_before(t, 0, s->batch), keys = (size_t)rows_before(t, 1, s->batch);
    bool aware = s->score == RAPT_SCORE_LOCATION_AWARE;
    size_t span = (size_t)(s->queries + s->keys);
    size_t n[INPUTS] = {rows * H * W,
                        keys * G * W,
                        keys * G * (size_t)s->value_width,
                        s->bias ? (size_t)(s->queries * s->keys) : 0,
                        s->score == RAPT_SCORE_DOT ? 0 : H * W,
                        s->relative ? H * span : 0,
                        s->locality == RAPT_LOCALITY_LOCAL_P ? rows * H : 0,
                        aware ? H * 2 * 5 : 0,
                        aware ? H * W * 2 : 0};
    for (int i = 0; i < INPUTS; i++) {
        t->n[i] = n[i];
        t->x[i] = numbers(n[i], i == CENTERS ? 0 : -1, i == CENTERS ? s->keys : 1, (uint64_t)i);
        t->dx[i] = calloc(n[i] + 1, sizeof(float));
    }
    for (size_t i = 0; i < n[BIAS]; i++)
        if (i % 11 == 7) t->x[BIAS][i] = -INFINITY;
    t->rows = rows * H, t->outs = rows * H * (size_t)s->value_width;
    t->out = calloc(t->outs + 1, sizeof(float)), t->lse = calloc(t->rows + 1, sizeof(float));
    t->dout = numbers(t->outs, -1, 1, 20);
    t->reward = numbers(t->rows, -1, 1, 21), t->baseline = numbers(t->rows, -1, 1, 22);
    t->previous = numbers((size_t)(s->batch * s->heads * s->keys), 0, 0.2, 23);
    t->chosen = calloc(t->rows + 1, sizeof(int));
    t->allowed = malloc((size_t)(s->queries * s->keys));
    for (int i = 0; i < s->queries * s->keys; i++)
        t->allowed[i] = i % s->keys != 1 && i / s->keys != 2;
}

static inline rapt_stride side_by_side(int heads, int width, int rows)
{
    return (rapt_stride){(ptrdiff_t)rows * heads * width, width, (ptrdiff_t)heads * width};
}

static inline void describe(struct trial *t)
{
    const struct shape *s = &t->s;
    rapt_attention *a = &t->a;
    *a = (rapt_attention){.batch = s->batch,
                          .heads = s->heads,
                          .key_heads = s->key_heads,
                          .queries = s->queries,
                          .keys = s->keys,
                          .key_width = s->width,
                          .value_width = s->value_width,
                          .query_starts = t->starts[0],
                          .key_starts = t->starts[1],
                          .score = s->score,
                          .cap = s->cap,
                          .locality = s->locality,
                          .radius = s->radius,
                          .normalizer = s->normalizer,
                          .temperature = 0.7f,
                          .dropout = s->dropout,
                          .seed = 5,
                          .chosen = t->chosen,
                          .reward = t->reward,
                          .baseline = t->baseline};
    a->v = side_by_side(s->key_heads, s->value_width, s->keys);
    a->out = side_by_side(s->heads, s->value_width, s->queries);
    a->mask = (rapt_mask){.causal_alignment = RAPT_CAUSAL_ALIGNMENT_UPPER_LEFT,
                          .causal = s->causal,
                          .key_counts = t->counts,
                          .allowed = t->allowed,
                          .allowed_stride = {.row = s->keys},
                          .bias = s->bias ? t->x[BIAS] : NULL,
                          .bias_stride = {.row = s->keys}};
    a->learned = (rapt_learned){.hidden = s->width,
                                .channels = 2,
                                .filter_width = 5,
                                .filters = t->x[FILTERS],
                                .feature_weight = t->x[FEATURES],
                                .previous = s->previous ? t->previous : NULL};
    if (s->relative) /* only says that there is one */
        a->relative = (rapt_relative){.slopes = t->x[RELATIVE]};
    t->c = (struct projected){.a = a,
                              .q = t->x[Q],
                              .k = t->x[K],
                              .q_stride = side_by_side(s->heads, s->width, s->queries),
                              .k_stride = side_by_side(s->key_heads, s->width, s->keys),
                              .width = s->width,
                              .scale = 0.8f,
                              .vector = t->n[VECTOR] ? t->x[VECTOR] : NULL,
                              .relative = t->n[RELATIVE] ? t->x[RELATIVE] : NULL,
                              .relative_row = s->queries + s->keys,
                              .relative_zero = s->queries,
                              .centers = t->n[CENTERS] ? t->x[CENTERS] : NULL};
}

static inline struct trial *make_trial(const struct shape *s)
{
    struct trial *t = calloc(1, sizeof *t);
    t->s = *s;
    make_starts(t);
    make_inputs(t);
    describe(t);
    poison(t);
    return t;
}

static inline void drop_trial(struct trial *t)
{
    for (int i = 0; i < INPUTS; i++) free(t->x[i]), free(t->dx[i]);
    free(t->out), free(t->lse), free(t->dout), free(t->previous), free(t->reward);
    free(t->baseline), free(t->allowed), free(t->chosen), free(t->starts[0]), free(t->starts[1]);
    free(t);
}

/* ---- the definition ---- */

struct truth {
    double *x[INPUTS], *out, *lse, *weights; /* weights [rows of all heads][keys] */
    double *soft;                            /* [rows][keys] p where first computed */
    int *chosen;
    bool first; /* chosen and soft are set; else read: gradients go round them */
};

static inline uint32_t bits_of(uint64_t key, uint64_t low, int t, int word)
{
    uint32_t bits[4];
    rapt__philox(key, low, (uint64_t)t, bits);
    return bits[word];
}

static inline bool is_hard(const struct trial *t)
{
    return t->s.normalizer != RAPT_NORMALIZER_SOFTMAX &&
           t->s.normalizer != RAPT_NORMALIZER_GUMBEL_SOFTMAX;
}

static inline double keep(const struct trial *t, uint64_t key, int row, int s)
{
    double share = (double)t->s.dropout;
    if (share == 0 || is_hard(t)) return 1;
    uint32_t bits = bits_of(key, (uint64_t)(s / 64 * 16 + s % 16), row, s / 16 % 4);
    return bits < (uint32_t)(share * 4294967296.0) ? 0 : 1 / (1 - share);
}

static inline double noise(uint64_t key, int row, int s)
{
    uint32_t bits = bits_of(rapt__mix(key, 0x67756d), (uint64_t)(s / 4), row, s % 4);
    return -log(-log(((bits >> 9) + 0.5) * 0x1p-23));
}

/* f of channel c at key s, from the weights of the query before (keys of them exist). */
static inline double feature(const double *filter, const double *before, int keys, int s)
{
    double sum = 0;
    for (int j = 0; j < 5; j++)
        if (s + j - 2 >= 0 && s + j - 2 < keys) sum += filter[j] * before[s + j - 2];
    return sum;
}

static inline double score_of(const struct trial *t, const struct truth *d, int h, const double *q,
                              const double *k, const double *before, int keys, int s)
{
    double sum = 0, f[2] = {0};
    if (t->s.score == RAPT_SCORE_DOT) {
        for (int i = 0; i < t->s.width; i++) sum += q[i] * k[i];
        return sum * (double)t->c.scale;
    }
    bool aware = t->s.score == RAPT_SCORE_LOCATION_AWARE;
    for (int c = 0; c < 2 && aware; c++)
        f[c] = feature(d->x[FILTERS] + (h * 2 + c) * 5, before, keys, s);
    for (int i = 0; i < t->s.width; i++) {
        double u = q[i] + k[i];
        for (int c = 0; c < 2 && aware; c++)
            u += d->x[FEATURES][(h * t->s.width + i) * 2 + c] * f[c];
        sum += d->x[VECTOR][h * t->s.width + i] * tanh(u);
    }
    return sum;
}

static inline bool sees(const struct trial *t, int b, int row, int s, double center)
{
    const struct shape *c = &t->s;
    double r = (double)c->radius;
    if (s >= t->counts[b] || !t->allowed[row * c->keys + s]) return false;
    if (c->causal && s > row) return false;
    if (c->locality == RAPT_LOCALITY_LOCAL_M && abs(s - row) > r) return false;
    if (c->locality == RAPT_LOCALITY_LOCAL_P && fabs(s - center) > r) return false;
    return !c->bias || t->x[BIAS][row * c->keys + s] != -INFINITY;
}

/* z of scores x (-infinity: hidden); returns what SAMPLE adds to the loss. */
static inline double weigh(const struct trial *t, struct truth *d, size_t at, uint64_t key, int row,
                           const double *x, int keys, double *z)
{
    double max = -INFINITY, sum = 0, p[512], *soft = d->soft + at * (size_t)t->s.keys;
    bool noisy = t->s.normalizer == RAPT_NORMALIZER_SAMPLE,
         gumbel = t->s.normalizer == RAPT_NORMALIZER_GUMBEL_SOFTMAX;
    int best = -1;
    double top = -INFINITY;
    for (int s = 0; s < keys; s++) {
        double g = noisy || gumbel ? noise(key, row, s) : 0;
        p[s] = gumbel ? (x[s] + g) / (double)0.7f : x[s];
        max = fmax(max, p[s]);
        if (x[s] + g > top) top = x[s] + g, best = s;
    }
    for (int s = 0; s < keys; s++) sum += p[s] == -INFINITY ? 0 : exp(p[s] - max);
    d->lse[at] = max == -INFINITY ? -INFINITY : max + log(sum);
    if (d->first) d->chosen[at] = best;
    for (int s = 0; s < keys; s++) {
        p[s] = p[s] == -INFINITY ? 0 : exp(p[s] - d->lse[at]);
        if (d->first) soft[s] = p[s];
        z[s] = is_hard(t) ? s == d->chosen[at] : p[s];
        if (t->s.normalizer == RAPT_NORMALIZER_STRAIGHT_THROUGH) z[s] += p[s] - soft[s];
    }
    if (!noisy || d->chosen[at] < 0) return 0;
    return ((double)t->baseline[at] - (double)t->reward[at]) * log(p[d->chosen[at]]);
}

/* One query; before: weights of the one before it, w: its own. Returns its part of the loss. */
static inline double true_row(const struct trial *t, struct truth *d, int b, int h, int row,
                              const double *before, double *w)
{
    const struct shape *c = &t->s;
    int keys = t->counts[b], g = h / (c->heads / c->key_heads), vw = c->value_width;
    ptrdiff_t first = rows_before(t, 0, b), from = rows_before(t, 1, b);
    size_t at = (size_t)(h * rows_before(t, 0, c->batch) + first + row);
    uint64_t key = rapt__mix(rapt__mix(5, (uint64_t)b), (uint64_t)h);
    double x[512], center = t->c.centers ? d->x[CENTERS][at] : 0, r = (double)c->radius / 2;
    for (int s = 0; s < keys; s++) {
        x[s] = -INFINITY;
        if (!sees(t, b, row, s, (double)t->x[CENTERS][t->c.centers ? at : 0])) continue;
        x[s] = score_of(t, d, h, d->x[Q] + ((first + row) * c->heads + h) * c->width,
                        d->x[K] + ((from + s) * c->key_heads + g) * c->width, before, keys, s);
        if (c->cap != 0) x[s] = (double)c->cap * tanh(x[s] / (double)c->cap);
        if (c->bias) x[s] += d->x[BIAS][row * c->keys + s];
        if (c->relative)
            x[s] += d->x[RELATIVE][h * t->c.relative_row + s - row + t->c.relative_zero];
    }
    double loss = weigh(t, d, at, key, row, x, keys, w);
    ptrdiff_t out = ((first + row) * c->heads + h) * vw;
    for (int s = 0; s < keys; s++) {
        if (t->c.centers) w[s] *= exp(-(s - center) * (s - center) / (2 * r * r));
        d->weights[at * (size_t)c->keys + (size_t)s] = w[s];
        for (int i = 0; i < vw && x[s] != -INFINITY; i++)
            d->out[out + i] +=
                w[s] * keep(t, key, row, s) * d->x[V][((from + s) * c->key_heads + g) * vw + i];
    }
    for (int i = 0; i < vw; i++) loss += d->out[out + i] * (double)t->dout[out + i];
    return loss;
}

static inline double true_loss(const struct trial *t, struct truth *d)
{
    double loss = 0, before[512], w[512];
    memset(d->out, 0, t->outs * sizeof *d->out);
    for (int b = 0; b < t->s.batch; b++)
        for (int h = 0; h < t->s.heads; h++) {
            for (int s = 0; s < t->counts[b]; s++)
                before[s] =
                    t->s.previous ? (double)t->previous[(b * t->s.heads + h) * t->s.keys + s] : 0;
            for (int row = 0; row < rows_in(t, 0, b); row++) {
                loss += true_row(t, d, b, h, row, before, w);
                memcpy(before, w, sizeof w);
            }
        }
    return loss;
}

static inline struct truth make_truth(const struct trial *t)
{
    size_t weights = t->rows * (size_t)t->s.keys;
    struct truth d = {.out = calloc(t->outs + 1, sizeof(double)),
                      .lse = calloc(t->rows + 1, sizeof(double)),
                      .weights = calloc(weights + 1, sizeof(double)),
                      .soft = calloc(weights + 1, sizeof(double)),
                      .chosen = calloc(t->rows + 1, sizeof(int))};
    for (int i = 0; i < INPUTS; i++) {
        d.x[i] = malloc((t->n[i] + 1) * sizeof(double));
        for (size_t j = 0; j < t->n[i]; j++) d.x[i][j] = (double)t->x[i][j];
    }
    return d;
}

static inline void drop_truth(struct truth *d)
{
    for (int i = 0; i < INPUTS; i++) free(d->x[i]);
    free(d->out), free(d->lse), free(d->weights), free(d->soft), free(d->chosen);
}

#endif
