/* arena.c - one block of memory, measured first, reserved once, handed out in pieces. */
#include "base/base.h"

#include <string.h>

enum { ALIGNMENT = 64 };

#ifndef __has_feature
#define __has_feature(name) 0
#endif

#if defined(__SANITIZE_ADDRESS__) || __has_feature(address_sanitizer)
#include <sanitizer/asan_interface.h>
enum { RED_ZONE = 64 };
static void poison(const void *memory, size_t size)
{
    __asan_poison_memory_region(memory, size);
}
static void unpoison(const void *memory, size_t size)
{
    __asan_unpoison_memory_region(memory, size);
}
#else
enum { RED_ZONE = 0 };
static void poison(const void *memory, size_t size)
{
    (void)memory, (void)size;
}
static void unpoison(const void *memory, size_t size)
{
    (void)memory, (void)size;
}
#endif

void *rapt__arena_take(struct arena *arena, size_t count, size_t size)
{
    size_t bytes, padded, end;
    if (!rapt__times(count, size, &bytes) ||
        !rapt__plus(bytes, ALIGNMENT - 1 + RED_ZONE, &padded) ||
        !rapt__plus(arena->used, padded / ALIGNMENT * ALIGNMENT, &end)) {
        arena->overflow = true;
        return NULL;
    }
    char *piece = arena->base ? arena->base + arena->used : NULL;
    arena->used = end;
    if (!arena->base || bytes == 0) return NULL;
    if (RED_ZONE) poison(piece + bytes, (size_t)(arena->base + end - (piece + bytes)));
    return piece;
}

float *rapt__arena_floats(struct arena *arena, size_t rows, size_t columns)
{
    size_t count;
    if (!rapt__times(rows, columns, &count)) arena->overflow = true, count = 0;
    return rapt__arena_take(arena, count, sizeof(float));
}

rapt_status rapt__arena_reserve(struct arena *arena, const rapt_allocator *allocator)
{
    if (arena->overflow) return RAPT_NO_MEMORY;
    size_t size = arena->used ? arena->used : ALIGNMENT;
    char *base = rapt__alloc(allocator, size);
    if (!base) return RAPT_NO_MEMORY;
    if (!arena->raw && !allocator) rapt__memory_streamed(base, size);
    if (!arena->raw) memset(base, 0, size);
    *arena = (struct arena){.base = base, .size = size};
    return RAPT_OK;
}

void rapt__arena_free(struct arena *arena, const rapt_allocator *allocator)
{
    if (!arena->base) return;
    unpoison(arena->base, arena->size);
    rapt__free(allocator, arena->base, arena->size);
    *arena = (struct arena){0};
}
