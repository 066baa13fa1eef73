/* pickle_stack.h - declarations shared by the files of the pickle interpreter. Functions fail with
   RAPT_BAD_FILE or RAPT_NO_MEMORY. */
#ifndef RAPT_LIB_FORMAT_PICKLE_STACK_H
#define RAPT_LIB_FORMAT_PICKLE_STACK_H

#include "pickle.h"

#include "base/base.h"

struct pickle_reading {
    struct pickle *p;
    const unsigned char *bytes;
    size_t size, at;
    size_t start, opcode; /* offsets where the pickle and the current opcode begin */
    bool ended;
};

rapt_status rapt__pickle_fail(const struct pickle_reading *r, const char *what);
bool rapt__pickle_same(const char *text, size_t size, const char *name);

/* ---- the stack ---- */
rapt_status rapt__pickle_append(struct pickle *p, struct pickle_values *to,
                                struct pickle_value value);
rapt_status rapt__pickle_push(struct pickle_reading *r, struct pickle_value value);
/* Pops a value, which must be of this kind. If `kind` is PICKLE_MARK, every value except a mark is
   accepted. */
rapt_status rapt__pickle_pop(struct pickle_reading *r, enum pickle_kind kind,
                             struct pickle_value *value);
/* Stores the top of the stack in the memo at `index`, which must not skip an index. */
rapt_status rapt__pickle_store(struct pickle_reading *r, uint64_t index);

/* ---- tuples, lists and dictionaries; _mark functions use the values after the last mark ---- */
rapt_status rapt__pickle_tuple(struct pickle_reading *r, size_t count);
rapt_status rapt__pickle_tuple_mark(struct pickle_reading *r);
rapt_status rapt__pickle_empty(struct pickle_reading *r, enum pickle_kind kind);
rapt_status rapt__pickle_set(struct pickle_reading *r);
rapt_status rapt__pickle_set_mark(struct pickle_reading *r);
rapt_status rapt__pickle_add(struct pickle_reading *r); /* appends a value to a list */
rapt_status rapt__pickle_add_mark(struct pickle_reading *r);
/* Discards the attributes of a dictionary, such as _metadata, which do not describe tensors. */
rapt_status rapt__pickle_drop_state(struct pickle_reading *r);

#endif
