/* attention.c - attention over all sequences, heads and queries, and its objective (Bahdanau, Cho
   and Bengio 2015, section 3.1; Vaswani et al. 2017, section 3.2). */
#include "attention.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>

int oracle_queries(const rapt_attention *a, int b)
{
    return a->query_starts ? a->query_starts[b + 1] - a->query_starts[b] : a->queries;
}

int oracle_keys(const rapt_attention *a, int b)
{
    return a->key_starts ? a->key_starts[b + 1] - a->key_starts[b] : a->keys;
}

static int existing_keys(const rapt_attention *a, int b)
{
    return a->mask.key_counts ? a->mask.key_counts[b] : oracle_keys(a, b);
}

static int position_of(const rapt_attention *a, int b, int t)
{
    if (a->mask.causal_alignment != RAPT_CAUSAL_ALIGNMENT_LOWER_RIGHT) return t;
    return t + existing_keys(a, b) - oracle_queries(a, b);
}

int oracle_sees(const rapt_attention *a, int b, int h, int t, int s)
{
    const rapt_mask *m = &a->mask;
    int position = position_of(a, b, t);
    if (s >= existing_keys(a, b)) return 0;
    if (m->causal && s > position) return 0;
    if (m->window && (s < position - m->before || s > position + m->after)) return 0;
    if (m->allowed && !m->allowed[b * m->allowed_stride.batch + h * m->allowed_stride.head +
                                  t * m->allowed_stride.row + s])
        return 0;
    return 1;
}

static ptrdiff_t row_at(const rapt_stride *s, const int *starts, int b, int h, int row)
{
    if (starts) return h * s->head + (starts[b] + row) * s->row;
    return b * s->batch + h * s->head + row * s->row;
}

const double *oracle_query(const struct oracle_row *r)
{
    return r->in->q + row_at(&r->a->q, r->a->query_starts, r->b, r->h, r->t);
}

const double *oracle_key(const struct oracle_row *r, int s)
{
    return r->in->k + row_at(&r->a->k, r->a->key_starts, r->b, r->g, s);
}

static int all_rows(const rapt_attention *a)
{
    return a->query_starts ? a->query_starts[a->batch] : a->batch * a->queries;
}

struct oracle_fixed oracle_fixed_make(const rapt_attention *a)
{
    size_t rows = (size_t)all_rows(a) * (size_t)a->heads;
    struct oracle_fixed fixed = {.chosen = malloc((rows + 1) * sizeof(int)),
                                 .window_center = calloc(rows + 1, sizeof(double)),
                                 .p = calloc(rows * (size_t)a->keys + 1, sizeof(double))};
    for (size_t i = 0; i < rows; i++) fixed.chosen[i] = ORACLE_OPEN;
    return fixed;
}

void oracle_fixed_free(struct oracle_fixed *fixed)
{
    free(fixed->chosen), free(fixed->window_center), free(fixed->p);
}

/* Computes the scores of the visible keys, and -infinity elsewhere. Returns their maximal error. */
static double scores_of(const struct oracle_row *r, double *x)
{
    const rapt_mask *m = &r->a->mask;
    double worst = 0;
    for (int s = 0; s < r->keys; s++) {
        double bias = 0, size;
        x[s] = -INFINITY;
        if (!oracle_sees(r->a, r->b, r->h, r->t, s) || !oracle_in_locality(r, s)) continue;
        if (m->bias)
            bias = r->in->bias[r->b * m->bias_stride.batch + r->h * m->bias_stride.head +
                               r->t * m->bias_stride.row + s];
        if (bias == -INFINITY) continue;
        bias += oracle_relative(r, s) + oracle_forgotten(r, s);
        double more = 0, added = oracle_distances(r, s, oracle_scale(r->a), &more);
        x[s] = oracle_mixed_score(r, s, &size) + bias + added;
        worst = fmax(worst, size + 2 * fabs(bias) + 2 * more);
    }
    return worst;
}

/* Computes p[s] = exp x[s] / (exp sink + sum of exp x), where -infinity means no sink. All p are 0
   if the query is fully masked. Returns the log of the denominator. */
static double softmax(const double *x, int n, double sink, double *p)
{
    double max = -INFINITY, sum = 0;
    for (int s = 0; s < n; s++) max = fmax(max, x[s]), p[s] = 0;
    if (max == -INFINITY) return -INFINITY;
    max = fmax(max, sink);
    for (int s = 0; s < n; s++) sum += p[s] = exp(x[s] - max);
    sum += exp(sink - max);
    for (int s = 0; s < n; s++) p[s] /= sum;
    return max + log(sum);
}

static double reward_of(const struct oracle_inputs *in, size_t at)
{
    double reward = in->reward ? (double)in->reward[at] : 0;
    return (in->baseline ? (double)in->baseline[at] : 0) - reward;
}

