/* tickets.c - work that members of a team take run by run: every item once, the first run of each
   member by its rank, however late the others arrive; and the prediction of the next item. */
#include "attention/problem.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

enum { ITEMS = 23, RUNS = 4, THREADS = 4 };

struct taken {
    int run, members;
    atomic_int times[ITEMS], by[ITEMS];
};

static void take(struct team *team, void *argument)
{
    struct taken *t = argument;
    struct tickets tickets = rapt__tickets(team, t->run);
    if (team->rank == 0) t->members = team->size;
    for (int i = 0; i < ITEMS; i++) {
        if (!rapt__mine(&tickets)) continue;
        atomic_fetch_add(&t->times[i], 1);
        atomic_store(&t->by[i], team->rank);
    }
    rapt__team_barrier(team);
}

static void test_take(void **state)
{
    (void)state;
    for (int threads = 1; threads <= THREADS; threads++)
        for (int run = 1; run <= RUNS; run++) {
            struct taken t = {.run = run};
            rapt__team_run(threads, take, &t);
            for (int i = 0; i < ITEMS; i++) {
                assert_int_equal(atomic_load(&t.times[i]), 1);
                assert_int_equal(atomic_load(&t.by[i]), atomic_load(&t.by[i / run * run]));
                if (i / run < t.members) assert_int_equal(atomic_load(&t.by[i]), i / run);
            }
        }
}

/* Two members, in runs of three items: 0 1 2, 6 7 8, ... */
static void test_next(void **state)
{
    (void)state;
    struct team team = {.rank = 0, .size = 2};
    struct tickets t = rapt__tickets(&team, 3);
    static const int next[] = {1, 2, 6};
    for (int i = 0; i < 3; i++) {
        assert_true(rapt__mine(&t));
        assert_int_equal(rapt__next_item(&t), next[i]);
    }
}

static void test_runs(void **state)
{
    (void)state;
    assert_int_equal(rapt__run_of_pairs(1, 8, 1), 1);
    assert_int_equal(rapt__run_of_pairs(7, 8, 2), 1);
    assert_int_equal(rapt__run_of_pairs(8, 8, 2), 8);
    assert_int_equal(rapt__run_of_pairs(63, 8, 2), 8);
    assert_int_equal(rapt__run_of_pairs(64, 8, 2), 16);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_take), cmocka_unit_test(test_next),
                                       cmocka_unit_test(test_runs)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
