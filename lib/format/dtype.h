/* dtype.h - the element types of safetensors: name, size, conversion to float. */
#ifndef RAPT_LIB_FORMAT_DTYPE_H
#define RAPT_LIB_FORMAT_DTYPE_H

#include <stddef.h>

struct dtype {
    const char *name;
    unsigned bits;                                                           /* of one element */
    void (*to_float)(const unsigned char *bytes, size_t count, float *data); /* NULL: refused */
};
const struct dtype *rapt__dtype_find(const char *name); /* NULL: unknown */

#endif
