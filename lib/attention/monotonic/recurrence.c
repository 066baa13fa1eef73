/* recurrence.c - the recurrences along the keys of one query, forward and backward, in the notation
   of rapt/monotonic_attention.h.

   Weights in lookback mode: let M[k] be the maximum of the energies u[0 .. k], S[k] the sum of
   exp(u[l] - M[k]) over l <= k, and R[j] the sum of exp(M[j] - M[k]) alpha[k] / S[k] over k >= j.
   Then

       weights[j] = exp(u[j] - M[j]) R[j],    R[j] = alpha[j] / S[j] + exp(M[j] - M[j+1]) R[j+1]

   No exponent is above 0, and S is at least 1. Let g[k] be the mean of dweights weighted by the
   softmax over keys 0 .. k, and Q[j] the sum of exp(M[j] - M[k]) alpha[k] g[k] / S[k] over k >= j.
   g is computed like S, and Q like R. Then

       dalpha[k] = g[k],    du[j] = exp(u[j] - M[j]) (R[j] dweights[j] - Q[j])

   In chunk mode, each of these sums runs over a window of keys and has its own maximum. The sums
   are therefore computed term by term, one term for each of the `chunk` distances between a key and
   the end of a window. */
#include "attention/monotonic/monotonic.h"

#include <math.h>
#include <string.h>

/* Smaller probabilities and weights become 0, because arithmetic with denormal numbers is slow. */
static const double LEAST = 0x1p-100;

enum { PART = 64 }; /* keys whose probabilities are converted at once */

/* Sets `rest` to 1 - p, given p in `stop` and 1 - p, rounded to float, in `keep`. The absolute
   error is about 2^-24 times the smaller of p and 1 - p, so products of thousands of factors near 1
   stay accurate. The loop does nothing else, so that the compiler can replace its branch, which is
   hard to predict, with vector instructions. */
static void rest_of(const float *stop, const float *keep, int n, double *rest)
{
    for (int s = 0; s < n; s++) {
        double exact = 1 - (double)stop[s], rounded = (double)keep[s];
        rest[s] = stop[s] < keep[s] ? exact : rounded;
    }
}

void rapt__monotonic_begin(int n, float *alpha)
{
    for (int s = 0; s < n; s++) alpha[s] = s == 0;
}

void rapt__monotonic_align(const float *stop, const float *keep, const float *before, int n,
                           float *reach, float *alpha)
{
    double rest[PART], passed = 0; /* the probability that the query passes the key before s */
    for (int s = 0; s < n; s++) {
        if (s % PART == 0) rest_of(stop + s, keep + s, rapt__min(n - s, PART), rest);
        double reached = passed + (double)before[s];
        reached = reached < LEAST ? 0 : reached;
        double stopped = (double)stop[s] * reached;
        reach[s] = (float)reached;
        alpha[s] = stopped < LEAST ? 0 : (float)stopped;
        passed = reached * rest[s % PART];
    }
}

double rapt__monotonic_align_backward(const float *stop, const float *keep, const float *reach,
                                      int n, float *dalpha, float *denergies)
{
    double rest[PART], next = 0, sum = 0; /* next is the gradient of reach[s + 1] */
    for (int s = n - 1; s >= 0; s--) {
        int first = s - s % PART;
        if (s == n - 1 || s - first == PART - 1)
            rest_of(stop + first, keep + first, s - first + 1, rest);
        double p = (double)stop[s], d = (double)dalpha[s], other = rest[s - first];
        denergies[s] = (float)(p * other * (double)reach[s] * (d - next));
        sum += (double)denergies[s];
        next = p * d + other * next;
        dalpha[s] = (float)next;
    }
    return sum;
}

void rapt__monotonic_scratch_layout(struct arena *arena, const struct monotonic_problem *m,
                                    struct monotonic_scratch *s)
{
    size_t ld = (size_t)m->ld;
    *s = (struct monotonic_scratch){NULL, NULL, NULL, NULL};
    if (!m->soft) return;
    s->exponentials = rapt__arena_floats(arena, ld, 1);
    s->ratios = rapt__arena_floats(arena, ld, 1);
    s->sums = rapt__arena_floats(arena, ld, 1);
    s->tops = rapt__arena_floats(arena, ld, 1);
}

/* ---- lookback ---- */

/* Computes exp(u[j] - M[j]), the ratios exp(M[j-1] - M[j]) and the sums S. */
static void prefix_sums(const struct kernels *kernels, const float *u, int n,
                        const struct monotonic_scratch *s)
{
    float top = u[0];
    for (int j = 0; j < n; j++) {
        float before = top;
        top = u[j] > top ? u[j] : top;
        s->exponentials[j] = u[j] - top;
        s->ratios[j] = before - top;
    }
    kernels->exp_row(s->exponentials, (size_t)n);
    kernels->exp_row(s->ratios, (size_t)n);
    double sum = 0;
    for (int j = 0; j < n; j++) {
        sum = (double)s->ratios[j] * sum + (double)s->exponentials[j];
        s->sums[j] = (float)sum;
    }
}

