/* parsers.h - reads JSON, Protocol Buffers and YAML in memory. Nothing in the text is trusted. */
#ifndef RAPT_LIB_FORMAT_PARSERS_H
#define RAPT_LIB_FORMAT_PARSERS_H

#include <rapt/base.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* ---- json.c: reads JSON token by token, without a tree, recursion or memory allocation ---- */

/* JSON text; initialize with {text, size}. Decoded strings and the text of numbers, each with a
   terminating 0, are written to the front of the text itself, one after another. Quotes or
   preceding punctuation leave room for the terminating 0, so used <= at always holds. */
struct json {
    unsigned char *text; /* [size] */
    size_t size, at;     /* `at` is the offset of the next byte to read */
    size_t used;
    const char *error; /* the error at offset `at`; NULL if there has been no error */
};

bool rapt__json_next(struct json *json, char wanted); /* consumes `wanted` if it is next */
bool rapt__json_want(struct json *json,
                     char wanted);      /* consumes `wanted`; any other token is an error */
bool rapt__json_end(struct json *json); /* checks that only white space is left */

/* Returns the first byte of the next token without consuming the token, or -1 at the end. */
int rapt__json_peek(struct json *json);
/* Reads a string and returns it as null-terminated UTF-8 that contains no other NUL. Returns NULL
   on error. A surrogate without its other half is rejected, as in Rust's serde_json, which
   safetensors and tokenizers use. Python's json accepts it as a character that cannot be encoded in
   UTF-8. */
const char *rapt__json_string(struct json *json);
/* Reads an integer from 0 to 2^64 - 1 that consists only of digits. */
bool rapt__json_number(struct json *json, uint64_t *value);
/* Reads any number without converting it. Returns its null-terminated text, or NULL on error. */
const char *rapt__json_number_text(struct json *json);
/* Reads true, false or null. Returns its text, or NULL on error. */
const char *rapt__json_word(struct json *json);
/* Skips a value of any kind. Arrays and objects in it may be nested up to 64 deep. */
bool rapt__json_skip(struct json *json);

/* ---- protobuf.c: reads a Protocol Buffers message field by field, without a schema, tree,
   recursion or memory allocation ---- */

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

/* ---- yaml.c: reads YAML as Marian writes it: one mapping from keys to scalars or to lists of
   scalars ---- */

/* A key with a scalar, the head of a list, or an element of a list. */
struct yaml_item {
    const char *key, *value; /* UTF-8; the value of a list's head is NULL */
    int index;               /* index of an element in its list; -1 if not an element */
    int length;              /* number of elements that follow the head of a list */
    bool quoted;             /* true if the value is in quotes, so that it is a string even if it
                                looks like a number */
};
struct yaml;

/* Parses a YAML text, whose bytes are copied. `label` identifies the text in messages, such as
   "label: line 3: a key has no ':'". An empty mapping {} is read as an empty list. Returns
   RAPT_BAD_FILE if the text is damaged, is not UTF-8, has a duplicate key, or contains something
   that Marian does not write, such as anchors, aliases, tags, nested lists, nonempty nested
   mappings or multi-line strings. Memory use is at most proportional to `size`. */
rapt_status rapt__yaml_open(struct yaml **yaml, const void *bytes, size_t size, const char *label,
                            const rapt_allocator *allocator, rapt_message *why);
void rapt__yaml_close(struct yaml *yaml); /* NULL is allowed */

/* Items are sorted by key (strcmp order), then by index. rapt__yaml_at returns NULL if `index` is
   out of range. */
int rapt__yaml_count(const struct yaml *yaml);
const struct yaml_item *rapt__yaml_at(const struct yaml *yaml, int index);
/* Returns the item of a key: its scalar, or the head of its list. The elements follow the head.
   Returns NULL if the key is missing. */
const struct yaml_item *rapt__yaml_find(const struct yaml *yaml, const char *key);

/* YAML scalars, for parsers that read line by line. */

/* Reads the quoted scalar at *at, decodes it in place, appends a terminating 0, and moves *at past
   it. Returns NULL and sets *error if it does not end before `end`, contains an escape that is
   unknown or that stands for NUL, or contains too many of the escapes \L and \P, which are shorter
   than their results. */
char *rapt__yaml_quoted(char **at, char *end, const char **error);
/* Trims the plain scalar between `at` and `end`, and writes a terminating 0 after it, so *end must
   be writable. Returns NULL and sets *error if it begins with an anchor, an alias or a tag, or is
   the indicator (| or >) of a block scalar. */
char *rapt__yaml_plain(char *at, char *end, const char **error);

#endif
