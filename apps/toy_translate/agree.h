/* agree.h - the start of a run of several ranks. */
#ifndef TOY_TRANSLATE_AGREE_H
#define TOY_TRANSLATE_AGREE_H

#include "learner.h"

/* Called by every rank twice: once it has data, vocabulary and model, which must be alike, and once
   it is prepared; with EXIT_OK, or if it cannot go on, with a code that is not EXIT_OK and maybe no
   learner. Returns EXIT_OK if all ranks may go on. Nothing to do for one rank, or once the ranks
   have agreed twice or that they do not begin. */
int agree(struct ranks *ranks, int code, const struct learner *learner);

#endif