/* Returns -entropy H(p). */
static double entropy_of(const struct oracle_inputs *in, const double *p, int n)
{
    double sum = 0;
    for (int s = 0; s < n; s++)
        if (p[s] > 0) sum += p[s] * log(p[s]);
    return in->entropy * sum;
}

struct evaluation {
    struct oracle_fixed *fixed;
    int hold;
    const struct oracle_results *r;
    double *x, *decides, *kept; /* [keys] each */
};

/* Replaces the weights with those of a hard choice. Returns the contribution to J. */
static double choose(const struct evaluation *e, const struct oracle_row *r, size_t at,
                     double log_sum, double *weights)
{
    const rapt_attention *a = r->a;
    double *p = e->fixed->p + at * (size_t)a->keys, more = entropy_of(r->in, weights, r->keys);
    int best = oracle_choose(r, e->x, e->decides);
    if (e->fixed->chosen[at] == ORACLE_OPEN) e->fixed->chosen[at] = best;
    int chosen = e->fixed->chosen[at];
    int fits = (best < 0) == (chosen < 0) && chosen < r->keys;
    if (e->r->margin)
        e->r->margin[at] = !fits ? INFINITY : best >= 0 ? e->decides[best] - e->decides[chosen] : 0;
    if (!fits) chosen = -1;
    for (int s = 0; s < r->keys; s++) {
        double moved = 0;
        if (e->hold) p[s] = weights[s];
        if (a->normalizer == RAPT_NORMALIZER_STRAIGHT_THROUGH) moved = weights[s] - p[s];
        weights[s] = (s == chosen) + moved;
    }
    if (a->normalizer != RAPT_NORMALIZER_SAMPLE || chosen < 0) return 0;
    return reward_of(r->in, at) * (e->x[chosen] - log_sum) + more;
}

/* Computes the weights of one query, whose index among all rows is `at`. Returns the contribution
   to J. */
static double normalize(const struct evaluation *e, struct oracle_row *r, size_t at,
                        double *weights, double *error)
{
    double size, log_sum, more = 0, gaussian_error, worst = 0;
    oracle_center(r);
    if (e->hold)
        e->fixed->window_center[at] = r->window_center;
    else
        r->window_center = e->fixed->window_center[at];
    size = scores_of(r, e->x);
    if (r->a->normalizer == RAPT_NORMALIZER_GUMBEL_SOFTMAX && r->a->temperature != 0)
        size /= (double)r->a->temperature;
    size += oracle_noise(r, e->x);
    double kink = INFINITY;
    if (r->a->normalizer == RAPT_NORMALIZER_SIGMOID)
        log_sum = oracle_sigmoid(r, e->x, weights, &size);
    else if (r->a->normalizer >= RAPT_NORMALIZER_SPARSEMAX)
        log_sum = oracle_entmax(r, e->x, weights, &kink);
    else
        log_sum = softmax(e->x, r->keys, oracle_sink(r, &size), weights);
    if (oracle_is_hard(r->a) && !oracle_expects(r))
        more = choose(e, r, at, log_sum, weights);
    else if (e->hold)
        e->fixed->chosen[at] = -1;
    for (int s = 0; s < r->keys; s++) {
        if (e->x[s] == -INFINITY) continue;
        weights[s] *= oracle_gaussian(r, s, &gaussian_error);
        worst = fmax(worst, gaussian_error);
    }
    *error = 4 + 2 * size + worst;
    if (e->r->lse) e->r->lse[at] = log_sum;
    if (e->r->size) e->r->size[at] = size + worst;
    if (e->r->edge) e->r->edge[at] = oracle_edge(r);
    if (e->r->kink) e->r->kink[at] = kink;
    if (e->r->query_norm) oracle_norms(r, e->x, e->r->query_norm + at, e->r->key_norm + at);
    return more;
}

/* Computes the weights of one query and, if heads talk, mixes those of all heads. `own` is
   workspace [keys]. */
