/* int8.h - products of 8-bit integers by the definition at the top of lib/kernel/int8.h: every
   operation in double, followed by a rounding to float where the definition has one. A double has
   more than twice the bits of a float, so rounding twice gives the correctly rounded float. */
#ifndef RAPT_ORACLE_INT8_H
#define RAPT_ORACLE_INT8_H

/* Sets q[n] and the scale of a row x[n]. */
void oracle_quantize(int n, const float *x, int *q, float *scale);
/* Sets rest[n] and its scale to the second term of a row x[n] whose first is q. */
void oracle_quantize_rest(int n, const float *x, const int *q, int *rest, float *scale);
/* Returns the product of row q, with scale s, and row w of weights, with scale t. */
float oracle_int8(int n, const int *q, float s, const int *w, float t, float bias);

#endif
