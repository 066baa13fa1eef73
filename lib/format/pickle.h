/* pickle.h - the few operations of Python's pickle that a PyTorch state dict needs; everything else
   is refused by its name. */
#ifndef RAPT_LIB_FORMAT_PICKLE_H
#define RAPT_LIB_FORMAT_PICKLE_H

#include <rapt/base.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum pickle_kind {
    PICKLE_NONE,
    PICKLE_MARK,
    PICKLE_NUMBER,  /* or a truth value: number */
    PICKLE_TEXT,    /* text[size], no 0 behind it */
    PICKLE_TUPLE,   /* items[first .. first + size) */
    PICKLE_DICT,    /* number `first`; its pairs have that as their dict */
    PICKLE_GLOBAL,  /* name number `first` of those that are known */
    PICKLE_STORAGE, /* number: elements; text[size]: its key; first: the global of its type */
    PICKLE_TENSOR   /* items[first .. first + 4): a storage, a number, two tuples: its storage,
                       offset, shape   and strides */
};
struct pickle_value {
    enum pickle_kind kind;
    size_t first, size;
    int64_t number;
    const char *text; /* within the bytes of the pickle */
};
struct pickle_pair {
    size_t dict;
    struct pickle_value key, value;
};

struct pickle_values {
    struct pickle_value *values;
    size_t count, capacity;
};
struct pickle { /* starts as {allocator, label, why} */
    rapt_allocator allocator;
    const char *label;
    rapt_message *why;
    struct pickle_values stack, memo, items;
    struct pickle_pair *pairs; /* [pair_count] in the order in which they were set */
    size_t pair_count, pair_capacity;
    size_t dicts;
    struct pickle_value result;
};

/* bytes must outlive the pickle. RAPT_BAD_FILE: an operation or name that no state dict needs, or
   damage. Memory in proportion to size. */
rapt_status rapt__pickle_run(struct pickle *pickle, const unsigned char *bytes, size_t size);
void rapt__pickle_free(struct pickle *pickle);

/* The dtype of a storage's type; NULL: the global is none. */
const char *rapt__pickle_dtype(size_t global);

#endif
