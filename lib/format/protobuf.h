/* protobuf.h - reads a Protocol Buffers message field by field, without a schema, tree, recursion
   or memory allocation. */
#ifndef RAPT_LIB_FORMAT_PROTOBUF_H
#define RAPT_LIB_FORMAT_PROTOBUF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct protobuf { /* a message; initialize with {bytes, size} */
    const void *bytes;
    size_t size, at;   /* `at` is the offset of the next field */
    const char *error; /* the error at offset `at`; NULL if there has been no error */
};

enum protobuf_wire {
    PROTOBUF_VARINT = 0,
    PROTOBUF_FIXED64 = 1,
    PROTOBUF_BYTES = 2, /* a string or a nested message */
    PROTOBUF_FIXED32 = 5
};
struct protobuf_field {
    uint32_t number; /* 1 to 2^29 - 1 */
    enum protobuf_wire wire;
    uint64_t value;    /* value of a varint, or the bits of a fixed32 or fixed64 */
    const char *bytes; /* [size], within the message; NULL unless PROTOBUF_BYTES */
    size_t size;
};

/* Reads the next field. Returns false at the end of the message, or if the message is damaged, in
   which case `error` is set. */
bool rapt__protobuf_next(struct protobuf *message, struct protobuf_field *field);

/* Returns the value of a fixed32 field as a float. */
float rapt__protobuf_float(const struct protobuf_field *field);

#endif
