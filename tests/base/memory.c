/* memory.c - arrays that grow keep their items, and stay as they are if memory is exhausted;
   arithmetic on sizes detects overflow. */
#include "base/base.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

static void growing(void **state)
{
    (void)state;
    size_t capacity = 0, before = 0;
    int *array = NULL;
    for (int round = 0; round < 10; round++) {
        array = rapt__grown(NULL, array, &capacity, sizeof *array);
        assert_non_null(array);
        assert_true(capacity >= 2 * before && capacity > 0);
        for (size_t i = 0; i < before; i++) assert_int_equal(array[i], i);
        for (size_t i = before; i < capacity; i++) array[i] = (int)i;
        before = capacity;
    }
    rapt__free(NULL, array, capacity * sizeof *array);
    capacity = SIZE_MAX / 2 + 1;
    assert_null(rapt__grown(NULL, NULL, &capacity, 1));
    capacity = SIZE_MAX / 4;
    assert_null(rapt__grown(NULL, NULL, &capacity, 8));
    assert_int_equal(capacity, SIZE_MAX / 4);
}

static void *nothing(void *user, size_t bytes)
{
    (void)user;
    (void)bytes;
    return NULL;
}

static void freed(void *user, void *memory, size_t bytes)
{
    (void)memory;
    (void)bytes;
    ++*(int *)user;
}

static void no_memory(void **state)
{
    (void)state;
    int frees = 0, array[4] = {1, 2, 3, 4};
    const rapt_allocator allocator = {nothing, freed, &frees};
    size_t capacity = 4;
    assert_null(rapt__grown(&allocator, array, &capacity, sizeof *array));
    assert_int_equal(capacity, 4);
    assert_int_equal(frees, 0);
}

static void sizes(void **state)
{
    (void)state;
    size_t result = 7;
    assert_false(rapt__times(SIZE_MAX / 2, 3, &result));
    assert_false(rapt__plus(SIZE_MAX, 1, &result));
    assert_int_equal(result, 7);
    assert_true(rapt__times(SIZE_MAX / 3, 3, &result) && result == SIZE_MAX / 3 * 3);
    assert_true(rapt__times(SIZE_MAX, 0, &result) && result == 0);
    assert_true(rapt__plus(SIZE_MAX - 1, 1, &result) && result == SIZE_MAX);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(growing), cmocka_unit_test(no_memory),
                                       cmocka_unit_test(sizes)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
