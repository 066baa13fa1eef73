/* bf16.c - see bf16.h. */
#include "bf16.h"

#include <math.h>
#include <string.h>

static uint32_t bits_of(float x)
{
    uint32_t bits;
    memcpy(&bits, &x, sizeof bits);
    return bits;
}

static float float_of(uint32_t bits)
{
    float x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

/* Works on the neighbors of x among bf16 numbers. */
uint16_t oracle_bf16(float x)
{
    uint32_t bits = bits_of(x), below = bits & 0xffff0000;
    if (isnan(x)) return (uint16_t)(bits >> 16 | 0x40);
    if (isinf(x)) return (uint16_t)(bits >> 16);
    if (fabsf(x) < 0x1p-126f) return signbit(x) ? 0x8000 : 0;
    double unit = ldexp(1, ilogbf(x) - 7); /* the distance to the next bf16 number */
    double rest = fabs((double)x) - fabs((double)float_of(below));
    int up = rest > unit / 2 || (rest == unit / 2 && (below >> 16) % 2 == 1);
    return (uint16_t)((below >> 16) + (uint32_t)up);
}

static float widened(uint16_t h)
{
    float x = float_of((uint32_t)h << 16);
    return isnan(x) || fabsf(x) >= 0x1p-126f ? x : copysignf(0, x);
}

static float quiet(float x)
{
    return float_of(bits_of(x) | 0x00400000);
}

/* Returns x + y, rounded to odd: if it is inexact, the last bit is 1, so that rounding to fewer
   bits gives the same as rounding the exact sum. The error of the sum is Knuth's. */
static double sum_to_odd(double x, double y)
{
    double sum = x + y, part = sum - x, error = (x - (sum - part)) + (y - part);
    uint64_t bits;
    memcpy(&bits, &sum, sizeof bits);
    if (error == 0 || bits % 2 == 1) return sum;
    return nextafter(sum, error > 0 ? INFINITY : -INFINITY);
}

float oracle_bf16_step(uint16_t left, uint16_t right, float c)
{
    const float a = widened(left), b = widened(right);
    if (fabsf(c) < 0x1p-126f) c = copysignf(0, c);
    if (isnan(a)) return quiet(a);
    if (isnan(b)) return quiet(b);
    if (isnan(c)) return quiet(c);
    double product = (double)a * (double)b; /* exact */
    if (isnan(product) || isnan(product + (double)c)) return float_of(0xffc00000);
    if (isinf(product) || isinf(c)) return (float)(product + (double)c);
    double sum = sum_to_odd(product, (double)c);
    if (fabs(sum) >= 1 || sum == 0) return (float)sum;
    float scaled = (float)(sum * 0x1p100);
    return fabsf(scaled) < 0x1p-26f ? copysignf(0, scaled) : (float)((double)scaled * 0x1p-100);
}

float oracle_bf16_chain(int n, const float *a, int a_step, const float *b, int b_step, float sum)
{
    for (int k = 0; k < n; k += 2) {
        float odd_a = k + 1 < n ? a[(k + 1) * a_step] : 0;
        float odd_b = k + 1 < n ? b[(k + 1) * b_step] : 0;
        sum = oracle_bf16_step(oracle_bf16(odd_a), oracle_bf16(odd_b), sum);
        sum = oracle_bf16_step(oracle_bf16(a[k * a_step]), oracle_bf16(b[k * b_step]), sum);
    }
    return sum;
}
