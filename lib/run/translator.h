/* translator.h - what translator.c and translate.c share. */
#ifndef RAPT_LIB_TRANSLATOR_H
#define RAPT_LIB_TRANSLATOR_H

#include "run/run.h"
#include <rapt/translator.h>

enum { TARGET_PER_SOURCE = 2, TARGET_EXTRA = 16 }; /* tokens of a translation at most */

struct rapt_translator {
    rapt_allocator allocator;
    rapt_translator_options options; /* all filled in */
    rapt_model *model;
    rapt_tokeniser *source, *target; /* target may be source */
    rapt_session *session;
    int room; /* of one target sequence in a full batch, in tokens */
};

#endif
