/* input.c - reads the bytes of a file at any offset. A regular file stays open and is read as
   needed, even after its name is gone. Pipes, which can be read only once, and compressed files are
   held in memory. */
#define _POSIX_C_SOURCE 200809L
#include "data.h"
#include "kit/unpack.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

int input_open(struct input *input, const char *path)
{
    struct stat about;
    char first[4];
    *input = (struct input){.name = path, .file = -1};
    if (stat(path, &about) == 0 && !S_ISREG(about.st_mode))
        return file_read(path, &input->held, &input->size);
    input->file = file_open(path);
    if (input->file < 0) return failed("%s: %s", path, strerror(errno));
    const ssize_t got = pread(input->file, first, sizeof first, 0);
    if (got <= 0 || !is_packed(first, (size_t)got)) return EXIT_OK;
    close(input->file);
    input->file = -1;
    return file_read(path, &input->held, &input->size);
}

struct input input_over(const char *name, char *bytes, size_t size)
{
    return (struct input){.name = name, .file = -1, .held = bytes, .size = size};
}

int input_read(const struct input *input, uint64_t at, char *bytes, size_t size, size_t *got)
{
    *got = 0;
    if (input->file < 0) {
        size_t left = at < input->size ? input->size - (size_t)at : 0;
        *got = left < size ? left : size;
        if (*got > 0) memcpy(bytes, input->held + at, *got);
        return EXIT_OK;
    }
    while (*got < size) {
        ssize_t more = pread(input->file, bytes + *got, size - *got, (off_t)(at + *got));
        if (more < 0 && errno == EINTR) continue;
        if (more < 0) return failed("%s: %s", input->name, strerror(errno));
        if (more == 0) break;
        *got += (size_t)more;
    }
    return EXIT_OK;
}

void input_close(struct input *input)
{
    if (input->file >= 0 && input->name != NULL) close(input->file);
    free(input->held);
    *input = (struct input){.file = -1};
}
