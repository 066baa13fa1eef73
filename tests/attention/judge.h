/* judge.h - compares a trial with the definition: outputs, choices, weights, and every gradient
   with difference quotients.

   Errors are bounded in roundings (2^-23). The error of a score, which the oracle estimates, is a
   relative error of its weight. What is not small beside its neighbors is compared with the
   greatest of them. */
#ifndef RAPT_TESTS_JUDGE_H
#define RAPT_TESTS_JUDGE_H

#include "roundings.h"
#include "trial.h"
#include <float.h>

struct input { /* an array of the problem, the same in double, and its gradient */
    const char *name;
    double *x;
    const float *dx; /* NULL: no gradient */
    size_t n;
    double step; /* of its difference quotients */
};
enum { INPUTS = 5 + LEARNED };
static const double STEP = 1e-6;

struct judge {
    const struct trial *trial;
    const char *text;
    struct input inputs[INPUTS];
    struct oracle_inputs in;
    struct oracle_fixed fixed;
    struct oracle_results r;
    double *dout, magnitude, largest; /* the greatest r.size; the greatest visible |v| */
    double total;                     /* the greatest sum of the weights of a query, at least 1 */
};

/* Shortens the steps, since a cosine divides by the norms of its vectors and a step has to be small
   beside each of them. */
static inline void shorten_steps(struct judge *j)
{
    for (size_t i = 0; i < j->trial->nlse; i++) {
        j->inputs[0].step = fmin(j->inputs[0].step, STEP * j->r.query_norm[i]);
        j->inputs[1].step = fmin(j->inputs[1].step, STEP * j->r.key_norm[i]);
    }
}

/* Runs the oracle with the keys that the trial has chosen, if any. Returns false if a window of
   local-p ends so near a key, or a score is so near the threshold of a sparse normalizer, that
   rounding or a step may decide; try another trial then. */
static inline bool make_judge(struct judge *j, const struct trial *x, const char *text)
{
    const rapt_attention *a = &x->a;
    const float *from[] = {x->q, x->k, x->v, x->bias, x->previous};
    const size_t sizes[] = {x->nq, x->nk, x->nv, x->bias ? x->nbias : 0,
                            (size_t)(a->batch * a->heads) * (size_t)a->keys};
    static const char *const names[] = {"q", "k", "v", "bias", "previous"};
    const float *dx[] = {x->dq, x->dk, x->dv, x->dbias, NULL};
    double *copy[5] = {0};
    *j = (struct judge){.trial = x, .text = text, .fixed = oracle_fixed_make(a), .total = 1};
    for (int i = 0; i < 5; i++) {
        if (from[i]) copy[i] = doubles(from[i], sizes[i]);
        j->inputs[i] = (struct input){names[i], copy[i], dx[i], copy[i] ? sizes[i] : 0, STEP};
    }
    j->in = (struct oracle_inputs){.q = copy[0],
                                   .k = copy[1],
                                   .v = copy[2],
                                   .bias = copy[3],
                                   .previous = copy[4],
                                   .reward = x->reward,
                                   .baseline = x->baseline,
                                   .entropy = (double)x->reinforce.entropy};
    for (int i = 0; i < LEARNED; i++) {
        double *own = x->learned[i] ? doubles(x->learned[i], x->nlearned[i]) : NULL;
        j->inputs[5 + i] =
            (struct input){learned_name(i), own, x->dlearned[i], x->nlearned[i], STEP};
        set_pointer(&j->in, learned[i].in_inputs, own);
    }
    if (x->chosen) memcpy(j->fixed.chosen, x->chosen, x->nlse * sizeof(int));
    j->dout = doubles(x->dout, x->no);
    j->r = (struct oracle_results){.out = calloc(x->no + 1, sizeof(double)),
                                   .lse = calloc(x->nlse + 1, sizeof(double)),
                                   .weights = calloc(x->nlse * (size_t)a->keys + 1, sizeof(double)),
                                   .size = calloc(x->nlse + 1, sizeof(double)),
                                   .margin = calloc(x->nlse + 1, sizeof(double)),
                                   .edge = calloc(x->nlse + 1, sizeof(double)),
                                   .kink = calloc(x->nlse + 1, sizeof(double)),
                                   .query_norm = calloc(x->nlse + 1, sizeof(double)),
                                   .key_norm = calloc(x->nlse + 1, sizeof(double))};
    oracle_attention(a, &j->in, j->dout, &j->fixed, 1, &j->r);
    shorten_steps(j);
    for (size_t i = 0; i < x->nv; i++)
        if (!isnan(x->v[i])) j->largest = fmax(j->largest, fabs((double)x->v[i]));
    double distant = 0;
    const float *values = a->distances.values;
    for (size_t i = 0; values && i < x->nlearned[DISTANCES + 2]; i++)
        distant = fmax(distant, fabs((double)values[i]));
    j->largest += distant;
    for (size_t i = 0; i < x->nlse; i++) {
        double sum = 0;
        for (int s = 0; s < a->keys; s++)
            sum += fabs(j->r.weights[i * (size_t)a->keys + (size_t)s]);
        j->magnitude = fmax(j->magnitude, j->r.size[i]);
        j->total = fmax(j->total, sum);
    }
    for (size_t i = 0; i < x->nlse; i++)
        if (j->r.edge[i] < ROUNDING * 16 || j->r.kink[i] < 8 * STEP) return false;
    return true;
}

