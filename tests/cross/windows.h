/* windows.h - included before every test that is compiled for Windows. It provides C11's memory
   functions and POSIX's folders, which the C library of Windows lacks. All memory is aligned, so
   that free() can free it. */
#ifndef RAPT_TESTS_CROSS_WINDOWS_H
#define RAPT_TESTS_CROSS_WINDOWS_H

#include <direct.h>
#include <io.h>
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static inline void *cross_calloc(size_t count, size_t size)
{
    void *memory =
        size > 0 && count > (size_t)-1 / size ? NULL : _aligned_malloc(count * size + 1, 64);
    return memory ? memset(memory, 0, count * size) : NULL;
}

/* Replaces link(): copies the file. */
static inline int cross_copy(const char *from, const char *to)
{
    FILE *in = fopen(from, "rb"), *out = fopen(to, "wb");
    int bad = !in || !out;
    for (int byte; !bad && (byte = getc(in)) != EOF;) bad = putc(byte, out) == EOF;
    if (in) bad |= fclose(in) != 0;
    if (out) bad |= fclose(out) != 0;
    return bad ? -1 : 0;
}

#define malloc(bytes)            _aligned_malloc((bytes), 64)
#define calloc(count, size)      cross_calloc((count), (size))
#define realloc(memory, bytes)   _aligned_realloc((memory), (bytes), 64)
#define aligned_alloc(to, bytes) _aligned_malloc((bytes), (to) < 64 ? 64 : (to))
#define free(memory)             _aligned_free(memory)
#define mkdir(name, mode)        _mkdir(name)
#define symlink(from, to)        cross_copy((from), (to))

#endif
