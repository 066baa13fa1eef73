/* dtype.h - the element types of files: their names, sizes and conversions to float or integers. */
#ifndef RAPT_LIB_FORMAT_DTYPE_H
#define RAPT_LIB_FORMAT_DTYPE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct dtype {
    const char *name;
    unsigned bits; /* bits of one element */
    /* Conversions, or NULL if not supported. Integers are converted to float only if the tensor has
       scales. */
    void (*to_float)(const unsigned char *bytes, size_t count, float *data);
    void (*to_integer)(const unsigned char *bytes, size_t count, int64_t *data);
};
const struct dtype *rapt__dtype_find(const char *name); /* returns NULL for an unknown name */

#endif
