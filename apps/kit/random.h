/* random.h - random numbers that are a function of (seed, index): nothing is hidden in a stream, so
   example 1000 of a task can be drawn without the 999 before it, on any machine the same.
   Steele, Lea and Flood 2014, "Fast splittable pseudorandom number generators" (SplitMix64). */
#ifndef KIT_RANDOM_H
#define KIT_RANDOM_H

#include <stdint.h>

/* Where a sequence of draws stands. Begin with random_from; copy it to draw the same again. */
struct random {
    uint64_t seed, index;
};
struct random random_from(uint64_t seed, uint64_t stream); /* streams of a seed are independent */

uint64_t random_bits(struct random *random);
int random_below(struct random *random, int bound); /* 0 .. bound - 1, all alike */
float random_unit(struct random *random);           /* 0 <= u < 1, multiples of 2^-24 */
float random_normal(struct random *random);         /* nearly: mean 0, variance 1, within 6 */

#endif
