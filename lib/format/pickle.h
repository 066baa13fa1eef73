/* pickle.h - interprets the part of Python's pickle that a PyTorch state dict needs, up to protocol
   5. Any other opcode or name is refused. */
#ifndef RAPT_LIB_FORMAT_PICKLE_H
#define RAPT_LIB_FORMAT_PICKLE_H

#include <rapt/base.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { PICKLE_MAX = 1 << 22 }; /* bytes of a pickle: 16,000 tensors take less */

enum pickle_kind {
    PICKLE_NONE,
    PICKLE_MARK,
    PICKLE_NUMBER, /* or a truth value: number */
    PICKLE_LONG,  /* an integer of more than 64 bits, text[size]: two's complement, little-endian */
    PICKLE_FLOAT, /* its value is dropped: no state dict needs it */
    PICKLE_TEXT,  /* text[size], without a terminating 0 */
    PICKLE_TUPLE, /* items[first .. first + size) */
    PICKLE_LIST,  /* the pairs whose `of` is `first`, in order; their keys are PICKLE_NONE */
    PICKLE_DICT,  /* the pairs whose `of` is `first` */
    PICKLE_GLOBAL,  /* an index into the table of known names: first */
    PICKLE_STORAGE, /* number: elements; text[size]: its key; first: the global of its type */
    PICKLE_TENSOR   /* items[first .. first + 4): storage, offset, shape, strides; the last two are
                       tuples */
};
struct pickle_value {
    enum pickle_kind kind;
    uint32_t first, size; /* 32 bits are enough, see PICKLE_MAX */
    int64_t number;
    const char *text; /* within the bytes of the pickle */
};
struct pickle_pair { /* of a dict or list */
    uint32_t of;
    struct pickle_value key, value;
};

struct pickle_values {
    struct pickle_value *values;
    size_t count, capacity;
};
struct pickle { /* initialized as {allocator, label, why} */
    rapt_allocator allocator;
    const char *label;
    rapt_message *why;
    struct pickle_values stack, memo, items, storages; /* storages: one for each reference */
    struct pickle_pair *pairs; /* [pair_count] in the order in which they were set */
    size_t pair_count, pair_capacity;
    uint32_t containers; /* dicts and lists so far; the next one has this number */
    struct pickle_value result;
    size_t at; /* where the pickle begins; after a run, where it ended */
};

/* Runs the pickle that begins at pickle->at of bytes[size <= PICKLE_MAX], which must outlive all
   values. Several
   pickles of the same bytes may be run one after another: pairs, items and storages are kept.
   RAPT_BAD_FILE: an opcode or name that no state dict needs, or damage. Memory in proportion to
   size, and less than 16 MB. */
rapt_status rapt__pickle_run(struct pickle *pickle, const unsigned char *bytes, size_t size);
void rapt__pickle_free(struct pickle *pickle);

/* The last value that a dict was given for a key; NULL: none. */
const struct pickle_value *rapt__pickle_get(const struct pickle *pickle,
                                            const struct pickle_value *dict, const char *key);
/* The dtype of a storage's type; NULL: the global is not the type of a storage. */
const char *rapt__pickle_dtype(size_t global);

#endif
