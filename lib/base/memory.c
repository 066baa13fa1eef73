/* memory.c - aligned memory, growable arrays, sorting, arithmetic on sizes, and memory budgets. */
#define _DEFAULT_SOURCE /* madvise */

#include "base/base.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* ---- memory from the caller's allocator or the C library ---- */

#if defined(__linux__)
#include <sys/mman.h>
#endif

enum { ALIGNMENT = 64 };

#ifdef _WIN32 /* Windows frees aligned memory with a separate function */
static void *alloc_aligned(size_t bytes)
{
    return _aligned_malloc(bytes, ALIGNMENT);
}
static void free_aligned(void *memory)
{
    _aligned_free(memory);
}
#else
static void *alloc_aligned(size_t bytes)
{
    return aligned_alloc(ALIGNMENT, bytes);
}
static void free_aligned(void *memory)
{
    free(memory);
}
#endif

static void *default_alloc(void *user, size_t bytes)
{
    (void)user;
    if (bytes > SIZE_MAX - (ALIGNMENT - 1)) return NULL;
    return alloc_aligned(rapt__round_up_size(bytes, ALIGNMENT));
}

static void default_free(void *user, void *memory, size_t bytes)
{
    (void)user;
    (void)bytes;
    free_aligned(memory);
}

rapt_allocator rapt__allocator(const rapt_allocator *allocator)
{
    static const rapt_allocator own = {default_alloc, default_free, NULL};
    return allocator && (allocator->alloc || allocator->free) ? *allocator : own;
}

void *rapt__alloc(const rapt_allocator *allocator, size_t bytes)
{
    rapt_allocator a = rapt__allocator(allocator);
    return bytes && a.alloc && a.free ? a.alloc(a.user, bytes) : NULL;
}

void rapt__free(const rapt_allocator *allocator, void *memory, size_t bytes)
{
    rapt_allocator a = rapt__allocator(allocator);
    if (memory) a.free(a.user, memory, bytes);
}

#ifdef MADV_HUGEPAGE
void rapt__memory_streamed(const rapt_allocator *allocator, void *memory, size_t bytes)
{
    enum { LARGE = 2 << 20 };
    if (rapt__allocator(allocator).alloc != default_alloc) return;
    uintptr_t first = rapt__round_up_size((uintptr_t)memory, LARGE);
    uintptr_t last = ((uintptr_t)memory + bytes) / LARGE * LARGE;
    const int before = errno;
    if (first < last) (void)madvise((void *)first, last - first, MADV_HUGEPAGE);
    errno = before;
}
#else
void rapt__memory_streamed(const rapt_allocator *allocator, void *memory, size_t bytes)
{
    (void)allocator;
    (void)memory;
    (void)bytes;
}
#endif

bool rapt__times(size_t a, size_t b, size_t *product)
{
    if (b != 0 && a > SIZE_MAX / b) return false;
    *product = a * b;
    return true;
}

bool rapt__plus(size_t a, size_t b, size_t *sum)
{
    if (a > SIZE_MAX - b) return false;
    *sum = a + b;
    return true;
}

size_t rapt__product(size_t a, size_t b)
{
    size_t product = SIZE_MAX;
    (void)rapt__times(a, b, &product);
    return product;
}

void *rapt__grown(const rapt_allocator *allocator, void *array, size_t *capacity, size_t size)
{
    enum { FIRST = 8 };
    size_t more, bytes;
    if (!rapt__times(*capacity ? *capacity : FIRST / 2, 2, &more)) return NULL;
    if (!rapt__times(more, size, &bytes)) return NULL;
    void *grown = rapt__alloc(allocator, bytes);
    if (!grown) return NULL;
    if (array) memcpy(grown, array, *capacity * size);
    rapt__free(allocator, array, *capacity * size);
    *capacity = more;
    return grown;
}

/* Heapsort (Williams 1964, Algorithm 232), because the C library's qsort may allocate memory. */
void rapt__sort(void *items, size_t count, size_t size, rapt__order *order, const void *context)
{
    char *base = items;
    for (size_t root = count / 2; root-- > 0;)
        rapt__heap_down(items, root, count, size, order, context);
    for (size_t last = count; last-- > 1;) {
        rapt__swap(base, base + last * size, size);
        rapt__heap_down(items, 0, last, size, order, context);
    }
}

/* ---- budget: an allocator with a limit that depends on the size of the files being read. It
   returns memory from the underlying allocator unchanged, so memory that outlives the budget can be
   freed with that allocator. ---- */

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
        "reading the input would take more than %zu bytes of memory, 8 times its size plus 16 MB: "
        "a file is probably damaged or malicious. If it is compressed and you trust it, decompress "
        "it first",
        b->limit);
}
