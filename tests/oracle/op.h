/* op.h - operations by their definitions, in double, as obvious loops over plain arrays, and random
   numbers, without any code of the library. */
#ifndef RAPT_ORACLE_OP_H
#define RAPT_ORACLE_OP_H

#include <stdint.h>

/* ---- operations in floats ---- */

enum { ORACLE_RELU, ORACLE_GELU, ORACLE_SILU, ORACLE_GELU_TANH };

/* Computes y [rows][out] = x [rows][in] w' + b with w [out][in]. b may be NULL for 0. */
void oracle_linear(int rows, int in, int out, const double *x, const double *w, const double *b,
                   double *y);
double oracle_activation(int kind, double x);

/* Computes y [rows][width] = scale * table[id] + positions[position]. positions may be NULL for
   0. */
void oracle_embed(int rows, int width, const int *ids, const int *position, double scale,
                  const double *table, const double *positions, double *y);

/* Computes y = (x - mean) / sqrt(variance + epsilon) * gain + bias for each row or, if bias is
   NULL, y = x / sqrt(mean of x^2 + epsilon) * gain. */
void oracle_norm(int rows, int width, const double *x, const double *gain, const double *bias,
                 double epsilon, double *y);

/* Returns the smoothed cross-entropy of one row of logits, and the plain one in *likelihood. */
double oracle_loss(int vocab, const double *logits, int label, double smoothing,
                   double *likelihood);

struct oracle_adam { /* the first step is 1 */
    double rate, beta1, beta2, epsilon, decay;
    int step;
};
/* Takes one step of one parameter p with gradient g and moments m, v. */
void oracle_adam(const struct oracle_adam *a, double *p, double g, double *m, double *v);

/* ---- bf16: sums of products of bf16 numbers by the definitions at the top of lib/kernel/bf16.h,
   which are those of the instructions vdpbf16ps and tdpbf16ps. Sums are computed in double, rounded
   to odd, and then rounded to 24 bits at an exponent where floats have no denormals. ---- */

/* Rounds a float to bf16. */
uint16_t oracle_bf16(float x);
/* Returns a b + c, where a and b are bf16 numbers. */
float oracle_bf16_step(uint16_t a, uint16_t b, float c);
/* Returns x + y by the same rules. */
float oracle_bf16_add(float x, float y);
/* Returns `sum` plus n products, two at a time, the odd one of each pair first. a[k] is at
   a[k * a_step], b[k] at b[k * b_step]. */
float oracle_bf16_chain(int n, const float *a, int a_step, const float *b, int b_step, float sum);
/* Returns `sum` plus n products, 32 at a time, the even and the odd ones of which are summed apart.
   A NaN becomes 0xffc00000. */
float oracle_bf16_tiles(int n, const float *a, int a_step, const float *b, int b_step, float sum);

/* ---- int8: products of 8-bit integers by the definition at the top of lib/kernel/int8.h: every
   operation in double, followed by a rounding to float where the definition has one. A double has
   more than twice the bits of a float, so rounding twice gives the correctly rounded float. ---- */

/* Sets q[n] and the scale of a row x[n]. */
void oracle_quantize(int n, const float *x, int *q, float *scale);
/* Sets rest[n] and its scale to the second term of a row x[n] whose first is q. */
void oracle_quantize_rest(int n, const float *x, const int *q, int *rest, float *scale);
/* Returns the product of row q, with scale s, and row w of weights, with scale t. */
float oracle_int8(int n, const int *q, float s, const int *w, float t, float bias);

/* ---- random numbers by their definition: Philox 4x32-10 (Salmon et al. 2011), and draws for
   element (row, column) under a key ---- */

/* Computes four words for a counter of 128 bits, given as two halves. */
void oracle_philox(uint64_t key, uint64_t low, uint64_t high, uint32_t words[4]);
/* Derives a key: the first two words at counter (word, 2^64 - 1). */
uint64_t oracle_mix(uint64_t key, uint64_t word);
/* Returns the 32 bits of an element: word column/16 % 4 at counter (column/64 * 16 + column % 16,
   row). */
uint32_t oracle_element(uint64_t key, int row, int column);
/* Returns the factor of an element after dropout: 0 if its bits are below share * 2^32, else 1 / (1
   - share). */
double oracle_dropout(uint64_t key, float share, int row, int column);

#endif