static void lookback_weights(const float *alpha, int n, const struct monotonic_scratch *s,
                             float *weights)
{
    double rest = 0;
    for (int j = n - 1; j >= 0; j--) {
        rest += (double)alpha[j] / (double)s->sums[j];
        double weight = (double)s->exponentials[j] * rest;
        weights[j] = weight < LEAST ? 0 : (float)weight;
        rest *= (double)s->ratios[j];
    }
}

static void lookback_backward(const float *alpha, const float *dweights, int n,
                              const struct monotonic_scratch *s, float *dalpha, float *denergies)
{
    double sum = 0, rest = 0, means = 0;
    for (int j = 0; j < n; j++) {
        sum = (double)s->ratios[j] * sum + (double)s->exponentials[j] * (double)dweights[j];
        dalpha[j] = (float)(sum / (double)s->sums[j]);
    }
    for (int j = n - 1; j >= 0; j--) {
        double share = (double)alpha[j] / (double)s->sums[j];
        rest += share, means += share * (double)dalpha[j];
        denergies[j] = (float)((double)s->exponentials[j] * (rest * (double)dweights[j] - means));
        rest *= (double)s->ratios[j], means *= (double)s->ratios[j];
    }
}

/* ---- chunk ---- */

static int window_of(const struct monotonic_problem *m, int n)
{
    return rapt__min(m->a->chunk, n);
}

/* Sets exponentials[k] = exp(u[k - distance] - tops[k]) for the window that ends at each key k. */
static void window_exponentials(const struct kernels *kernels, const float *u, int n, int distance,
                                const struct monotonic_scratch *s)
{
    for (int k = distance; k < n; k++) s->exponentials[k] = u[k - distance] - s->tops[k];
    kernels->exp_row(s->exponentials + distance, (size_t)(n - distance));
}

/* Computes the maximum and the sum of the window that ends at each key. */
static void window_sums(const struct monotonic_problem *m, const float *u, int n,
                        const struct monotonic_scratch *s)
{
    int window = window_of(m, n);
    memcpy(s->tops, u, (size_t)n * sizeof *u);
    for (int distance = 1; distance < window; distance++)
        for (int k = distance; k < n; k++)
            s->tops[k] = u[k - distance] > s->tops[k] ? u[k - distance] : s->tops[k];
    memset(s->sums, 0, (size_t)n * sizeof *s->sums);
    for (int distance = 0; distance < window; distance++) {
        window_exponentials(m->kernels, u, n, distance, s);
        for (int k = distance; k < n; k++) s->sums[k] += s->exponentials[k];
    }
}

static void chunk_weights(const struct monotonic_problem *m, const float *u, const float *alpha,
                          int n, const struct monotonic_scratch *s, float *weights)
{
    memset(weights, 0, (size_t)n * sizeof *weights);
    for (int k = 0; k < n; k++) s->ratios[k] = alpha[k] / s->sums[k];
    for (int distance = 0; distance < window_of(m, n); distance++) {
        window_exponentials(m->kernels, u, n, distance, s);
        for (int k = distance; k < n; k++)
            weights[k - distance] += s->ratios[k] * s->exponentials[k];
    }
    for (int k = 0; k < n; k++)
        if ((double)weights[k] < LEAST) weights[k] = 0;
}

static void chunk_backward(const struct monotonic_problem *m, const float *u, const float *alpha,
                           const float *dweights, int n, const struct monotonic_scratch *s,
                           float *dalpha, float *denergies)
{
    memset(dalpha, 0, (size_t)n * sizeof *dalpha);
    memset(denergies, 0, (size_t)n * sizeof *denergies);
    for (int distance = 0; distance < window_of(m, n); distance++) {
        window_exponentials(m->kernels, u, n, distance, s);
        for (int k = distance; k < n; k++) dalpha[k] += dweights[k - distance] * s->exponentials[k];
    }
    for (int k = 0; k < n; k++) {
        dalpha[k] /= s->sums[k];
        s->ratios[k] = alpha[k] / s->sums[k];
    }
    for (int distance = 0; distance < window_of(m, n); distance++) {
        window_exponentials(m->kernels, u, n, distance, s);
        for (int k = distance; k < n; k++)
            denergies[k - distance] +=
                s->ratios[k] * s->exponentials[k] * (dweights[k - distance] - dalpha[k]);
    }
}

void rapt__monotonic_weights(const struct monotonic_problem *m, const float *energies,
                             const float *alpha, int n, const struct monotonic_scratch *s,
                             float *weights)
{
    if (m->a->mode == RAPT_MONOTONIC_CHUNK) {
        window_sums(m, energies, n, s);
        chunk_weights(m, energies, alpha, n, s, weights);
    } else {
        prefix_sums(m->kernels, energies, n, s);
        lookback_weights(alpha, n, s, weights);
    }
}

void rapt__monotonic_weights_backward(const struct monotonic_problem *m, const float *energies,
                                      const float *alpha, const float *dweights, int n,
                                      const struct monotonic_scratch *s, float *dalpha,
                                      float *denergies)
{
    if (m->a->mode == RAPT_MONOTONIC_CHUNK)
        chunk_backward(m, energies, alpha, dweights, n, s, dalpha, denergies);
    else
        lookback_backward(alpha, dweights, n, s, dalpha, denergies);
}
