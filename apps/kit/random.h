/* random.h - random numbers that are a function of (seed, index). A stream has no hidden state, so
   example 1000 of a task can be drawn without the 999 before it, and is the same on every machine.
   Steele, Lea and Flood 2014, "Fast splittable pseudorandom number generators" (SplitMix64). */
#ifndef KIT_RANDOM_H
#define KIT_RANDOM_H

#include <stdint.h>

/* A position in a stream. Start with random_from; copy it to draw the same numbers again. */
struct random {
    uint64_t seed, index;
};
struct random random_from(uint64_t seed, uint64_t stream); /* streams of a seed are independent */

uint64_t random_bits(struct random *random);
int random_below(struct random *random, int bound); /* uniform in 0 .. bound - 1 */
float random_unit(struct random *random);           /* 0 <= u < 1, multiples of 2^-24 */
float random_normal(struct random *random);         /* approximately normal: mean 0, variance 1 */

#endif
