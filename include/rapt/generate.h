/* generate.h - generation: a session and source tokens go in, target tokens with scores come out;
   greedy, sampled, or by beam search. */
#ifndef RAPT_GENERATE_H
#define RAPT_GENERATE_H

#include "shortlist.h"
#include "transformer.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Callbacks of rapt_generate, called on the thread that called it, outside of any parallel region
   and while nothing else runs on the session, which they must not use. */

/* A token of a source's best sequence is known: its id and log-probability, the end included, in
   order, without those of the prefix. Greedy and sampled: as soon as it is chosen. Beam search: as
   soon as all live and all ended hypotheses of the source begin with it; what is left once its
   search has ended. Anything but 0 stops the call, as rapt_stop_fn does. */
typedef int rapt_token_fn(void *user, int source, int32_t id, float log_probability);

/* logits[vocab] of the token after ids[count] (prefix included) of one hypothesis of a source: it
   may change any of them; -INFINITY forbids a token; with NaN or +INFINITY among them the result is
   some sequence with a score that is NaN, or none. Suppressed tokens, min_length and
   no_repeat_ngram hold afterwards. */
typedef void rapt_logits_fn(void *user, int source, const int32_t *ids, int count, float *logits,
                            int vocab);

/* Asked before every step; anything but 0 stops the call: all sequences end where they are, as if
   that were their limit, their last tokens are told to `token`, and it returns RAPT_OK. To stop it
   from another thread, return an atomic flag of yours that the other thread sets: the library
   itself shares nothing between threads. */
typedef int rapt_stop_fn(void *user);

/* Whose definition of greedy and beam search holds. A step ranks the continuations of all live
   hypotheses by their sums of log-probabilities. With `beams` B, and n: the tokens of a hypothesis,
   its end included:

               an end finishes its hypothesis   those that live on   a source is finished
       RAPT    at ranks below B                 the first B          with B finished ones: the first
       MARIAN  at ranks below the live ones     B less the finished  once none lives
       HF      at ranks below B                 the first B          when the worst of the best B
                                                                     finished ones is no worse than
                                                                     the best live sum / n^penalty
       CT2     at ranks below B                 the first B          with B finished ones or more;
                                                                     without length_penalty: nbest,
                                                                     and once the end had rank 0

   At its limit a sequence ends as it is; with HF the end is its last token, of log-probability 0;
   with CT2 only ranks below B count then. With CT2 tokens of a prefix count in length_penalty, and
   directly after a prefix the end counts at rank 0 only. MARIAN and HF divide probabilities among
   all tokens, before some are suppressed or forbidden; the others among those that are left.
   Sources: marian-dev 1.12 (beam_search.cpp, history.h), transformers 4.57 (generation/utils.py,
   early_stopping False), CTranslate2 4.8 (decoding.cc). Ties: see rapt_generate_outputs. */
typedef enum rapt_search_rules {
    RAPT_SEARCH_RULES_MODEL,  /* a translator's: that of the project its model is from; else RAPT */
    RAPT_SEARCH_RULES_RAPT,   /* this library's own */
    RAPT_SEARCH_RULES_MARIAN, /* Marian's; Bergamot's, in Firefox */
    RAPT_SEARCH_RULES_HF,     /* that of Hugging Face's transformers */
    RAPT_SEARCH_RULES_CT2     /* CTranslate2's */
} rapt_search_rules;

