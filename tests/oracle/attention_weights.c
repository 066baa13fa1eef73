/* attention_weights.c - how scores become weights: which keys a query sees, talking heads, and
   normalizers. */
#include "attention.h"

#include "op.h"

#include <math.h>
#include <stdlib.h>

/* ---- locality: which keys a query sees, by its position or a predicted center (Luong, Pham and
   Manning 2015, section 3.2), or by a window, global positions (Beltagy, Peters and Cohan 2020,
   section 3.1) and blocks (Zaheer et al. 2020, section 2 and appendix D). ---- */

/* Sets the center c = keys sigmoid(z . tanh(C q)). */
void oracle_center(struct oracle_row *r)
{
    const rapt_attention_parameters *l = &r->a->parameters;
    const double *q = oracle_query(r);
    int Q = oracle_query_width(r->a);
    double sum = 0, error = 0;
    if (r->a->locality != RAPT_LOCALITY_LOCAL_P) return;
    for (int i = 0; i < l->center_hidden; i++) {
        ptrdiff_t at = (ptrdiff_t)r->h * l->center_hidden + i;
        double x = 0, size = 0;
        for (int j = 0; j < Q; j++) {
            x += r->in->learned[RAPT_ATTENTION_PARAMETER_CENTER_WEIGHT][at * Q + j] * q[j];
            size += fabs(r->in->learned[RAPT_ATTENTION_PARAMETER_CENTER_WEIGHT][at * Q + j] * q[j]);
        }
        sum += r->in->learned[RAPT_ATTENTION_PARAMETER_CENTER_VECTOR][at] * tanh(x);
        error += fabs(r->in->learned[RAPT_ATTENTION_PARAMETER_CENTER_VECTOR][at]) * (2 + size);
    }
    int keys = r->existing;
    if (r->a->mask.causal && r->position + 1 < keys)
        keys = r->position + 1 > 0 ? r->position + 1 : 0;
    r->window_center = r->center = keys / (1 + exp(-sum));
    r->center_error = keys * (1 + error / 4);
}

static int is_global(const rapt_sparse *sparse, int position)
{
    for (int i = 0; i < sparse->global_count; i++)
        if ((sparse->globals ? sparse->globals[i] : i) == position) return 1;
    return 0;
}

/* Returns 1 if the query attends to key s in the graph of sparse attention. */
static int in_graph(const struct oracle_row *r, int s)
{
    const rapt_sparse *sparse = &r->a->sparse;
    const rapt_stride *stride = &sparse->block_stride;
    double radius = (double)r->a->radius;
    if (radius > 0 && abs(s - r->position) <= radius) return 1;
    if (is_global(sparse, r->position) || is_global(sparse, s)) return 1;
    if (!sparse->blocks) return 0;
    return sparse->blocks[r->b * stride->batch + r->h * stride->head +
                          r->t / sparse->block_queries * stride->row + s / sparse->block_keys] != 0;
}

int oracle_in_locality(const struct oracle_row *r, int s)
{
    double radius = (double)r->a->radius, center = r->window_center;
    if (r->a->locality == RAPT_LOCALITY_SPARSE) return in_graph(r, s);
    if (r->a->locality == RAPT_LOCALITY_GLOBAL) return 1;
    if (r->a->locality == RAPT_LOCALITY_LOCAL_M) center = r->position;
    return s >= ceil(center - radius) && s <= floor(center + radius);
}

double oracle_edge(const struct oracle_row *r)
{
    double low = r->window_center - (double)r->a->radius,
           high = r->window_center + (double)r->a->radius;
    if (r->a->locality != RAPT_LOCALITY_LOCAL_P || r->existing == 0) return INFINITY;
    return fmin(fabs(low - round(low)), fabs(high - round(high))) / (1 + r->center_error);
}

double oracle_gaussian(const struct oracle_row *r, int s, double *error)
{
    double deviation = (double)r->a->radius / 2, z = (s - r->center) / deviation;
    *error = 0;
    if (r->a->locality != RAPT_LOCALITY_LOCAL_P) return 1;
    *error = 2 + z * z + fabs(z) / deviation * r->center_error;
    return exp(-z * z / 2);
}

/* ---- talking: talking heads (Shazeer et al. 2020, section 4): the logits of head h are a mixture
   of the logits of all heads. attention.c mixes the weights. ---- */

struct oracle_row oracle_row_of(const struct oracle_row *r, int h)
{
    struct oracle_row other = *r;
    int heads = r->a->heads, key_heads = r->a->key_heads ? r->a->key_heads : heads;
    other.h = h, other.g = h / (heads / key_heads);
    return other;
}

double oracle_mixed_score(const struct oracle_row *r, int s, double *size)
{
    const double *mix = r->in->talking_scores;
    double sum = 0, all = 0;
    if (!mix) return oracle_score(r, s, size);
    for (int g = 0; g < r->a->heads; g++) {
        const struct oracle_row other = oracle_row_of(r, g);
        double by = mix[r->h * r->a->heads + g], own, x = oracle_score(&other, s, &own);
        sum += by * x;
        all += fabs(by) * own + fabs(by * x);
    }
    *size = all;
    return sum;
}

/* ---- normalize: how scores become weights, apart from the softmax: noise, sinks, sigmoids,
   entmax, choice, dropout. ---- */

/* Returns the random key of a sequence and head. */
static uint64_t key_of(const rapt_attention *a, int b, int h)
{
    return oracle_mix(oracle_mix(a->seed, (uint64_t)b), (uint64_t)h);
}

