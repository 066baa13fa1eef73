/* random.c - counter-based random numbers: SplitMix64 of (seed, index). */
#include "kit/random.h"

static uint64_t mix(uint64_t z)
{
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9U;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBU;
    return z ^ (z >> 31);
}

struct random random_from(uint64_t seed, uint64_t stream)
{
    return (struct random){mix(mix(seed + 0x9E3779B97F4A7C15U) ^ stream), 0};
}

uint64_t random_bits(struct random *random)
{
    return mix(random->seed + ++random->index * 0x9E3779B97F4A7C15U);
}

/* Takes the high half of the product of 32 random bits and the bound (Lemire 2019), without
   rejection, so that every draw takes one number. The bias is below bound / 2^32. */
int random_below(struct random *random, int bound)
{
    return (int)((random_bits(random) >> 32) * (uint64_t)bound >> 32);
}

float random_unit(struct random *random)
{
    return (float)(random_bits(random) >> 40) * 0x1p-24F;
}

/* Irwin-Hall: the sum of twelve uniform numbers of variance 1/12. Without a logarithm, it gives the
   same bits everywhere. */
float random_normal(struct random *random)
{
    float sum = -6;
    for (int i = 0; i < 12; i++) sum += random_unit(random);
    return sum;
}
