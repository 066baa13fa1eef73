/* monotonic.h - trials of monotonic attention: a problem with random arrays, its results, and their
   comparison with the definition (oracle/recurrences.h). Shared by monotonic.c and the fuzz
   target. */
#ifndef RAPT_TESTS_ATTENTION_MONOTONIC_H
#define RAPT_TESTS_ATTENTION_MONOTONIC_H

#include "oracle/op.h"
#include "oracle/recurrences.h"
#include "roundings.h"

#include <stdlib.h>
#include <string.h>

#include <rapt/monotonic_attention.h>

enum monotonic_array {
    MONOTONIC_Q,
    MONOTONIC_K,
    MONOTONIC_V,
    MONOTONIC_CHUNK_Q,
    MONOTONIC_CHUNK_K,
    MONOTONIC_OFFSET,
    MONOTONIC_INPUTS
};
static const char *const monotonic_names[MONOTONIC_INPUTS] = {"q",       "k",       "v",
                                                              "chunk_q", "chunk_k", "offset"};

struct monotonic_choice {
    int batch, heads, key_heads, queries, keys, key_width, value_width;
    rapt_monotonic mode;
    int chunk;
    bool by_rows; /* [batch][rows][heads][width] */
    bool ragged, counted, offset, last_stops;
    float strength; /* queries are between -strength and strength; 0 means 1 */
    float shift;    /* added to the offsets */
    float scale, noise;
};

struct monotonic_trial {
    rapt_monotonic_attention a;
    int *query_starts, *key_starts, *key_counts, *positions;
    size_t count[MONOTONIC_INPUTS], outs, pairs, delays; /* floats of each array; 0 means NULL */
    float *x[MONOTONIC_INPUTS], *d[MONOTONIC_INPUTS];
    float *out, *alpha, *weights, *delay, *dout, *dalpha, *ddelays;
};

static inline float monotonic_uniform(uint64_t seed, uint64_t i) /* in [-1, 1) */
{
    uint32_t words[4];
    oracle_philox(seed, i, 0, words);
    return (float)((double)words[0] * 0x1p-31 - 1);
}

static inline float *monotonic_random(uint64_t seed, size_t n, float size)
{
    float *x = calloc(n + 1, sizeof *x);
    for (size_t i = 0; i < n; i++) x[i] = size * monotonic_uniform(seed, i);
    return x;
}

static inline rapt_stride monotonic_stride(bool by_rows, int heads, int rows, int width)
{
    ptrdiff_t h = heads, r = rows, w = width;
    return by_rows ? (rapt_stride){r * h * w, w, h * w} : (rapt_stride){h * r * w, r * w, w};
}

/* Sets the lengths of sequences. Returns their sum, or the length of one if they are equal. */
static inline int monotonic_lengths(const struct monotonic_choice *c, int longest, int divisor,
                                    int *starts)
{
    int all = 0;
    for (int b = 0; b < c->batch; b++)
        starts[b] = all, all += b % divisor ? longest / (b + 1) : longest;
    starts[c->batch] = all;
    return c->ragged ? all : longest;
}

static inline rapt_monotonic_attention monotonic_problem(const struct monotonic_choice *c,
                                                         int *query_starts, int *key_starts,
                                                         int *key_counts)
{
    rapt_monotonic_attention a;
    int key_heads = c->key_heads ? c->key_heads : c->heads;
    rapt_monotonic_attention_init(&a, sizeof a, c->batch, c->heads, c->queries, c->keys,
                                  c->key_width);
    a.key_heads = c->key_heads, a.value_width = c->value_width, a.mode = c->mode;
    a.chunk = c->chunk, a.last_stops = c->last_stops, a.noise = c->noise, a.seed = 77;
    a.scale = c->scale, a.threads = 1;
    int queries = monotonic_lengths(c, c->queries, 2, query_starts);
    int keys = monotonic_lengths(c, c->keys, 3, key_starts);
    a.q = a.chunk_q = monotonic_stride(c->by_rows, c->heads, queries, c->key_width);
    a.k = a.chunk_k = monotonic_stride(c->by_rows, key_heads, keys, c->key_width);
    a.v = monotonic_stride(c->by_rows, key_heads, keys, c->value_width);
    a.out = monotonic_stride(c->by_rows, c->heads, queries, c->value_width);
    a.weights = monotonic_stride(c->by_rows, c->heads, queries, c->keys);
    if (c->ragged) a.query_starts = query_starts, a.key_starts = key_starts;
    for (int b = 0; b < c->batch; b++) {
        int all = c->ragged ? key_starts[b + 1] - key_starts[b] : c->keys;
        key_counts[b] = b % 2 ? all / 2 : all - all / 5;
    }
    if (c->counted) a.key_counts = key_counts;
    return a;
}

