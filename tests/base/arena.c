/* arena.c - pieces: measured as they are handed out, aligned, apart, zeroed; sizes that do not
   fit are refused; the allocator gets back what it gave. */
#include "base/base.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

static size_t lay_out(struct arena *arena, char *pieces[20])
{
    for (size_t i = 0; i < 20; i++) pieces[i] = rapt__arena_take(arena, i, 1 + i * 7);
    return arena->used;
}

static void pieces_are_apart(void **state)
{
    (void)state;
    struct arena arena = {0};
    char *pieces[20], *end = NULL;
    size_t size = lay_out(&arena, pieces);
    for (int i = 0; i < 20; i++) assert_null(pieces[i]);
    assert_int_equal(rapt__arena_reserve(&arena, NULL), RAPT_OK);
    assert_int_equal(lay_out(&arena, pieces), size);
    assert_int_equal(arena.size, size);
    assert_null(pieces[0]); /* nothing was asked for */
    for (size_t i = 1; i < 20; i++) {
        size_t bytes = i * (1 + i * 7);
        assert_int_equal((uintptr_t)pieces[i] % 64, 0);
        assert_true(pieces[i] >= end);
        for (size_t b = 0; b < bytes; b++) assert_int_equal(pieces[i][b], 0);
        memset(pieces[i], 0xff, bytes);
        end = pieces[i] + bytes;
    }
    assert_true(end <= arena.base + arena.size);
    rapt__arena_free(&arena, NULL);
    assert_null(arena.base);
}

static void sizes_that_do_not_fit(void **state)
{
    (void)state;
    const size_t sizes[][2] = {
        {SIZE_MAX, 2}, {SIZE_MAX / 2 + 1, 2}, {SIZE_MAX - 3, 1}, {1, SIZE_MAX - 2}};
    for (size_t i = 0; i < 4; i++) {
        struct arena arena = {0};
        assert_null(rapt__arena_take(&arena, sizes[i][0], sizes[i][1]));
        assert_true(arena.overflow);
        assert_int_equal(rapt__arena_reserve(&arena, NULL), RAPT_NO_MEMORY);
    }
    struct arena sum = {0};
    for (int i = 0; i < 5; i++) rapt__arena_take(&sum, SIZE_MAX / 4, 1);
    assert_true(sum.overflow);
}

struct counting {
    size_t held, calls;
    bool refuse;
};

static void *count_alloc(void *user, size_t bytes)
{
    struct counting *c = user;
    c->calls++;
    if (c->refuse) return NULL;
    c->held += bytes;
    return rapt__alloc(NULL, bytes);
}

static void count_free(void *user, void *memory, size_t bytes)
{
    struct counting *c = user;
    c->held -= bytes;
    rapt__free(NULL, memory, bytes);
}

static void the_callers_allocator(void **state)
{
    (void)state;
    struct counting counting = {0};
    rapt_allocator allocator = {count_alloc, count_free, &counting};
    struct arena arena = {0};
    rapt__arena_take(&arena, 100, 4);
    assert_int_equal(rapt__arena_reserve(&arena, &allocator), RAPT_OK);
    assert_int_equal(counting.held, arena.size);
    rapt__arena_free(&arena, &allocator);
    assert_int_equal(counting.held, 0);
    counting.refuse = true;
    rapt__arena_take(&arena, 100, 4);
    assert_int_equal(rapt__arena_reserve(&arena, &allocator), RAPT_NO_MEMORY);
    assert_null(rapt__alloc(&allocator, 0));
    assert_int_equal(counting.calls, 2);
}

static void checked_arithmetic(void **state)
{
    (void)state;
    size_t out = 5;
    assert_false(rapt__times(SIZE_MAX, 2, &out));
    assert_false(rapt__plus(SIZE_MAX, 1, &out));
    assert_int_equal(out, 5);
    assert_true(rapt__times(SIZE_MAX, 1, &out) && out == SIZE_MAX);
    assert_true(rapt__times(0, SIZE_MAX, &out) && out == 0);
    assert_true(rapt__plus(SIZE_MAX, 0, &out) && out == SIZE_MAX);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pieces_are_apart), cmocka_unit_test(sizes_that_do_not_fit),
        cmocka_unit_test(the_callers_allocator), cmocka_unit_test(checked_arithmetic)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
