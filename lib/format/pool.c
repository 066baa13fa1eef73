/* pool.c - allocates strings from blocks, each of which is at least as large as all earlier blocks
   together. */
#include "pool.h"

#include "base/base.h"

enum { FIRST = 256 }; /* size of the first block */

struct string_block {
    struct string_block *before;
    size_t size, used; /* size of the block, including this header */
};

void *rapt__pool_take(struct string_pool *pool, size_t size, const rapt_allocator *allocator)
{
    struct string_block *last = pool->last;
    if (!last || size > last->size - last->used) {
        size_t needed;
        if (!rapt__plus(size, sizeof *last, &needed)) return NULL;
        needed = rapt__max_size(needed, rapt__max_size(pool->total, FIRST));
        struct string_block *block = rapt__alloc(allocator, needed);
        if (!block) return NULL;
        *block = (struct string_block){last, needed, sizeof *block};
        pool->total += needed;
        pool->last = last = block;
    }
    char *taken = (char *)last + last->used;
    last->used += size;
    return taken;
}

void rapt__pool_free(struct string_pool *pool, const rapt_allocator *allocator)
{
    while (pool->last) {
        struct string_block *before = pool->last->before;
        rapt__free(allocator, pool->last, pool->last->size);
        pool->last = before;
    }
    pool->total = 0;
}