static inline struct monotonic_trial monotonic_make(const struct monotonic_choice *c, uint64_t seed)
{
    struct monotonic_trial t = {.a = {.size = 0}};
    size_t B = (size_t)c->batch, H = (size_t)c->heads;
    t.query_starts = calloc(B + 1, sizeof(int)), t.key_starts = calloc(B + 1, sizeof(int));
    t.key_counts = calloc(B + 1, sizeof(int)), t.positions = calloc(B * H + 1, sizeof(int));
    t.a = monotonic_problem(c, t.query_starts, t.key_starts, t.key_counts);
    size_t G = (size_t)(c->key_heads ? c->key_heads : c->heads), K = (size_t)c->key_width;
    size_t queries = c->ragged ? (size_t)t.query_starts[B] : B * (size_t)c->queries;
    size_t keys = c->ragged ? (size_t)t.key_starts[B] : B * (size_t)c->keys;
    bool soft = c->mode != RAPT_MONOTONIC_HARD;
    t.outs = queries * H * (size_t)c->value_width, t.pairs = queries * H * (size_t)c->keys;
    t.delays = queries * H;
    const size_t counts[] = {queries * H * K,
                             keys * G * K,
                             keys * G * (size_t)c->value_width,
                             soft ? queries * H * K : 0,
                             soft ? keys * G * K : 0,
                             c->offset ? H : 0};
    const float sizes[] = {c->strength != 0 ? c->strength : 1, 2, 1, 2, 2, 1};
    for (int i = 0; i < MONOTONIC_INPUTS; i++) {
        t.count[i] = counts[i];
        t.x[i] = monotonic_random(seed + (uint64_t)i, counts[i], sizes[i]);
        t.d[i] = monotonic_random(seed + 50 + (uint64_t)i, counts[i], 1);
    }
    for (size_t i = 0; i < t.count[MONOTONIC_OFFSET]; i++) t.x[MONOTONIC_OFFSET][i] += c->shift;
    if (c->offset) t.a.offset = t.x[MONOTONIC_OFFSET];
    t.out = monotonic_random(seed + 20, t.outs, 1), t.dout = monotonic_random(seed + 21, t.outs, 1);
    t.alpha = monotonic_random(seed + 22, t.pairs, 1);
    t.weights = monotonic_random(seed + 23, t.pairs, 1);
    t.dalpha = monotonic_random(seed + 24, t.pairs, 1);
    t.delay = monotonic_random(seed + 25, t.delays, 1);
    t.ddelays = monotonic_random(seed + 26, t.delays, 0.1f);
    return t;
}

static inline void monotonic_free(struct monotonic_trial *t)
{
    float *arrays[] = {t->out, t->alpha, t->weights, t->delay, t->dout, t->dalpha, t->ddelays};
    for (int i = 0; i < MONOTONIC_INPUTS; i++) free(t->x[i]), free(t->d[i]);
    for (size_t i = 0; i < sizeof arrays / sizeof *arrays; i++) free(arrays[i]);
    free(t->query_starts), free(t->key_starts), free(t->key_counts), free(t->positions);
}

/* A workspace of exactly the size that is needed, so that tools see what is beyond it. */
static inline void *monotonic_workspace(const rapt_monotonic_attention *a, int backward)
{
    return aligned_alloc(64, (rapt_monotonic_attention_workspace(a, backward) + 63) / 64 * 64);
}

static inline rapt_status monotonic_forward(struct monotonic_trial *t, rapt_message *why)
{
    void *workspace = monotonic_workspace(&t->a, 0);
    rapt_monotonic_attention_outputs outputs = {sizeof outputs, t->alpha, t->weights, t->delay};
    rapt_status status = rapt_monotonic_attention_forward(
        &t->a, t->x[MONOTONIC_Q], t->x[MONOTONIC_K], t->x[MONOTONIC_V], t->x[MONOTONIC_CHUNK_Q],
        t->x[MONOTONIC_CHUNK_K], t->out, &outputs, workspace, why);
    free(workspace);
    return status;
}

