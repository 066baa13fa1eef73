/* generate.h - generation of target sequences: greedy search, sampling, batched beam search with
   n-best lists, and the scores of given targets. */
#ifndef RAPT_GENERATE_H
#define RAPT_GENERATE_H

#include "shortlist.h"
#include "transformer.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The callbacks of rapt_generate run on the thread that called it, outside of any parallel region
   and while nothing else runs on the session. They must not use the session. */

/* Receives each token of a source's best sequence once it is final, in order, with its
   log-probability in nats. The end is included, the prefix is not. Greedy search and sampling
   report a token when it is chosen. Beam search reports it as soon as all live and finished
   hypotheses of the source agree up to and including it; the remaining tokens follow when the
   search ends. Anything but 0 stops the call, as rapt_stop_fn does. */
typedef int rapt_token_fn(void *user, int source, int32_t id, float log_probability);

/* May change logits [vocab], from which the next token of one hypothesis of a source is chosen. ids
   [count] are its tokens so far, including the prefix. -INFINITY forbids a token. If a logit is NaN
   or +INFINITY, the source gets an arbitrary sequence with a score of NaN, or none. Suppressed
   tokens, min_length and no_repeat_ngram are applied afterwards. */
typedef void rapt_logits_fn(void *user, int source, const int32_t *ids, int count, float *logits,
                            int vocab);

/* Called before every step. Anything but 0 stops the call: all sequences end as if they had reached
   their limit, their last tokens are reported to `token`, and the call returns RAPT_OK. To stop
   from another thread, return an atomic flag that the other thread sets; the library itself shares
   nothing between threads. */
typedef int rapt_stop_fn(void *user);

/* Which project's search rules to follow: when a hypothesis ends, which ones survive, when a search
   stops. Each step ranks the continuations of all live hypotheses by their sums of
   log-probabilities. With B = `beams` and n = the tokens of a hypothesis, including its end:

               an end finishes its hypothesis   survivors            a source is finished
       RAPT    at ranks below B                 the first B          with B finished ones: the first
       MARIAN  at ranks below the live ones     B less the finished  once none lives
       HF      at ranks below B                 the first B          when the worst of the best B
                                                                     finished ones is no worse than
                                                                     the best live sum / n^penalty
       CT2     at ranks below B                 the first B          with B or more finished ones;
                                                                     without length_penalty, with
                                                                     nbest or more, once an end has
                                                                     had rank 0

   A sequence that reaches its limit ends as it is. With HF its last token then is the end, with
   log-probability 0; with CT2 only the best B continuations are considered in that last step. With
   CT2 the tokens of a prefix count in length_penalty, and directly after a prefix the end counts at
   rank 0 only. MARIAN and HF divide probabilities among all tokens, before some are suppressed or
   forbidden; the other rules divide them among the remaining tokens. Sources: marian-dev 1.12
   (beam_search.cpp, history.h), transformers 4.57 (generation/utils.py, early_stopping False),
   CTranslate2 4.8 (decoding.cc). rapt_generate_outputs says how ties are broken. */
typedef enum rapt_search_rules {
    RAPT_SEARCH_RULES_MODEL,  /* in a translator, those of the project its model is from; else RAPT
                               */
    RAPT_SEARCH_RULES_RAPT,   /* this library's own */
    RAPT_SEARCH_RULES_MARIAN, /* Marian's, and those of Bergamot in Firefox */
    RAPT_SEARCH_RULES_HF,     /* those of Hugging Face's transformers */
    RAPT_SEARCH_RULES_CT2     /* CTranslate2's */
} rapt_search_rules;

/* How to generate. rapt_generate_options_default fills them in for greedy search. */
typedef struct rapt_generate_options { /* size-first, see base.h */
    size_t size;
    int32_t begin;  /* first input of the decoder */
    int32_t end;    /* token that ends a sequence */
    int max_length; /* tokens of a sequence, including its end; 0: the session's target_length */
    /* Also at most max_ratio * source length + max_extra, rounded down (up with
       RAPT_SEARCH_RULES_MARIAN); 0: no such limit. */
    float max_ratio;
    int max_extra;        /* tokens, 0 or more */
    int beams;            /* 0 or 1: greedy search, or sampling if temperature is above 0 */
    int nbest;            /* sequences returned per source, at most beams; 0: 1 */
    float length_penalty; /* score = sum of log-probabilities / length^penalty, where the length
                             includes the end */
    float temperature;    /* of sampling, finite; 0: take the most likely token */
    int top_k;            /* sample among the k most likely tokens; 0: all */
    float top_p; /* sample among the most likely tokens that together have this probability;
                    0: all */
    int suppressed_count;      /* length of suppressed */
    const int32_t *suppressed; /* [suppressed_count] tokens that are never generated; NULL: none */
    uint64_t seed;             /* sequence b draws from (seed, b + sequence), whatever the batch */
    uint64_t sequence;         /* the number of the batch's first sequence */
    /* The target of source b starts with `begin` and the tokens of sequence b of the prefix: the
       prompt of a decoder-only model, or the first words of a translation. They count toward the
       length limits and are part of the ids, but add nothing to scores or to the length in
       length_penalty (except with CT2). NULL: none. */
    const rapt_tokens *prefix;
    int min_length;                 /* tokens that must precede the end */
    int no_repeat_ngram;            /* n: no n-gram occurs twice in a sequence; 0: they may */
    rapt_token_fn *token;           /* NULL, here and below: not wanted */
    rapt_logits_fn *logits;         /* changes logits before a token is chosen */
    rapt_stop_fn *stop;             /* ends the call early */
    void *user;                     /* passed to these three */
    rapt_search_rules search_rules; /* which project's search to follow */
    int reserved;
    /* Limits the tokens of a target to those listed for its own source, and the end: probabilities
       are divided among them. The call then allocates the rows of the output matrix that all of its
       sources need, and computes no other logits unless `logits` is set. Not with temperature.
       NULL: none. */
    const rapt_shortlist *shortlist;
} rapt_generate_options;
/* Sets *options, which has `size` bytes, to greedy search: begin, end, 1 beam, 1 sequence, all else
   0. */
