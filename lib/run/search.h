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
    int stride;     /* slots per source */
    int length;     /* room for tokens of a hypothesis */
    int max_length; /* tokens per row of the caller's ids */
    int step;       /* tokens every live hypothesis has */
};

void rapt__search_choose(struct search *s, int source, int row);
void rapt__search_truncate(struct search *s, int source);
void rapt__search_output(const struct search *s, int source, int32_t *ids, int *counts,
                         float *scores);

/* Draws the next token of a source from its row of logits and lets it live on. */
void rapt__search_sample(struct search *s, int source, int row, const float *logits);

#endif