static inline void drop_judge(struct judge *j)
{
    for (int i = 0; i < INPUTS; i++) free(j->inputs[i].x);
    oracle_fixed_free(&j->fixed);
    free(j->dout), free(j->r.out), free(j->r.lse), free(j->r.weights), free(j->r.size);
    free(j->r.margin), free(j->r.edge), free(j->r.kink), free(j->r.query_norm), free(j->r.key_norm);
}

static inline void judge_choices(const struct judge *j)
{
    const struct trial *x = j->trial;
    for (size_t i = 0; x->chosen && i < x->nlse; i++)
        if (!(j->r.margin[i] <= ROUNDING * (8 + 4 * j->r.size[i])))
            fail_msg("%s: row %zu chose %d, which is %.3g below the best", j->text, i, x->chosen[i],
                     j->r.margin[i]);
}

/* Judges the weights of one query, [keys]; at: its index among all queries. Those below 2^-100 of
   the greatest, which may be that of a sink, may be 0; and sigmoids below 2^-100. Near a threshold,
   an error of a score is an absolute error of its weight, and so it is in a sum of weights. */
static inline void judge_weight_row(const struct judge *j, size_t at, int keys, const float *got)
{
    const double *wanted = j->r.weights + at * (size_t)j->trial->a.keys;
    bool talks = j->trial->a.talking_scores || j->trial->a.talking_weights;
    double greatest = 0, least = talks || is_sparse(j->trial->a.normalizer) ? 1 : FLT_MIN;
    double sum = 0;
    for (int s = 0; s < keys; s++) greatest = fmax(greatest, wanted[s]), sum += wanted[s];
    if (j->trial->a.normalizer == RAPT_NORMALIZER_SINK_SOFTMAX) greatest = fmax(greatest, 1 - sum);
    if (j->trial->a.normalizer == RAPT_NORMALIZER_SIGMOID) greatest = 1;
    for (int s = 0; s < keys; s++)
        if (!(got[s] == 0 && wanted[s] < 0x1.001p-100 * greatest) &&
            !within_roundings((double)got[s], wanted[s], 8 + 4 * j->r.size[at],
                              fmax(wanted[s], least)))
            fail_msg("%s: weight %d of query %zu is %.9g, not %.9g", j->text, s, at, (double)got[s],
                     wanted[s]);
}

