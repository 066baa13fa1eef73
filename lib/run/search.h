/* search.h - what generate.c, beam.c and sample.c share. */
#ifndef RAPT_LIB_SEARCH_H
#define RAPT_LIB_SEARCH_H

#include "run/run.h"

struct search { /* one call of rapt_generate */
    rapt_session *session;
    struct search_memory *m;
    const rapt_generate_options *options;
    struct picks picks;
    int beams, nbest;
    int stride;                            /* slots per source */
    int length;                            /* capacity of a hypothesis, in tokens */
    int max_length;                        /* tokens per row of the caller's ids */
    int step;                              /* tokens every live hypothesis has */
    const struct alignment_record *record; /* NULL: alignments are not wanted */
};

/* ---- alignment.c ---- */
/* The rows of this step's tokens, after rapt__decode and before anything moves. */
void rapt__record_step(struct search *s);
/* Which slot each slot continues from now on; s->step counts the new tokens already. */
void rapt__record_parents(struct search *s);
/* The [count + 1] rows of the hypothesis that had `count` tokens when it was in `slot`; ended: the
   row of its end is there too, else 0. */
void rapt__record_trace(const struct search *s, int slot, int count, bool ended, float *alignment);

/* ---- beam.c ---- */
void rapt__search_choose(struct search *s, int source, int row);
void rapt__search_truncate(struct search *s, int source);
void rapt__search_output(const struct search *s, int source, const rapt_generate_outputs *out);

/* ---- sample.c ---- */
/* Draws the next token of every live source, which lives on with it or ends. */
void rapt__search_sample(struct search *s);

#endif
