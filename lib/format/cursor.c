/* cursor.c - reads numbers and bytes from a source, and checks every read against the number of
   bytes left. */
#include "cursor.h"

uint64_t rapt__cursor_left(const struct cursor *cursor)
{
    return cursor->source->size - cursor->at;
}

rapt_status rapt__cursor_fail(struct cursor *cursor, const char *what)
{
    if (cursor->status == RAPT_OK)
        cursor->status =
            rapt__fail(cursor->why, RAPT_BAD_FILE, "%s: byte %llu: %s", cursor->source->label.text,
                       (unsigned long long)cursor->at, what);
    return cursor->status;
}

bool rapt__cursor_has(struct cursor *cursor, uint64_t count, const char *what)
{
    if (cursor->status != RAPT_OK) return false;
    uint64_t left = rapt__cursor_left(cursor);
    if (count <= left) return true;
    cursor->status = rapt__fail(cursor->why, RAPT_BAD_FILE,
                                "%s: byte %llu: %s: %llu bytes are needed; %llu are left",
                                cursor->source->label.text, (unsigned long long)cursor->at, what,
                                (unsigned long long)count, (unsigned long long)left);
    return false;
}

void rapt__cursor_bytes(struct cursor *cursor, void *data, size_t count, const char *what)
{
    if (!rapt__cursor_has(cursor, count, what)) return;
    cursor->status = rapt__disk_read(cursor->source, cursor->at, data, count, cursor->why);
    if (cursor->status == RAPT_OK) cursor->at += count;
}

uint64_t rapt__cursor_number(struct cursor *cursor, int bytes, const char *what)
{
    unsigned char little[8] = {0};
    uint64_t value = 0;
    rapt__cursor_bytes(cursor, little, (size_t)bytes, what);
    if (cursor->status != RAPT_OK) return 0;
    for (int i = 0; i < bytes; i++) value |= (uint64_t)little[i] << 8 * i;
    return value;
}

void rapt__cursor_skip(struct cursor *cursor, uint64_t count, const char *what)
{
    if (rapt__cursor_has(cursor, count, what)) cursor->at += count;
}
