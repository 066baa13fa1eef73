/* bf16.h - sums of products of bf16 numbers by the definition at the top of lib/kernel/bf16.h,
   which is that of the instruction vdpbf16ps: in double, rounded to odd, then to 24 bits at an
   exponent where floats have no denormals. */
#ifndef RAPT_ORACLE_BF16_H
#define RAPT_ORACLE_BF16_H

#include <stdint.h>

/* Rounds a float to bf16. */
uint16_t oracle_bf16(float x);
/* Returns a b + c, where a and b are bf16 numbers. */
float oracle_bf16_step(uint16_t a, uint16_t b, float c);
/* Returns `sum` plus n products, two at a time, the odd one of each pair first. a[k] is at
   a[k * a_step], b[k] at b[k * b_step]. */
float oracle_bf16_chain(int n, const float *a, int a_step, const float *b, int b_step, float sum);

#endif
