/* heap.c - the root is the last item of the order after every insertion, change and removal, for
   items of every size. */
#include "base/base.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

enum { ITEMS = 300, WIDEST = 40 };

static int by_first_byte(const void *context, const void *x, const void *y)
{
    int a = *(const unsigned char *)x, b = *(const unsigned char *)y;
    assert_null(context);
    return (a > b) - (a < b);
}

/* Makes an item: one byte to order by, repeated. */
static void put(unsigned char *item, size_t size, uint64_t seed)
{
    memset(item, (int)(seed % 97), size);
}

static void check(const unsigned char *items, size_t count, size_t size)
{
    for (size_t i = 0; i < count; i++) {
        if (i > 0) assert_true(items[(i - 1) / 2 * size] >= items[i * size]);
        for (size_t k = 1; k < size; k++) assert_int_equal(items[i * size + k], items[i * size]);
    }
}

static void every_item_size(void **state)
{
    (void)state;
    static unsigned char items[ITEMS * WIDEST];
    for (size_t size = 1; size <= WIDEST; size++) {
        for (size_t count = 0; count < ITEMS; count++) {
            put(items + count * size, size, rapt__mix(size, count));
            rapt__heap_up(items, count, size, by_first_byte, NULL);
            if (count % 16 == 0) check(items, count + 1, size);
        }
        for (uint64_t i = 0; i < 50; i++) { /* a new root */
            put(items, size, rapt__mix(i, size));
            rapt__heap_down(items, 0, ITEMS, size, by_first_byte, NULL);
        }
        check(items, ITEMS, size);
        unsigned char last = 255;
        for (size_t count = ITEMS; count > 0;) {
            assert_true(items[0] <= last);
            last = items[0];
            count--;
            memcpy(items, items + count * size, size);
            rapt__heap_down(items, 0, count, size, by_first_byte, NULL);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(every_item_size)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
