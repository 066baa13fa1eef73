/* random.h - random numbers, resampling and hashes that are the same on every machine. */
#ifndef KIT_RANDOM_H
#define KIT_RANDOM_H

#include <stddef.h>
#include <stdint.h>

/* ---- random numbers, each a function of (seed, index) ----
   A stream has no hidden state, so example 1000 of a task can be drawn without the 999 before it.
   Steele, Lea and Flood 2014, "Fast splittable pseudorandom number generators" (SplitMix64). */

/* A position in a stream. Start with random_from; copy it to draw the same numbers again. */
struct random {
    uint64_t seed, index;
};
struct random random_from(uint64_t seed, uint64_t stream); /* streams of a seed are independent */

uint64_t random_bits(struct random *random);
int random_below(struct random *random, int bound); /* uniform in 0 .. bound - 1 */
float random_unit(struct random *random);           /* 0 <= u < 1, multiples of 2^-24 */
float random_normal(struct random *random);         /* approximately normal: mean 0, variance 1 */

/* ---- bootstrap ----
   A confidence interval for the score of a corpus, and a test of whether two systems differ. Both
   are computed from the counts of each sentence (Koehn 2004; the p-value as in Riezler and Maxwell
   2005). Resample r consists of the sentences bootstrap_index(seed, r, i, count), i < count, so
   equal seeds give equal results. */

struct bootstrap_corpus {
    size_t sentences;
    int width;                              /* counts per sentence */
    const long long *counts;                /* [sentences][width] */
    double (*score)(const long long *sums); /* sums [width] of the counts of sentences */
};
struct bootstrap_interval {
    double low, high; /* 95 % of the resamples score between them */
};
size_t bootstrap_index(uint64_t seed, int resample, size_t i, size_t count);
double bootstrap_score(const struct bootstrap_corpus *corpus); /* of the whole corpus */
struct bootstrap_interval bootstrap_interval(const struct bootstrap_corpus *corpus, int resamples,
                                             uint64_t seed);
/* Returns the p-value of a paired test of two systems on the same sentences: the probability of a
   difference at least as large as theirs if both were equally good. Both corpora must have the same
   width and score. */
double bootstrap_p(const struct bootstrap_corpus *a, const struct bootstrap_corpus *b,
                   int resamples, uint64_t seed);

/* ---- the FNV-1a hash (Fowler, Noll and Vo): fast, not cryptographic ---- */

#define HASH_EMPTY UINT64_C(0xCBF29CE484222325) /* the hash of no bytes */
#define HASH_PRIME UINT64_C(0x100000001B3)

/* Continues the hash of earlier bytes, or HASH_EMPTY. */
static inline uint64_t hash_bytes(uint64_t hash, const void *data, size_t size)
{
    const unsigned char *bytes = data;
    for (size_t i = 0; i < size; i++) hash = (hash ^ bytes[i]) * HASH_PRIME;
    return hash;
}

#endif
