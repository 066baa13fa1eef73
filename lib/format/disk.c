/* disk.c - reads bytes from files, memory and readers, either at an offset or sequentially with a
   cursor; composes messages about files, and names for temporary files; and defines the public
   functions that replace a file or check whether one could be written. The system-dependent parts
   are in posix/ and windows/. */
#include "disk.h"

#include "base/base.h"
#include <errno.h>
#include <rapt/file.h>
#include <stdio.h>
#include <string.h>

struct shown rapt__shown(const char *text)
{
    struct shown shown;
    size_t length = strlen(text), capacity = sizeof shown.text - 1, used = 0;
    if (length > capacity) {
        text += length - (capacity - 3);
        while (rapt__utf8_continues(*text)) text++; /* do not start within a character */
        memcpy(shown.text, "...", used = 3);
    }
    memcpy(shown.text + used, text, strlen(text) + 1);
    rapt__make_printable(shown.text);
    return shown;
}

rapt_status rapt__disk_fail(rapt_message *why, const struct shown *label, const char *what,
                            int number)
{
    char text[160] = "";
    rapt__error_text(number, text, sizeof text);
    return rapt__fail(why, RAPT_NO_FILE, "%s %s: %s", label->text, what, text);
}

rapt_status rapt__disk_not_a_file(rapt_message *why, const struct shown *label, const char *kind)
{
    return rapt__fail(why, RAPT_NO_FILE, "%s is %s, not a regular file", label->text, kind);
}

rapt_status rapt__disk_read(const struct disk_source *source, uint64_t at, void *data, size_t count,
                            rapt_message *why)
{
    if (at > source->size || count > source->size - at)
        return rapt__fail(why, RAPT_BAD_FILE,
                          "%s: %zu bytes at offset %llu extend past the end of the file",
                          source->label.text, count, (unsigned long long)at);
    if (source->file >= 0) return rapt__file_read(source, at, data, count, why);
    if (count == 0) return RAPT_OK;
    if (source->bytes)
        memcpy(data, source->bytes + at, count);
    else if (source->reader.read(source->reader.user, at, data, count) != 0)
        return rapt__fail(why, RAPT_NO_FILE, "%s: %zu bytes at offset %llu cannot be read",
                          source->label.text, count, (unsigned long long)at);
    return RAPT_OK;
}

void rapt__disk_free(struct disk_source *source)
{
    if (source->memory) rapt__free(&source->allocator, source->memory, source->memory_size);
    source->memory = NULL;
}

/* ---- cursors ---- */

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

/* ---- names of temporary files ---- */

void rapt__temporary_name(char name[TEMPORARY_NAME], uint64_t random, uint64_t key)
{
    snprintf(name, TEMPORARY_NAME, ".rapt-%016llx%016llx.tmp", (unsigned long long)random,
             (unsigned long long)rapt__mix(key, random));
}

/* Parses the random number in the name and compares the name with the one composed from it. */
bool rapt__temporary_is_ours(const char *name, uint64_t key)
{
    static const char digits[] = "0123456789abcdef";
    char made[TEMPORARY_NAME];
    uint64_t random = 0;
    if (strncmp(name, ".rapt-", 6) != 0) return false;
    for (int i = 6; i < 6 + 16; i++) {
        const char *digit = name[i] ? strchr(digits, name[i]) : NULL;
        if (!digit) return false;
        random = random << 4 | (uint64_t)(digit - digits);
    }
    rapt__temporary_name(made, random, key);
    return strcmp(name, made) == 0;
}

/* ---- rapt/file.h ---- */

rapt_status rapt_file_write(const char *path, const void *data, size_t size, rapt_message *why)
{
    struct disk_target target;
    if (!path || (!data && size > 0))
        return rapt__fail(why, RAPT_BAD_ARGUMENT, "%s is NULL", path ? "data" : "path");
    rapt_status status = rapt__disk_begin(&target, path, why);
    if (status != RAPT_OK) return status;
    status = rapt__disk_write(&target, data, size, why);
    if (status == RAPT_OK)
        status = rapt__disk_commit(&target, why);
    else
        rapt__disk_cancel(&target);
    return status;
}

rapt_status rapt_file_check(const char *path, uint64_t max_size, uint64_t total_size,
                            rapt_message *why)
{
    struct disk_target target;
    const int before = errno;
    if (!path) return rapt__fail(why, RAPT_BAD_ARGUMENT, "path is NULL");
    rapt_status status = rapt__disk_begin(&target, path, why);
    if (status != RAPT_OK) return status;
    rapt__disk_unname(&target);
    int wrong = rapt__file_reserve(&target, max_size, total_size);
    rapt__disk_cancel(&target);
    errno = before;
    return wrong == 0 ? RAPT_OK : rapt__disk_fail(why, &target.label, "cannot be written", wrong);
}
