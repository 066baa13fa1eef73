/* yaml.h - reads YAML as Marian writes it: one mapping from keys to scalars or to lists of
   scalars. */
#ifndef RAPT_LIB_FORMAT_YAML_H
#define RAPT_LIB_FORMAT_YAML_H

#include <rapt/base.h>
#include <stdbool.h>
#include <stddef.h>

/* A key with a scalar, the head of a list, or an element of a list. */
struct yaml_item {
    const char *key, *value; /* UTF-8; the value of a list's head is NULL */
    int index;               /* index of an element in its list; -1 if not an element */
    int length;              /* number of elements that follow the head of a list */
    bool quoted;             /* true if the value is in quotes: it is a string even if it looks like
                                a number */
};
struct yaml;

/* Parses a YAML text, whose bytes are copied. label identifies the text in messages, such as
   "label: line 3: a key has no ':'". Returns RAPT_BAD_FILE if the text is damaged, is not UTF-8,
   has a key twice, or contains something that Marian does not write: anchors, aliases, tags, nested
   mappings or lists, or multi-line strings. Memory is at most proportional to `size`. */
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

/* ---- scalars, for parsers that read line by line ---- */

/* Reads the quoted scalar at *at, decodes it in place, appends a 0, and moves *at past it. Returns
   NULL and sets *error if it does not end before `end`, contains a 0, an unknown escape, or more
   than one \L or \P. */
char *rapt__yaml_quoted(char **at, char *end, const char **error);
/* Trims the plain scalar from at to end and writes a 0 after it, so *end must be writable. Returns
   NULL and sets *error if it is an anchor, an alias, a tag, or the indicator (| or >) of a block
   scalar. */
char *rapt__yaml_plain(char *at, char *end, const char **error);

#endif
