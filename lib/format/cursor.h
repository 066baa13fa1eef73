/* cursor.h - reads little-endian numbers and bytes from a source, one after another. After the
   first error, which stays in `status`, nothing is read and all numbers are 0. */
#ifndef RAPT_LIB_FORMAT_CURSOR_H
#define RAPT_LIB_FORMAT_CURSOR_H

#include "disk.h"

struct cursor {
    const struct disk_source *source;
    uint64_t at; /* offset of the next byte, at most source->size */
    rapt_status status;
    rapt_message *why;
};

/* Returns whether the cursor has not failed and `count` bytes are left. If too few are left, fails
   with a message that contains `what`, a description of these bytes. */
bool rapt__cursor_has(struct cursor *cursor, uint64_t count, const char *what);
uint64_t rapt__cursor_left(const struct cursor *cursor);
/* Reads an unsigned integer of 1 to 8 bytes. */
uint64_t rapt__cursor_number(struct cursor *cursor, int bytes, const char *what);
void rapt__cursor_bytes(struct cursor *cursor, void *data, size_t count, const char *what);
void rapt__cursor_skip(struct cursor *cursor, uint64_t count, const char *what);
/* Sets `status` to RAPT_BAD_FILE with the message "file: byte N: what", unless the cursor has
   failed before. Returns `status`. */
rapt_status rapt__cursor_fail(struct cursor *cursor, const char *what);

#endif
