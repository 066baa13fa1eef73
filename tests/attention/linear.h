/* linear.h - trials of linear attention: a problem with random arrays, its results, and their
   comparison with the definition (oracle/recurrences.h). Shared by linear.c and the fuzz
   target. */
#ifndef RAPT_TESTS_ATTENTION_LINEAR_H
#define RAPT_TESTS_ATTENTION_LINEAR_H

#include "oracle/op.h"
#include "oracle/recurrences.h"
#include "roundings.h"

#include <stdlib.h>
#include <string.h>

#include <rapt/linear_attention.h>

enum linear_array {
    LINEAR_Q,
    LINEAR_K,
    LINEAR_V,
    LINEAR_LOG_DECAY,
    LINEAR_BETA,
    LINEAR_STATE,
    LINEAR_INPUTS
};
static const char *const linear_names[LINEAR_INPUTS] = {"q",         "k",    "v",
                                                        "log_decay", "beta", "initial_state"};

struct linear_choice {
    int batch, heads, key_heads, rows, key_width, value_width;
    bool by_rows; /* [batch][rows][heads][width] */
    bool ragged, decay, delta, state, features, normalized;
    float strength; /* log_decay is between 0 and -strength; 0 means 1 */
    float scale;
};

struct linear_trial {
    rapt_linear_attention a;
    int *starts;
    size_t count[LINEAR_INPUTS], outs, states; /* floats of each array; 0 means NULL */
    float *x[LINEAR_INPUTS], *d[LINEAR_INPUTS];
    float *out, *final_state, *dout, *dstate;
};

static inline float linear_uniform(uint64_t seed, uint64_t i) /* in [-1, 1) */
{
    uint32_t words[4];
    oracle_philox(seed, i, 0, words);
    return (float)((double)words[0] * 0x1p-31 - 1);
}

/* Elements that no row covers hold a number, too, which must not change. */
static inline float *linear_random(uint64_t seed, size_t n, float from, float to)
{
    float *x = calloc(n + 1, sizeof *x);
    for (size_t i = 0; i < n; i++) x[i] = from + (to - from) * (linear_uniform(seed, i) + 1) / 2;
    return x;
}

static inline rapt_stride linear_rows_stride(int heads, int rows, int width)
{
    return (rapt_stride){(ptrdiff_t)rows * heads * width, width, (ptrdiff_t)heads * width};
}
static inline rapt_stride linear_heads_stride(int heads, int rows, int width)
{
    return (rapt_stride){(ptrdiff_t)heads * rows * width, (ptrdiff_t)rows * width, width};
}

static inline rapt_linear_attention linear_problem(const struct linear_choice *c, int *starts)
{
    rapt_linear_attention a;
    rapt_linear_attention_init(&a, sizeof a, c->batch, c->heads, c->rows, c->key_width,
                               c->value_width);
    rapt_stride (*stride)(int, int, int) = c->by_rows ? linear_rows_stride : linear_heads_stride;
    int key_heads = c->key_heads ? c->key_heads : c->heads, rows = c->rows, all = 0;
    a.key_heads = c->key_heads, a.threads = 1, a.scale = c->scale;
    a.feature_map = c->features ? RAPT_FEATURE_MAP_ELU : RAPT_FEATURE_MAP_NONE;
    a.normalized = c->normalized;
    if (c->ragged) {
        for (int b = 0; b < c->batch; b++)
            starts[b] = all, all += b % 2 ? c->rows / (b + 1) : c->rows;
        starts[c->batch] = rows = all, a.starts = starts;
    }
    a.q = stride(c->heads, rows, c->key_width), a.out = stride(c->heads, rows, c->value_width);
    a.k = stride(key_heads, rows, c->key_width), a.v = stride(key_heads, rows, c->value_width);
    a.gates = stride(key_heads, rows, 1);
    return a;
}

static inline struct linear_trial linear_make(const struct linear_choice *c, uint64_t seed)
{
    struct linear_trial t = {.a = {.size = 0}};
    t.starts = calloc((size_t)c->batch + 1, sizeof *t.starts);
    t.a = linear_problem(c, t.starts);
    size_t key_heads = (size_t)(c->key_heads ? c->key_heads : c->heads);
    size_t rows = t.a.starts ? (size_t)t.starts[c->batch] : (size_t)(c->batch * c->rows);
    size_t K = (size_t)c->key_width, V = (size_t)c->value_width, H = (size_t)c->heads;
    t.outs = rows * H * V, t.states = (size_t)c->batch * key_heads * K * (V + c->normalized);
    t.count[LINEAR_Q] = rows * H * K, t.count[LINEAR_K] = rows * key_heads * K;
    t.count[LINEAR_V] = rows * key_heads * V;
    t.count[LINEAR_LOG_DECAY] = c->decay ? rows * key_heads : 0;
    t.count[LINEAR_BETA] = c->delta ? rows * key_heads : 0;
    t.count[LINEAR_STATE] = c->state ? t.states : 0;
    /* With the delta rule, beta |k|^2 stays below 2; otherwise states grow without bound. */
    float strength = c->strength != 0 ? c->strength : 1, unit = 1 / sqrtf((float)c->key_width);
    float least = !c->delta ? -1 : c->features ? -4 : -1.7f * unit, state = c->normalized ? 0 : -1;
    float most = !c->delta ? 1 : c->features ? -1 : 1.7f * unit;
    const float from[] = {-2, least, -1, -strength, 0, state}, to[] = {2, most, 1, 0, 1, 1};
    for (int i = 0; i < LINEAR_INPUTS; i++) {
        t.x[i] = linear_random(seed + (uint64_t)i, t.count[i], from[i], to[i]);
        t.d[i] = linear_random(seed + 50 + (uint64_t)i, t.count[i], -1, 1);
    }
    t.out = linear_random(seed + 20, t.outs, -1, 1);
    t.dout = linear_random(seed + 21, t.outs, -1, 1);
    t.final_state = linear_random(seed + 22, t.states, -1, 1);
    t.dstate = linear_random(seed + 23, t.states, -1, 1);
    if (c->decay) t.a.log_decay = t.x[LINEAR_LOG_DECAY];
    if (c->delta) t.a.beta = t.x[LINEAR_BETA];
    if (c->state) t.a.initial_state = t.x[LINEAR_STATE];
    return t;
}

