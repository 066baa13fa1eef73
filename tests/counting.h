/* counting.h - an allocator that counts and lets a chosen allocation fail. It checks the sizes that
   are given back, and fills new memory. */
#ifndef RAPT_TESTS_COUNTING_H
#define RAPT_TESTS_COUNTING_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <rapt/base.h>
#include <stdlib.h>
#include <string.h>

/* Counts allocations. Allocation number `fails`, from 0, fails; -1: none. */
struct counting {
    long calls, fails, living;
};

static inline void *counting_alloc(void *user, size_t bytes)
{
    struct counting *counting = user;
    if (counting->calls++ == counting->fails) return NULL;
    char *memory = aligned_alloc(64, 64 + (bytes + 63) / 64 * 64);
    if (!memory) return NULL;
    memcpy(memory, &bytes, sizeof bytes);
    memset(memory + 64, 0xA5, bytes); /* so that memory is not 0 by chance */
    counting->living++;
    return memory + 64;
}

static inline void counting_free(void *user, void *memory, size_t bytes)
{
    struct counting *counting = user;
    size_t taken;
    if (!memory) return;
    memcpy(&taken, (char *)memory - 64, sizeof taken);
    assert_int_equal(taken, bytes);
    counting->living--;
    free((char *)memory - 64);
}

static inline rapt_allocator counting_allocator(struct counting *counting)
{
    return (rapt_allocator){counting_alloc, counting_free, counting};
}

#endif
