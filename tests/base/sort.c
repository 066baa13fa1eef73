/* sort.c - the result is sorted and holds the same items, after at most 3 n log2 n comparisons for
   every input. */
#include "base/base.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

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

static void check(struct item *items, size_t count)
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
            check(items, count);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(every_shape)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
