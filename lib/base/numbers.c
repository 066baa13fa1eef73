/* numbers.c - random numbers, and elementary functions of doubles. */
#include "base/base.h"

/* ---- random: Philox 4x32-10 (Salmon, Moraes, Dror and Shaw 2011, "Parallel random numbers: as
   easy as 1, 2, 3") maps a key and a 128-bit counter to 128 random bits, from which uniform and
   normal numbers are computed. The generator has no state, so any thread may compute any number.
   ---- */

void rapt__philox(uint64_t key, uint64_t counter_low, uint64_t counter_high, uint32_t out[4])
{
    uint32_t k0 = (uint32_t)key, k1 = (uint32_t)(key >> 32);
    uint32_t c0 = (uint32_t)counter_low, c1 = (uint32_t)(counter_low >> 32);
    uint32_t c2 = (uint32_t)counter_high, c3 = (uint32_t)(counter_high >> 32);
    for (int round = 0; round < 10; round++) {
        uint64_t a = (uint64_t)0xD2511F53u * c0, b = (uint64_t)0xCD9E8D57u * c2;
        uint32_t x0 = (uint32_t)(b >> 32) ^ c1 ^ k0, x2 = (uint32_t)(a >> 32) ^ c3 ^ k1;
        c1 = (uint32_t)b;
        c3 = (uint32_t)a;
        c0 = x0;
        c2 = x2;
        k0 += 0x9E3779B9u;
        k1 += 0xBB67AE85u;
    }
    out[0] = c0, out[1] = c1, out[2] = c2, out[3] = c3;
}

/* Returns a number in [0, 1) made from 53 random bits. */
static double to_unit(uint32_t high, uint32_t low)
{
    return (double)(((uint64_t)high << 32 | low) >> 11) * 0x1p-53;
}

double rapt__uniform(uint64_t key, uint64_t index)
{
    uint32_t bits[4];
    rapt__philox(key, index, 0, bits);
    return to_unit(bits[0], bits[1]);
}

/* Returns the sum of twelve uniform numbers minus six, which is approximately normal (the
   Irwin-Hall distribution). Only additions are needed, so results are bit-identical with every C
   library. The tails end at six standard deviations, which is sufficient for initial values and
   noise. */
double rapt__normal(uint64_t key, uint64_t index)
{
    double sum = -6;
    for (uint64_t i = 0; i < 6; i++) {
        uint32_t bits[4];
        rapt__philox(key, index, i + 1, bits);
        sum += to_unit(bits[0], bits[1]) + to_unit(bits[2], bits[3]);
    }
    return sum;
}

uint64_t rapt__mix(uint64_t key, uint64_t word)
{
    uint32_t bits[4];
    rapt__philox(key, word, UINT64_MAX, bits);
    return (uint64_t)bits[1] << 32 | bits[0];
}

/* ---- real: elementary functions in double precision, for computations whose last bit affects
   results. With SLEEF (RAPT_HAVE_SLEEF) values are within 1 ulp and depend only on the arguments:
   the variants used here (cinz ... purec) need no fused multiply-add and run the same code on every
   processor. Without SLEEF, the functions come from the C library, and the last bit may differ
   between libraries and processors. ---- */

#ifdef RAPT_HAVE_SLEEF
#include <sleef.h>
#define OF_DOUBLE(name) Sleef_cinz_##name##d1_u10purec

void rapt__sincos(double x, double *sine, double *cosine)
{
    Sleef_double_2 both = OF_DOUBLE(sincos)(x);
    *sine = both.x;
    *cosine = both.y;
}
#else
#include <math.h>
#define OF_DOUBLE(name) name

void rapt__sincos(double x, double *sine, double *cosine)
{
    *sine = sin(x);
    *cosine = cos(x);
}
#endif

double rapt__exp(double x)
{
    return OF_DOUBLE(exp)(x);
}

double rapt__log(double x)
{
    return OF_DOUBLE(log)(x);
}

double rapt__pow(double x, double y)
{
    return OF_DOUBLE(pow)(x, y);
}