/* Judges one head's weights, all rows at once and once more from the middle. */
static inline void judge_weights_of(const struct judge *j, int b, int h, size_t at, void *workspace)
{
    const struct trial *x = j->trial;
    int rows = oracle_queries(&x->a, b), keys = oracle_keys(&x->a, b);
    for (int first = 0; first < rows; first += rows / 2 + 1) {
        float *got = zeros((size_t)((rows - first) * keys));
        assert_int_equal(rapt_attention_weights(&x->a, x->q, x->k, &x->saved, b, h, first,
                                                rows - first, got, workspace, NULL),
                         RAPT_OK);
        for (int t = first; t < rows; t++)
            judge_weight_row(j, at + (size_t)t, keys, got + (t - first) * keys);
        free(got);
    }
}

static inline void judge_weights(const struct judge *j)
{
    const rapt_attention *a = &j->trial->a;
    void *workspace = make_workspace(a);
    size_t at = 0;
    for (int h = 0; h < a->heads; h++)
        for (int b = 0; b < a->batch; at += (size_t)oracle_queries(a, b), b++)
            judge_weights_of(j, b, h, at, workspace);
    free(workspace);
}

static inline void judge_forward(const struct judge *j)
{
    const struct trial *x = j->trial;
    double roundings = ROUNDING * (8 + 2 * j->magnitude);
    double allowed = roundings * j->largest * j->total / (1 - (double)x->a.dropout);
    judge_choices(j);
    for (size_t i = 0; i < x->no; i++)
        if (!(fabs((double)x->out[i] - j->r.out[i]) <= allowed))
            fail_msg("%s: out[%zu] is %.9g, not %.9g +- %.3g", j->text, i, (double)x->out[i],
                     j->r.out[i], allowed);
    for (size_t i = 0; i < x->nlse; i++)
        if ((double)x->lse[i] != j->r.lse[i] &&
            !(fabs((double)x->lse[i] - j->r.lse[i]) <= roundings))
            fail_msg("%s: lse[%zu] is %.9g, not %.9g +- %.3g", j->text, i, (double)x->lse[i],
                     j->r.lse[i], roundings);
}

/* Returns the slope of J along a direction of one array. The central quotient has an error of
   step^2 times the third derivative, far below the precision of a float. */
static inline double slope(struct judge *j, const struct input *input, const double *direction)
{
    const rapt_attention *a = &j->trial->a;
    const double step = input->step;
    double *at = malloc((input->n + 1) * sizeof *at), side[2];
    memcpy(at, input->x, input->n * sizeof *at);
    for (int k = 0; k < 2; k++) {
        for (size_t i = 0; i < input->n; i++)
            if (direction[i] != 0) input->x[i] = at[i] + (k ? step : -step) * direction[i];
        side[k] = oracle_attention(a, &j->in, j->dout, &j->fixed, 0, NULL);
    }
    memcpy(input->x, at, input->n * sizeof *at);
    free(at);
    return (side[1] - side[0]) / (2 * step);
}

static inline void judge_slope(struct judge *j, const struct input *input, const double *direction,
                               const char *how, double allowed)
{
    double got = 0, wanted = slope(j, input, direction);
    for (size_t i = 0; i < input->n; i++)
        if (direction[i] != 0) got += direction[i] * (double)input->dx[i];
    if (!(fabs(got - wanted) <= allowed))
        fail_msg("%s: d%s %s is %.9g, not %.9g +- %.3g", j->text, input->name, how, got, wanted,
                 allowed);
}

/* Compares along a few directions through the whole array, which no element escapes, and along the
   axes of `elements` elements. Hidden rows, which hold NaN or -infinity, must have no gradient. */
