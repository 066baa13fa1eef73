/* state_text.h - the state of the training loop, and its text in a checkpoint. */
#ifndef TOY_TRANSLATE_STATE_TEXT_H
#define TOY_TRANSLATE_STATE_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { BAD_BATCHES = 10 }; /* this many in a row end the run */

struct state {
#define STATE(ctype, name, kind, min, max) ctype name;
#include "state.def"
    uint64_t data; /* hash of the training and validation pairs */
};

struct state_reason {
    char text[256];
};

/* Returns the JSON that state_parse reads; the caller frees it. `options` is "name value name value
   ...". */
char *state_text(const struct state *state, const char *options);
/* Parses text [size], which need not be terminated by NUL. The caller frees *options. Returns false
   and changes nothing if the text is invalid; *why then names the field and its value. */
bool state_parse(struct state *state, char **options, const char *text, size_t size,
                 struct state_reason *why);

#endif