/* Adds the gradients to d, which the caller sets. */
static inline rapt_status monotonic_backward(struct monotonic_trial *t, rapt_message *why)
{
    void *workspace = monotonic_workspace(&t->a, 1);
    rapt_monotonic_attention_gradients d = {.size = sizeof d,
                                            .q = t->d[MONOTONIC_Q],
                                            .k = t->d[MONOTONIC_K],
                                            .v = t->d[MONOTONIC_V],
                                            .chunk_q = t->d[MONOTONIC_CHUNK_Q],
                                            .chunk_k = t->d[MONOTONIC_CHUNK_K]};
    if (t->count[MONOTONIC_OFFSET]) d.offset = t->d[MONOTONIC_OFFSET];
    rapt_status status = rapt_monotonic_attention_backward(
        &t->a, t->x[MONOTONIC_Q], t->x[MONOTONIC_K], t->x[MONOTONIC_V], t->x[MONOTONIC_CHUNK_Q],
        t->x[MONOTONIC_CHUNK_K], t->dout, t->dalpha, t->ddelays, &d, workspace, why);
    free(workspace);
    return status;
}

/* Computes out with hard stops from the positions on. */
static inline rapt_status monotonic_step(struct monotonic_trial *t, rapt_message *why)
{
    void *workspace = monotonic_workspace(&t->a, 0);
    rapt_status status = rapt_monotonic_attention_step(
        &t->a, t->x[MONOTONIC_Q], t->x[MONOTONIC_K], t->x[MONOTONIC_V], t->x[MONOTONIC_CHUNK_Q],
        t->x[MONOTONIC_CHUNK_K], t->positions, t->out, workspace, why);
    free(workspace);
    return status;
}

/* ---- the definition ---- */

struct monotonic_doubles { /* copies of the inputs */
    double *x[MONOTONIC_INPUTS];
    struct oracle_monotonic_inputs inputs;
};

static inline struct monotonic_doubles monotonic_double(const struct monotonic_trial *t)
{
    struct monotonic_doubles d;
    for (int i = 0; i < MONOTONIC_INPUTS; i++) {
        d.x[i] = t->count[i] ? malloc(t->count[i] * sizeof(double)) : NULL;
        for (size_t j = 0; j < t->count[i]; j++) d.x[i][j] = (double)t->x[i][j];
    }
    d.inputs = (struct oracle_monotonic_inputs){d.x[MONOTONIC_Q],       d.x[MONOTONIC_K],
                                                d.x[MONOTONIC_V],       d.x[MONOTONIC_CHUNK_Q],
                                                d.x[MONOTONIC_CHUNK_K], d.x[MONOTONIC_OFFSET]};
    return d;
}

static inline void monotonic_double_free(struct monotonic_doubles *d)
{
    for (int i = 0; i < MONOTONIC_INPUTS; i++) free(d->x[i]);
}

static inline struct oracle_monotonic_results monotonic_results(const rapt_monotonic_attention *a)
{
    size_t pairs = (size_t)a->queries * (size_t)a->keys + 1, m = (size_t)a->queries + 1;
    return (struct oracle_monotonic_results){
        calloc(m * (size_t)a->value_width, sizeof(double)), calloc(pairs, sizeof(double)),
        calloc(pairs, sizeof(double)), calloc(m, sizeof(double))};
}

static inline void monotonic_results_free(struct oracle_monotonic_results *r)
{
    free(r->out), free(r->alpha), free(r->weights), free(r->delays);
}

/* The part of the objective J of one query head of a sequence, on which only its own inputs
   depend. */
static inline double monotonic_objective(const struct monotonic_trial *t,
                                         const struct monotonic_doubles *d, int b, int h)
{
    const rapt_monotonic_attention *a = &t->a;
    struct oracle_monotonic_results r = monotonic_results(a);
    int n = oracle_monotonic_keys(a, b);
    double sum = 0;
    oracle_monotonic_head(a, &d->inputs, b, h, &r);
    for (int i = 0; i < oracle_monotonic_queries(a, b); i++) {
        const float *dout = t->dout + oracle_monotonic_query(a, &a->out, b, h, i);
        const float *dalpha = t->dalpha + oracle_monotonic_query(a, &a->weights, b, h, i);
        for (int j = 0; j < a->value_width; j++)
            sum += r.out[i * a->value_width + j] * (double)dout[j];
        for (int s = 0; s < n; s++) sum += r.alpha[i * n + s] * (double)dalpha[s];
        sum += r.delays[i] * (double)t->ddelays[oracle_monotonic_delay(a, b, h, i)];
    }
    monotonic_results_free(&r);
    return sum;
}

#endif
