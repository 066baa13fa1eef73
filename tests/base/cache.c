/* cache.c - rows that fall into few sets of the cache collide; rows that spread over all sets do
   not, nor do few rows. The numbers hold for L2 caches from 128 KB to 16 MB. */
#include "base/base.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

static void collisions(void **state)
{
    (void)state;
    assert_true(rapt__rows_collide(1 << 20, 512));
    assert_true(rapt__rows_collide(3 << 20, 512)); /* the largest power of two in the distance is 4
                                                      MB, too */
    assert_false(rapt__rows_collide(1 << 20, 2));
    assert_false(rapt__rows_collide((1 << 20) + 1, 512));
    assert_false(rapt__rows_collide((1 << 20) + 16, 512));
    assert_true(rapt__rows_collide(16, 1 << 20)); /* more than the cache */
    for (int rows = 1; rows < 1 << 20; rows *= 2) /* more rows collide sooner */
        assert_true(!rapt__rows_collide(2048, rows) || rapt__rows_collide(2048, 2 * rows));
    assert_false(rapt__rows_collide(2048, 0));
}

/* Reads a line of each row, of adjacent rows and of rows 4 MB apart. L1 caches have 2 to 64
   ways. */
static void tiles(void **state)
{
    (void)state;
    assert_false(rapt__tiles_collide(1 << 20, 2));
    assert_true(rapt__tiles_collide(1 << 20, 128));
    assert_false(rapt__tiles_collide((1 << 20) + 16, 128));
    assert_false(rapt__tiles_collide(16, 14));
    int ways = rapt__first_level_ways();
    assert_false(rapt__tiles_collide(1 << 20, ways));
    assert_false(rapt__tiles_collide(1 << 20, ways + ways / 2));
    assert_true(rapt__tiles_collide(1 << 20, 2 * ways));
}

static void sizes(void **state)
{
    (void)state;
    assert_true(rapt__second_level_size() >= 1 << 12);
    assert_int_equal(rapt__near_size() == rapt__second_level_size(), rapt__third_level_far());
    assert_in_range(rapt__first_level_ways(), 1, UINT16_MAX);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(collisions), cmocka_unit_test(tiles),
                                       cmocka_unit_test(sizes)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
