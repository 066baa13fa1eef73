/* failing_malloc.c - preloaded into a program, lets allocation number FAIL_AT fail and, if FAIL_ON
   is set, all later ones. If FAIL_AT is not set, none fails, and the number of allocations is
   written to the file FAIL_COUNT. Allocations of ICU are counted but never fail: while ICU 72 looks
   for the locale without memory, it waits for a lock of its own or reads through NULL. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

extern void *__libc_malloc(size_t bytes);
extern void *__libc_calloc(size_t count, size_t bytes);
extern void *__libc_realloc(void *memory, size_t bytes);
extern void *__libc_memalign(size_t alignment, size_t bytes);

static atomic_long calls;
static long fail_at;
static bool fail_on;

__attribute__((constructor)) static void begin(void)
{
    const char *at = getenv("FAIL_AT");
    fail_at = at ? atol(at) : 0;
    fail_on = getenv("FAIL_ON") != NULL;
    atomic_store(&calls, 0);
}

__attribute__((destructor)) static void end(void)
{
    const char *path = getenv("FAIL_COUNT");
    char text[32];
    int size = snprintf(text, sizeof text, "%ld\n", atomic_load(&calls));
    int file = path ? open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600) : -1;
    if (file < 0 || write(file, text, (size_t)size) != size) return;
    close(file);
}

/* from: where the allocation returns to */
static bool fails(const void *from)
{
    long number = atomic_fetch_add(&calls, 1) + 1;
    Dl_info caller;
    if (!fail_at || (fail_on ? number < fail_at : number != fail_at)) return false;
    if (dladdr(from, &caller) && caller.dli_fname && strstr(caller.dli_fname, "libicu"))
        return false;
    errno = ENOMEM;
    return true;
}

void *malloc(size_t bytes)
{
    return fails(__builtin_return_address(0)) ? NULL : __libc_malloc(bytes);
}

void *calloc(size_t count, size_t bytes)
{
    return fails(__builtin_return_address(0)) ? NULL : __libc_calloc(count, bytes);
}

void *realloc(void *memory, size_t bytes)
{
    return fails(__builtin_return_address(0)) ? NULL : __libc_realloc(memory, bytes);
}

void *aligned_alloc(size_t alignment, size_t bytes)
{
    return fails(__builtin_return_address(0)) ? NULL : __libc_memalign(alignment, bytes);
}
