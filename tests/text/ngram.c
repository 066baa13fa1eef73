/* ngram.c - compares clipped counts of common n-grams with counting them one by one. */
#include "help.h"

enum { MAX = 24, ORDERS = 6 };

static bool same(const uint32_t *a, const uint32_t *b, int order)
{
    return memcmp(a, b, (size_t)order * sizeof *a) == 0;
}

static int times(const uint32_t *ids, size_t length, const uint32_t *gram, int order)
{
    int count = 0;
    for (size_t i = 0; i + (size_t)order <= length; i++) count += same(ids + i, gram, order);
    return count;
}

/* Sums, for each distinct n-gram of the hypothesis, the smaller of its two counts. */
static long long naive(const uint32_t *h, size_t nh, const uint32_t *r, size_t nr, int order)
{
    long long matches = 0;
    for (size_t i = 0; i + (size_t)order <= nh; i++) {
        size_t first = 0;
        while (!same(h + first, h + i, order)) first++;
        if (first < i) continue;
        int in_h = times(h, nh, h + i, order), in_r = times(r, nr, h + i, order);
        matches += in_h < in_r ? in_h : in_r;
    }
    return matches;
}

static void against_definition(void **state)
{
    (void)state;
    uint64_t seed = 4;
    for (int round = 0; round < 3000; round++) {
        struct counting counting = {.fails = -1};
        rapt_allocator allocator = counting_allocator(&counting);
        struct ngrams grams;
        uint32_t ids[2 * MAX];
        long long matches[ORDERS];
        size_t h = below(&seed, MAX + 1), r = below(&seed, MAX + 1), kinds = 1 + below(&seed, 5);
        for (size_t i = 0; i < h + r; i++) ids[i] = (uint32_t)below(&seed, kinds) * 0x3FFFFFFFu;
        assert_int_equal(rapt__ngrams_create(&grams, h, r, &allocator), RAPT_OK);
        if (h + r) memcpy(grams.ids, ids, (h + r) * sizeof *ids);
        rapt__ngrams_match(&grams, ORDERS, matches);
        for (int n = 1; n <= ORDERS; n++)
            assert_int_equal(matches[n - 1], naive(ids, h, ids + h, r, n));
        rapt__ngrams_free(&grams, &allocator);
        assert_int_equal(counting.living, 0);
    }
}

static void totals(void **state)
{
    (void)state;
    assert_int_equal(rapt__ngrams_total(0, 1), 0);
    assert_int_equal(rapt__ngrams_total(3, 4), 0);
    assert_int_equal(rapt__ngrams_total(4, 4), 1);
    assert_int_equal(rapt__ngrams_total(9, 2), 8);
}

static void no_memory(void **state)
{
    (void)state;
    struct counting counting = {.fails = 0};
    rapt_allocator allocator = counting_allocator(&counting);
    struct ngrams grams;
    assert_int_equal(rapt__ngrams_create(&grams, 2, 3, &allocator), RAPT_NO_MEMORY);
    assert_int_equal(counting.living, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(against_definition),
        cmocka_unit_test(totals),
        cmocka_unit_test(no_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
