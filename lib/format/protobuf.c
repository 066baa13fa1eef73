/* protobuf.c - reads a Protocol Buffers message field by field. A field is a varint that holds the
   field's number and wire type, followed by a value. Every length is checked against the number of
   bytes left. Groups (wire types 3 and 4), a deprecated feature that would need recursion, are
   rejected. Source: protobuf.dev, "Encoding". */
#include "parsers.h"

#include <string.h>

enum { VARINT_MAX = 10 }; /* maximum size in bytes: each byte holds 7 of up to 64 bits */

static bool fail_protobuf(struct protobuf *message, const char *error)
{
    message->error = error;
    return false;
}

static bool take_varint(struct protobuf *message, uint64_t *value)
{
    const unsigned char *b = message->bytes;
    uint64_t sum = 0;
    for (unsigned i = 0; i < VARINT_MAX; i++) {
        if (message->at == message->size) return fail_protobuf(message, "it ends within a number");
        unsigned byte = b[message->at++];
        if (i == VARINT_MAX - 1 && byte > 1) break;
        sum |= (uint64_t)(byte & 0x7F) << (7 * i);
        if (byte < 0x80) {
            *value = sum;
            return true;
        }
    }
    return fail_protobuf(message, "a number has more than 64 bits");
}

static bool take_fixed(struct protobuf *message, unsigned size, uint64_t *value)
{
    const unsigned char *b = message->bytes;
    if (message->size - message->at < size)
        return fail_protobuf(message, "it ends within a number");
    *value = 0;
    for (unsigned i = 0; i < size; i++) *value |= (uint64_t)b[message->at + i] << (8 * i);
    message->at += size;
    return true;
}

static bool take_bytes(struct protobuf *message, struct protobuf_field *field)
{
    uint64_t size;
    if (!take_varint(message, &size)) return false;
    if (size > message->size - message->at)
        return fail_protobuf(message, "a field is longer than the rest of the message");
    field->bytes = (const char *)message->bytes + message->at;
    field->size = (size_t)size;
    message->at += field->size;
    return true;
}

bool rapt__protobuf_next(struct protobuf *message, struct protobuf_field *field)
{
    uint64_t tag;
    if (message->error || message->at == message->size || !take_varint(message, &tag)) return false;
    if (tag >> 3 == 0 || tag > UINT32_MAX)
        return fail_protobuf(message, "a field has an invalid number");
    *field = (struct protobuf_field){.number = (uint32_t)(tag >> 3)};
    switch (tag & 7) {
    case PROTOBUF_VARINT:
        return take_varint(message, &field->value);
    case PROTOBUF_FIXED64:
        field->wire = PROTOBUF_FIXED64;
        return take_fixed(message, 8, &field->value);
    case PROTOBUF_BYTES:
        field->wire = PROTOBUF_BYTES;
        return take_bytes(message, field);
    case PROTOBUF_FIXED32:
        field->wire = PROTOBUF_FIXED32;
        return take_fixed(message, 4, &field->value);
    default:
        return fail_protobuf(message, "a field is a group or has an unknown wire type");
    }
}

float rapt__protobuf_float(const struct protobuf_field *field)
{
    uint32_t bits = (uint32_t)field->value;
    float x;
    memcpy(&x, &bits, sizeof x);
    return x;
}
