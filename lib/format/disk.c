/* disk.c - reads of regular files at an offset, and messages that name a file: every system call is
   checked, short and interrupted ones are continued. */
#define _POSIX_C_SOURCE   200809L
#define _FILE_OFFSET_BITS 64

#include "disk.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { AT_ONCE = 1 << 30 }; /* bytes asked of one call */

struct shown rapt__shown(const char *text)
{
    struct shown shown;
    size_t length = strlen(text), capacity = sizeof shown.text - 1, used = 0;
    if (length > capacity) {
        text += length - (capacity - 3);
        while (rapt__utf8_continues(*text)) text++; /* not within a character */
        memcpy(shown.text, "...", used = 3);
    }
    for (; *text; text++) {
        unsigned char c = (unsigned char)*text;
        shown.text[used++] = c < 0x20 || c == 0x7F ? '?' : *text;
    }
    shown.text[used] = 0;
    return shown;
}

/* strerror_r returns int (POSIX) or char * (GNU). */
static const char *from_int(int result, const char *buffer)
{
    return result == 0 ? buffer : "unknown error";
}
static const char *from_text(const char *result, const char *buffer)
{
    (void)buffer;
    return result;
}

rapt_status rapt__disk_fail(rapt_message *why, const struct shown *label, const char *what,
                            int number)
{
    char buffer[160] = "";
    const char *text = _Generic(strerror_r(number, buffer, sizeof buffer), int
                                : from_int, default
                                : from_text)(strerror_r(number, buffer, sizeof buffer), buffer);
    return rapt__fail(why, RAPT_NO_FILE, "%s: %s: %s", label->text, what, text);
}

rapt_status rapt__disk_not_a_file(rapt_message *why, const struct shown *label, mode_t mode)
{
    const char *kind = S_ISDIR(mode)    ? "a folder"
                       : S_ISFIFO(mode) ? "a pipe"
                       : S_ISSOCK(mode) ? "a socket"
                                        : "a device";
    return rapt__fail(why, RAPT_NO_FILE, "%s: is %s, not a regular file", label->text, kind);
}

/* ---- reading ---- */

rapt_status rapt__disk_open(struct disk_source *source, const char *path, rapt_message *why)
{
    const int before = errno;
    struct stat about = {0};
    int file;
    *source = (struct disk_source){.file = -1, .label = rapt__shown(path)};
    do file = open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    while (file < 0 && errno == EINTR);
    if (file < 0) return rapt__disk_fail(why, &source->label, "cannot be opened", errno);
    rapt_status status = RAPT_OK;
    int result;
    do result = fstat(file, &about);
    while (result != 0 && errno == EINTR);
    if (result != 0)
        status = rapt__disk_fail(why, &source->label, "cannot be examined", errno);
    else if (!S_ISREG(about.st_mode))
        status = rapt__disk_not_a_file(why, &source->label, about.st_mode);
    if (status != RAPT_OK) {
        close(file);
        return status;
    }
    source->file = file;
    source->size = (uint64_t)about.st_size;
    errno = before;
    return RAPT_OK;
}

void rapt__disk_close(struct disk_source *source)
{
    if (source->file >= 0) close(source->file);
    source->file = -1;
}

static rapt_status read_file(const struct disk_source *source, uint64_t at, char *data,
                             size_t count, rapt_message *why)
{
    const int before = errno;
    while (count > 0) {
        ssize_t got = pread(source->file, data, rapt__min_size(count, AT_ONCE), (off_t)at);
        if (got < 0 && errno == EINTR) continue;
        if (got < 0) return rapt__disk_fail(why, &source->label, "cannot be read", errno);
        if (got == 0)
            return rapt__fail(why, RAPT_BAD_FILE, "%s: became shorter while it was read",
                              source->label.text);
        data += got;
        at += (uint64_t)got;
        count -= (size_t)got;
    }
    errno = before;
    return RAPT_OK;
}

rapt_status rapt__disk_read(const struct disk_source *source, uint64_t at, void *data, size_t count,
                            rapt_message *why)
{
    if (at > source->size || count > source->size - at)
        return rapt__fail(why, RAPT_BAD_FILE, "%s: %zu bytes at byte %llu are not in the file",
                          source->label.text, count, (unsigned long long)at);
    if (source->file >= 0) return read_file(source, at, data, count, why);
    if (count == 0) return RAPT_OK;
    if (source->bytes)
        memcpy(data, source->bytes + at, count);
    else if (source->reader.read(source->reader.user, at, data, count) != 0)
        return rapt__fail(why, RAPT_NO_FILE, "%s: %zu bytes at byte %llu cannot be read",
                          source->label.text, count, (unsigned long long)at);
    return RAPT_OK;
}
