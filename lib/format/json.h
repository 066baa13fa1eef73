/* json.h - reads the JSON of a header token by token: no tree, no recursion, no memory. */
#ifndef RAPT_LIB_FORMAT_JSON_H
#define RAPT_LIB_FORMAT_JSON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Decoded strings are written to the front of the text itself, one after the other. They are
   never longer than what they were decoded from, so used <= at always holds. */
struct json {
    unsigned char *text; /* [size] */
    size_t size, at;     /* at: the next byte to read */
    size_t used;
    const char *error; /* what is wrong at byte at; NULL: nothing so far */
};

bool rapt__json_next(struct json *json, char wanted); /* takes wanted if it is the next token */
bool rapt__json_want(struct json *json, char wanted); /* the same, and an error if it is not */
bool rapt__json_end(struct json *json);               /* nothing but white space is left */

/* The first byte of the next token, not taken; -1: the end. */
int rapt__json_peek(struct json *json);
/* A string: UTF-8, 0-terminated, without a 0 inside; NULL: an error. */
const char *rapt__json_string(struct json *json);
/* A whole number from 0 to 2^64 - 1, written in digits alone. */
bool rapt__json_number(struct json *json, uint64_t *value);
/* Any number as it is written, 0-terminated as strings are; NULL: an error. */
const char *rapt__json_number_text(struct json *json);
/* true, false or null; NULL: an error. */
const char *rapt__json_word(struct json *json);
/* Passes over a value of any kind; arrays and objects may be 64 deep. */
bool rapt__json_skip(struct json *json);

#endif
