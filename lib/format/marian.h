/* marian.h - what reader and writer of Marian's files share: type codes, names of matrices that are
   stored as whole numbers, names with a meaning of their own. */
#ifndef RAPT_LIB_FORMAT_MARIAN_H
#define RAPT_LIB_FORMAT_MARIAN_H

#include "tensors.h"
#include <stdbool.h>
#include <stdint.h>

enum {
    MARIAN_VERSION = 1,
    MARIAN_ALIGNMENT = 256, /* of the data, and of every tensor that is written */
    MARIAN_HEADER = 32      /* bytes of the four numbers of an item */
};

struct marian_type {
    uint64_t code;
    const char *dtype; /* NULL: a layout of one processor */
    const char *name;  /* in Marian */
    bool scaled;       /* a float behind the elements is their scale */
};
const struct marian_type *rapt__marian_type(uint64_t code); /* NULL: unknown */

/* Whether Marian's converter stores a matrix of this name as whole numbers, and whether then column
   by column. */
bool rapt__marian_narrow(const char *name);
bool rapt__marian_transposed(const char *name);

/* Gives the matrices of a sorted file their alphas. */
rapt_status rapt__marian_alphas(struct tensor_file *file, rapt_message *why);

#define MARIAN_ALPHA                                                                               \
    "_QuantMultA"                 /* behind the name of a matrix: the scale of its other factor    \
                                   */
#define MARIAN_SPECIAL "special:" /* before the name of a text that is no tensor */

#endif
