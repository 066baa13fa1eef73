/* windows.h - included before every test that is compiled for Windows: memory of C11 and folders of
   POSIX, which its C library does not have. All memory is aligned memory, so that free() frees it.
 */
#ifndef RAPT_TESTS_CROSS_WINDOWS_H
#define RAPT_TESTS_CROSS_WINDOWS_H

#include <direct.h>
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static inline void *cross_calloc(size_t count, size_t size)
{
    void *memory =
        size > 0 && count > (size_t)-1 / size ? NULL : _aligned_malloc(count * size + 1, 64);
    return memory ? memset(memory, 0, count * size) : NULL;
}

/* The end of the template, XXXXXX, becomes a number that is free. */
static inline char *cross_mkdtemp(char *name)
{
    char *end = name + strlen(name) - 6;
    for (int i = 0; i < 1000000; i++) {
        snprintf(end, 7, "%06d", i);
        if (_mkdir(name) == 0) return name;
    }
    return NULL;
}

#define malloc(bytes)            _aligned_malloc((bytes), 64)
#define calloc(count, size)      cross_calloc((count), (size))
#define realloc(memory, bytes)   _aligned_realloc((memory), (bytes), 64)
#define aligned_alloc(to, bytes) _aligned_malloc((bytes), (to) < 64 ? 64 : (to))
#define free(memory)             _aligned_free(memory)
#define mkdtemp(name)            cross_mkdtemp(name)

#endif
