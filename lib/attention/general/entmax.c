/* entmax.c - normalizers that give exact zeros, and their gradients (Martins and Astudillo 2016;
   Peters, Niculae and Martins 2019; Correia, Niculae and Martins 2019):

       z = max(0, (alpha - 1) x - tau)^k,  k = 1 / (alpha - 1),  with tau such that z sums to 1
       dx = g (dz - mean),  g = z^(2 - alpha) where z is not 0,  mean = g.dz / sum of g
       dalpha = (z.dz - mean) / (alpha - 1)^2 - (e.dz - mean sum of e) / (alpha - 1),  e = z log z
              = -sum of z log(z)^2 (dz - mean) (e^y - 1 - y) / y^2,  y = -(alpha - 1) log z

   alpha is 2 for sparsemax, 1.5 for 1.5-entmax, and else 1 + sigmoid(a) with a learned a. The
   second form of dalpha follows from g.(dz - mean) = 0, and does not divide a small difference by
   (alpha - 1)^2. kernel/simplex.c computes the rows. */
#include "attention/general/general.h"

#include <math.h>
#include <string.h>

/* Returns alpha - 1, which is at least 2^-20 so that k is finite. */
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

void rapt__entmax_backward(struct row *r, float *dz)
{
    const bool learned = r->head->normalizer == RAPT_NORMALIZER_ENTMAX;
    const double order = order_of(r);
    const float dalpha = r->head->kernels->entmax_row_backward(
        r->space.p + r->first, dz + r->first, r->end - r->first, (float)order,
        r->space.more + r->first, learned ? r->space.dropped + r->first : NULL);
    r->dnumber = (float)((double)dalpha * order * (1 - order));
}
