/* attention_score.c - the score of a query and a key, one function for each rapt_score. The
   enumerators of rapt_score name the papers. */
#include "attention.h"

#include <math.h>
#include <stdlib.h>

int oracle_query_width(const rapt_attention *a)
{
    return a->query_width ? a->query_width : a->key_width;
}

static double dot(const double *x, const double *y, int n, double *size)
{
    double sum = 0;
    for (int i = 0; i < n; i++) sum += x[i] * y[i], *size += fabs(x[i] * y[i]);
    return sum;
}

/* Computes y[outs] = matrix x, and in sizes[outs] the sums of the magnitudes of its terms. */
static void product(const double *matrix, const double *x, int outs, int ins, double *y,
                    double *sizes)
{
    for (int o = 0; o < outs; o++) {
        sizes[o] = 0;
        y[o] = dot(matrix + (ptrdiff_t)o * ins, x, ins, sizes + o);
    }
}

/* Returns the dot product of two rotated vectors. Their angles add errors of their own. */
static double rotated_dot(const struct oracle_row *r, const double *q, int s, const double *k,
                          int n, double *size)
{
    const rapt_attention *a = r->a;
    double x[ORACLE_WIDEST], y[ORACLE_WIDEST], sum;
    if (a->relative.rotary == RAPT_ROTARY_NONE) return dot(q, k, n, size);
    for (int i = 0; i < n; i++) x[i] = q[i], y[i] = k[i];
    oracle_rotate(a, r->position, x);
    oracle_rotate(a, s, y);
    sum = dot(x, y, n, size);
    *size *= 4 + abs(r->position) + s;
    return sum;
}

static double scale_or(const rapt_attention *a, double own)
{
    return a->scale != 0 ? (double)a->scale : own;
}

double oracle_scale(const rapt_attention *a)
{
    return scale_or(a, a->score == RAPT_SCORE_SCALED_DOT ? 1 / sqrt(a->key_width) : 1);
}

/* Also adds the content bias of Transformer-XL. */
static double scaled_dot(const struct oracle_row *r, int s, double *size)
{
    int K = r->a->key_width;
    double sum = rotated_dot(r, oracle_query(r), s, oracle_key(r, s), K, size);
    if (r->in->content_bias)
        sum += dot(r->in->content_bias + (ptrdiff_t)r->h * K, oracle_key(r, s), K, size);
    return sum;
}

static double general(const struct oracle_row *r, int s, double *size)
{
    int K = r->a->key_width, Q = oracle_query_width(r->a);
    double y[ORACLE_WIDEST] = {0}, sizes[ORACLE_WIDEST], sum;
    const double *k = oracle_key(r, s);
    product(r->in->learned[RAPT_ATTENTION_PARAMETER_QUERY_WEIGHT] + (ptrdiff_t)r->h * K * Q,
            oracle_query(r), K, Q, y, sizes);
    sum = rotated_dot(r, y, s, k, K, size);
    for (int i = 0; i < K; i++) *size += fabs(k[i]) * sizes[i];
    return sum;
}

static double norm(const double *x, int n)
{
    double none = 0;
    return fmax(sqrt(dot(x, x, n, &none)), 1e-8);
}

void oracle_norms(const struct oracle_row *r, const double *x, double *query, double *key)
{
    int K = r->a->key_width;
    *query = *key = INFINITY;
    if (r->a->score != RAPT_SCORE_COSINE) return;
    for (int s = 0; s < r->keys; s++) {
        if (x[s] == -INFINITY) continue;
        *query = norm(oracle_query(r), K), *key = fmin(*key, norm(oracle_key(r, s), K));
    }
}

static double cosine(const struct oracle_row *r, int s, double *size)
{
    int K = r->a->key_width;
    const double *q = oracle_query(r), *k = oracle_key(r, s);
    double beta = r->in->learned[RAPT_ATTENTION_PARAMETER_INVERSE_TEMPERATURE]
                      ? r->in->learned[RAPT_ATTENTION_PARAMETER_INVERSE_TEMPERATURE][r->h]
                      : 1,
           x, scale = beta / norm(q, K) / norm(k, K);
    x = rotated_dot(r, q, s, k, K, size) * scale;
    *size = *size * fabs(scale) * 2 + fabs(x) * 4;
    return x;
}

static double location(const struct oracle_row *r, int s, double *size)
{
    const rapt_attention *a = r->a;
    int Q = oracle_query_width(a);
    const double *P = r->in->learned[RAPT_ATTENTION_PARAMETER_POSITION] +
                      ((ptrdiff_t)r->g * a->parameters.positions + s) * Q;
    return rotated_dot(r, oracle_query(r), s, P, Q, size);
}

/* Returns feature c at key s: a filter over the weights of the previous query. */
static double feature(const struct oracle_row *r, int c, int s)
{
    const rapt_attention_parameters *l = &r->a->parameters;
    const double *F = r->in->learned[RAPT_ATTENTION_PARAMETER_FILTERS] +
                      ((ptrdiff_t)r->h * l->channels + c) * l->filter_width;
    double sum = 0;
    for (int j = 0; j < l->filter_width; j++) {
        int at = s + j - l->filter_width / 2;
        if (r->before && at >= 0 && at < r->existing) sum += F[j] * r->before[at];
    }
    return sum;
}

