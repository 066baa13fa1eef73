/* entmax.c - normalizers that give exact zeros, and their gradients (Martins and Astudillo 2016;
   Peters, Niculae and Martins 2019; Correia, Niculae and Martins 2019):

       z = max(0, (alpha - 1) x - tau)^k,  k = 1 / (alpha - 1),  with tau such that z sums to 1
       dx = g (dz - mean),  g = z^(2 - alpha) where z is not 0,  mean = g.dz / sum of g
       dalpha = (z.dz - mean) / (alpha - 1)^2 - (e.dz - mean sum of e) / (alpha - 1),  e = z log z

   alpha is 2 for sparsemax. A kernel computes sparsemax and alpha 1.5 (kernel/simplex.c). For a
   learned alpha, this file uses the same method in double precision, with a logarithm and an
   exponential for each weight in every step. Scores are taken relative to their maximum, so that
   tau is between -1 and 0, and only scores within k of the maximum can have a weight.

   The norm N = (sum of u^k)^(1/k) of u = max(0, (alpha - 1) x - tau) is convex and falls as tau
   rises. Newton's method for N = 1, started at tau = -1, therefore approaches the solution from
   below and takes few steps. */
#include "attention/general/general.h"

#include <math.h>
#include <string.h>

/* Returns alpha - 1. If it is learned, it is at least 2^-20, so that k is finite. */
static double order_of(const struct row *r)
{
    double learned = 1 / (1 + rapt__exp(-(double)r->head->number));
    if (r->head->normalizer == RAPT_NORMALIZER_SPARSEMAX) return 1;
    if (r->head->normalizer == RAPT_NORMALIZER_ENTMAX_1_5) return 0.5;
    return learned < 0x1p-20 ? 0x1p-20 : learned;
}

/* Returns x^y, where x is above 0. */
static double power(double x, double y)
{
    return y == 0 ? 1 : y == 1 ? x : y == 0.5 ? sqrt(x) : rapt__exp(y * rapt__log(x));
}

/* Returns the step from tau to the zero of the tangent of N - 1. */
static double newton_step(const float *x, int n, double max, double order, double tau)
{
    double k = 1 / order, sum = 0, slope = 0;
    for (int i = 0; i < n; i++) {
        double u = order * ((double)x[i] - max) - tau;
        if (u <= 0) continue;
        double less = power(u, k - 1);
        slope += less, sum += u * less;
    }
    return (sum - power(sum, 1 - order)) / slope;
}

static double threshold(const float *x, int n, double max, double order)
{
    enum { STEPS = 100 }; /* safety bound; far fewer steps are needed */
    double tau = -1, step = 1;
    for (int i = 0; i < STEPS && step > 1e-13; i++) {
        step = newton_step(x, n, max, order, tau);
        tau += step;
    }
    return tau;
}

/* Copies the scores that can have a weight to `to` and returns their number, or -1 if a visible
   score is NaN or +infinity. Sets *visible if there is a visible key. */
static int candidates(const struct row *r, float max, double order, float *to, bool *visible)
{
    const float *x = r->space.x;
    int n = 0;
    bool finite = true;
    for (int s = r->first; s < r->end; s++) {
        if (x[s] == -INFINITY) continue;
        *visible = true;
        if (!(x[s] <= max && x[s] < INFINITY)) finite = false;
        if (order * ((double)x[s] - (double)max) > -1) to[n++] = x[s];
    }
    return finite ? n : -1;
}

/* Computes p for a learned alpha. Returns false if no key is visible. */
static bool learned_row(const struct row *r, float max)
{
    const float *x = r->space.x;
    float *p = r->space.p;
    double order = order_of(r), tau = 0;
    bool visible = false;
    int n = candidates(r, max, order, r->space.more, &visible);
    if (n > 0) tau = threshold(r->space.more, n, (double)max, order);
    for (int s = r->first; s < r->end; s++) {
        double u = order * ((double)x[s] - (double)max) - tau;
        p[s] = x[s] == -INFINITY ? 0 : n < 0 ? NAN : u > 0 ? (float)power(u, 1 / order) : 0;
    }
    return visible;
}

void rapt__entmax(struct row *r, float max)
{
    size_t size = (size_t)(r->end - r->first) * sizeof(float);
    float *p = r->space.p + r->first;
    bool sparsemax = r->head->normalizer == RAPT_NORMALIZER_SPARSEMAX, visible;
    memcpy(p, r->space.x + r->first, size);
    if (r->head->normalizer == RAPT_NORMALIZER_ENTMAX)
        visible = learned_row(r, max);
    else
        visible = r->head->kernels->simplex_row(p, r->end - r->first, sparsemax ? 1 : 2);
    r->fully_masked = !visible;
    r->lse = visible ? 0 : -INFINITY;
    memcpy(r->space.weights + r->first, p, size);
}

void rapt__entmax_backward(struct row *r, float *dz)
{
    const float *p = r->space.p;
    float *roots = r->space.more; /* g */
    double order = order_of(r), g_sum = 0, g_dz = 0, z_dz = 0, e_sum = 0, e_dz = 0;
    bool learned = r->head->normalizer == RAPT_NORMALIZER_ENTMAX;
    for (int s = r->first; s < r->end; s++) {
        if (p[s] == 0) continue;
        double z = (double)p[s], g = power(z, 1 - order), d = (double)dz[s];
        roots[s] = (float)g;
        g_sum += g, g_dz += g * d;
        if (!learned) continue;
        double e = z * rapt__log(z);
        z_dz += z * d, e_sum += e, e_dz += e * d;
    }
    double mean = g_dz / g_sum;
    for (int s = r->first; s < r->end; s++)
        dz[s] = p[s] == 0 ? 0 : (float)((double)roots[s] * ((double)dz[s] - mean));
    double dalpha = (z_dz - mean) / (order * order) - (e_dz - mean * e_sum) / order;
    r->dnumber = learned ? (float)(dalpha * order * (1 - order)) : 0;
}
