/* json.h - reads JSON token by token, without a tree, recursion or memory allocation. */
#ifndef RAPT_LIB_FORMAT_JSON_H
#define RAPT_LIB_FORMAT_JSON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Decoded strings and the text of numbers are written to the front of the text itself, one after
   another. They are never longer than their source, so used <= at always holds. */
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
/* Reads a string: UTF-8, 0-terminated, without a 0 inside. Returns NULL on error. A surrogate
   without its other half is rejected, as in Rust's serde_json, which safetensors and tokenizers
   use. Python's json accepts it as a character that cannot be encoded in UTF-8. */
const char *rapt__json_string(struct json *json);
/* Reads an integer from 0 to 2^64 - 1 that consists only of digits. */
bool rapt__json_number(struct json *json, uint64_t *value);
/* Reads any number without converting it. Returns its 0-terminated text, or NULL on error. */
const char *rapt__json_number_text(struct json *json);
/* Reads true, false or null. Returns its text, or NULL on error. */
const char *rapt__json_word(struct json *json);
/* Skips a value of any kind. Arrays and objects may be nested 64 deep. */
bool rapt__json_skip(struct json *json);

#endif
