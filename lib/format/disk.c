/* disk.c - reads bytes at an offset from files, memory and readers, and composes messages that name
   a file. The system-dependent parts are in posix/ and windows/. */
#include "disk.h"

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
        return rapt__fail(why, RAPT_BAD_FILE, "%s: %zu bytes at offset %llu are not in the file",
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
