/* trial.h - a problem made from a few choices, with its arrays, its results and those that the
   definition gives. */
#ifndef RAPT_TESTS_TRIAL_H
#define RAPT_TESTS_TRIAL_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <math.h>
#include <rapt/attention.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "choice.h"
#include "oracle/attention.h"
#include "skips.h"

/* The arrays of parameters: ROW(enumerator, heads, rows, columns), shapes as in
   rapt/attention.h. */
#define PARAMETERS(ROW)                                                                            \
    ROW(QUERY_WEIGHT, H, W, Q)                                                                     \
    ROW(KEY_WEIGHT, G, hidden, K)                                                                  \
    ROW(HIDDEN_BIAS, H, 1, hidden)                                                                 \
    ROW(HIDDEN_VECTOR, H, 1, hidden)                                                               \
    ROW(INVERSE_TEMPERATURE, 1, 1, H)                                                              \
    ROW(POSITION, G, positions, Q)                                                                 \
    ROW(FILTERS, H, channels, filter_width)                                                        \
    ROW(FEATURE_WEIGHT, H, hidden, channels)                                                       \
    ROW(CENTER_WEIGHT, H, center_hidden, Q)                                                        \
    ROW(CENTER_VECTOR, H, 1, center_hidden)                                                        \
    ROW(SINK, 1, 1, H)                                                                             \
    ROW(SIGMOID_BIAS, 1, 1, H)                                                                     \
    ROW(ENTMAX_ALPHA, 1, 1, H)                                                                     \
    ROW(COVERAGE_WEIGHT, H, 1, hidden)

