/* terms.h - the search for sequences that contain given terms, see rapt_terms. terms.c finds the
   terms that a sequence contains, and term_beam.c divides a beam among hypotheses. */
#ifndef RAPT_LIB_GENERATE_TERMS_H
#define RAPT_LIB_GENERATE_TERMS_H

#include "generate/search.h"

/* ---- terms.c ---- */
struct term_list { /* the terms of a source */
    const rapt_terms *all;
    int first, count; /* terms of the source in `all` */
    int phrases;      /* number of phrases */
    int longest;      /* tokens of the longest phrase */
    int tokens;       /* total number of tokens of the terms' shortest phrases */
};
struct term_scan {
    uint64_t met; /* one bit per term: set if the term is met */
    int count;    /* number of terms met */
    int at;       /* number of tokens that have been scanned */
    int end;      /* position after the last phrase that counts; 0 if there is none */
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
/* Writes the distinct tokens that continue phrases of the missing terms, or begin such phrases
   where a word may begin, to tokens [list->phrases]. Returns their number. */
int rapt__terms_next(const struct term_list *list, const struct term_scan *scan, const int32_t *ids,
                     int count, int32_t *tokens);

/* Checks all fields except size. */
rapt_status rapt__terms_check(const rapt_terms *terms, const rapt_config *config, int32_t end,
                              int sources, rapt_message *why);

/* ---- term_beam.c ---- */
/* Returns the number of terms of a source. */
int rapt__terms_count(const struct search *s, int source);
/* Finds the wanted tokens of all rows of the next step: those that lead to missing terms, or the
   end if none is missing. The rows of a source without terms have none. */
void rapt__terms_prepare(struct search *s);
/* Returns true if the hypothesis in a row lacks terms and therefore must not end. */
bool rapt__terms_open(const struct search *s, int row);
/* Returns true if a token is wanted in a row. */
bool rapt__terms_want(const struct search *s, int row, int32_t token);
/* Removes from term_memory.candidates [count], the candidates of a source sorted best first, those
   without a place in the beam. `row` is the first row of the source. Returns the number left; their
   order does not change. */
int rapt__terms_allocate(struct search *s, int source, int row, int count);
/* Returns the number of terms of a source that a sequence contains. */
int rapt__terms_met(const struct search *s, int source, const int32_t *ids, int count);
/* Returns the largest sum of log-probabilities among the live hypotheses of a source that are not
   marked in term_memory.refused, or -infinity if all are. */
double rapt__terms_hope(const struct search *s, int source);

#endif