int oracle_is_hard(const rapt_attention *a)
{
    return a->normalizer == RAPT_NORMALIZER_ARGMAX || a->normalizer == RAPT_NORMALIZER_SAMPLE ||
           a->normalizer == RAPT_NORMALIZER_STRAIGHT_THROUGH;
}

int oracle_expects(const struct oracle_row *r)
{
    const rapt_attention *a = r->a;
    return a->normalizer == RAPT_NORMALIZER_SAMPLE && a->expected && a->expected[r->b];
}

double oracle_keep(const rapt_attention *a, int b, int h, int t, int s)
{
    return oracle_is_hard(a) ? 1 : oracle_dropout(key_of(a, b, h), a->dropout, t, s);
}

/* Returns the Gumbel noise of an element: -log(-log(u)), u = (n + 1/2) / 2^23, where n is the upper
   23 of 32 bits: word s % 4 of counter (s / 4, t) under the key of dropout, mixed once more with
   the letters "gum". */
static double gumbel(const rapt_attention *a, int b, int h, int t, int s)
{
    uint32_t x[4];
    oracle_philox(oracle_mix(key_of(a, b, h), 'g' << 16 | 'u' << 8 | 'm'), (uint64_t)s / 4,
                  (uint64_t)t, x);
    return -log(-log(((x[s % 4] >> 9) + 0.5) / 8388608));
}

double oracle_noise(const struct oracle_row *r, double *x)
{
    double temperature = r->a->temperature != 0 ? (double)r->a->temperature : 1, worst = 0;
    if (r->a->normalizer != RAPT_NORMALIZER_GUMBEL_SOFTMAX) return 0;
    for (int s = 0; s < r->keys; s++) {
        if (x[s] == -INFINITY) continue;
        if (!r->a->noiseless) x[s] += gumbel(r->a, r->b, r->h, r->t, s);
        x[s] /= temperature;
        worst = fmax(worst, fabs(x[s]));
    }
    return 4 * worst;
}

/* Xiao et al. 2023, with a learned logit for each head as in gpt-oss. */
double oracle_sink(const struct oracle_row *r, double *size)
{
    const double *sinks = r->in->learned[RAPT_ATTENTION_PARAMETER_SINK];
    if (r->a->normalizer != RAPT_NORMALIZER_SINK_SOFTMAX) return -INFINITY;
    double sink = sinks ? sinks[r->h] : 0;
    *size = fmax(*size, 2 * fabs(sink));
    return sink;
}

/* Ramapuram et al. 2024. */
double oracle_sigmoid(const struct oracle_row *r, const double *x, double *p, double *size)
{
    const double *biases = r->in->learned[RAPT_ATTENTION_PARAMETER_SIGMOID_BIAS];
    double bias = biases ? biases[r->h] : 0, log_sum = -INFINITY;
    for (int s = 0; s < r->keys; s++) {
        p[s] = x[s] == -INFINITY ? 0 : 1 / (1 + exp(-(x[s] + bias)));
        if (x[s] != -INFINITY) log_sum = 0;
    }
    *size += 2 * fabs(bias);
    return log_sum;
}

/* Returns alpha; if it is learned, as in Correia et al. 2019. */
static double alpha_of(const struct oracle_row *r)
{
    const double *learned = r->in->learned[RAPT_ATTENTION_PARAMETER_ENTMAX_ALPHA];
    if (r->a->normalizer == RAPT_NORMALIZER_SPARSEMAX) return 2;
    if (r->a->normalizer == RAPT_NORMALIZER_ENTMAX_1_5) return 1.5;
    return 1 + 1 / (1 + exp(-(learned ? learned[r->h] : 0)));
}

/* Peters et al. 2019. The sum of p is a convex function of the threshold tau, relative to the
   greatest score, and at least 1 at tau = -1, from where Newton's method rises to the solution. */
double oracle_entmax(const struct oracle_row *r, const double *x, double *p, double *kink)
{
    double order = alpha_of(r) - 1, max = -INFINITY, tau = -1, rise = 1, sum = 0;
    for (int s = 0; s < r->keys; s++) max = x[s] > max ? x[s] : max, p[s] = 0;
    if (max == -INFINITY) return -INFINITY;
    for (int n = 0; n < 200 && rise > 0; n++) {
        double slope = 0;
        sum = 0;
        for (int s = 0; s < r->keys; s++) {
            double u = order * (x[s] - max) - tau;
            p[s] = u <= 0 ? 0 : order == 1 ? u : order == 0.5 ? u * u : pow(u, 1 / order);
            sum += p[s];
            if (p[s] != 0) slope += p[s] / u / order;
        }
        double before = tau;
        tau += (sum - 1) / slope;
        rise = tau - before;
    }
    for (int s = 0; s < r->keys; s++) {
        p[s] /= sum;
        *kink = fmin(*kink, fabs(x[s] - max - tau / order));
    }
    return 0;
}

int oracle_choose(const struct oracle_row *r, const double *x, double *decides)
{
    int best = -1;
    for (int s = 0; s < r->keys; s++) {
        decides[s] = x[s];
        if (x[s] == -INFINITY) continue;
        if (r->a->normalizer == RAPT_NORMALIZER_SAMPLE && !r->a->noiseless)
            decides[s] += gumbel(r->a, r->b, r->h, r->t, s);
        if (best < 0 || decides[s] > decides[best]) best = s;
    }
    return best;
}
