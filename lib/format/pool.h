/* pool.h - allocates strings whose addresses do not change and which are all freed at once. A pool
   takes less than four times the sum of their sizes, plus 256 bytes. */
#ifndef RAPT_LIB_FORMAT_POOL_H
#define RAPT_LIB_FORMAT_POOL_H

#include <rapt/base.h>
#include <stddef.h>

struct string_block;
struct string_pool { /* initialize with {0} */
    struct string_block *last;
    size_t total; /* size of all blocks in bytes */
};

void *rapt__pool_take(struct string_pool *pool, size_t size,
                      const rapt_allocator *allocator); /* returns NULL if out of memory */
void rapt__pool_free(struct string_pool *pool, const rapt_allocator *allocator);

#endif
