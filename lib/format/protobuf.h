/* protobuf.h - reads a Protocol Buffers message field by field: no schema, no tree, no recursion,
   no memory. */
#ifndef RAPT_LIB_FORMAT_PROTOBUF_H
#define RAPT_LIB_FORMAT_PROTOBUF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct protobuf { /* a message; starts as {bytes, size} */
    const void *bytes;
    size_t size, at;   /* at: the next field */
    const char *error; /* what is wrong at byte at; NULL: nothing so far */
};

enum protobuf_wire {
    PROTOBUF_VARINT = 0,
    PROTOBUF_FIXED64 = 1,
    PROTOBUF_BYTES = 2, /* a string, or a message within this one */
    PROTOBUF_FIXED32 = 5
};
struct protobuf_field {
    uint32_t number; /* 1 to 2^29 - 1 */
    enum protobuf_wire wire;
    uint64_t value;    /* of a varint, or the bits of a fixed32 or fixed64 */
    const char *bytes; /* [size], within the message; NULL if it is none of PROTOBUF_BYTES */
    size_t size;
};

/* Takes the next field. false: the message has ended, or it is damaged and error says how. */
bool rapt__protobuf_next(struct protobuf *message, struct protobuf_field *field);

/* The float of a fixed32. */
float rapt__protobuf_float(const struct protobuf_field *field);

#endif
