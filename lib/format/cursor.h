/* cursor.h - reads little-endian numbers and bytes from a source, one after another. The first
   error remains in status, and every later read returns 0. */
#ifndef RAPT_LIB_FORMAT_CURSOR_H
#define RAPT_LIB_FORMAT_CURSOR_H

#include "disk.h"

struct cursor {
    const struct disk_source *source;
    uint64_t at; /* offset of the next byte, at most source->size */
    rapt_status status;
    rapt_message *why;
};

/* Returns whether `count` bytes are left. If not, fails with a message that names `what`. */
bool rapt__cursor_has(struct cursor *cursor, uint64_t count, const char *what);
uint64_t rapt__cursor_left(const struct cursor *cursor);
/* Reads an unsigned number of 1 to 8 bytes. */
uint64_t rapt__cursor_number(struct cursor *cursor, int bytes, const char *what);
void rapt__cursor_bytes(struct cursor *cursor, void *data, size_t count, const char *what);
void rapt__cursor_skip(struct cursor *cursor, uint64_t count, const char *what);
/* Fails with RAPT_BAD_FILE and "file: byte N: what", unless the cursor has failed before. */
rapt_status rapt__cursor_fail(struct cursor *cursor, const char *what);

#endif
