/* budget.c - an allocator with a limit that depends on the size of the files being read. It passes
   on memory from another allocator unchanged, so that memory that outlives the budget can be freed
   without it. */
#include "base/base.h"

enum { PER_BYTE = 8, ANY_FILE = 16 << 20 };

static void *budget_alloc(void *user, size_t bytes)
{
    struct budget *b = user;
    if (bytes > b->limit - b->used) {
        b->exceeded = true;
        return NULL;
    }
    void *memory = rapt__alloc(&b->under, bytes);
    if (memory) b->used += bytes;
    return memory;
}

static void budget_free(void *user, void *memory, size_t bytes)
{
    struct budget *b = user;
    b->used -= bytes;
    rapt__free(&b->under, memory, bytes);
}

rapt_allocator rapt__budget_begin(struct budget *b, const rapt_allocator *under)
{
    *b = (struct budget){.under = rapt__allocator(under), .limit = ANY_FILE};
    return (rapt_allocator){budget_alloc, budget_free, b};
}

void rapt__budget_add(const rapt_allocator *allocator, uint64_t size)
{
    while (allocator && allocator->alloc == budget_alloc) {
        struct budget *b = allocator->user;
        const uint64_t left = (SIZE_MAX - b->limit) / PER_BYTE;
        b->limit += PER_BYTE * (size_t)(size < left ? size : left);
        allocator = &b->under;
    }
}

rapt_status rapt__budget_end(const struct budget *b, rapt_status status, rapt_message *why)
{
    if (status != RAPT_NO_MEMORY || !b->exceeded) return status;
    return rapt__fail(
        why, RAPT_BAD_FILE,
        "reading it would take more than %zu bytes of memory, 8 times the size of its "
        "files plus 16 MB: it is probably damaged or malicious. If it is compressed and you trust "
        "it, decompress it first",
        b->limit);
}
