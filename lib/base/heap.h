/* heap.h - a binary heap (Williams 1964, Algorithm 232) in an array items[0 .. count) of items of
   `size` bytes. As in C++'s push_heap, the root items[0] is the item that comes last in `order`: no
   parent comes before its child. The functions are inline so that the compiler can specialize them
   for a constant size and order. */
#ifndef RAPT_LIB_HEAP_H
#define RAPT_LIB_HEAP_H

#include <stddef.h>
#include <string.h>

/* Returns a negative number if a comes before b. */
typedef int rapt__order(const void *context, const void *a, const void *b);

static inline void rapt__swap_words(char *a, char *b, size_t size) /* size must be 1, 4 or 8 */
{
    char copy[8];
    memcpy(copy, a, size);
    memcpy(a, b, size);
    memcpy(b, copy, size);
}

static inline void rapt__swap(char *a, char *b, size_t size)
{
    size_t at = 0;
    for (; at + 8 <= size; at += 8) rapt__swap_words(a + at, b + at, 8);
    if (at + 4 <= size) rapt__swap_words(a + at, b + at, 4), at += 4;
    for (; at < size; at++) rapt__swap_words(a + at, b + at, 1);
}

/* Moves item `at` toward the root, past every parent that comes before it. Must be called after
   appending an item. */
static inline void rapt__heap_up(void *items, size_t at, size_t size, rapt__order *order,
                                 const void *context)
{
    char *base = items;
    for (size_t parent; at > 0; at = parent) {
        parent = (at - 1) / 2;
        if (order(context, base + parent * size, base + at * size) >= 0) return;
        rapt__swap(base + parent * size, base + at * size, size);
    }
}

/* Moves item `at` toward the leaves, past every child that comes after it. Must be called after
   replacing the root. */
static inline void rapt__heap_down(void *items, size_t at, size_t count, size_t size,
                                   rapt__order *order, const void *context)
{
    char *base = items;
    for (size_t child; (child = 2 * at + 1) < count; at = child) {
        if (child + 1 < count && order(context, base + child * size, base + (child + 1) * size) < 0)
            child++;
        if (order(context, base + at * size, base + child * size) >= 0) return;
        rapt__swap(base + at * size, base + child * size, size);
    }
}

#endif