typedef struct rapt_generate_options { /* size-first, see base.h */
    size_t size;                       /* sizeof(rapt_generate_options) */
    int32_t begin, end; /* first input of the decoder; the token that ends a sequence */
    int max_length;     /* tokens of a sequence, end included; 0: the session's target_length */
    /* and at most max_ratio * source length + max_extra, rounded down (with
       RAPT_SEARCH_RULES_MARIAN: up); 0: no such limit */
    float max_ratio;
    int max_extra;        /* tokens, 0 or more */
    int beams;            /* 0 or 1: greedy, or sampling if temperature > 0 */
    int nbest;            /* sequences returned per source, at most beams; 0: 1 */
    float length_penalty; /* score = sum of log-probabilities / length^penalty, end included */
    float temperature;    /* 0: always the likeliest token; finite */
    int top_k;            /* sample among the k likeliest; 0: among all */
    float top_p;          /* sample among the likeliest with this share together; 0: among all */
    int suppressed_count; /* 0: none */
    const int32_t *suppressed; /* [suppressed_count] tokens never produced, NULL: none */
    uint64_t seed;             /* sequence b draws from (seed, b + sequence), whatever the batch */
    uint64_t sequence;         /* the number of the batch's first sequence */
    /* Sequence b begins with these tokens of sequence b (after begin): the prompt of a
       decoder-only model, the first words of a translation. They count as tokens of the sequence,
       are in its ids, and add nothing to scores; length in length_penalty is without them. NULL:
       none. */
    const rapt_tokens *prefix;
    int min_length;                 /* no end before so many tokens (the end not counted) */
    int no_repeat_ngram;            /* n: no n tokens in a row twice in a sequence; 0: they may */
    rapt_token_fn *token;           /* NULL, here and below: not wanted */
    rapt_logits_fn *logits;         /* changes logits before a token is chosen */
    rapt_stop_fn *stop;             /* ends the call early */
    void *user;                     /* passed to these three */
    rapt_search_rules search_rules; /* whose beam search */
    int reserved;                   /* 0 */
    /* Tokens of a target are those for its own source, and the end: probabilities are divided among
       them alone. The call then allocates the rows of the output matrix that all of its sources
       need, and computes no others unless `logits` wants them. Not with temperature. NULL: none. */
    const rapt_shortlist *shortlist;
} rapt_generate_options;
/* Sets all of *options, which has `size` bytes: begin, end, 1 beam, 1 sequence; all else 0. */
RAPT_API void rapt_generate_options_default(rapt_generate_options *options, size_t size,
                                            int32_t begin, int32_t end);

/* The caller's arrays, for B sources and ranks n < nbest, best first; i = b * nbest + n. Ties: the
   higher score, then the earlier hypothesis, then the lower token. */
typedef struct rapt_generate_outputs { /* size-first */
    size_t size;                       /* sizeof(rapt_generate_outputs) */
    /* [B * nbest][max_length] tokens without begin and end; max_length: the session's target_length
       where the option is 0 */
    int32_t *ids;
    int *counts;   /* [B * nbest] how many tokens; -1: there is no such hypothesis */
    float *scores; /* [B * nbest], -infinity where there is none; NULL: not wanted */
    /* Cross-attention of each token, and of the end (0 where max_length has truncated the
       sequence), in the first head of config.alignment_layer, or the mean of all layers and heads
       where that is 0: [counts + 1][S] in a space of [max_length + 1][S], nbest of them for each
       source in turn; S: tokens of that source. Needs limits.alignments. NULL: not wanted. */
    float *alignments;
    /* [B * nbest][max_length] of each token, and of the end after them, given those before it, in
       nats; 0 for those of the prefix. They are normalized over the tokens that are neither
       suppressed nor forbidden by an option, with RAPT_SEARCH_RULES_MARIAN and HF over all. NULL:
       not wanted. */
    float *log_probabilities;
    int *ended; /* [B * nbest] 1: with the end; 0: truncated by its limit, or stopped. NULL: not
                   wanted */
} rapt_generate_outputs;

/* Encodes the sources and generates their targets. A sequence truncated by its limit counts as
   ended; so does one that no token may follow, as all are suppressed or forbidden, or logits are
   not finite. max_length may exceed the session's target_length where there are fewer sources than
   limits.batch. A prefix of max_length tokens is a sequence already; a longer one is refused. The
   next rapt_decode needs a rapt_encode first. RAPT_BAD_ARGUMENT: an option, a token or a number of
   them is out of range, or an output needs what the session lacks; *why names it. RAPT_NO_MEMORY:
   with a shortlist alone, after the encoder, so that a rapt_encode comes next here too. */
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
   of rapt_generate. It uses the session as rapt_generate does. RAPT_BAD_ARGUMENT: a token is in no
   vocabulary, there are more than fit, or not as many targets as sources. */
RAPT_API rapt_status rapt_score_targets(rapt_session *session, const rapt_tokens *source,
                                        const rapt_tokens *target, int32_t begin, int32_t end,
                                        float *log_probabilities, double *sums, rapt_message *why);

#ifdef __cplusplus
}
#endif
#endif
