/* dtype.h - the element types of files: name, size, conversion to float or to whole numbers. */
#ifndef RAPT_LIB_FORMAT_DTYPE_H
#define RAPT_LIB_FORMAT_DTYPE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct dtype {
    const char *name;
    unsigned bits; /* of one element */
    /* NULL: refused. Whole numbers become float only where a scale says what they stand for. */
    void (*to_float)(const unsigned char *bytes, size_t count, float *data);
    void (*to_integer)(const unsigned char *bytes, size_t count, int64_t *data);
};
const struct dtype *rapt__dtype_find(const char *name); /* NULL: unknown */

#endif
