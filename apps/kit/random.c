/* random.c - random numbers and resampling of sentences. */
#include "kit/random.h"
#include "kit/program.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- counter-based random numbers: SplitMix64 of (seed, index) ---- */

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

/* Returns the sum of twelve uniform numbers, each of variance 1/12, minus 6 (Irwin-Hall
   distribution). This needs no logarithm, so results are bit-identical everywhere. */
float random_normal(struct random *random)
{
    float sum = -6;
    for (int i = 0; i < 12; i++) sum += random_unit(random);
    return sum;
}

/* ---- bootstrap: resampling of sentences with replacement ---- */

size_t bootstrap_index(uint64_t seed, int resample, size_t i, size_t count)
{
    struct random random = random_from(seed, (uint64_t)resample);
    random.index = i;
    return (size_t)(random_bits(&random) % count);
}

static void add_counts(long long *sums, const struct bootstrap_corpus *corpus, size_t sentence)
{
    const long long *counts = corpus->counts + sentence * (size_t)corpus->width;
    for (int c = 0; c < corpus->width; c++) sums[c] += counts[c];
}

double bootstrap_score(const struct bootstrap_corpus *corpus)
{
    long long *sums = xcalloc((size_t)corpus->width, sizeof *sums);
    for (size_t i = 0; i < corpus->sentences; i++) add_counts(sums, corpus, i);
    double score = corpus->score(sums);
    free(sums);
    return score;
}

/* Computes scores [resamples]. */
static void resample(const struct bootstrap_corpus *corpus, int resamples, uint64_t seed,
                     double *scores)
{
    long long *sums = xcalloc((size_t)corpus->width, sizeof *sums);
    for (int r = 0; r < resamples; r++) {
        memset(sums, 0, (size_t)corpus->width * sizeof *sums);
        for (size_t i = 0; i < corpus->sentences; i++)
            add_counts(sums, corpus, bootstrap_index(seed, r, i, corpus->sentences));
        scores[r] = corpus->score(sums);
    }
    free(sums);
}

static int by_value(const void *a, const void *b)
{
    const double *x = a, *y = b;
    return (*x > *y) - (*x < *y);
}

struct bootstrap_interval bootstrap_interval(const struct bootstrap_corpus *corpus, int resamples,
                                             uint64_t seed)
{
    double *scores = xcalloc((size_t)resamples, sizeof *scores);
    int tail = resamples / 40; /* 2.5 % on either side */
    resample(corpus, resamples, seed, scores);
    qsort(scores, (size_t)resamples, sizeof *scores, by_value);
    struct bootstrap_interval interval = {scores[tail], scores[resamples - 1 - tail]};
    free(scores);
    return interval;
}

double bootstrap_p(const struct bootstrap_corpus *a, const struct bootstrap_corpus *b,
                   int resamples, uint64_t seed)
{
    double *x = xcalloc((size_t)resamples, sizeof *x), *y = xcalloc((size_t)resamples, sizeof *y);
    double real = fabs(bootstrap_score(a) - bootstrap_score(b)), mean = 0;
    int farther = 0;
    resample(a, resamples, seed, x);
    resample(b, resamples, seed, y);
    for (int r = 0; r < resamples; r++) mean += (x[r] - y[r]) / resamples;
    for (int r = 0; r < resamples; r++) farther += fabs(x[r] - y[r] - mean) >= real;
    free(x);
    free(y);
    return (1.0 + farther) / (1.0 + resamples);
}
