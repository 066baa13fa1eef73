/* cmocka.h - replaces cmocka when tests are compiled for another processor, for which Debian has
   only the C library. It contains the part of cmocka that tests/base and tests/kernel use. The
   first failed assertion ends the program. */
#ifndef RAPT_TESTS_CROSS_CMOCKA_H
#define RAPT_TESTS_CROSS_CMOCKA_H

#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct CMUnitTest {
    const char *name;
    void (*test_func)(void **state);
    int (*setup_func)(void **state);
    int (*teardown_func)(void **state);
    void *initial_state;
};

static int cross_skipped;

static inline void cross_check(int holds, const char *what, const char *file, int line)
{
    if (holds) return;
    printf("%s:%d: does not hold: %s\n", file, line, what);
    exit(1);
}

static inline int cross_near(double a, double b, double epsilon)
{
    return a == b || fabs(a - b) <= epsilon || (isnan(a) && isnan(b));
}

static inline int cross_run(const struct CMUnitTest *tests, size_t count, int (*setup)(void **),
                            int (*teardown)(void **))
{
    void *group = NULL;

    if (setup != NULL) cross_check(setup(&group) == 0, "setup", "group", 0);
    for (size_t i = 0; i < count; i++) {
        void *state = tests[i].initial_state != NULL ? tests[i].initial_state : group;

        cross_skipped = 0;
        if (tests[i].setup_func != NULL)
            cross_check(tests[i].setup_func(&state) == 0, "setup", tests[i].name, 0);
        tests[i].test_func(&state);
        if (tests[i].teardown_func != NULL)
            cross_check(tests[i].teardown_func(&state) == 0, "teardown", tests[i].name, 0);
        printf("%s: %s\n", tests[i].name, cross_skipped ? "skipped" : "passed");
    }
    if (teardown != NULL) cross_check(teardown(&group) == 0, "teardown", "group", 0);
    return 0;
}

#define cross_that(c)                    cross_check((c) != 0, #c, __FILE__, __LINE__)
#define assert_true(c)                   cross_that(c)
#define assert_false(c)                  cross_that(!(c))
#define assert_null(p)                   cross_that((p) == NULL)
#define assert_non_null(p)               cross_that((p) != NULL)
#define assert_ptr_equal(a, b)           cross_that((const void *)(a) == (const void *)(b))
#define assert_ptr_not_equal(a, b)       cross_that((const void *)(a) != (const void *)(b))
#define assert_int_equal(a, b)           cross_that((intmax_t)(a) == (intmax_t)(b))
#define assert_int_not_equal(a, b)       cross_that((intmax_t)(a) != (intmax_t)(b))
#define assert_in_range(a, b, c)         cross_that((a) >= (b) && (a) <= (c))
#define assert_string_equal(a, b)        cross_that(strcmp((a), (b)) == 0)
#define assert_string_not_equal(a, b)    cross_that(strcmp((a), (b)) != 0)
#define assert_memory_equal(a, b, n)     cross_that(memcmp((a), (b), (n)) == 0)
#define assert_memory_not_equal(a, b, n) cross_that(memcmp((a), (b), (n)) != 0)
#define assert_float_equal(a, b, e)      cross_that(cross_near((double)(a), (double)(b), (double)(e)))
#define fail()                           cross_that(!"reached")
#define print_message(...)               printf(__VA_ARGS__)
#define print_error(...)                 printf(__VA_ARGS__)
#define fail_msg(...)                    (printf(__VA_ARGS__), fail())
#define skip()                                                                                     \
    do {                                                                                           \
        cross_skipped = 1;                                                                         \
        return;                                                                                    \
    } while (0)

#define cmocka_unit_test(f)                                                                        \
    {                                                                                              \
#f, f, NULL, NULL, NULL                                                                    \
    }
#define cmocka_unit_test_setup(f, s)                                                               \
    {                                                                                              \
#f, f, s, NULL, NULL                                                                       \
    }
#define cmocka_unit_test_teardown(f, t)                                                            \
    {                                                                                              \
#f, f, NULL, t, NULL                                                                       \
    }
#define cmocka_unit_test_setup_teardown(f, s, t)                                                   \
    {                                                                                              \
#f, f, s, t, NULL                                                                          \
    }
#define cmocka_unit_test_prestate(f, p)                                                            \
    {                                                                                              \
#f, f, NULL, NULL, p                                                                       \
    }
#define cmocka_run_group_tests(tests, s, t)         cross_run(tests, sizeof(tests) / sizeof *(tests), s, t)
#define cmocka_run_group_tests_name(n, tests, s, t) cmocka_run_group_tests(tests, s, t)

#endif
