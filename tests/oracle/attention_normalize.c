/* attention_normalize.c - how scores become weights, apart from the softmax: noise, sinks,
   sigmoids, entmax, choice, dropout. */
#include "attention_axes.h"

#include "random.h"
#include <math.h>

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

/* Returns alpha: Correia et al. 2019, if it is learned. */
static double alpha_of(const struct oracle_row *r)
{
    const double *learned = r->in->learned[RAPT_ATTENTION_PARAMETER_ENTMAX_ALPHA];
    if (r->a->normalizer == RAPT_NORMALIZER_SPARSEMAX) return 2;
    if (r->a->normalizer == RAPT_NORMALIZER_ENTMAX_1_5) return 1.5;
    return 1 + 1 / (1 + exp(-(learned ? learned[r->h] : 0)));
}

/* Peters et al. 2019. Bisection finds the threshold, relative to the greatest score. */
double oracle_entmax(const struct oracle_row *r, const double *x, double *p, double *kink)
{
    double alpha = alpha_of(r), max = -INFINITY, low = -1, high = 0, sum;
    for (int s = 0; s < r->keys; s++) max = fmax(max, x[s]), p[s] = 0;
    if (max == -INFINITY) return -INFINITY;
    for (int n = 0; n < 100; n++) {
        double tau = (low + high) / 2;
        sum = 0;
        for (int s = 0; s < r->keys; s++) {
            p[s] = pow(fmax(0, (alpha - 1) * (x[s] - max) - tau), 1 / (alpha - 1));
            sum += p[s];
        }
        if (sum < 1)
            high = tau;
        else
            low = tau;
    }
    for (int s = 0; s < r->keys; s++) {
        p[s] /= sum;
        *kink = fmin(*kink, fabs(x[s] - max - low / (alpha - 1)));
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