static inline void linear_free(struct linear_trial *t)
{
    for (int i = 0; i < LINEAR_INPUTS; i++) free(t->x[i]), free(t->d[i]);
    free(t->starts), free(t->out), free(t->final_state), free(t->dout), free(t->dstate);
}

/* A workspace of exactly the size that is needed, so that tools see what is beyond it. */
static inline void *linear_workspace(const rapt_linear_attention *a, int backward)
{
    return aligned_alloc(64, (rapt_linear_attention_workspace(a, backward) + 63) / 64 * 64);
}

static inline rapt_status linear_forward(struct linear_trial *t, rapt_message *why)
{
    void *workspace = linear_workspace(&t->a, 0);
    rapt_status status =
        rapt_linear_attention_forward(&t->a, t->x[LINEAR_Q], t->x[LINEAR_K], t->x[LINEAR_V], t->out,
                                      t->final_state, workspace, why);
    free(workspace);
    return status;
}

/* Adds the gradients to d, which the caller sets. */
static inline rapt_status linear_backward(struct linear_trial *t, rapt_message *why)
{
    void *workspace = linear_workspace(&t->a, 1);
    rapt_linear_attention_gradients d = {
        .size = sizeof d, .q = t->d[LINEAR_Q], .k = t->d[LINEAR_K], .v = t->d[LINEAR_V]};
    if (t->count[LINEAR_LOG_DECAY]) d.log_decay = t->d[LINEAR_LOG_DECAY];
    if (t->count[LINEAR_BETA]) d.beta = t->d[LINEAR_BETA];
    if (t->count[LINEAR_STATE]) d.initial_state = t->d[LINEAR_STATE];
    rapt_status status =
        rapt_linear_attention_backward(&t->a, t->x[LINEAR_Q], t->x[LINEAR_K], t->x[LINEAR_V],
                                       t->dout, t->dstate, &d, workspace, why);
    free(workspace);
    return status;
}

/* ---- the definition ---- */

struct linear_doubles { /* copies of the inputs */
    double *x[LINEAR_INPUTS];
    struct oracle_linear_inputs inputs;
};

static inline struct linear_doubles linear_double(const struct linear_trial *t)
{
    struct linear_doubles d;
    for (int i = 0; i < LINEAR_INPUTS; i++) {
        d.x[i] = t->count[i] ? malloc(t->count[i] * sizeof(double)) : NULL;
        for (size_t j = 0; j < t->count[i]; j++) d.x[i][j] = (double)t->x[i][j];
    }
    d.inputs =
        (struct oracle_linear_inputs){d.x[LINEAR_Q],         d.x[LINEAR_K],    d.x[LINEAR_V],
                                      d.x[LINEAR_LOG_DECAY], d.x[LINEAR_BETA], d.x[LINEAR_STATE]};
    return d;
}

static inline void linear_double_free(struct linear_doubles *d)
{
    for (int i = 0; i < LINEAR_INPUTS; i++) free(d->x[i]);
}

static inline size_t linear_state_of(const rapt_linear_attention *a, int b, int g)
{
    int key_heads = a->key_heads ? a->key_heads : a->heads;
    return ((size_t)b * (size_t)key_heads + (size_t)g) * (size_t)a->key_width *
           (size_t)(a->value_width + (a->normalized ? 1 : 0));
}

/* Results of one query head: out and the sizes of its terms, [rows][value_width], and the state. */
struct linear_head {
    double *out, *size, *state;
};

static inline struct linear_head linear_head(const rapt_linear_attention *a,
                                             const struct linear_doubles *d, int b, int h)
{
    size_t n = (size_t)(a->rows * a->value_width + 1);
    struct linear_head r = {calloc(n, sizeof(double)), calloc(n, sizeof(double)),
                            calloc((size_t)(a->key_width * (a->value_width + 1)), sizeof(double))};
    oracle_linear_head(a, &d->inputs, b, h, r.out, r.state, r.size);
    return r;
}

static inline void linear_head_free(struct linear_head *r)
{
    free(r->out), free(r->size), free(r->state);
}

/* The part of the objective J of one key head of a sequence, on which no other input depends. */
static inline double linear_objective(const struct linear_trial *t, const struct linear_doubles *d,
                                      int b, int g)
{
    const rapt_linear_attention *a = &t->a;
    int key_heads = a->key_heads ? a->key_heads : a->heads, group = a->heads / key_heads;
    double sum = 0;
    for (int h = g * group; h < (g + 1) * group; h++) {
        struct linear_head r = linear_head(a, d, b, h);
        for (int row = 0; row < oracle_linear_rows(a, b); row++)
            for (int j = 0; j < a->value_width; j++)
                sum += r.out[row * a->value_width + j] *
                       (double)t->dout[oracle_linear_at(a, &a->out, b, h, row) + j];
        size_t first = linear_state_of(a, b, g), n = linear_state_of(a, 0, 1);
        if (key_heads == 1) n = linear_state_of(a, 1, 0);
        for (size_t i = 0; i < n && h == g * group; i++)
            sum += r.state[i] * (double)t->dstate[first + i];
        linear_head_free(&r);
    }
    return sum;
}

#endif
