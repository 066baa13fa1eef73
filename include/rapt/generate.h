/* generate.h - generation: a session and source tokens go in, target tokens with scores come out;
   greedy, sampled, or by beam search. */
#ifndef RAPT_GENERATE_H
#define RAPT_GENERATE_H

#include "transformer.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct rapt_generate_options { /* size-first, see base.h */
    size_t size;                       /* sizeof(rapt_generate_options) */
    int32_t begin, end; /* first input of the decoder; the token that ends a sequence */
    int max_length;     /* tokens of a sequence, end included; 0: the session's target_length */
    float max_ratio;    /* and at most max_ratio * source length + max_extra; 0: no such limit */
    int max_extra;
    int beams;            /* 0 or 1: greedy, or sampling if temperature > 0 */
    int nbest;            /* sequences returned per source, at most beams; 0: 1 */
    float length_penalty; /* score = sum of log-probabilities / length^penalty, end included */
    float temperature;    /* 0: always the likeliest token */
    int top_k;            /* sample among the k likeliest; 0: among all */
    float top_p;          /* sample among the likeliest with this share together; 0: among all */
    int suppressed_count;
    const int32_t *suppressed; /* [suppressed_count] tokens never produced, NULL: none */
    uint64_t seed;             /* sequence b draws from (seed, b + sequence), whatever the batch */
    uint64_t sequence;         /* the number of the batch's first sequence */
} rapt_generate_options;
/* Sets all of *options, which has `size` bytes: begin, end, 1 beam, 1 sequence; all else 0. */
RAPT_API void rapt_generate_options_default(rapt_generate_options *options, size_t size,
                                            int32_t begin, int32_t end);

/* The caller's arrays, for B sources and ranks n < nbest, best first; i = b * nbest + n. Ties: the
   higher score, then the earlier hypothesis, then the lower token. */
typedef struct rapt_generate_outputs { /* size-first */
    size_t size;                       /* sizeof(rapt_generate_outputs) */
    int32_t *ids;                      /* [B * nbest][max_length] tokens without begin and end */
    int *counts;   /* [B * nbest] how many tokens; -1: there is no such hypothesis */
    float *scores; /* [B * nbest], -infinity where there is none; NULL: not wanted */
    /* Mean cross-attention of each token, and of the end (0 where max_length has truncated the
       sequence): [counts + 1][S] in a space of [max_length + 1][S], nbest of them for each source
       in turn; S: tokens of that source. Needs limits.alignments. NULL: not wanted. */
    float *alignments;
} rapt_generate_outputs;

/* Encodes the sources and generates their targets. A sequence truncated by its limit counts as
   ended. max_length may exceed the session's target_length where there are fewer sources than
   limits.batch. */
RAPT_API rapt_status rapt_generate(rapt_session *session, const rapt_tokens *source,
                                   const rapt_generate_options *options,
                                   const rapt_generate_outputs *outputs, rapt_message *why);

/* Forced decoding: how likely the model finds given targets, one for each source. They hold neither
   begin nor end: begin is the decoder's first input; end, the token after each target, is scored
   too, -1: it is not. The source of a decoder-only model is a batch alone, as for rapt_encode.
   log_probabilities, for each token and each end, in nats: those of target b are
   [target->starts[b] + b ..] with its end's as the last, back to back without ends; NULL: not
   wanted. sums: [batch] over each target, NULL: not wanted. They are logit - log sum exp of the
   logits that rapt_decode gives, and those of rapt_generate where nothing is suppressed; alone or
   in any batch and for any limits, the same bits. A target and its end may be as long as max_length
   of rapt_generate. It uses the session as rapt_generate does. */
RAPT_API rapt_status rapt_score_targets(rapt_session *session, const rapt_tokens *source,
                                        const rapt_tokens *target, int32_t begin, int32_t end,
                                        float *log_probabilities, double *sums, rapt_message *why);

#ifdef __cplusplus
}
#endif
#endif