/* Offsets of the learned arrays in a problem, in its gradients and in the oracle's inputs. */
struct learned {
    size_t in_problem, in_gradients, in_inputs;
};
enum {
    FORGET = 2,
    DISTANCES = 3,
    RELATIVE_LEARNED = 10,
    LEARNED = RELATIVE_LEARNED + RAPT_ATTENTION_PARAMETER_COUNT
};
static const struct learned learned[LEARNED] = {
    {offsetof(rapt_attention, relative.slopes), offsetof(rapt_gradients, slopes),
     offsetof(struct oracle_inputs, slopes)},
    {offsetof(rapt_attention, relative.table), offsetof(rapt_gradients, table),
     offsetof(struct oracle_inputs, table)},
    {offsetof(rapt_attention, log_forget), offsetof(rapt_gradients, log_forget),
     offsetof(struct oracle_inputs, log_forget)},
#define DISTANCE(array, input)                                                                     \
    {                                                                                              \
        offsetof(rapt_attention, distances.array), offsetof(rapt_gradients, distances.array),      \
            offsetof(struct oracle_inputs, input)                                                  \
    }
    DISTANCE(keys, distance_keys),
    DISTANCE(queries, distance_queries),
    DISTANCE(values, distance_values),
    DISTANCE(content_bias, content_bias),
    DISTANCE(position_bias, position_bias),
#undef DISTANCE
    {offsetof(rapt_attention, talking_scores), offsetof(rapt_gradients, talking_scores),
     offsetof(struct oracle_inputs, talking_scores)},
    {offsetof(rapt_attention, talking_weights), offsetof(rapt_gradients, talking_weights),
     offsetof(struct oracle_inputs, talking_weights)},
#define AT(i)                                                                                      \
    {                                                                                              \
        offsetof(rapt_attention, parameters.array[i]), offsetof(rapt_gradients, parameters[i]),    \
            offsetof(struct oracle_inputs, learned[i])                                             \
    }
#define ROW(name, ...)                                                                             \
    [RELATIVE_LEARNED + RAPT_ATTENTION_PARAMETER_##name] = AT(RAPT_ATTENTION_PARAMETER_##name),
    PARAMETERS(ROW)
#undef ROW
#undef AT
};

static inline const char *learned_name(int i)
{
    static const char *const names[] = {
        "slopes",          "table",        "log_forget",    "distance keys",  "distance queries",
        "distance values", "content bias", "position bias", "talking_scores", "talking_weights"};
    if (i < RELATIVE_LEARNED) return names[i];
    return rapt_attention_parameter_name((rapt_attention_parameter)(i - RELATIVE_LEARNED));
}

struct trial {
    rapt_attention a;
    size_t nq, nk, nv, no, nbias, nlse; /* floats of each array */
    float *q, *k, *v, *bias, *out, *lse, *dout, *dq, *dk, *dv, *dbias;
    size_t nlearned[LEARNED];
    float *learned[LEARNED], *dlearned[LEARNED]; /* NULL: absent */
    float *previous, *reward, *baseline;
    rapt_attention_saved saved;
    rapt_reinforce reinforce;
    uint8_t *allowed, *expected, *blocks;
    int *query_starts, *key_starts, *counts, *chosen, *globals, *near;
    void *workspace;
    uint64_t random;
};

/* Returns the rows of all sequences. */
static inline int rows_of(const int *starts, int batch, int full)
{
    return starts ? starts[batch] : batch * full;
}

/* Lays heads side by side in a row, as projections leave them, or one after the other, with rows a
   few floats apart. Ragged batches have no batch stride. */
static inline rapt_stride lay(uint64_t *state, int heads, int rows, int all, int width, size_t *n)
{
    ptrdiff_t gap = draw_below(state, 3), row = width + gap;
    rapt_stride s = {heads * rows * row, rows * row, row};
    if (rows != all || draw_below(state, 2)) {
        s = (rapt_stride){rows * heads * row, row, heads * row};
        if (all != 0 && rows == 0) s.batch = 0;
    }
    *n = (size_t)all * (size_t)heads * (size_t)row;
    if (*n) *n -= (size_t)gap; /* no gap after the last row */
    return s;
}

static inline rapt_stride lay_mask(const struct choice *c, int own, size_t *n)
{
    ptrdiff_t row = c->keys + 1, rows = own & PER_ROW ? c->queries : 1;
    ptrdiff_t heads = own & PER_HEAD ? c->heads : 1, batch = own & PER_BATCH ? c->batch : 1;
    *n = (size_t)(row * rows * heads * batch);
    return (rapt_stride){own & PER_BATCH ? heads * rows * row : 0, own & PER_HEAD ? rows * row : 0,
                         own & PER_ROW ? row : 0};
}

static inline void make_mask(struct trial *x, const struct choice *c)
{
    rapt_mask *m = &x->a.mask;
    size_t n;
    *m = (rapt_mask){.causal_alignment = c->causal_alignment,
                     .causal = c->causal,
                     .window = c->window,
                     .before = c->before,
                     .after = c->after};
    if (c->counts) {
        x->counts = calloc((size_t)c->batch + 1, sizeof *x->counts);
        for (int b = 0; b < c->batch; b++)
            x->counts[b] = draw_below(&x->random, oracle_keys(&x->a, b) + 1);
        m->key_counts = x->counts;
    }
    if (c->allowed) {
        m->allowed_stride = lay_mask(c, c->allowed, &n);
        x->allowed = malloc(n + 1);
        for (size_t i = 0; i < n; i++) x->allowed[i] = draw_below(&x->random, 3) ? 255 : 0;
        m->allowed = x->allowed;
    }
    if (c->bias) {
        m->bias_stride = lay_mask(c, c->bias, &x->nbias);
        x->bias = draw_floats(&x->random, x->nbias, 1);
        for (size_t i = 0; i < x->nbias; i++)
            if (draw_below(&x->random, 9) == 0) x->bias[i] = -INFINITY;
        x->dbias = zeros(x->nbias);
        m->bias = x->bias;
    }
}

/* Draws at most three of the first n positions. Half of the time they are the first ones. */
static inline void make_globals(struct trial *x, int n)
{
    rapt_sparse *s = &x->a.sparse;
    s->global_count = draw_below(&x->random, 4);
    if (draw_below(&x->random, 2)) return;
    x->globals = calloc(4, sizeof *x->globals);
    for (int i = 0, least = 0; i < s->global_count; i++, least++)
        x->globals[i] = least += draw_below(&x->random, 1 + n / 4);
    s->globals = x->globals;
}

/* Draws blocks, of which a third is visible. */
static inline void make_blocks(struct trial *x, const struct choice *c)
{
    rapt_sparse *s = &x->a.sparse;
    int largest = c->keys < 60 ? 5 : 80;
    s->block_queries = 1 + draw_below(&x->random, largest);
    s->block_keys = 1 + draw_below(&x->random, largest);
    int rows = 1 + c->queries / s->block_queries, row = 1 + c->keys / s->block_keys;
    bool heads = draw_below(&x->random, 2);
    size_t n = (size_t)rows * (size_t)row * (size_t)(c->batch * (heads ? c->heads : 1));
    s->block_stride.row = row, s->block_stride.head = heads ? rows * row : 0;
    s->block_stride.batch = rows * row * (heads ? c->heads : 1);
    s->blocks = x->blocks = malloc(n);
    for (size_t i = 0; i < n; i++) x->blocks[i] = draw_below(&x->random, 3) ? 0 : 3;
}

static inline void make_sparse(struct trial *x, const struct choice *c)
{
    bool positions = c->causal_alignment != RAPT_CAUSAL_ALIGNMENT_NONE;
    if (c->locality != RAPT_LOCALITY_SPARSE) return;
    if (!positions) x->a.radius = 0;
    if (positions) make_globals(x, c->keys);
    if (!positions || draw_below(&x->random, 2)) make_blocks(x, c);
}

static inline bool is_hard(rapt_normalizer normalizer)
{
    return normalizer == RAPT_NORMALIZER_ARGMAX || normalizer == RAPT_NORMALIZER_SAMPLE ||
           normalizer == RAPT_NORMALIZER_STRAIGHT_THROUGH;
}

/* Whether weights below a threshold are exactly 0. */
static inline bool is_sparse(rapt_normalizer normalizer)
{
    return normalizer == RAPT_NORMALIZER_SPARSEMAX || normalizer == RAPT_NORMALIZER_ENTMAX_1_5 ||
           normalizer == RAPT_NORMALIZER_ENTMAX;
}

static inline void set_pointer(void *base, size_t offset, const void *to)
{
    memcpy((char *)base + offset, &to, sizeof to);
}

/* Sets the sizes of distance vectors, unless the problem cannot have them. */
static inline void size_distances(struct trial *x, const struct choice *c)
{
    rapt_attention *a = &x->a;
    size_t *sizes = x->nlearned;
    bool dots = c->score == RAPT_SCORE_SCALED_DOT || c->score == RAPT_SCORE_DOT;
    if (!dots || c->rotary || c->causal_alignment == RAPT_CAUSAL_ALIGNMENT_NONE) return;
    rapt_distances *d = &a->distances;
    d->before = c->near_before, d->after = c->near_after;
    d->shared = c->distances & DISTANCES_SHARED ? 1 : 0;
    size_t heads = d->shared ? 1 : (size_t)a->heads, K = (size_t)a->key_width;
    x->near = choice_buckets(c, d);
    size_t rows = (size_t)(x->near ? d->bucket_count : d->before + 1 + d->after) * heads;
    const size_t all[] = {rows * K, rows * K, rows * (size_t)a->value_width, (size_t)a->heads * K,
                          c->distances & DISTANCE_KEYS ? (size_t)a->heads * K : 0};
    for (int i = 0; i < 5; i++) sizes[DISTANCES + i] = c->distances >> i & 1 ? all[i] : 0;
}

/* Returns the sizes in floats, in the order of the table above. */
static inline void size_learned(size_t sizes[LEARNED], const struct choice *c,
                                const rapt_attention *a)
{
    const rapt_attention_parameters *l = &a->parameters;
    size_t H = (size_t)a->heads, G = (size_t)(a->key_heads ? a->key_heads : a->heads);
    size_t K = (size_t)a->key_width, Q = (size_t)(a->query_width ? a->query_width : a->key_width);
    size_t hidden = (size_t)l->hidden, channels = (size_t)l->channels;
    size_t center_hidden = (size_t)l->center_hidden, positions = (size_t)l->positions;
    size_t filter_width = (size_t)l->filter_width, W = a->score == RAPT_SCORE_GENERAL ? K : hidden;
    const size_t all[LEARNED] = {[0] = c->slopes ? H : 0,
                                 [1] = H * (size_t)c->buckets,
                                 [8] = c->talking & TALKING_SCORES ? H * H : 0,
                                 [9] = c->talking & TALKING_WEIGHTS ? H * H : 0,
#define ROW(name, heads, rows, columns)                                                            \
    [RELATIVE_LEARNED + RAPT_ATTENTION_PARAMETER_##name] = (heads) * (rows) * (columns),
                                 PARAMETERS(ROW)
#undef ROW
    };
    for (int i = 0; i < LEARNED; i++) sizes[i] = i < RELATIVE_LEARNED || c->learned ? all[i] : 0;
}

/* Lays out log f like an array of width 1. It is not positive, and NaN in padding. */
static inline void make_forget(struct trial *x, const struct choice *c)
{
    rapt_attention *a = &x->a;
    int keys = rows_of(x->key_starts, c->batch, c->keys);
    if (!c->forget || !c->causal) return;
    rapt_stride *s = &a->log_forget_stride;
    *s = lay(&x->random, c->heads, c->ragged ? keys : c->keys, keys, 1, x->nlearned + FORGET);
    float *all =
        draw_floats(&x->random, x->nlearned[FORGET], c->forget_size > 0 ? c->forget_size : 0.3f);
    for (size_t i = 0; i < x->nlearned[FORGET]; i++) all[i] = -fabsf(all[i]);
    for (int b = 0; b < c->batch && x->counts; b++)
        for (int h = 0; h < c->heads; h++)
            for (int l = x->counts[b]; l < oracle_keys(a, b); l++)
                all[(a->key_starts ? a->key_starts[b] * s->row : b * s->batch) + h * s->head +
                    l * s->row] = NAN;
    x->learned[FORGET] = all;
    x->dlearned[FORGET] = zeros(x->nlearned[FORGET]);
    a->log_forget = all;
}

static inline void make_learned(struct trial *x, const struct choice *c)
{
    rapt_attention *a = &x->a;
    a->relative =
        (rapt_relative){.buckets = c->buckets,
                        .distance = c->distance,
                        .bidirectional = c->bidirectional,
                        .rotary = c->rotary,
                        .rotary_width = c->rotary_width,
                        .rotary_scaling = c->rotary_scaling,
                        .rotary_factor = c->rotary_factor,
                        .rotary_positions = c->rotary_positions ? c->rotary_positions : 40,
                        .rotary_magnitude = c->rotary_magnitude};
    if (c->learned) {
        a->parameters = (rapt_attention_parameters){.hidden = c->hidden ? c->hidden : 5,
                                                    .positions = c->keys + 2,
                                                    .channels = 2,
                                                    .filter_width = 3,
                                                    .center_hidden = 3};
        if (c->previous) {
            size_t n = (size_t)(c->batch * c->heads) * (size_t)c->keys;
            a->previous_weights = x->previous = draw_floats(&x->random, n, 0.3f);
        }
    }
    size_learned(x->nlearned, c, a);
    size_distances(x, c);
    for (int i = 0; i < LEARNED; i++) {
        if (x->nlearned[i] == 0) continue;
        x->learned[i] = draw_floats(&x->random, x->nlearned[i], i == 0 ? 0.1f : 0.6f);
        x->dlearned[i] = zeros(x->nlearned[i]);
        set_pointer(a, learned[i].in_problem, x->learned[i]);
    }
    make_forget(x, c);
    if (is_hard(c->normalizer)) x->chosen = calloc(x->nlse + 1, sizeof(int));
    if (c->rewards) {
        x->reward = draw_floats(&x->random, x->nlse, 1);
        x->baseline = draw_floats(&x->random, x->nlse, 1);
    }
    if (!c->expected) return;
    a->expected = x->expected = calloc((size_t)c->batch + 1, 1);
    for (int b = 1; b < c->batch; b += 2) x->expected[b] = 1;
}

static inline struct trial make_trial(const struct choice *c, uint64_t seed)
{
    struct trial x = {.random = seed * 0x9E3779B97F4A7C15ull + 1};
    rapt_attention *a = &x.a;
    int key_heads = c->key_heads ? c->key_heads : c->heads;
    *a = (rapt_attention){.size = sizeof(rapt_attention),
                          .batch = c->batch,
                          .heads = c->heads,
                          .key_heads = c->key_heads,
                          .queries = c->queries,
                          .keys = c->keys,
                          .key_width = c->key_width,
                          .value_width = c->value_width,
                          .query_width = c->query_width,
                          .locality = c->locality,
                          .radius = c->radius,
                          .normalizer = c->normalizer,
                          .temperature = c->temperature,
                          .cap = c->cap,
                          .score = c->score,
                          .scale = c->scale,
                          .dropout = c->dropout,
                          .seed = seed,
                          .threads = 2};
    if (c->ragged) {
        a->query_starts = x.query_starts = draw_starts(&x.random, c->batch, c->queries);
        a->key_starts = x.key_starts = draw_starts(&x.random, c->batch, c->keys);
    }
    int queries = rows_of(x.query_starts, c->batch, c->queries);
    int keys = rows_of(x.key_starts, c->batch, c->keys);
    int query_step = c->ragged ? queries : c->queries, key_step = c->ragged ? keys : c->keys;
    int query_width = c->query_width ? c->query_width : c->key_width;
    a->q = lay(&x.random, c->heads, query_step, queries, query_width, &x.nq);
    a->k = lay(&x.random, key_heads, key_step, keys, c->key_width, &x.nk);
    a->v = lay(&x.random, key_heads, key_step, keys, c->value_width, &x.nv);
    a->out = lay(&x.random, c->heads, query_step, queries, c->value_width, &x.no);
    make_mask(&x, c);
    make_sparse(&x, c);
    x.nlse = (size_t)queries * (size_t)c->heads;
    x.q = draw_floats(&x.random, x.nq, c->query_size > 0 ? c->query_size : 1);
    x.k = draw_floats(&x.random, x.nk, 1);
    x.v = draw_floats(&x.random, x.nv, 1);
    x.dout = draw_floats(&x.random, x.no, 1);
    x.out = zeros(x.no), x.lse = zeros(x.nlse);
    x.dq = zeros(x.nq), x.dk = zeros(x.nk), x.dv = zeros(x.nv);
    make_learned(&x, c);
    x.saved = (rapt_attention_saved){.size = sizeof x.saved, .lse = x.lse, .chosen = x.chosen};
    x.reinforce = (rapt_reinforce){.size = sizeof x.reinforce,
                                   .reward = x.reward,
                                   .baseline = x.baseline,
                                   .entropy = c->expected ? 0.4f : 0};
    return x;
}

static inline void drop_trial(struct trial *x)
{
    float *all[] = {x->q,    x->k,  x->v,  x->bias, x->out,  x->lse,
                    x->dout, x->dq, x->dk, x->dv,   x->dbias};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) free(all[i]);
    for (int i = 0; i < LEARNED; i++) free(x->learned[i]), free(x->dlearned[i]);
    free(x->previous), free(x->reward), free(x->baseline), free(x->chosen);
    free(x->allowed), free(x->expected), free(x->blocks), free(x->near), free(x->globals);
    free(x->query_starts);
    free(x->key_starts);
    free(x->counts);
}

enum { GUARD = 64, GUARD_BYTE = 0x3c }; /* bytes after a workspace that must not be touched */

static inline void *make_workspace(const rapt_attention *a)
{
    rapt_message why = {"?"};
    if (rapt_attention_check(a, &why) != RAPT_OK) fail_msg("%s", why.text);
    size_t bytes = rapt_attention_workspace(a);
    char *workspace = aligned_alloc(64, (bytes + GUARD + 63) / 64 * 64);
    memset(workspace, 0xff, bytes); /* NaN, so that reading what was not written shows */
    memset(workspace + bytes, GUARD_BYTE, GUARD);
    return workspace;
}

static inline void drop_workspace(const rapt_attention *a, void *workspace)
{
    const char *guard = (const char *)workspace + rapt_attention_workspace(a);
    for (int i = 0; i < GUARD; i++)
        if (guard[i] != GUARD_BYTE) fail_msg("byte %d after the workspace was written", i);
    free(workspace);
}

static inline void run_forward(struct trial *x)
{
    void *workspace = make_workspace(&x->a);
    assert_int_equal(
        rapt_attention_forward(&x->a, x->q, x->k, x->v, x->out, &x->saved, workspace, NULL),
        RAPT_OK);
    drop_workspace(&x->a, workspace);
}

/* Requests the gradients of all arrays that the problem has. */
static inline rapt_gradients gradients_of(struct trial *x)
{
    rapt_gradients d = {.size = sizeof d, .q = x->dq, .k = x->dk, .v = x->dv, .bias = x->dbias};
    for (int i = 0; i < LEARNED; i++) set_pointer(&d, learned[i].in_gradients, x->dlearned[i]);
    return d;
}

static inline void run_backward(struct trial *x)
{
    void *workspace = make_workspace(&x->a);
    float *gradients[] = {x->dq, x->dk, x->dv, x->dbias};
    size_t sizes[] = {x->nq, x->nk, x->nv, x->dbias ? x->nbias : 0};
    for (int i = 0; i < 4; i++)
        if (sizes[i]) memset(gradients[i], 0, sizes[i] * sizeof(float));
    for (int i = 0; i < LEARNED; i++)
        if (x->dlearned[i]) memset(x->dlearned[i], 0, x->nlearned[i] * sizeof(float));
    rapt_gradients d = gradients_of(x);
    assert_int_equal(rapt_attention_backward(&x->a, x->q, x->k, x->v, x->out, &x->saved, x->dout,
                                             &x->reinforce, &d, workspace, NULL),
                     RAPT_OK);
    drop_workspace(&x->a, workspace);
}

/* Runs forward and backward and returns all results one after the other, choices too. *n: their
   number of floats. */
static inline float *results(struct trial *x, size_t *n)
{
    const float *parts[6 + LEARNED] = {x->out, x->lse, x->dq, x->dk, x->dv, x->dbias};
    size_t sizes[6 + LEARNED] = {x->no, x->nlse, x->nq, x->nk, x->nv, x->dbias ? x->nbias : 0};
    size_t all = x->nlse, at = 0;
    run_forward(x);
    run_backward(x);
    for (int i = 0; i < LEARNED; i++)
        parts[6 + i] = x->dlearned[i], sizes[6 + i] = x->dlearned[i] ? x->nlearned[i] : 0;
    for (int i = 0; i < 6 + LEARNED; i++) all += sizes[i];
    float *to = zeros(all);
    for (size_t i = 0; i < x->nlse; i++) to[at++] = x->chosen ? (float)x->chosen[i] : 0;
    for (int i = 0; i < 6 + LEARNED; at += sizes[i], i++)
        if (sizes[i]) memcpy(to + at, parts[i], sizes[i] * sizeof *to);
    *n = all;
    return to;
}

/* Fails unless forward and backward passes have the same bits on every instruction set of this
   machine and for 1, 2, 3 and 7 threads. If `statistics` is not NULL, every other run saves them
   there. */
static inline void assert_same_results(struct trial *x, const char *name, float *statistics)
{
    static const int threads[] = {1, 2, 3, 7};
    rapt_isa sets[EQUAL_SETS], used = rapt_isa_used();
    int count = equal_sets("attention, instruction sets", sets);
    float *first = NULL;
    size_t n;
    for (int run = 0; run < 4 * count; run++) {
        const rapt_isa isa = sets[run / 4];
        assert_int_equal(rapt_isa_use(isa), RAPT_OK);
        x->a.threads = threads[run % 4];
        if (statistics) x->saved.statistics = run % 2 ? statistics : NULL;
        float *now = results(x, &n);
        if (first && !same_bits(first, now, n))
            fail_msg("%s: %s with %d threads differs", name, rapt_isa_name(isa), x->a.threads);
        if (first)
            free(now);
        else
            first = now;
    }
    free(first);
    rapt_isa_use(used);
}

#endif
