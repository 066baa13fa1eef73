/* search.h - the state of one call to rapt_generate, and functions shared by the files that
   implement the search. */
#ifndef RAPT_LIB_GENERATE_SEARCH_H
#define RAPT_LIB_GENERATE_SEARCH_H

#include "generate/generate.h"

struct search {
    rapt_session *session;
    struct search_memory *m;
    const rapt_generate_options *options;
    struct picks picks;
    int beams, nbest;
    rapt_search_rules search_rules;        /* never RAPT_SEARCH_RULES_MODEL */
    int stride;                            /* slots per source, which is limits.beams */
    int length;                            /* capacity of a hypothesis in tokens */
    int max_length;                        /* row length of the caller's ids in tokens */
    bool logs;                             /* the log-probabilities of tokens are requested */
    const struct alignment_record *record; /* NULL if alignments are not needed */
};

/* ---- alignment.c ---- */
/* Records the cross-attention of the last rapt__decode for the requested sources. Must be called
   before hypotheses change slots. */
void rapt__record_rows(struct search *s);
/* Records which slot each slot of a source continues. Requires that m->count includes the tokens of
   the current step. */
void rapt__record_parents(struct search *s, int source);
/* Writes the [count + 1] rows of the hypothesis that finished in `slot` with `count` tokens. The
   last row belongs to its end token, and is all zeros unless `ended`. */
void rapt__record_trace(const struct search *s, int slot, int count, bool ended, float *alignment);
/* Returns the sum of log min(c, 1) over the tokens of a source, where c is the sum of a token's
   column in the rows that rapt__record_trace writes, or FLT_MIN if that is larger. */
double rapt__record_coverage(const struct search *s, int slot, int count, bool ended);

/* ---- beam.c ---- */
/* Performs one step for a source: ranks the picks of its live hypotheses, whose rows start at
   `row`, finishes hypotheses that end, and puts the survivors into `next`. */
void rapt__search_choose(struct search *s, int source, int row);
/* Extends the only hypothesis of a source by a token, or finishes it if the token is the end
   token. */
void rapt__search_take(struct search *s, int source, const struct candidate *c);
/* Truncates all live hypotheses of a source: finishes them without an end token. With
   session->ended_only, drops them if other hypotheses have finished. */
void rapt__search_truncate(struct search *s, int source);
/* Returns the slot of the best finished hypothesis that has not been output yet, or -1. */
int rapt__search_best(const struct search *s, int source);
/* Writes the finished hypotheses of a source, best first, to the caller's arrays. */
void rapt__search_output(const struct search *s, int source, const rapt_generate_outputs *out);

/* ---- finish.c: decides which finished hypotheses are kept, and when a source is finished ---- */
/* Finishes hypothesis `slot` of a source with the end token `end`, or truncates it if `end` is
   NULL. */
void rapt__search_finish(struct search *s, int source, int slot, const struct candidate *end);
/* Returns true if the finished hypothesis in slot `a` is better than the one in slot `b`: it
   contains more terms, or contains the same number of terms and has a higher score. */
bool rapt__search_better(const struct search_memory *m, int a, int b);
/* Returns true if the search for a source must stop even though `next` has `live` hypotheses. If
   live is 0, it stops in any case, and the result does not matter. */
bool rapt__search_ended(const struct search *s, int source, int live);

/* ---- options.c ---- */
/* Checks all options. rapt__encode checks the tokens of the source. */
rapt_status rapt__generate_check(const rapt_session *session, const rapt_generate_options *o,
                                 int sources, rapt_message *why);

/* ---- constrain.c: tokens that the options forbid or penalize ---- */
/* Makes s->picks apply min_length, no_repeat_ngram, suppressed_sequences and repetition_penalty.
   s->picks then refers to *s, which must not move. */
void rapt__constrain(struct search *s);

/* ---- sample.c ---- */
/* Returns the number of blocks into which sampling divides the vocabulary. */
int rapt__sample_blocks(int vocab);
/* Draws the next token of every live source and extends or finishes its hypothesis. */
void rapt__search_sample(struct search *s);

/* ---- constrain.c: the terms that a sequence contains (see rapt_terms) ---- */
struct term_list { /* the terms of a source */
    const rapt_terms *all;
    int first, count; /* terms of the source in `all` */
    int phrases;      /* number of phrases */
    int longest;      /* number of tokens in the longest phrase */
    int tokens;       /* total number of tokens in the terms' shortest phrases */
};
struct term_scan {
    uint64_t met; /* one bit per term: set if the term is met */
    int count;    /* number of terms met */
    int at;       /* number of tokens that have been scanned */
    int end;      /* end of the last phrase that counts, or 0 */
};
/* Returns the terms of a source. */
struct term_list rapt__terms_of(const rapt_terms *terms, int source);
/* Scans the beginning of a sequence, up to the point from which appended tokens could change the
   result. */
struct term_scan rapt__terms_settle(const struct term_list *list, const int32_t *ids, int count);
/* Scans the rest of a sequence, given `settled`, a scan of its beginning. */
struct term_scan rapt__terms_scan(const struct term_list *list, struct term_scan settled,
                                  const int32_t *ids, int count);
/* Returns the number of term tokens that a sequence lacks: those of the shortest phrase of every
   missing term, minus the tokens saved by continuing a phrase that has begun. `scan` covers the
   whole sequence. */
int rapt__terms_left(const struct term_list *list, const struct term_scan *scan, const int32_t *ids,
                     int count);
/* Writes to tokens [list->phrases] the distinct tokens that continue phrases of missing terms or,
   where a word may begin, begin such phrases. Returns the number of these tokens. */
int rapt__terms_next(const struct term_list *list, const struct term_scan *scan, const int32_t *ids,
                     int count, int32_t *tokens);

/* Checks the starts and phrases of terms, given the end token and the number of sources. */
rapt_status rapt__terms_check(const rapt_terms *terms, const rapt_config *config, int32_t end,
                              int sources, rapt_message *why);

/* ---- term_beam.c: divides a beam among hypotheses by the term tokens that they lack ---- */
/* Returns the number of terms of a source. */
int rapt__terms_count(const struct search *s, int source);
/* Finds the wanted tokens for all rows of the next step: those that lead to missing terms, or the
   end token if none is missing. For the rows of a source without terms, no token is wanted. */
void rapt__terms_prepare(struct search *s);
/* Returns true if the hypothesis in a row lacks terms and therefore must not end. */
bool rapt__terms_open(const struct search *s, int row);
/* Returns true if a token is wanted in a row. */
bool rapt__terms_want(const struct search *s, int row, int32_t token);
/* Removes the candidates that get no place in the beam. term_memory.candidates [count] holds the
   candidates of a source, sorted best first; `row` is the first row of the source. Returns how many
   candidates are left; their order does not change. */
int rapt__terms_allocate(struct search *s, int source, int row, int count);
/* Returns the number of terms of a source that a sequence contains. */
int rapt__terms_met(const struct search *s, int source, const int32_t *ids, int count);
/* Returns the largest sum of log-probabilities among the live hypotheses of a source that are not
   marked in term_memory.refused, or -infinity if all are. */
double rapt__terms_hope(const struct search *s, int source);

#endif
