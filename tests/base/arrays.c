/* arrays.c - arrays that grow, sizes that overflow, a heap and sorting. */
#include "base/base.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

/* ---- memory: arrays that grow keep their items, and stay as they are if memory is exhausted;
   arithmetic on sizes detects overflow. ---- */

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

/* ---- heap: the root is the last item of the order after every insertion, change and removal, for
   items of every size. ---- */

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

static void check_heap(const unsigned char *items, size_t count, size_t size)
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
            if (count % 16 == 0) check_heap(items, count + 1, size);
        }
        for (uint64_t i = 0; i < 50; i++) { /* a new root */
            put(items, size, rapt__mix(i, size));
            rapt__heap_down(items, 0, ITEMS, size, by_first_byte, NULL);
        }
        check_heap(items, ITEMS, size);
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

/* ---- sort: the result is sorted and holds the same items, after at most 3 n log2 n comparisons
   for every input. ---- */

struct item {
    uint64_t key;
    uint32_t index;
};

static int counted(const void *context, const void *x, const void *y)
{
    uint64_t a = ((const struct item *)x)->key, b = ((const struct item *)y)->key;
    size_t *calls = *(size_t *const *)context;
    ++*calls;
    return (a > b) - (a < b);
}

static void check_sort(struct item *items, size_t count)
{
    uint64_t sum = 0, indices = 0;
    size_t calls = 0, *counter = &calls, max = 0;
    for (size_t i = 0; i < count; i++) sum += items[i].key * (items[i].index + 1u);
    rapt__sort(items, count, sizeof *items, counted, &counter);
    for (size_t i = 0; i < count; i++) {
        sum -= items[i].key * (items[i].index + 1u);
        indices += items[i].index;
        if (i) assert_true(items[i - 1].key <= items[i].key);
    }
    assert_true(sum == 0);
    assert_int_equal(indices, count ? count * (count - 1) / 2 : 0);
    for (size_t n = count; n; n /= 2) max += 3 * count; /* 3 n log2 n */
    assert_true(calls <= max);
}

static void every_shape(void **state)
{
    (void)state;
    enum { MAX = 3000 };
    static struct item items[MAX];
    uint64_t seed = 3;
    for (size_t count = 0; count <= MAX; count = count < 40 ? count + 1 : count + 740) {
        for (int shape = 0; shape < 6; shape++) {
            for (size_t i = 0; i < count; i++) {
                uint64_t r = rapt__mix(seed++, i);
                const uint64_t keys[] = {r, i, count - i, 7, r % 3, i % 2 ? i : count};
                items[i] = (struct item){keys[shape], (uint32_t)i};
            }
            check_sort(items, count);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(growing),         cmocka_unit_test(no_memory),   cmocka_unit_test(sizes),
        cmocka_unit_test(every_item_size), cmocka_unit_test(every_shape),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
