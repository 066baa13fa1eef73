/* sort.c - heap sort (Williams 1964, Algorithm 232): n log n for every input, in place. The C
   library's qsort may allocate. */
#include "base/base.h"

static void swap(char *a, char *b, size_t size)
{
    for (size_t i = 0; i < size; i++) {
        char kept = a[i];
        a[i] = b[i];
        b[i] = kept;
    }
}

/* Lets item root of items[0 .. count) sink until no child is larger. */
static void sink(char *items, size_t root, size_t count, size_t size, rapt__order *order,
                 const void *context)
{
    for (size_t child; (child = 2 * root + 1) < count; root = child) {
        if (child + 1 < count &&
            order(context, items + child * size, items + (child + 1) * size) < 0)
            child++;
        if (order(context, items + root * size, items + child * size) >= 0) return;
        swap(items + root * size, items + child * size, size);
    }
}

void rapt__sort(void *items, size_t count, size_t size, rapt__order *order, const void *context)
{
    char *base = items;
    for (size_t root = count / 2; root-- > 0;) sink(base, root, count, size, order, context);
    for (size_t last = count; last-- > 1;) {
        swap(base, base + last * size, size);
        sink(base, 0, last, size, order, context);
    }
}
