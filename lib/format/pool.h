/* pool.h - strings that stay where they are until all are freed at once. In: sizes. Out: memory of
   at most twice their sum, and 256 bytes. */
#ifndef RAPT_LIB_FORMAT_POOL_H
#define RAPT_LIB_FORMAT_POOL_H

#include <rapt/base.h>
#include <stddef.h>

struct string_block;
struct string_pool { /* starts as {0} */
    struct string_block *last;
    size_t total; /* bytes of all blocks */
};

void *rapt__pool_take(struct string_pool *pool, size_t size,
                      const rapt_allocator *allocator); /* or NULL */
void rapt__pool_free(struct string_pool *pool, const rapt_allocator *allocator);

#endif
