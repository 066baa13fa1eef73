/* sort.c - heap sort (Williams 1964): no memory, no bad inputs. */
#include "text/text.h"

int rapt__by_number(const void *context, uint64_t a, uint64_t b)
{
    (void)context;
    return (a > b) - (a < b);
}

/* Puts items[hole] where it belongs among its children, of count items in all. */
static void sink(struct ranked *items, size_t hole, size_t count, rapt__order *order,
                 const void *context)
{
    struct ranked item = items[hole];
    for (size_t child = 2 * hole + 1; child < count; child = 2 * hole + 1) {
        if (child + 1 < count && order(context, items[child].key, items[child + 1].key) < 0)
            child++;
        if (order(context, item.key, items[child].key) >= 0) break;
        items[hole] = items[child];
        hole = child;
    }
    items[hole] = item;
}

void rapt__rank_sort(struct ranked *items, size_t count, rapt__order *order, const void *context)
{
    for (size_t i = count / 2; i-- > 0;) sink(items, i, count, order, context);
    for (size_t last = count; last-- > 1;) {
        struct ranked most = items[0];
        items[0] = items[last];
        items[last] = most;
        sink(items, 0, last, order, context);
    }
}
