/* limited.h - an allocator of which one allocation fails. */
#ifndef RAPT_TESTS_DOCUMENT_LIMITED_H
#define RAPT_TESTS_DOCUMENT_LIMITED_H

#include <stddef.h>
#include <stdlib.h>

struct limited {
    int left; /* allocations until one fails */
    size_t used;
};

static inline void *limited_alloc(void *user, size_t bytes)
{
    struct limited *l = user;
    if (l->left-- == 0) return NULL;
    l->used += bytes;
    return aligned_alloc(64, (bytes + 63) / 64 * 64);
}

static inline void limited_free(void *user, void *memory, size_t bytes)
{
    struct limited *l = user;
    l->used -= bytes;
    free(memory);
}

#endif