RAPT_API void rapt_generate_options_default(rapt_generate_options *options, size_t size,
                                            int32_t begin, int32_t end);

/* The caller's arrays for the results. The results of B sources are ordered by source, then from
   best to worst: the hypothesis of rank r < nbest of source b is number b * nbest + r. Where the
   search ranks continuations, ties go to the earlier hypothesis, then to the lower token;
   hypotheses of equal score are ordered as they finished. */
typedef struct rapt_generate_outputs { /* size-first, see base.h */
    size_t size;
    int32_t *ids;  /* [B * nbest][max_length] tokens without begin and end; max_length is the
                      session's target_length if the option is 0 */
    int *counts;   /* [B * nbest] numbers of tokens; -1 if fewer hypotheses were found */
    float *scores; /* [B * nbest]; -infinity if fewer hypotheses were found; NULL: not wanted */
    /* Cross-attention of each token and of the end (0 if the sequence was truncated at max_length),
       in the first head of config.alignment_layer, or averaged over all layers and heads if that is
       0. Each hypothesis has [counts + 1][S] in a space of [max_length + 1][S], where S is the
       number of tokens of its source; the nbest hypotheses of a source follow each other. Needs
       limits.alignments. NULL: not wanted. */
    float *alignments;
    /* [B * nbest][max_length] of each token and then of the end, given what precedes it, in nats; 0
       for tokens of the prefix. Normalized over the tokens that no option suppresses or forbids, or
       over all tokens with RAPT_SEARCH_RULES_MARIAN and HF. NULL: not wanted. */
    float *log_probabilities;
    int *ended; /* [B * nbest] 1: the model ended it; 0: a limit or a callback did. NULL: not wanted
                 */
} rapt_generate_outputs;

/* Encodes the sources and generates their targets. A sequence counts as finished if it reaches its
   limit, or if no token may follow because all are suppressed or forbidden or the logits are not
   finite. max_length may exceed the session's target_length if there are fewer sources than
   limits.batch. A prefix of max_length tokens is a complete sequence; a longer one is refused. The
   next rapt_decode needs a rapt_encode first.

   RAPT_BAD_ARGUMENT: an option, a token or a count is out of range, or an output needs what the
   session lacks; *why names it. RAPT_NO_MEMORY: only with a shortlist, after the encoder has run,
   so that rapt_decode needs a rapt_encode in this case too. */
RAPT_API rapt_status rapt_generate(rapt_session *session, const rapt_tokens *source,
                                   const rapt_generate_options *options,
                                   const rapt_generate_outputs *outputs, rapt_message *why);

/* Scores given targets, one for each source, by forced decoding. Targets hold neither begin nor
   end: begin is the decoder's first input, and end, the token after each target, is scored too
   unless it is -1. For a decoder-only model set only source->batch, as for rapt_encode.

   log_probabilities gets those of each token and each end in nats, back to back: target b starts at
   [target->starts[b] + b] and finishes with its end; without ends, at [target->starts[b]]. sums
   gets [batch] totals. Either may be NULL. The values are logit - log sum exp of the logits that
   rapt_decode gives, which is what rapt_generate reports if nothing is suppressed; they have the
   same bits in any batch and for any limits. A target including its end may be as long as
   rapt_generate allows max_length to be. The session is left in the same state as by rapt_generate.

   RAPT_BAD_ARGUMENT: a token is outside the vocabulary, there are more tokens than fit, or the
   numbers of targets and sources differ. */
RAPT_API rapt_status rapt_score_targets(rapt_session *session, const rapt_tokens *source,
                                        const rapt_tokens *target, int32_t begin, int32_t end,
                                        float *log_probabilities, double *sums, rapt_message *why);

#ifdef __cplusplus
}
#endif
#endif
