/* generate.h - generates target sequences by greedy search, sampling or batched beam search with
   n-best lists, and scores given targets. */
#ifndef RAPT_GENERATE_H
#define RAPT_GENERATE_H

#include "shortlist.h"
#include "transformer.h"

#ifdef __cplusplus
extern "C" {
#endif

/* rapt_generate calls the functions below on the thread that called it, outside any parallel
   region. They must not use the session. They may exit via longjmp() or an exception; see
   base.h. */

/* Receives each token of a source's best sequence once it is final, in order, with its
   log-probability in nats. The end token is included; the prefix is not. Greedy search and sampling
   report a token when it is chosen. Beam search reports a token as soon as all live and finished
   hypotheses of the source agree up to and including that token, and the remaining tokens when the
   search ends. A nonzero result stops the call, as it does for rapt_stop_fn, except that no more
   tokens are reported. */
typedef int rapt_token_fn(void *user, int source, int32_t id, float log_probability);

/* May change logits [vocab], from which the next token of a hypothesis is chosen. source is the
   index of the hypothesis's source, and ids [count] are the tokens of the hypothesis so far,
   including the prefix. -INFINITY forbids a token. If a logit is NaN or +INFINITY, the source may
   get fewer hypotheses, or meaningless ones whose score is NaN. Options that penalize, suppress or
   forbid tokens are applied after the callback. */
typedef void rapt_logits_fn(void *user, int source, const int32_t *ids, int count, float *logits,
                            int vocab);

/* Called before every step. A nonzero result stops the call: live hypotheses are finished without
   an end token, the tokens not yet reported are passed to `token`, and the call returns RAPT_OK. To
   stop a call from another thread, return an atomic flag that the other thread sets. */
typedef int rapt_stop_fn(void *user);

/* The search rules of several projects: when a hypothesis ends, which hypotheses survive, and when
   a search stops. Each step ranks the continuations of all live hypotheses by their sums of
   log-probabilities; the best has rank 0. A continuation with the end token may finish its
   hypothesis; the survivors, which stay live, are chosen from the other continuations. Under all of
   these rules, a source is finished once no hypothesis is live. B is `beams`, L is the number of
   live hypotheses (in the first step, B), n is the length that length_penalty uses for a
   hypothesis, and `penalty` is length_penalty:

               an end token          survivors       a source is finished
               finishes a hypothesis
       RAPT    at ranks below B      the best B      when B hypotheses are finished; only the first
                                                     B count
       MARIAN  at ranks below L      those of the    when no hypothesis is live
                                     best L that do
                                     not end
       HF      at ranks below B      the best B      when the worst of the best B finished ones is
                                                     no worse than the best live sum / n^penalty
       CT2     at ranks below B      the best B      when B or more are finished; without
                                                     length_penalty, when nbest or more are finished
                                                     and an end token has had rank 0

   A sequence that reaches its length limit is finished without an end token. With HF, except when
   sampling, the end token replaces the sequence's last token, with log-probability 0
   (forced_eos_token_id). CT2 has three further rules. In the step that reaches the limit, only the
   best B continuations are considered. The length in length_penalty includes the prefix. Directly
   after a prefix, an end token finishes its hypothesis only at rank 0; at another rank below B, it
   reduces the number of survivors by 1.

   MARIAN and HF normalize probabilities before tokens are suppressed or forbidden; the other rules
   do so afterwards, over the remaining tokens. With a shortlist, all rules leave out tokens that
   are not listed. rapt_generate_outputs describes how ties are broken.

   repetition_penalty changes logits before they are normalized, as in CTranslate2. HF follows
   transformers, which differs in two ways: in beam search the penalty changes log-probabilities, so
   the probabilities no longer sum to 1, and `begin` counts as a token of the sequence.

   coverage_penalty follows CTranslate2; the other projects have no such penalty. It affects only
   the scores of finished hypotheses, so HF compares them with live ones as if the latter covered
   the whole source. With CT2, a search with this penalty stops only once B hypotheses have
   finished, even without length_penalty.

   Sources: marian-dev 1.12 (beam_search.cpp, history.h), transformers 4.50 to 5.24
   (generation/utils.py, with early_stopping False; in earlier versions, the comparison is with the
   best candidate of the step, even if that has ended), CTranslate2 4.8 (decoding.cc). */
typedef enum rapt_search_rules {
    RAPT_SEARCH_RULES_MODEL,  /* in a translator, the rules of the project that its model comes
                                 from; otherwise RAPT */
    RAPT_SEARCH_RULES_RAPT,   /* the rules of this library */
    RAPT_SEARCH_RULES_MARIAN, /* the rules of Marian, also used by Bergamot in Firefox */
    RAPT_SEARCH_RULES_HF,     /* the rules of Hugging Face's transformers */
    RAPT_SEARCH_RULES_CT2     /* the rules of CTranslate2 */
} rapt_search_rules;

/* Bits that say how a token joins the tokens next to it to form words. */
enum {
    RAPT_WORD_INSIDE = 1, /* the token begins with a letter that continues the preceding token's
                             word */
    RAPT_WORD_OPEN = 2    /* the token ends with a letter, so that the next token may continue the
                             word */
};
enum { RAPT_TERMS_MAX = 64 }; /* maximum number of terms per source */

/* Terms that targets must contain. A term is met by any one of its phrases, which are sequences of
   tokens. A phrase occurs wherever its tokens do, unless a word continues across its beginning or
   end, from a token with RAPT_WORD_OPEN to one with RAPT_WORD_INSIDE. Occurrences are found from
   left to right. If several phrases of unmet terms begin at the same token, only the longest
   counts: the first unmet term that has this phrase is met, and the scan continues after it. To
   require a phrase several times, list its term several times. */
typedef struct rapt_terms { /* size-first, see base.h */
    size_t size;
    const int *sources; /* [N + 1] for N sources: source b has terms sources[b] to sources[b + 1] -
                           1, at most RAPT_TERMS_MAX; sources[0] is 0 */
    const int *terms; /* [sources[N] + 1]: term i has phrases terms[i] to terms[i + 1] - 1, at least
                         one; terms[0] is 0 */
    const rapt_tokens *phrases; /* sequences of 1 to config.positions tokens, without the end
                                   token */
    const unsigned char *words; /* [target_vocab] RAPT_WORD_... bits of each token; NULL means 0 for
                                   all */
} rapt_terms;

/* Options of rapt_generate. rapt_generate_options_default sets them for greedy search. */
typedef struct rapt_generate_options { /* size-first, see base.h */
    size_t size;
    int32_t begin;  /* first input of the decoder */
    int32_t end;    /* token that ends a sequence */
    int max_length; /* maximum number of tokens in a sequence, including its end token; 0 means the
                       session's target_length */
    /* If above 0, also limits a sequence to max_ratio * source length + max_extra tokens, but not
       to fewer than 1. The product is rounded down (up with RAPT_SEARCH_RULES_MARIAN). Decoder-only
       models ignore it. */
    float max_ratio;
    int max_extra;        /* tokens, 0 or more */
    int beams;            /* width of the beam, at most limits.beams; 0 or 1 means greedy search, or
                             sampling if temperature is above 0 */
    int nbest;            /* sequences returned per source, at most beams; 0 means 1 */
    float length_penalty; /* score = sum of log-probabilities / length^length_penalty. The length
                             includes the end token, but not the prefix (see scored_prefix) */
    float temperature;    /* sampling temperature, 0 or more; 0 means no sampling. Above 0, beams
                             must be 0 or 1 */
    int top_k;            /* sample only from the k most likely tokens; 0 means all */
    float top_p;          /* 0 to 1: sample only from the smallest set of most likely tokens whose
                             probabilities (before top_k) sum to at least top_p; 0 and 1 mean all */
    int suppressed_count; /* length of suppressed */
    const int32_t *suppressed; /* [suppressed_count] tokens that are never generated; may be NULL if
                                  suppressed_count is 0 */
    uint64_t seed;             /* seed for sampling. The draws for a source depend only on this seed
                                  and the source's sequence number, not on other sources */
    uint64_t sequence;         /* sequence number of the first source, for sampling; ignored if
                                  `sequences` is set */
    /* If not NULL, the target of source b starts with `begin` and the tokens of sequence b of the
       prefix: the prompt of a decoder-only model, or the first words of a translation. The tokens
       of the prefix count toward min_length and the length limits, and are included in the output
       ids. Their probabilities do not affect scores. */
    const rapt_tokens *prefix;
    int min_length;                 /* minimum number of tokens before the end token, including the
                                       prefix */
    int no_repeat_ngram;            /* size n of the n-grams that must not occur twice in a
                                       sequence; 0 means no restriction */
    rapt_token_fn *token;           /* reports tokens; may be NULL, like the next two */
    rapt_logits_fn *logits;         /* changes logits before a token is chosen */
    rapt_stop_fn *stop;             /* ends the call early */
    void *user;                     /* passed to these three functions */
    rapt_search_rules search_rules; /* see rapt_search_rules */
    int scored_prefix;              /* number of leading prefix tokens that count toward the length
                                       in length_penalty, 0 or more; with CT2, the whole prefix
                                       always counts */
    /* If not NULL, limits each target to the end token, the tokens of its source's terms, and the
       tokens that the shortlist lists for its source. Other tokens have probability 0. The call
       then allocates a copy of the rows of the output matrix that its sources need, and computes no
       other logits unless `logits` is set. The sources must be tokens, not vectors, and the
       vocabularies must have the sizes that the shortlist was made for. Cannot be combined with
       temperature. */
    const rapt_shortlist *shortlist;
    const uint64_t *sequences; /* [N] for N sources: sequence number of each source, for sampling;
                                  NULL means sequence + b for source b */
    /* If not NULL, the terms of each source. The beam is partitioned by the number of term tokens
       that hypotheses lack, so `beams` should exceed the total number of tokens in the terms of any
       one source. The length limit must leave room for the terms. If max_ratio is set, its limit is
       raised by the number of tokens in all terms (in the shortest phrase of each), but never above
       max_length. Logits are normalized as if there were no terms. Hypotheses that lack terms come
       after all others, and the model cannot end them. For a source with terms, the table in
       rapt_search_rules does not apply: if the beam has n slots for candidates that contain all
       terms, an end token finishes its hypothesis if it is among the best n of these candidates.
       The search for this source stops when nbest finished hypotheses contain all terms and score
       at least as high as the best live one. Live hypotheses whose most likely token was once the
       end token while terms were missing are not considered. no_repeat_ngram does not forbid tokens
       that begin or continue a phrase of a missing term. A source without terms is not affected.
       Cannot be combined with temperature. */
    const rapt_terms *terms;
    /* Penalty r for tokens that a sequence, including its prefix, already contains: their logits x
       become x / r if x > 0, else x * r. r is 0 or more. A value above 1 discourages repetition; 0
       and 1 mean no penalty. This is the definition of transformers and CTranslate2. N. S. Keskar
       et al., CTRL (2019, arXiv 1909.05858), also divide negative logits, which makes these tokens
       more likely. See rapt_search_rules. */
    float repetition_penalty;
    /* Weight w, 0 or more, of a penalty for tokens of the source that a translation does not attend
       to (Y. Wu et al., Google's Neural Machine Translation System, 2016, arXiv 1609.08144):

           score = sum of log-probabilities / length^length_penalty + w * sum of log min(c, 1)

       where the second sum is over all tokens of the source, and c is the attention to a token, as
       in rapt_generate_outputs.alignments, summed over the tokens of the target, including its
       prefix and its end token. If c is less than FLT_MIN, it counts as FLT_MIN (CTranslate2
       instead leaves out tokens with c = 0). Requires limits.alignments. */
    float coverage_penalty;
    /* If not NULL, sequences of one or more tokens that targets never contain: the last token of a
       sequence is forbidden wherever the other tokens precede it, even if they are in a prefix. */
    const rapt_tokens *suppressed_sequences;
} rapt_generate_options;
/* Sets *options, which has `size` bytes, to greedy search with the given begin and end tokens: 1
   beam, 1 sequence per source, and all other fields 0. */
RAPT_API void rapt_generate_options_default(rapt_generate_options *options, size_t size,
                                            int32_t begin, int32_t end);

/* The caller's arrays for the results of N sources. All but ids and counts may be NULL. Results are
   ordered by source, then from best to worst: the hypothesis with rank i < nbest for source b has
   index b * nbest + i. When the search ranks continuations, ties go to the earlier hypothesis, then
   to the lower token. Hypotheses with equal scores are in the order in which they finished. */
typedef struct rapt_generate_outputs { /* size-first, see base.h */
    size_t size;
    int32_t *ids;  /* [N * nbest][max_length] tokens without the begin and end tokens; if the option
                      max_length is 0, max_length here means the session's target_length */
    int *counts;   /* [N * nbest] number of tokens of each hypothesis, or -1 if fewer hypotheses
                      were found */
    float *scores; /* [N * nbest] scores, or -infinity if fewer hypotheses were found */
    /* Cross-attention of each token and of the end token, averaged over the heads that
       config.alignment_layer and config.alignment_heads select. A row sums to 1 if the weights of
       each head do, which is not the case with sigmoid or local-p, for example. The row of the end
       token is 0 if the sequence has none (`ended` is 0). The values of a hypothesis, [counts +
       1][S], are stored in [max_length + 1][S] floats, where S is the number of tokens of its
       source. The nbest hypotheses of a source are adjacent. Requires limits.alignments. */
    float *alignments;
    /* [N * nbest][max_length] log-probabilities, in nats, of the tokens and then the end token,
       each given the preceding tokens; 0 for tokens of the prefix. They are normalized as the
       search rules define. */
    float *log_probabilities;
    int *ended; /* [N * nbest] 1 if the sequence has an end token, because the model ended it or,
                   with HF, because it reached its limit; 0 if it has none, because a limit or a
                   callback ended it, or because no token could follow */
    int *terms; /* [N * nbest] number of terms that the sequence contains */
} rapt_generate_outputs;

/* Encodes the sources and generates their targets. For a decoder-only model, set only
   source->batch, as for rapt_encode; the prompts are options->prefix. A sequence ends with its end
   token, at its limit, or when no token can follow because all tokens are suppressed or forbidden
   or the logits are not finite. options->max_length may exceed limits.target_length if there are
   few sources: with N sources it may be up to 16 * floor(limits.batch * ceil(limits.target_length /
   16) / N), but not above config.positions. A prefix that reaches the length limit of its source is
   a complete sequence; a prefix of more than max_length tokens is an error. After this call,
   rapt_encode must be called before rapt_decode.

   Returns RAPT_BAD_ARGUMENT if the model has no decoder, if an option, token or count is out of
   range, if options cannot be combined, or if an option or output requires a limit that the session
   lacks; *why names it. Returns RAPT_NO_MEMORY only with a shortlist or terms. In that case, too,
   rapt_encode must be called before rapt_decode, because the encoder has already run. */
RAPT_API rapt_status rapt_generate(rapt_session *session, const rapt_tokens *source,
                                   const rapt_generate_options *options,
                                   const rapt_generate_outputs *outputs, rapt_message *why);

/* Computes the log-probabilities of given targets, one for each source, by forced decoding. Targets
   contain neither begin nor end tokens. begin is the decoder's first input. If end is not -1, each
   target is followed by the token `end`, which is also scored. For a decoder-only model, set only
   source->batch, as for rapt_encode.

   log_probabilities receives the values of all tokens and end tokens in nats, back to back. The
   values of target b start at [target->starts[b] + b], with the end token's value last; if end is
   -1, they start at [target->starts[b]]. sums receives [batch] totals. Either array may be NULL.
   Each value is the log softmax of the logits that rapt_decode returns. rapt_generate reports the
   same value if its logits are not changed and no token is suppressed, forbidden or penalized.
   Results are bit-identical in any batch and for any limits.

   A target, including its end token, may be as long as the largest max_length that rapt_generate
   would accept. After this call, rapt_encode must be called before rapt_decode.

   Returns RAPT_BAD_ARGUMENT if the model has no decoder, a token is outside the vocabulary, there
   are more sequences or tokens than the limits allow, or the numbers of targets and sources
   differ. */
RAPT_API rapt_status rapt_score_targets(rapt_session *session, const rapt_tokens *source,
                                        const rapt_tokens *target, int32_t begin, int32_t end,
                                        float *log_probabilities, double *sums, rapt_message *why);

#ifdef __cplusplus
}
#endif
#endif
