/* search.h - what generate.c, beam.c, finish.c and sample.c share. */
#ifndef RAPT_LIB_GENERATE_SEARCH_H
#define RAPT_LIB_GENERATE_SEARCH_H

#include "generate/generate.h"

struct search { /* one call of rapt_generate */
    rapt_session *session;
    struct search_memory *m;
    const rapt_generate_options *options;
    struct picks picks;
    int beams, nbest;
    rapt_like like;                        /* not RAPT_LIKE_MODEL */
    int stride;                            /* slots per source */
    int length;                            /* capacity of a hypothesis, in tokens */
    int max_length;                        /* tokens per row of the caller's ids */
    bool logs;                             /* log-probabilities of tokens are wanted */
    const struct alignment_record *record; /* NULL: alignments are not wanted */
};

/* ---- alignment.c ---- */
/* The rows of the tokens of the last rapt__decode, before anything moves. */
void rapt__record_rows(struct search *s);
/* Which slot each live slot of a source continues from now on; its count has the new tokens. */
void rapt__record_parents(struct search *s, int source);
/* The [count + 1] rows of the hypothesis that had `count` tokens when it was in `slot`; ended: the
   row of its end is there too, else 0. */
void rapt__record_trace(const struct search *s, int slot, int count, bool ended, float *alignment);

/* ---- beam.c ---- */
void rapt__search_choose(struct search *s, int source, int row);
/* The one hypothesis of a source goes on with a token, or ends. */
void rapt__search_take(struct search *s, int source, const struct candidate *c);
/* All live hypotheses of a source end as they are. */
void rapt__search_truncate(struct search *s, int source);
/* The best of a source's hypotheses that ended and have not been output, a slot of `done`; -1:
   there is none. */
int rapt__search_best(const struct search *s, int source);
void rapt__search_output(const struct search *s, int source, const rapt_generate_outputs *out);

/* ---- finish.c: which hypotheses have ended, and when a source has ---- */
/* Hypothesis `slot` ends: with the end, or as it is (end NULL). */
void rapt__search_finish(struct search *s, int source, int slot, const struct candidate *end);
/* Whether a source needs no further step, `live` hypotheses of which would go on in `next`. */
bool rapt__search_ended(const struct search *s, int source, int live);

/* ---- options.c ---- */
/* All but the prefix's memory and the tokens of the source, which rapt__encode checks. */
rapt_status rapt__generate_check(const rapt_session *session, const rapt_generate_options *o,
                                 int sources, rapt_message *why);

/* ---- constrain.c: tokens that options forbid, by what a hypothesis has ---- */
/* Adds to s->picks what the options ask for. */
void rapt__constrain(struct search *s);

/* ---- announce.c ---- */
/* Calls options.token with the tokens of a source that have become known; false: it wants to stop.
 */
bool rapt__search_announce(struct search *s, int source);

/* ---- sample.c ---- */
/* Blocks of tokens, of which sums are kept. */
int rapt__sample_blocks(int vocab);
/* Draws the next token of every live source, which lives on with it or ends. */
void rapt__search_sample(struct search *s);

#endif
