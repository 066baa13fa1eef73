/* read.c - opens regular files, maps them and reads them at an offset, and describes errno values.
   Short and interrupted reads are continued. */
#define _POSIX_C_SOURCE   200809L
#define _FILE_OFFSET_BITS 64

#include "format/disk.h"
#include "format/posix/folder.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

enum { AT_ONCE = 1 << 30 }; /* maximum bytes requested in one call */

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

void rapt__error_text(int number, char *text, size_t size)
{
    char buffer[160] = "";
    snprintf(text, size, "%s",
             _Generic(strerror_r(number, buffer, sizeof buffer), int
                      : from_int, default
                      : from_text)(strerror_r(number, buffer, sizeof buffer), buffer));
}

const char *rapt__file_kind(mode_t mode)
{
    return S_ISDIR(mode)    ? "a folder"
           : S_ISFIFO(mode) ? "a pipe"
           : S_ISSOCK(mode) ? "a socket"
                            : "a device";
}

rapt_status rapt__disk_open(struct disk_source *source, const char *path, rapt_message *why)
{
    const int before = errno;
    struct stat about = {0};
    int file;
    *source = (struct disk_source){.file = -1, .label = rapt__shown(path), .path = path};
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
        status = rapt__disk_not_a_file(why, &source->label, rapt__file_kind(about.st_mode));
    if (status != RAPT_OK) {
        close(file);
        return status;
    }
    source->file = file;
    source->size = (uint64_t)about.st_size;
    errno = before;
    return RAPT_OK;
}

rapt_status rapt__disk_view(const struct disk_source *source, struct disk_view *view,
                            rapt_message *why)
{
    const int before = errno;
    void *bytes = MAP_FAILED;
    errno = source->file < 0 ? EBADF : EINVAL;
    if (source->file >= 0 && source->size > 0 && source->size <= SIZE_MAX)
        bytes = mmap(NULL, (size_t)source->size, PROT_READ, MAP_PRIVATE, source->file, 0);
    if (bytes == MAP_FAILED) return rapt__disk_fail(why, &source->label, "cannot be mapped", errno);
    *view = (struct disk_view){bytes, (size_t)source->size};
    errno = before;
    return RAPT_OK;
}

void rapt__disk_unmap(struct disk_view *view)
{
    if (view->bytes) munmap((void *)(uintptr_t)view->bytes, view->size);
    *view = (struct disk_view){NULL, 0};
}

void rapt__disk_close(struct disk_source *source)
{
    if (source->file >= 0) close(source->file);
    source->file = -1;
    rapt__disk_free(source);
}

rapt_status rapt__file_read(const struct disk_source *source, uint64_t at, void *data, size_t count,
                            rapt_message *why)
{
    const int before = errno;
    char *bytes = data;
    while (count > 0) {
        ssize_t got = pread(source->file, bytes, rapt__min_size(count, AT_ONCE), (off_t)at);
        if (got < 0 && errno == EINTR) continue;
        if (got < 0) return rapt__disk_fail(why, &source->label, "cannot be read", errno);
        if (got == 0)
            return rapt__fail(why, RAPT_BAD_FILE, "%s became shorter while it was being read",
                              source->label.text);
        bytes += got;
        at += (uint64_t)got;
        count -= (size_t)got;
    }
    errno = before;
    return RAPT_OK;
}
