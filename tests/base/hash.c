/* hash.c - the published values of FNV-1a; any one changed byte changes the hash. */
#include "base/base.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

/* From the FNV test suite: http://www.isthe.com/chongo/src/fnv/test_fnv.c */
static void published(void **state)
{
    (void)state;
    assert_int_equal(rapt__hash(NULL, 0), 0x811c9dc5u);
    assert_int_equal(rapt__hash("a", 1), 0xe40c292cu);
    assert_int_equal(rapt__hash("foobar", 6), 0xbf9cf968u);
}

static void one_byte(void **state)
{
    (void)state;
    unsigned char text[9] = "any text";
    uint32_t hash = rapt__hash(text, sizeof text);
    for (size_t i = 0; i < sizeof text; i++) {
        unsigned char before = text[i];
        for (unsigned add = 1; add < 256; add++) {
            text[i] = (unsigned char)(before + add);
            assert_int_not_equal(rapt__hash(text, sizeof text), hash);
        }
        text[i] = before;
    }
}

/* The hash is constant for one table and differs between tables. */
static void of_tables(void **state)
{
    (void)state;
    static char tables[64][64];
    uint32_t first = rapt__hash_from(tables[0], "a", 1);
    int same = 0;
    assert_int_equal(rapt__hash_from(tables[0], "a", 1), first);
    for (int i = 1; i < 64; i++) same += rapt__hash_from(tables[i], "a", 1) == first;
    assert_int_equal(same, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(published), cmocka_unit_test(one_byte),
                                       cmocka_unit_test(of_tables)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