static inline void judge_gradient(struct judge *j, const struct input *input, int directions,
                                  int elements, uint64_t *r)
{
    double *d = calloc(input->n + 1, sizeof *d), size = 1, count = 0;
    char how[32];
    for (size_t i = 0; i < input->n; i++) {
        size = fmax(size, fabs((double)input->dx[i]));
        count += isfinite(input->x[i]);
        if (!isfinite(input->x[i]) && !(input->dx[i] == 0))
            fail_msg("%s: d%s[%zu] is hidden, but %.9g", j->text, input->name, i,
                     (double)input->dx[i]);
    }
    double allowed = ROUNDING * (24 + 4 * j->magnitude) * size;
    for (int n = 0; count > 0 && n < directions; n++) {
        for (size_t i = 0; i < input->n; i++)
            d[i] = isfinite(input->x[i]) ? (draw(r) & 1 ? 1 : -1) / sqrt(count) : 0;
        judge_slope(j, input, d, "along a direction", allowed);
    }
    memset(d, 0, input->n * sizeof *d);
    for (int n = 0; count > 0 && n < elements; n++) {
        size_t i = input->n <= (size_t)elements ? (size_t)n % input->n : draw(r) % input->n;
        if (!isfinite(input->x[i])) continue;
        snprintf(how, sizeof how, "[%zu]", i);
        d[i] = 1;
        judge_slope(j, input, d, how, allowed);
        d[i] = 0;
    }
    free(d);
}

static inline void judge_backward(struct judge *j, int directions, int elements)
{
    uint64_t r = j->trial->random;
    for (int i = 0; i < INPUTS; i++)
        if (j->inputs[i].dx && j->inputs[i].n > 0)
            judge_gradient(j, j->inputs + i, directions, elements, &r);
}

/* Returns which keys and values a query sees: [batch][key heads][keys], 1 if some query does. */
static inline uint8_t *seen_keys(const struct trial *x)
{
    struct trial soft = *x;
    struct judge j;
    const rapt_attention *a = &x->a;
    int key_heads = a->key_heads ? a->key_heads : a->heads, group = a->heads / key_heads;
    uint8_t *seen = calloc((size_t)(a->batch * key_heads * a->keys) + 1, 1);
    bool talks = a->talking_scores || a->talking_weights; /* heads read what others see */
    size_t at = 0;
    soft.a.normalizer = RAPT_NORMALIZER_SOFTMAX, soft.chosen = NULL;
    make_judge(&j, &soft, "");
    for (int h = 0; h < a->heads; h++)
        for (int b = 0; b < a->batch; b++)
            for (int t = 0; t < oracle_queries(a, b); t++, at++)
                for (int s = 0; s < a->keys; s++) {
                    if (j.r.weights[at * (size_t)a->keys + (size_t)s] == 0) continue;
                    for (int g = talks ? 0 : h / group; g < (talks ? key_heads : h / group + 1);
                         g++)
                        seen[(b * key_heads + g) * a->keys + s] = 1;
                }
    drop_judge(&j);
    return seen;
}

/* Sets NaN where no query looks; in all of k if the score does not read it. */
static inline void hide(struct trial *x)
{
    const rapt_attention *a = &x->a;
    int key_heads = a->key_heads ? a->key_heads : a->heads;
    uint8_t *seen = seen_keys(x);
    for (int b = 0; b < a->batch; b++)
        for (int g = 0; g < key_heads; g++)
            for (int s = 0; s < oracle_keys(a, b); s++) {
                bool here = seen[(b * key_heads + g) * a->keys + s];
                ptrdiff_t row = a->key_starts ? a->key_starts[b] + s : s;
                ptrdiff_t batch = a->key_starts ? 0 : b;
                float *k = x->k + batch * a->k.batch + g * a->k.head + row * a->k.row;
                float *v = x->v + batch * a->v.batch + g * a->v.head + row * a->v.row;
                for (int i = 0; i < a->key_width; i++)
                    if (!here || a->score == RAPT_SCORE_LOCATION) k[i] = NAN;
                for (int i = 0; i < a->value_width; i++)
                    if (!here) v[i] = NAN;
            }
    free(seen);
}

#endif
