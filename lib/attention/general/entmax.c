/* entmax.c - normalizers that give exact zeros, and their gradients (Martins and Astudillo 2016;
   Peters, Niculae and Martins 2019; Correia, Niculae and Martins 2019):

       z = max(0, (alpha - 1) x - tau)^k,  k = 1 / (alpha - 1),  with tau such that z sums to 1
       dx = g (dz - mean),  g = z^(2 - alpha) where z is not 0,  mean = g.dz / sum of g
       dalpha = (z.dz - mean) / (alpha - 1)^2 - (e.dz - mean sum of e) / (alpha - 1),  e = z log z

   alpha is 2 for sparsemax, and 1 + sigmoid(a) for a learned a. kernel/simplex.c computes the
   rows. */
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

void rapt__entmax(struct row *r)
{
    const struct kernels *k = r->head->kernels;
    const int n = r->end - r->first;
    const float *x = r->space.x + r->first;
    float *p = r->space.p + r->first;
    bool sparsemax = r->head->normalizer == RAPT_NORMALIZER_SPARSEMAX, visible;
    if (r->head->normalizer == RAPT_NORMALIZER_ENTMAX) {
        visible = k->entmax_row(x, p, n, (float)order_of(r));
    } else {
        memcpy(p, x, (size_t)n * sizeof *p);
        visible = k->simplex_row(p, n, sparsemax ? 1 : 2);
    }
    r->fully_masked = !visible;
    r->lse = visible ? 0 : -INFINITY;
    memcpy(r->space.weights + r->first, p, (size_t)n * sizeof *p);
}

/* Sets g to z^(2 - alpha) for a learned alpha, adds the sum of e dz to *e_dz, and returns the sum
   of e. */
static double learned_roots(const struct row *r, double order, const float *dz, float *g,
                            double *e_dz)
{
    const struct kernels *k = r->head->kernels;
    const size_t n = (size_t)(r->end - r->first);
    const float *z = r->space.p;
    double sum = 0;
    for (int s = r->first; s < r->end; s++) g[s] = z[s] == 0 ? 1 : z[s];
    k->log_row(g + r->first, n);
    for (int s = r->first; s < r->end; s++) {
        const double e = (double)z[s] * (double)g[s];
        sum += e, *e_dz += e * (double)dz[s];
        g[s] *= (float)(1 - order);
    }
    k->exp_row(g + r->first, n);
    return sum;
}

void rapt__entmax_backward(struct row *r, float *dz)
{
    const rapt_normalizer normalizer = r->head->normalizer;
    const float *z = r->space.p;
    float *g = r->space.more;
    double order = order_of(r), g_sum = 0, g_dz = 0, z_dz = 0, e_sum = 0, e_dz = 0;
    const bool learned = normalizer == RAPT_NORMALIZER_ENTMAX;
    if (learned) e_sum = learned_roots(r, order, dz, g, &e_dz);
    for (int s = r->first; s < r->end; s++) {
        if (normalizer == RAPT_NORMALIZER_SPARSEMAX) g[s] = 1;
        if (normalizer == RAPT_NORMALIZER_ENTMAX_1_5) g[s] = sqrtf(z[s]);
        if (z[s] == 0) g[s] = 0;
        const double d = z[s] == 0 ? 0 : (double)dz[s];
        g_sum += (double)g[s], g_dz += (double)g[s] * d, z_dz += (double)z[s] * d;
    }
    const double mean = g_dz / g_sum;
    for (int s = r->first; s < r->end; s++)
        dz[s] = z[s] == 0 ? 0 : (float)((double)g[s] * ((double)dz[s] - mean));
    const double dalpha = (z_dz - mean) / (order * order) - (e_dz - mean * e_sum) / order;
    r->dnumber = learned ? (float)(dalpha * order * (1 - order)) : 0;
}
