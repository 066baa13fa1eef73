/* beam.h - beam search as four projects define it, in double: a function that gives the logits
   behind any sequence goes in, the best hypotheses come out. Every candidate of every step is
   listed and sorted; each definition is written down as its project does it. */
#ifndef RAPT_TESTS_ORACLE_BEAM_H
#define RAPT_TESTS_ORACLE_BEAM_H

#include <rapt/generate.h>
#include <stdbool.h>

enum { BEAM_LENGTH = 16, BEAM_VOCAB = 12, BEAM_MAX = 6 };

struct beam_problem {
    rapt_like like;
    int vocab, beams, nbest;
    int max_length; /* of a sequence, prefix and end included */
    int min_length; /* the end not before so many tokens */
    double penalty;
    int32_t end;
    int32_t banned; /* a token that is suppressed; -1: none */
    const int32_t *prefix;
    int prefix_count;
    /* Of the token behind ids[count]. */
    void (*logits)(const void *user, const int32_t *ids, int count, double *logits);
    const void *user;
};
struct beam_hypothesis {
    int32_t ids[BEAM_LENGTH];
    int count; /* without the end */
    bool ended;
    double sum, score;
};

/* The best ones, at most nbest; returns how many. */
int oracle_beam(const struct beam_problem *p, struct beam_hypothesis best[BEAM_MAX]);

#endif
