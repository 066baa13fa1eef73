/* generate.h - from a model to sequences: greedy, sampled, or by beam search. */
#ifndef RAPT_GENERATE_H
#define RAPT_GENERATE_H

#include "transformer.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct rapt_generate_options {
    int32_t begin, end; /* the first token fed; the token that ends a sequence */
    int max_length;     /* tokens of a sequence, end included; 0: the session's target_length */
    float max_ratio;    /* and at most max_ratio * source length + max_extra; 0: no such limit */
    int max_extra;
    int beams;            /* 0 or 1: greedy, or sampling if temperature > 0 */
    int nbest;            /* sequences returned per source, at most beams; 0: 1 */
    float length_penalty; /* score = sum of log-probabilities / length^penalty, end included */
    float temperature;    /* 0: always the likeliest token */
    int top_k;            /* sample among the k likeliest; 0: among all */
    float top_p;          /* sample among the likeliest with this share together; 0: among all */
    uint64_t seed;        /* sequence b draws from (seed, b + sequence), whatever the batch */
    uint64_t sequence;    /* the number of the batch's first sequence */
    const int32_t *suppressed; /* [suppressed_count] tokens never produced, NULL: none */
    int suppressed_count;
} rapt_generate_options;
RAPT_API rapt_generate_options rapt_generate_options_default(int32_t begin, int32_t end);

/* Into the caller's arrays, for each source b and rank n < nbest, best first:
   ids[(b*nbest + n)*max_length ..] tokens without begin and end, counts[b*nbest + n] of them
   (-1: there is no such hypothesis), scores[b*nbest + n] (may be NULL). Ties: the higher score,
   then the earlier hypothesis, then the lower id. A sequence cut by its limit counts as ended. */
RAPT_API rapt_status rapt_generate(rapt_session *session, const rapt_tokens *source,
                                   const rapt_generate_options *options, int32_t *ids, int *counts,
                                   float *scores, rapt_message *why);

#ifdef __cplusplus
}
#endif
#endif
