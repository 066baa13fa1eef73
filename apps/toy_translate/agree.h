/* agree.h - the start of a run of several ranks. */
#ifndef TOY_TRANSLATE_AGREE_H
#define TOY_TRANSLATE_AGREE_H

#include "learner.h"

/* Called by every rank once it is prepared, with EXIT_OK, or can not be, with a code that is not
   EXIT_OK and maybe no learner. Returns EXIT_OK if all ranks may begin. Nothing to do for one rank,
   or once the ranks have agreed. */
int agree(struct ranks *ranks, int code, const struct learner *learner);

#endif