/* Returns the term of hidden unit i, inside the tanh, that depends on earlier queries: L f of
   location-aware scores, w c of coverage scores, or 0. */
static double earlier(const struct oracle_row *r, int s, int i, double *error)
{
    const rapt_attention_parameters *l = &r->a->parameters;
    ptrdiff_t unit = (ptrdiff_t)r->h * l->hidden + i;
    double sum = 0;
    for (int c = 0; r->a->score == RAPT_SCORE_LOCATION_AWARE && c < l->channels; c++) {
        double L = r->in->learned[RAPT_ATTENTION_PARAMETER_FEATURE_WEIGHT][unit * l->channels + c];
        double f = feature(r, c, s);
        sum += L * f;
        *error += fabs(L) * (1 + r->before_error) * fabs(f);
    }
    if (r->a->score != RAPT_SCORE_COVERAGE) return sum;
    sum = r->in->learned[RAPT_ATTENTION_PARAMETER_COVERAGE_WEIGHT][unit] * r->coverage[s];
    *error += fabs(sum);
    return sum;
}

/* Returns w of hidden unit i, which multiplies errors of the coverage; 0 without coverage. */
static double coverage_weight(const struct oracle_row *r, int i)
{
    ptrdiff_t unit = (ptrdiff_t)r->h * r->a->parameters.hidden + i;
    if (r->a->score != RAPT_SCORE_COVERAGE) return 0;
    return r->in->learned[RAPT_ATTENTION_PARAMETER_COVERAGE_WEIGHT][unit];
}

static double hidden_layer(const struct oracle_row *r, int s, double *size)
{
    const rapt_attention_parameters *l = &r->a->parameters;
    int K = r->a->key_width, Q = oracle_query_width(r->a);
    double x[ORACLE_WIDEST], y[ORACLE_WIDEST], xs[ORACLE_WIDEST], ys[ORACLE_WIDEST], sum = 0;
    double slope = 0; /* derivative of the score with respect to the coverage */
    const double *v =
        r->in->learned[RAPT_ATTENTION_PARAMETER_HIDDEN_VECTOR] + (ptrdiff_t)r->h * l->hidden;
    product(r->in->learned[RAPT_ATTENTION_PARAMETER_QUERY_WEIGHT] + (ptrdiff_t)r->h * l->hidden * Q,
            oracle_query(r), l->hidden, Q, x, xs);
    product(r->in->learned[RAPT_ATTENTION_PARAMETER_KEY_WEIGHT] + (ptrdiff_t)r->g * l->hidden * K,
            oracle_key(r, s), l->hidden, K, y, ys);
    for (int i = 0; i < l->hidden; i++) {
        double z = x[i] + y[i], error = xs[i] + ys[i];
        if (r->in->learned[RAPT_ATTENTION_PARAMETER_HIDDEN_BIAS])
            z += r->in->learned[RAPT_ATTENTION_PARAMETER_HIDDEN_BIAS]
                               [(ptrdiff_t)r->h * l->hidden + i];
        z += earlier(r, s, i, &error);
        double t = tanh(z);
        sum += v[i] * t;
        slope += v[i] * (1 - t * t) * coverage_weight(r, i);
        *size += fabs(v[i]) * (2 * fabs(t) + (1 - t * t) * (error + fabs(z)));
    }
    if (slope != 0) *size += fabs(slope) * r->coverage_error[s];
    return sum;
}

double oracle_score(const struct oracle_row *r, int s, double *size)
{
    const rapt_attention *a = r->a;
    double x = 0, scale = 1, cap = (double)a->cap;
    *size = 0;
    switch (a->score) {
    case RAPT_SCORE_SCALED_DOT:
        scale = scale_or(a, 1 / sqrt(a->key_width)), x = scaled_dot(r, s, size);
        break;
    case RAPT_SCORE_DOT:
        scale = scale_or(a, 1), x = scaled_dot(r, s, size);
        break;
    case RAPT_SCORE_GENERAL:
        scale = scale_or(a, 1), x = general(r, s, size);
        break;
    case RAPT_SCORE_COSINE:
        x = cosine(r, s, size);
        break;
    case RAPT_SCORE_LOCATION:
        scale = scale_or(a, 1), x = location(r, s, size);
        break;
    case RAPT_SCORE_ADDITIVE:
    case RAPT_SCORE_LOCATION_AWARE:
    case RAPT_SCORE_COVERAGE:
        x = hidden_layer(r, s, size);
        break;
    case RAPT_SCORE_COUNT:
        break;
    }
    x *= scale, *size *= fabs(scale);
    if (cap == 0) return x;
    *size += 2 * fabs(cap * tanh(x / cap));
    return cap * tanh(x / cap);
}
