/* struct.c - structs that begin with their size, between versions: shorter, equal and longer ones,
   and sizes that were never set. */
#include "base/base.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

struct first {
    size_t size;
    int a, b;
};
struct second { /* the version the library knows in these tests */
    size_t size;
    int a, b;
    double c;
};
struct third {
    size_t size;
    int a, b;
    double c, d;
};

static rapt_status read(struct second *own, const void *given, rapt_message *why)
{
    memset(own, 0x5a, sizeof *own);
    return rapt__struct_read(own, sizeof *own, given, "rapt_second", why);
}

static void shorter_and_equal(void **state)
{
    (void)state;
    struct second own;
    struct first old = {sizeof old, 1, 2};
    assert_int_equal(read(&own, &old, NULL), RAPT_OK);
    assert_true(own.size == sizeof own && own.a == 1 && own.b == 2 && own.c == 0);
    struct second same = {sizeof same, 1, 2, 3};
    assert_int_equal(read(&own, &same, NULL), RAPT_OK);
    assert_memory_equal(&own, &same, sizeof own);
    assert_int_equal(read(&own, &(size_t){sizeof(size_t)}, NULL), RAPT_OK);
    assert_true(own.size == sizeof own && own.a == 0 && own.b == 0 && own.c == 0);
}

static void longer(void **state)
{
    (void)state;
    struct second own;
    rapt_message why;
    struct third new = {sizeof new, 1, 2, 3, 0};
    assert_int_equal(read(&own, &new, &why), RAPT_OK);
    assert_true(own.size == sizeof own && own.a == 1 && own.b == 2 && own.c == 3);
    new.d = 4;
    assert_int_equal(read(&own, &new, &why), RAPT_BAD_ARGUMENT);
    assert_string_equal(
        why.text,
        "rapt_second: size is 32, but this library knows only 24 bytes; the rest must be 0");
    assert_int_equal(own.a, 0x5a5a5a5a); /* a failed call changes nothing */
    assert_int_equal(read(&own, &new, NULL), RAPT_BAD_ARGUMENT);
}

static void not_set(void **state)
{
    (void)state;
    struct second own, zero = {0}, garbage = {(size_t)-8, 1, 2, 3};
    rapt_message why;
    assert_int_equal(read(&own, NULL, &why), RAPT_BAD_ARGUMENT);
    assert_string_equal(why.text, "rapt_second is NULL");
    assert_int_equal(read(&own, &zero, &why), RAPT_BAD_ARGUMENT);
    assert_string_equal(why.text, "rapt_second: set size to sizeof(rapt_second)");
    assert_int_equal(read(&own, &garbage, &why), RAPT_BAD_ARGUMENT); /* and reads nothing there */
    assert_string_equal(why.text, "rapt_second: set size to sizeof(rapt_second)");
}

static void results(void **state)
{
    (void)state;
    const struct second own = {sizeof own, 1, 2, 3};
    struct first old[2] = {{sizeof old[0], 7, 7}, {7, 7, 7}};
    assert_int_equal(rapt__struct_write(old, &own, sizeof own, "rapt_second", NULL), RAPT_OK);
    assert_true(old->size == sizeof *old && old->a == 1 && old->b == 2);
    assert_true(old[1].size == 7 && old[1].a == 7); /* does not write past the caller's struct */
    struct third new = {sizeof new, 7, 7, 7, 7};
    assert_int_equal(rapt__struct_write(&new, &own, sizeof own, "rapt_second", NULL), RAPT_OK);
    assert_true(new.size == sizeof new &&new.a == 1 && new.b == 2 && new.c == 3 && new.d == 0);
    rapt_message why;
    struct second zero = {0};
    assert_int_equal(rapt__struct_write(&zero, &own, sizeof own, "rapt_second", &why),
                     RAPT_BAD_ARGUMENT);
    assert_string_equal(why.text, "rapt_second: set size to sizeof(rapt_second)");
    assert_int_equal(zero.a, 0);
    assert_int_equal(rapt__struct_write(NULL, &own, sizeof own, "rapt_second", &why),
                     RAPT_BAD_ARGUMENT);
}

static void defaults(void **state)
{
    (void)state;
    const struct second own = {sizeof own, 1, 2, 3};
    struct first old[2] = {{7, 7, 7}, {7, 7, 7}};
    assert_int_equal(rapt__struct_default(old, sizeof *old, &own, sizeof own), RAPT_OK);
    assert_true(old->size == sizeof *old && old->a == 1 && old->b == 2 && old[1].size == 7);
    struct third new = {7, 7, 7, 7, 7};
    assert_int_equal(rapt__struct_default(&new, sizeof new, &own, sizeof own), RAPT_OK);
    assert_true(new.size == sizeof new &&new.b == 2 && new.c == 3 && new.d == 0);
    static const size_t sizes[] = {0, sizeof(size_t) - 1, 70000, SIZE_MAX};
    const struct third before = new;
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
        assert_int_equal(rapt__struct_default(&new, sizes[i], &own, sizeof own), RAPT_BAD_ARGUMENT);
    assert_memory_equal(&new, &before, sizeof new);
    assert_int_equal(rapt__struct_default(NULL, sizeof new, &own, sizeof own), RAPT_BAD_ARGUMENT);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(shorter_and_equal),
                                       cmocka_unit_test(longer), cmocka_unit_test(not_set),
                                       cmocka_unit_test(results), cmocka_unit_test(defaults)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
