/* arena.c - counts the bytes that a layout needs, then hands out aligned pieces of a block of that
   size. Two invariants hold: a layout that needed `used` bytes when it was counted fits into a
   block of `used` bytes, and pieces do not overlap.

   In debug builds (no NDEBUG) and under AddressSanitizer, a red zone follows every piece. It holds
   a pattern and ends with a record of where it begins and where the previous red zone ends;
   rapt__arena_close follows these records to check all red zones. AddressSanitizer also reports any
   access to a red zone. In these builds, pieces of raw memory are filled with NaN. */
#include "base/base.h"

#include <assert.h>
#include <string.h>

enum { ALIGNMENT = 64, PATTERN = 0x5a, GARBAGE = 0xff };

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
#ifdef NDEBUG
enum { RED_ZONE = 0 };
#else
enum { RED_ZONE = 64 };
#endif
static void poison(const void *memory, size_t size)
{
    (void)memory, (void)size;
}
static void unpoison(const void *memory, size_t size)
{
    (void)memory, (void)size;
}
#endif

struct red_zone {   /* the record at the end of a red zone */
    char *previous; /* end of the red zone written before it, or NULL */
    char *begin;
    uintptr_t sum; /* see sum_of */
};

static uintptr_t sum_of(const char *previous, const char *begin)
{
    return ~((uintptr_t)previous + (uintptr_t)begin);
}

static void write_red_zone(struct arena *arena, char *begin, char *end)
{
    char *previous = arena->last_red_zone;
    const struct red_zone zone = {previous, begin, sum_of(previous, begin)};
    memset(begin, PATTERN, (size_t)(end - begin) - sizeof zone);
    memcpy(end - sizeof zone, &zone, sizeof zone);
    poison(begin, (size_t)(end - begin));
    arena->last_red_zone = end;
}

/* Reads and unpoisons the red zone that ends at `end`. Returns false if it has been overwritten. */
static bool read_red_zone(char *end, struct red_zone *zone)
{
    unpoison(end - RED_ZONE, RED_ZONE);
    memcpy(zone, end - sizeof *zone, sizeof *zone);
    if (zone->sum != sum_of(zone->previous, zone->begin)) return false;
    unpoison(zone->begin, (size_t)(end - zone->begin));
    for (const char *c = zone->begin; c < end - sizeof *zone; c++)
        if (*c != PATTERN) return false;
    return true;
}

/* Advances `used` by `bytes`. If the result exceeds the memory or size_t, sets overflow and returns
   false. */
static bool advance(struct arena *arena, size_t bytes)
{
    size_t end;
    bool fits = rapt__plus(arena->used, bytes, &end) && (!arena->base || end <= arena->size);
    if (fits)
        arena->used = end;
    else
        arena->overflow = true;
    return fits;
}

void *rapt__arena_take(struct arena *arena, size_t count, size_t size)
{
    size_t bytes, padded, at = arena->used;
    if (count == 0 || size == 0) return NULL;
    if (!rapt__times(count, size, &bytes) ||
        !rapt__plus(bytes, ALIGNMENT - 1 + RED_ZONE, &padded)) {
        arena->overflow = true;
        return NULL;
    }
    if (!advance(arena, padded / ALIGNMENT * ALIGNMENT) || !arena->base) return NULL;
    char *piece = arena->base + at;
    if (RED_ZONE > 0 && arena->rank == arena->owner) {
        if (arena->raw) memset(piece, GARBAGE, bytes);
        write_red_zone(arena, piece + bytes, arena->base + arena->used);
    }
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
    if (!arena->raw) rapt__memory_streamed(allocator, base, size);
    if (!arena->raw) memset(base, 0, size);
    *arena = (struct arena){.base = base, .size = size};
    return RAPT_OK;
}

void rapt__arena_free(struct arena *arena, const rapt_allocator *allocator)
{
    if (!arena->base) return;
    bool intact = rapt__arena_close(arena);
    assert(intact);
    (void)intact;
    unpoison(arena->base, arena->size);
    rapt__free(allocator, arena->base, arena->size);
    *arena = (struct arena){0};
}

bool rapt__arena_close(struct arena *arena)
{
    char *end = arena->last_red_zone;
    arena->last_red_zone = NULL;
    while (end) {
        struct red_zone zone;
        if (!read_red_zone(end, &zone)) return false;
        end = zone.previous;
    }
    return true;
}

void rapt__arena_either(struct arena *arena, const struct arena *other)
{
    arena->used = rapt__max_size(arena->used, other->used);
    arena->overflow |= other->overflow;
}

struct arena rapt__arena_over(void *base, size_t bytes, int rank)
{
    return (struct arena){.base = base, .size = bytes, .raw = true, .rank = rank};
}

/* Returns the part of thread `owner`. Each part is `bytes` bytes long; the first begins `at` bytes
   after the base. */
static struct arena arena_part(const struct arena *arena, size_t at, size_t bytes, int owner)
{
    struct arena part = *arena;
    part.base = arena->base + at + (size_t)owner * bytes;
    part.used = 0, part.size = bytes, part.owner = owner;
    return part;
}

void rapt__arena_parts(struct arena *arena, size_t count, rapt__layout *layout, const void *what,
                       void *mine, void *first)
{
    size_t all, at = arena->used;
    struct arena one = {0};
    layout(&one, what, mine);
    arena->overflow |= one.overflow;
    if (!rapt__times(one.used, count, &all)) arena->overflow = true;
    if (arena->overflow || !advance(arena, all) || !arena->base) return;
    if (first) { /* rank -1 owns nothing, so this writes no red zones */
        struct arena part = arena_part(arena, at, one.used, 0);
        part.rank = -1;
        layout(&part, what, first);
    }
    struct arena part = arena_part(arena, at, one.used, arena->rank);
    layout(&part, what, mine);
    arena->last_red_zone = part.last_red_zone;
}

void rapt__workspace_begin(struct team *team)
{
    if (RED_ZONE > 0) rapt__team_barrier(team);
}

void rapt__workspace_end(struct team *team, struct arena *arena)
{
    if (RED_ZONE == 0) return;
    bool intact = rapt__arena_close(arena);
    assert(intact);
    (void)intact;
    if (team) rapt__team_barrier(team);
}
