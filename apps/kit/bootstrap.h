/* bootstrap.h - confidence intervals of a corpus score and a test of whether two systems differ,
   from the counts of each sentence (Koehn 2004; the p-value as in Riezler and Maxwell 2005).
   Resample r consists of the sentences bootstrap_index(seed, r, i, count), i < count, so equal
   seeds give equal results on every machine. */
#ifndef KIT_BOOTSTRAP_H
#define KIT_BOOTSTRAP_H

#include <stddef.h>
#include <stdint.h>

struct bootstrap_corpus {
    size_t sentences;
    int width;                              /* counts per sentence */
    const long long *counts;                /* [sentences][width] */
    double (*score)(const long long *sums); /* of sums over sentences, [width] */
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

#endif
