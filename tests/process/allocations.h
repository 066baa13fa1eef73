/* allocations.h - counts allocations and lets chosen ones fail, both those of an allocator that the
   caller gives to the library and those of the C library on the thread that watches. A program
   includes it once. */
#ifndef RAPT_TESTS_PROCESS_ALLOCATIONS_H
#define RAPT_TESTS_PROCESS_ALLOCATIONS_H

#include "model/small.h"

#include <errno.h>

/* Counts allocations and decides which fail. */
struct tally {
    long live, calls, fail_at; /* 0: never */
    bool for_good;
};

static bool fails(struct tally *c)
{
    c->calls++;
    bool now = c->fail_at && (c->calls == c->fail_at || (c->for_good && c->calls > c->fail_at));
    if (now) errno = ENOMEM;
    return now;
}

/* ---- the caller's allocator ---- */

static struct tally given;

static void *take(void *user, size_t bytes)
{
    struct tally *c = user;
    if (fails(c)) return NULL;
    void *memory = aligned_alloc(64, (bytes + 63) / 64 * 64);
    assert_non_null(memory);
    memset(memory, 0xff, bytes);
    c->live++;
    return memory;
}

static void give_back(void *user, void *memory, size_t bytes)
{
    struct tally *c = user;
    memset(memory, 0xff, bytes);
    c->live--;
    free(memory);
}

static const rapt_allocator allocator = {take, give_back, &given};

/* ---- the C library's allocator, on this thread while `watched` ---- */

static struct tally plain;
static _Thread_local bool watched;

#if defined(__GLIBC__) && !defined(RAPT_INSTRUMENTED)
static const bool can_watch = true;
extern void *__libc_malloc(size_t bytes);
extern void *__libc_calloc(size_t count, size_t bytes);
extern void *__libc_realloc(void *memory, size_t bytes);
extern void *__libc_memalign(size_t alignment, size_t bytes);
extern void __libc_free(void *memory);

static void *counted(void *memory)
{
    if (watched && memory) plain.live++;
    return memory;
}

void *malloc(size_t bytes)
{
    return watched && fails(&plain) ? NULL : counted(__libc_malloc(bytes));
}

void *calloc(size_t count, size_t bytes)
{
    return watched && fails(&plain) ? NULL : counted(__libc_calloc(count, bytes));
}

void *realloc(void *memory, size_t bytes)
{
    if (watched && fails(&plain)) return NULL;
    return memory ? __libc_realloc(memory, bytes) : counted(__libc_malloc(bytes));
}

void *aligned_alloc(size_t alignment, size_t bytes)
{
    return watched && fails(&plain) ? NULL : counted(__libc_memalign(alignment, bytes));
}

void free(void *memory)
{
    if (watched && memory) plain.live--;
    __libc_free(memory);
}
#else
static const bool can_watch = false;
#endif

#endif
