/* sort.c - heapsort (Williams 1964, Algorithm 232), because the qsort of the C library may allocate
   memory. */
#include "base/base.h"

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
