/* pairs.c - pairs keep their index and are returned in order of decreasing count. */
#include "help.h"

static void found_again(void **state)
{
    (void)state;
    struct pair_table pairs = {0};
    for (int32_t i = 0; i < 5000; i++) assert_int_equal(rapt__pairs_at(&pairs, i, i * 7 % 11), i);
    for (int32_t i = 0; i < 5000; i++) assert_int_equal(rapt__pairs_at(&pairs, i, i * 7 % 11), i);
    assert_int_equal(rapt__pairs_at(&pairs, 0, 1), 5000);
    assert_int_equal(rapt__pairs_at(&pairs, 1, 0), 5001);
    rapt__pairs_free(&pairs);
}

static void uses(void **state)
{
    (void)state;
    struct pair_table pairs = {0};
    rapt__pairs_at(&pairs, 5, 6);
    rapt__pairs_at(&pairs, 6, 5);
    static const uint32_t words[] = {3, 3, 4, 9, 9};
    for (size_t i = 0; i < 5; i++) assert_true(rapt__pairs_use(&pairs, 1, words[i]));
    assert_int_equal(pairs.pairs[0].uses, 0);
    static const uint32_t expected[] = {9, 4, 3}; /* each word once, the last first */
    uint32_t use = pairs.pairs[1].uses;
    for (size_t i = 0; i < 3; i++, use = pairs.uses[use - 1].next)
        assert_int_equal(pairs.uses[use - 1].word, expected[i]);
    assert_int_equal(use, 0);
    rapt__pairs_free(&pairs);
}

/* Counts may decrease after they were offered. Pairs must come out by their current counts. */
static void by_falling_count(void **state)
{
    (void)state;
    enum { PAIRS = 400 };
    uint64_t seed = 14;
    for (int round = 0; round < 20; round++) {
        struct pair_table pairs = {0};
        bool taken[PAIRS] = {false};
        for (int32_t i = 0; i < PAIRS; i++) {
            rapt__pairs_at(&pairs, i * 37 % PAIRS, i);
            pairs.pairs[i].count = below(&seed, 30);
        }
        assert_true(rapt__pairs_offer(&pairs, 0));
        for (;;) {
            size_t fallen = below(&seed, PAIRS);
            pairs.pairs[fallen].count -= below(&seed, (size_t)pairs.pairs[fallen].count + 1);
            ptrdiff_t expected = -1, got = rapt__pairs_best(&pairs);
            for (ptrdiff_t i = 0; i < PAIRS; i++) {
                const struct pair *a = &pairs.pairs[i];
                if (taken[i] || a->count < 2) continue;
                const struct pair *b = expected < 0 ? NULL : &pairs.pairs[expected];
                if (!b || a->count > b->count || (a->count == b->count && a->key < b->key))
                    expected = i;
            }
            assert_int_equal(got, expected);
            if (got < 0) break;
            taken[got] = true;
        }
        rapt__pairs_free(&pairs);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(found_again),
        cmocka_unit_test(uses),
        cmocka_unit_test(by_falling_count),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
