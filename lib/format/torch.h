/* torch.h - declarations shared by the readers of torch.save's two file formats, and the pickle
   interpreter. The interpreter executes the subset of Python's pickle, protocols 2 to 5, that
   PyTorch's state dicts use; all other opcodes and globals are errors. */
#ifndef RAPT_LIB_FORMAT_TORCH_H
#define RAPT_LIB_FORMAT_TORCH_H

#include "base/base.h"
#include "tensors.h"
#include <rapt/base.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* ---- pickles ---- */

enum { PICKLE_MAX = 1 << 22 }; /* maximum size of a pickle; 4,000 tensors take about 1 MB */

enum pickle_kind {
    PICKLE_NONE,
    PICKLE_MARK,
    PICKLE_NUMBER,  /* `number` is the integer or boolean */
    PICKLE_LONG,    /* an integer of more than 8 bytes in text[size]: two's complement,
                       little-endian */
    PICKLE_FLOAT,   /* a float, whose value is discarded, because state dicts do not need it */
    PICKLE_TEXT,    /* text[size], without a terminating 0 */
    PICKLE_TUPLE,   /* items[first .. first + size) */
    PICKLE_LIST,    /* the pairs whose `of` equals `first`, in order; their keys are PICKLE_NONE */
    PICKLE_DICT,    /* the pairs whose `of` equals `first` */
    PICKLE_GLOBAL,  /* `first` is the index in the table of known names */
    PICKLE_STORAGE, /* a storage of `number` elements; text[size] is its key, and `first` is the
                       global that names its type */
    PICKLE_TENSOR   /* items[first .. first + 4): storage, offset, shape, strides; the last two are
                       tuples */
};
struct pickle_value {
    enum pickle_kind kind;
    uint32_t first, size; /* 32 bits suffice because of PICKLE_MAX */
    int64_t number;
    const char *text; /* points into the bytes of the pickle */
};
struct pickle_pair { /* an item of dict or list number `of` */
    uint32_t of;
    struct pickle_value key, value;
};

struct pickle_values {
    struct pickle_value *values;
    size_t count, capacity;
};
struct pickle { /* initialize with {allocator, label, why} */
    rapt_allocator allocator;
    const char *label;
    rapt_message *why;
    struct pickle_values stack, memo, items, storages; /* storages has one value per reference to a
                                                          storage */
    struct pickle_pair *pairs;                         /* [pair_count] in the order of assignment */
    size_t pair_count, pair_capacity;
    uint32_t containers; /* number of dicts and lists so far */
    struct pickle_value result;
    size_t at; /* offset of the beginning of the pickle; after a run, of its end */
};

/* Executes the pickle that begins at pickle->at in bytes[size], where size <= PICKLE_MAX. The bytes
   must outlive all values. Several pickles in the same bytes may be executed one after another;
   pairs, items and storages accumulate. Returns RAPT_BAD_FILE if the pickle is damaged, has too
   many values, or uses an opcode or global that does not occur in state dicts, and RAPT_NO_MEMORY
   if an allocation fails. Needs memory proportional to `size`, but less than 16 MB. */
rapt_status rapt__pickle_run(struct pickle *pickle, const unsigned char *bytes, size_t size);
void rapt__pickle_free(struct pickle *pickle);

/* Returns the last value that was assigned to a key of a dict, or NULL if there is none or `dict`
   is not a dict. */
const struct pickle_value *rapt__pickle_get(const struct pickle *pickle,
                                            const struct pickle_value *dict, const char *key);
/* Returns the dtype of a storage type, or NULL if the global is not a storage type. */
const char *rapt__pickle_dtype(size_t global);

/* ---- state dicts: torch.c. The two formats differ in where the bytes of a storage are. ---- */

struct torch_reading;
/* Finds the bytes of a storage, or fails if they are not in the file. Sets *begin to their offset
   and, if they are not in the main part of the file, entry->part to the number of their part. */
typedef rapt_status torch_find_fn(struct torch_reading *r, const struct pickle_value *storage,
                                  const struct dtype *dtype, struct tensor_entry *entry,
                                  uint64_t *begin);
struct torch_reading {
    struct tensor_file *file;
    struct pickle pickle;
    torch_find_fn *find;
    void *form; /* data of the reader, for `find` */
    rapt_message *why;
};

/* Returns a torch_reading whose pickle is empty. The caller must free the pickle with
   rapt__pickle_free. */
struct torch_reading rapt__torch_reading(struct tensor_file *file, torch_find_fn *find, void *form,
                                         rapt_message *why);
/* Adds the tensors of the state dict, which is the unpickled object itself or its item "model",
   "state_dict" or "model_state_dict". `size` is the size of the pickle in bytes. */
rapt_status rapt__torch_add(struct torch_reading *r, size_t size);
/* Fails with RAPT_BAD_FILE and the message "file: tensor "name" what". */
rapt_status rapt__torch_bad(const struct torch_reading *r, const char *name, const char *what);

/* ---- the interpreter: pickle.c and pickle_stack.c ---- */

/* The functions below that return a status fail with RAPT_BAD_FILE or RAPT_NO_MEMORY. */

struct pickle_reading {
    struct pickle *p;
    const unsigned char *bytes;
    size_t size, at;
    size_t start, opcode; /* offsets where the pickle and the current opcode begin */
    bool ended;
};

/* Fails with the message "file: pickle, byte N: what", where N is the offset of the opcode. */
rapt_status rapt__pickle_fail(const struct pickle_reading *r, const char *what);
/* Returns whether text[size] is equal to a null-terminated name. */
bool rapt__pickle_same(const char *text, size_t size, const char *name);

/* ---- the stack ---- */
rapt_status rapt__pickle_append(struct pickle *p, struct pickle_values *to,
                                struct pickle_value value);
rapt_status rapt__pickle_push(struct pickle_reading *r, struct pickle_value value);
/* Pops a value, which must be of this kind. If `kind` is PICKLE_MARK, any value except a mark is
   accepted. */
rapt_status rapt__pickle_pop(struct pickle_reading *r, enum pickle_kind kind,
                             struct pickle_value *value);
/* Stores the top of the stack in the memo at `index`, which must not leave a gap in the memo. */
rapt_status rapt__pickle_store(struct pickle_reading *r, uint64_t index);

/* ---- tuples, lists and dictionaries; _mark functions use the values after the last mark ---- */
rapt_status rapt__pickle_tuple(struct pickle_reading *r, size_t count);
rapt_status rapt__pickle_tuple_mark(struct pickle_reading *r);
rapt_status rapt__pickle_empty(struct pickle_reading *r, enum pickle_kind kind);
rapt_status rapt__pickle_set(struct pickle_reading *r); /* assigns to a key of a dictionary */
rapt_status rapt__pickle_set_mark(struct pickle_reading *r);
rapt_status rapt__pickle_add(struct pickle_reading *r); /* appends a value to a list */
rapt_status rapt__pickle_add_mark(struct pickle_reading *r);
/* Discards the attributes of a dictionary, such as _metadata, which do not describe tensors. */
rapt_status rapt__pickle_drop_state(struct pickle_reading *r);

#endif
