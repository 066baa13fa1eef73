/* contest.h - one problem of one head computed three times: by the library, by plain loops in
   float, and by the same loops in double, which judge both. Gives the errors of outputs, weights
   and every gradient. The plain loops (naive.h) execute each operation as written, with exp and
   tanh rounded from double, so they do not depend on the C library's float functions. */
#ifndef RAPT_TESTS_ATTENTION_CONTEST_H
#define RAPT_TESTS_ATTENTION_CONTEST_H

#include "trial.h"

enum {
    NET_OUT,
    NET_Q,
    NET_K,
    NET_V,
    NET_W,
    NET_U,
    NET_B,
    NET_Z,
    NET_BETA,
    NET_P,
    NET_F,
    NET_L,
    NET_COVERAGE,
    NET_ARRAYS
};
static const char *const net_names[NET_ARRAYS] = {"out", "dq",    "dk", "dv", "dW", "dU", "db",
                                                  "dz",  "dbeta", "dP", "dF", "dL", "dw"};

static inline float exp_rounded(float x)
{
    return (float)exp((double)x);
}
static inline float tanh_rounded(float x)
{
    return (float)tanh((double)x);
}

static inline bool is_additive(int score)
{
    return score == RAPT_SCORE_ADDITIVE || score == RAPT_SCORE_LOCATION_AWARE ||
           score == RAPT_SCORE_COVERAGE;
}

#define real     float
#define NAIVE(x) float_##x
#define EXP      exp_rounded
#define TANH     tanh_rounded
#define ROOT     sqrtf
#include "naive.h"
#undef real
#undef NAIVE
#undef EXP
#undef TANH
#undef ROOT
#define real     double
#define NAIVE(x) double_##x
#define EXP      exp
#define TANH     tanh
#define ROOT     sqrt
#include "naive.h"

/* One problem three times: by the library, in float and in double. */
enum { NET_BUFFERS = 7 };
struct contest {
    struct trial x;
    struct float_net f;
    struct double_net d;
    struct {
        const float *in, *to; /* of the trial */
        size_t n, row, step;  /* number of floats; floats of a row; distance of rows in the trial */
    } array[NET_ARRAYS];
    size_t buffers[NET_BUFFERS];
    float *floats;
    double *doubles;
};

static inline void measure(struct contest *n)
{
    const struct trial *x = &n->x;
    const rapt_attention *a = &x->a;
    size_t T = (size_t)a->queries, S = (size_t)a->keys, K = (size_t)a->key_width;
    size_t V = (size_t)a->value_width, N = (size_t)a->parameters.hidden;
    const size_t size[] = {T * V, T * K, S * K, S * V}, row[] = {V, K, K, V};
    const ptrdiff_t step[] = {a->out.row, a->q.row, a->k.row, a->v.row};
    const float *in[] = {x->dout, x->q, x->k, x->v}, *to[] = {x->out, x->dq, x->dk, x->dv};
    const size_t buffers[NET_BUFFERS] = {T * S, S, K + N, S * N, K + N, S * N, S};
    memcpy(n->buffers, buffers, sizeof buffers);
    for (int i = 0; i < NET_ARRAYS; i++) {
        int l = RELATIVE_LEARNED + (i == NET_COVERAGE
                                        ? (int)RAPT_ATTENTION_PARAMETER_COVERAGE_WEIGHT
                                        : i - NET_W + RAPT_ATTENTION_PARAMETER_QUERY_WEIGHT);
        n->array[i].n = i < NET_W ? size[i] : x->nlearned[l];
        n->array[i].row = i < NET_W ? row[i] : n->array[i].n;
        n->array[i].step = i < NET_W ? (size_t)step[i] : n->array[i].n;
        n->array[i].in = i < NET_W ? in[i] : x->learned[l];
        n->array[i].to = i < NET_W ? to[i] : x->dlearned[l];
    }
}

/* Returns the offset in the trial of element e of an array. */
static inline size_t in_trial(const struct contest *n, int array, size_t e)
{
    return e / n->array[array].row * n->array[array].step + e % n->array[array].row;
}

