/* state_text.h - the state of the training loop and its text in a checkpoint: what state.c and
   tests share. */
#ifndef TOY_TRANSLATE_STATE_TEXT_H
#define TOY_TRANSLATE_STATE_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { BAD_BATCHES = 10 }; /* so many in a row end the run */

struct state {
#define STATE(ctype, name, kind, min, max) ctype name;
#include "state.def"
    uint64_t data; /* hash of the training and validation pairs */
};

struct state_reason {
    char text[256];
};

/* JSON that state_parse reads; the caller frees. options: "name value name value ...". */
char *state_text(const struct state *state, const char *options);
/* text: size bytes, which need not end in 0. *options is the caller's to free. false: *why names
   the field and its value, nothing else is changed. */
bool state_parse(struct state *state, char **options, const char *text, size_t size,
                 struct state_reason *why);

#endif
