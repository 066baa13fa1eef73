/* beam.h - beam search as four projects define it, in double: given a function for the logits after
   any sequence, finds the best hypotheses. Every candidate of every step is listed and sorted. Each
   definition follows the code of its project. */
#ifndef RAPT_TESTS_ORACLE_BEAM_H
#define RAPT_TESTS_ORACLE_BEAM_H

#include <rapt/generate.h>
#include <stdbool.h>

enum { BEAM_LENGTH = 16, BEAM_VOCAB = 12, BEAM_MAX = 6, BEAM_KEYS = 8 };

struct beam_sequence {
    int32_t ids[3];
    int count;
};

struct beam_problem {
    rapt_search_rules search_rules;
    int vocab, beams, nbest;
    int max_length; /* of a sequence in tokens, including prefix and end */
    int min_length; /* no end before this many tokens */
    double penalty;
    int32_t end;
    int32_t banned;                         /* a suppressed token; -1 means none */
    const struct beam_sequence *suppressed; /* [suppressed_count] */
    int suppressed_count;
    int32_t begin;     /* first input of the decoder */
    double repetition; /* penalty; 0 means none */
    double coverage;   /* weight of the penalty; 0 means none */
    int keys;          /* number of source tokens */
    /* computes the attention of the token after ids[count] to the source, [keys] */
    void (*attention)(const void *user, const int32_t *ids, int count, double *weights);
    const int32_t *prefix;
    int prefix_count;
    /* computes the logits of the token after ids[count] */
    void (*logits)(const void *user, const int32_t *ids, int count, double *logits);
    const void *user;
};
struct beam_hypothesis {
    int32_t ids[BEAM_LENGTH];
    int count; /* without the end token */
    bool ended;
    double sum, score;
};

/* Finds the best hypotheses, at most nbest, and returns their number. */
int oracle_beam(const struct beam_problem *p, struct beam_hypothesis best[BEAM_MAX]);

#endif
