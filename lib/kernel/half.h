/* half.h - converts between floats and the 16-bit types in which weights are stored.
   bf16 is the upper half of a float; f16 has 5 exponent bits and 10 fraction bits. Widening is
   exact, except that a signaling NaN becomes quiet. Rounding is to nearest, ties to even, and uses
   only integers, so it does not depend on the floating-point environment. */
#ifndef RAPT_LIB_HALF_H
#define RAPT_LIB_HALF_H

#include <stdint.h>
#include <string.h>

enum half_type { HALF_BF16, HALF_F16 };

static inline float half_float_of(uint32_t bits)
{
    float x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

static inline uint32_t half_bits_of(float x)
{
    uint32_t bits;
    memcpy(&bits, &x, sizeof bits);
    return bits;
}

static inline float half_widen_bf16(uint16_t h)
{
    uint32_t bits = (uint32_t)h << 16;
    return half_float_of((bits & 0x7fffffff) > 0x7f800000 ? bits | 0x00400000 : bits);
}

/* The conditions compile to selects, so loops can be vectorized. A denormal is converted by adding
   its fraction to the bits of the float 2^-14 and then subtracting 2^-14, which is exact. */
static inline float half_widen_f16(uint16_t h)
{
    const uint32_t sign = (uint32_t)(h & 0x8000) << 16, rest = (uint32_t)(h & 0x7fff) << 13;
    const uint32_t least = 0x38800000; /* 2^-14 */
    uint32_t denormal = half_bits_of(half_float_of(rest + least) - half_float_of(least));
    uint32_t normal = rest + 0x38000000, infinite = rest + 0x70000000;
    if (rest > 0x0f800000) infinite |= 0x00400000;
    uint32_t bits = rest < 0x00800000 ? denormal & 0x7fffffff : normal;
    return half_float_of(sign | (rest >= 0x0f800000 ? infinite : bits));
}

static inline float half_widen(enum half_type type, uint16_t h)
{
    return type == HALF_BF16 ? half_widen_bf16(h) : half_widen_f16(h);
}

/* Returns value / 2^shift, rounded to the nearest integer, ties to even. */
static inline uint32_t half_shift(uint32_t value, int shift)
{
    uint32_t below = value & ((1u << shift) - 1), half = 1u << (shift - 1), kept = value >> shift;
    return kept + (below > half || (below == half && kept % 2));
}

/* The conditions compile to selects, so loops can be vectorized. */
static inline uint16_t half_round_bf16(float x)
{
    uint32_t bits = half_bits_of(x), nan = bits >> 16 | 0x40;
    uint32_t rounded = (bits + 0x7fff + (bits >> 16 & 1)) >> 16;
    return (uint16_t)((bits & 0x7fffffff) > 0x7f800000 ? nan : rounded);
}

/* A magnitude of 65,520 or more becomes infinity. */
static inline uint16_t half_round_f16(float x)
{
    uint32_t bits = half_bits_of(x), size = bits & 0x7fffffff, sign = bits >> 16 & 0x8000;
    uint32_t whole = (size & 0x7fffff) | 0x800000; /* fraction with its leading 1 */
    int exponent = (int)(size >> 23);
    if (size > 0x7f800000) return (uint16_t)(sign | 0x7e00 | (size >> 13 & 0x1ff));
    if (size >= 0x477ff000) return (uint16_t)(sign | 0x7c00);
    if (exponent < 102) return (uint16_t)sign;
    if (exponent < 113) return (uint16_t)(sign | half_shift(whole, 126 - exponent));
    return (uint16_t)(sign | half_shift(size - 0x38000000, 13));
}

static inline uint16_t half_round(enum half_type type, float x)
{
    return type == HALF_BF16 ? half_round_bf16(x) : half_round_f16(x);
}

#endif
