/* marian.h - declarations shared by the reader and the writer of Marian's files: type codes, the
   names of quantized matrices, and names with a special meaning. */
#ifndef RAPT_LIB_FORMAT_MARIAN_H
#define RAPT_LIB_FORMAT_MARIAN_H

#include "tensors.h"
#include <stdbool.h>
#include <stdint.h>

enum {
    MARIAN_VERSION = 1,
    MARIAN_ALIGNMENT = 256, /* alignment of the data, and of every tensor that the writer stores */
    MARIAN_HEADER = 32      /* size of an item's header in bytes: four u64 */
};

struct marian_type {
    uint64_t code;
    const char *dtype; /* NULL if the memory layout is specific to one kind of processor */
    const char *name;  /* Marian's name of the type */
    bool scaled;       /* the elements are followed by their scale, a float */
};
const struct marian_type *rapt__marian_type(uint64_t code); /* returns NULL for an unknown code */

/* Return whether Marian's converter quantizes a matrix with this name, and whether it stores the
   quantized matrix column by column. */
bool rapt__marian_narrow(const char *name);
bool rapt__marian_transposed(const char *name);

/* Attaches the alphas to the matrices of a sorted file. Returns RAPT_BAD_FILE if an alpha is not a
   single positive and finite number. */
rapt_status rapt__marian_alphas(struct tensor_file *file, rapt_message *why);

/* The name of a matrix, followed by this suffix, is the name of its alpha, the scale for quantizing
   the rows that the matrix multiplies. */
#define MARIAN_ALPHA "_QuantMultA"
/* Prefix of the names of items that are strings, not tensors. */
#define MARIAN_SPECIAL "special:"

#endif
