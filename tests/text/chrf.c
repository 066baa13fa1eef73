/* chrf.c - chrF2 equals sacreBLEU's on the stored corpora, also on invalid bytes. Also tests
   arguments and lack of memory. */
#include "help.h"
#include "scores.h"

static void stored_scores(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof scored / sizeof *scored; i++) {
        const struct scored *s = &scored[i];
        rapt_chrf chrf = {0};
        for (size_t k = 0; k < 6 && s->pairs[k].hypothesis; k++)
            assert_int_equal(rapt_chrf_add(&chrf, text_of(s->pairs[k].hypothesis),
                                           text_of(s->pairs[k].reference), NULL, NULL),
                             RAPT_OK);
        double got = rapt_chrf_score(&chrf);
        if (fabs(got - s->chrf) > 1e-7) fail_msg("%s: %.8f instead of %.8f", s->name, got, s->chrf);
    }
}

static void counts(void **state)
{
    (void)state;
    rapt_chrf chrf = {0};
    rapt_chrf_add(&chrf, text_of("a ä\u00a0a\xFF"), text_of("aäb"), NULL, NULL);
    const rapt_chrf expected = {{2, 1, 0, 0, 0, 0}, {4, 3, 2, 0, 0, 0}, {3, 2, 1, 0, 0, 0}};
    assert_memory_equal(&chrf, &expected, sizeof chrf);
}

static void bad_arguments(void **state)
{
    (void)state;
    rapt_chrf chrf = {{1}, {2}, {3}}, before = chrf;
    rapt_text ok = text_of("x"), null = {NULL, 1}, huge = {"", (size_t)1 << 40};
    assert_int_equal(rapt_chrf_add(NULL, ok, ok, NULL, NULL), RAPT_BAD_ARGUMENT);
    assert_int_equal(rapt_chrf_add(&chrf, null, ok, NULL, NULL), RAPT_BAD_ARGUMENT);
    assert_int_equal(rapt_chrf_add(&chrf, ok, null, NULL, NULL), RAPT_BAD_ARGUMENT);
    assert_int_equal(rapt_chrf_add(&chrf, huge, ok, NULL, NULL), RAPT_BAD_ARGUMENT);
    assert_int_equal(rapt_chrf_add(&chrf, ok, huge, NULL, NULL), RAPT_BAD_ARGUMENT);
    assert_memory_equal(&chrf, &before, sizeof chrf);
}

static void no_memory(void **state)
{
    (void)state;
    struct counting counting = {.fails = 0};
    rapt_allocator allocator = counting_allocator(&counting);
    rapt_chrf chrf = {{1}, {2}, {3}}, before = chrf;
    assert_int_equal(rapt_chrf_add(&chrf, text_of("x"), text_of("y"), &allocator, NULL),
                     RAPT_NO_MEMORY);
    assert_memory_equal(&chrf, &before, sizeof chrf);
    counting = (struct counting){.fails = -1};
    assert_int_equal(rapt_chrf_add(&chrf, text_of("x"), text_of("y"), &allocator, NULL), RAPT_OK);
    assert_int_equal(counting.calls, 1);
    assert_int_equal(counting.living, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(stored_scores),
        cmocka_unit_test(counts),
        cmocka_unit_test(bad_arguments),
        cmocka_unit_test(no_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
