/* yaml.h - reads YAML as Marian writes it: one mapping of keys to scalars or to lists of scalars.
 */
#ifndef RAPT_LIB_FORMAT_YAML_H
#define RAPT_LIB_FORMAT_YAML_H

#include <rapt/base.h>
#include <stdbool.h>
#include <stddef.h>

/* key: value, or one element of a list, or its head. */
struct yaml_item {
    const char *key, *value; /* UTF-8; the value of a head is NULL */
    int index;               /* of an element of a list; -1: none */
    int length;              /* of a head: elements that follow it */
    bool quoted;             /* in quotes: text, whatever it looks like */
};
struct yaml;

/* bytes: copied; label: in messages, "label: line N: what is wrong". RAPT_BAD_FILE: it is damaged,
   not UTF-8, has a key twice, or something Marian does not write: anchors, aliases, tags, mappings
   within mappings, lists within lists, texts of several lines. Memory in proportion to size. */
rapt_status rapt__yaml_open(struct yaml **yaml, const void *bytes, size_t size, const char *label,
                            const rapt_allocator *allocator, rapt_message *why);
void rapt__yaml_close(struct yaml *yaml); /* NULL is allowed */

/* Sorted by key (as strcmp has it), then index. NULL: no such index. */
int rapt__yaml_count(const struct yaml *yaml);
const struct yaml_item *rapt__yaml_at(const struct yaml *yaml, int index);
/* The scalar, or the head of the list, of a key; NULL: not there. The elements of a list follow
   their head. */
const struct yaml_item *rapt__yaml_find(const struct yaml *yaml, const char *key);

/* ---- scalar.c: for readers of lines ---- */

/* Reads a scalar in quotes at *at, which becomes the byte behind it, and decodes it in place, with
   a 0. NULL, and *error says why: it does not end before `end`, an escape is unknown, it has a 0
   inside. */
char *rapt__yaml_quoted(char **at, char *end, const char **error);
/* A plain scalar at .. end, trimmed, with a 0 at its end; *end must be writable. NULL: it begins
   with what a plain scalar cannot, or is none of one line. */
char *rapt__yaml_plain(char *at, char *end, const char **error);

#endif
