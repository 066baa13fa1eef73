/* cursor.h - reads little-endian numbers and names out of a source, one after another. The first
   failure stays: everything read after it is 0, and the status tells. */
#ifndef RAPT_LIB_FORMAT_CURSOR_H
#define RAPT_LIB_FORMAT_CURSOR_H

#include "disk.h"

struct cursor {
    const struct disk_source *source;
    uint64_t at; /* the next byte, at most source->size */
    rapt_status status;
    rapt_message *why;
};

/* Whether so many bytes are left; if not, the failure names what. */
bool rapt__cursor_has(struct cursor *cursor, uint64_t count, const char *what);
uint64_t rapt__cursor_left(const struct cursor *cursor);
/* A number of 1 to 8 bytes. */
uint64_t rapt__cursor_number(struct cursor *cursor, int bytes, const char *what);
void rapt__cursor_bytes(struct cursor *cursor, void *data, size_t count, const char *what);
void rapt__cursor_skip(struct cursor *cursor, uint64_t count, const char *what);
/* RAPT_BAD_FILE, "file: byte N: what", unless it failed before. */
rapt_status rapt__cursor_fail(struct cursor *cursor, const char *what);

#endif