static double weigh(const struct evaluation *e, struct oracle_row *r, size_t at, double *weights,
                    double *own, double *error)
{
    static const struct oracle_results nothing;
    const double *mix = r->in->talking_weights;
    const size_t rows = (size_t)all_rows(r->a);
    struct evaluation quiet = *e;
    double more = normalize(e, r, at, weights, error), factors = 0;
    quiet.r = &nothing;
    for (int s = 0; s < r->keys && mix; s++) weights[s] *= mix[r->h * r->a->heads + r->h];
    for (int g = 0; g < r->a->heads && mix; g++) {
        struct oracle_row other = oracle_row_of(r, g);
        double by = mix[r->h * r->a->heads + g], of_other;
        factors += fabs(by);
        if (g == r->h) continue;
        normalize(&quiet, &other, at - (size_t)r->h * rows + (size_t)g * rows, own, &of_other);
        *error = fmax(*error, of_other);
        for (int s = 0; s < r->keys; s++) weights[s] += by * own[s];
    }
    if (mix) *error *= 1 + factors;
    for (int s = 0; s < r->keys && mix; s++) e->x[s] = weights[s] != 0 ? 0 : -INFINITY;
    if (mix && e->r->size) e->r->size[at] = *error;
    for (int s = 0; s < r->keys && e->r->weights; s++)
        e->r->weights[at * (size_t)r->a->keys + (size_t)s] = weights[s];
    return more;
}

/* Computes out of one query and returns the sum of out * dout. */
static double weighted_sum(const struct evaluation *e, const struct oracle_row *r,
                           const double *weights, const double *dout)
{
    const rapt_attention *a = r->a;
    ptrdiff_t row = row_at(&a->out, a->query_starts, r->b, r->h, r->t);
    double total = 0;
    for (int s = 0; s < r->keys; s++) {
        bool seen = e->x[s] != -INFINITY && weights[s] != 0;
        e->kept[s] = seen ? weights[s] * oracle_keep(a, r->b, r->h, r->t, s) : 0;
    }
    for (int i = 0; i < a->value_width; i++) {
        double sum = 0;
        for (int s = 0; s < r->keys; s++) {
            if (e->kept[s] == 0) continue; /* v may be NaN */
            ptrdiff_t v = row_at(&a->v, a->key_starts, r->b, r->g, s);
            sum += e->kept[s] * (r->in->v[v + i] + oracle_distance_value(r, s, i));
        }
        if (e->r->out) e->r->out[row + i] = sum;
        if (dout) total += sum * dout[row + i];
    }
    return total;
}

/* Adds the weights of a query to the coverage. The coverage before the first query is an input. */
static void cover(const struct oracle_row *r, const double *weights, double error)
{
    bool sparse = r->a->normalizer >= RAPT_NORMALIZER_SPARSEMAX;
    if (oracle_is_hard(r->a) && !oracle_expects(r)) error = 0;
    for (int s = 0; s < r->keys; s++) {
        r->coverage[s] += weights[s];
        r->coverage_error[s] +=
            error * (sparse ? sqrt(weights[s]) : weights[s]) + fabs(r->coverage[s]);
    }
}

/* Computes all queries of one sequence and head, in order. */
static double attend_head(const struct evaluation *e, struct oracle_row *r, size_t at,
                          const double *dout)
{
    const rapt_attention *a = r->a;
    double *mine = calloc(5 * (size_t)a->keys + 1, sizeof *mine), *other = mine + a->keys;
    double *own = other + 3 * (ptrdiff_t)a->keys;
    double total = 0, error = 0;
    r->keys = oracle_keys(a, r->b), r->existing = existing_keys(a, r->b);
    r->g = r->h / (a->heads / (a->key_heads ? a->key_heads : a->heads));
    r->before = NULL, r->before_error = 0;
    r->coverage = mine + 2 * (ptrdiff_t)a->keys, r->coverage_error = r->coverage + a->keys;
    if (r->in->previous)
        r->before = r->in->previous + ((ptrdiff_t)r->b * a->heads + r->h) * a->keys;
    for (int s = 0; s < r->existing && r->before; s++) r->coverage[s] = r->before[s];
    for (r->t = 0; r->t < oracle_queries(a, r->b); r->t++, at++) {
        r->position = position_of(a, r->b, r->t);
        total += weigh(e, r, at, mine, own, &error);
        total += weighted_sum(e, r, mine, dout);
        double *swap = other;
        if (a->score == RAPT_SCORE_COVERAGE)
            cover(r, mine, error);
        else
            r->before = mine, r->before_error = error, other = mine, mine = swap;
    }
    free(mine < other ? mine : other);
    return total;
}

double oracle_attention(const rapt_attention *a, const struct oracle_inputs *in, const double *dout,
                        struct oracle_fixed *fixed, int hold, const struct oracle_results *results)
{
    static const struct oracle_results nothing;
    double *x = malloc((3 * (size_t)a->keys + 1) * sizeof *x), total = 0;
    struct evaluation e = {fixed, hold,        results ? results : &nothing,
                           x,     x + a->keys, x + 2 * a->keys};
    for (int h = 0, first = 0; h < a->heads; h++)
        for (int b = 0; b < a->batch; first += oracle_queries(a, b), b++) {
            struct oracle_row r = {.a = a, .in = in, .b = b, .h = h};
            total += attend_head(&e, &r, (size_t)first, dout);
        }
    free(x);
    return total;
}
