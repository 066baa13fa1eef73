/* bootstrap.h - how sure a corpus score is, and whether two systems differ: counts of each sentence
   go in, intervals and a p-value come out (Koehn 2004; the p-value as in Riezler and Maxwell 2005).
   The sentences of resample r are bootstrap_index(seed, r, i, count), i < count: equal seeds give
   equal results on every machine. */
#ifndef KIT_BOOTSTRAP_H
#define KIT_BOOTSTRAP_H

#include <stddef.h>
#include <stdint.h>

struct bootstrap_corpus {
    size_t sentences;
    int width;                              /* counts of a sentence */
    const long long *counts;                /* [sentences][width] */
    double (*score)(const long long *sums); /* of sums over sentences, [width] */
};
struct bootstrap_interval {
    double low, high; /* 95 % of the resamples score from low to high */
};
size_t bootstrap_index(uint64_t seed, int resample, size_t i, size_t count);
double bootstrap_score(const struct bootstrap_corpus *corpus); /* of the whole corpus */
struct bootstrap_interval bootstrap_interval(const struct bootstrap_corpus *corpus, int resamples,
                                             uint64_t seed);
/* The same sentences translated by two systems: how likely a difference as large as theirs would
   be if they were equally good; width and score of both are the same. */
double bootstrap_p(const struct bootstrap_corpus *a, const struct bootstrap_corpus *b,
                   int resamples, uint64_t seed);

#endif