static inline void copy_inputs(struct contest *n)
{
    float **in_float[] = {&n->f.p, &n->f.x, &n->f.qh, &n->f.kh, &n->f.dqh, &n->f.dkh, &n->f.before};
    double **in_double[] = {&n->d.p,   &n->d.x,   &n->d.qh,    &n->d.kh,
                            &n->d.dqh, &n->d.dkh, &n->d.before};
    size_t all = 0, at = 0;
    for (int i = 0; i < NET_ARRAYS; i++) all += 2 * n->array[i].n;
    for (int i = 0; i < NET_BUFFERS; i++) all += n->buffers[i];
    n->floats = zeros(all), n->doubles = calloc(all, sizeof *n->doubles);
    for (int i = 0; i < NET_ARRAYS; at += 2 * n->array[i++].n) {
        n->f.in[i] = n->floats + at, n->f.to[i] = n->floats + at + n->array[i].n;
        n->d.in[i] = n->doubles + at, n->d.to[i] = n->doubles + at + n->array[i].n;
        for (size_t e = 0; e < n->array[i].n; e++) {
            n->floats[at + e] = n->array[i].in[in_trial(n, i, e)];
            n->doubles[at + e] = (double)n->floats[at + e];
        }
    }
    for (int i = 0; i < NET_BUFFERS; at += n->buffers[i++])
        *in_float[i] = n->floats + at, *in_double[i] = n->doubles + at;
}

/* Scales weights like the initial ones of a layer, so that scores are about as large as q. */
static inline void scale_inputs(struct trial *x)
{
    const rapt_attention *a = &x->a;
    float share = 1 / sqrtf((float)a->key_width);
    bool whole = a->score == RAPT_SCORE_DOT || a->score == RAPT_SCORE_GENERAL ||
                 a->score == RAPT_SCORE_LOCATION;
    for (size_t i = 0; whole && i < x->nq; i++) x->q[i] *= share;
    for (int l = RELATIVE_LEARNED; l < LEARNED; l++)
        for (size_t i = 0; x->nlearned[l] >= (size_t)a->key_width && i < x->nlearned[l]; i++)
            x->learned[l][i] *= share / 0.6f;
}

static inline struct contest make_contest(const struct choice *c, uint64_t seed)
{
    struct contest n = {.x = make_trial(c, seed)};
    scale_inputs(&n.x);
    const rapt_attention_parameters *l = &n.x.a.parameters;
    n.f = (struct float_net){.score = (int)c->score, .T = c->queries, .S = c->keys};
    n.d = (struct double_net){.score = (int)c->score, .T = c->queries, .S = c->keys};
    n.f.K = n.d.K = c->key_width, n.f.V = n.d.V = c->value_width;
    n.f.N = n.d.N = l->hidden, n.f.C = n.d.C = l->channels, n.f.J = n.d.J = l->filter_width;
    measure(&n);
    copy_inputs(&n);
    run_forward(&n.x);
    run_backward(&n.x);
    float_forward(&n.f), float_backward(&n.f);
    double_forward(&n.d), double_backward(&n.d);
    return n;
}

static inline void drop_contest(struct contest *n)
{
    free(n->floats), free(n->doubles);
    drop_trial(&n->x);
}

/* Errors of one array, of the library [0] and of the naive loops [1]: root of the mean square
   relative to that of the right values, and the maximum relative to their maximum. */
struct errors {
    double mean[2], max[2];
};
static inline struct errors errors_of(const struct contest *n, int array)
{
    struct errors e = {{0, 0}, {0, 0}};
    double all = 0, size = 0;
    for (size_t i = 0; i < n->array[array].n; i++) {
        double right = n->d.to[array][i];
        const float got[] = {n->array[array].to[in_trial(n, array, i)], n->f.to[array][i]};
        for (int k = 0; k < 2; k++) {
            double error = fabs((double)got[k] - right);
            e.mean[k] += error * error, e.max[k] = fmax(e.max[k], error);
        }
        all += right * right, size = fmax(size, fabs(right));
    }
    for (int k = 0; k < 2 && all > 0; k++)
        e.mean[k] = sqrt(e.mean[k] / all), e.max[k] = e.max[k] / size;
    return e;
}

#endif
