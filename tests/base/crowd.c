/* crowd.c - when calls use one thread, and for how long. The times are invented; nothing is timed.
   A machine is described by the seconds of work that a team and one thread gain per second. */
#include "base/crowd.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

struct machine {
    double team, alone; /* seconds of work per second */
    double call;        /* seconds of a call */
};
struct outcome {
    double team, alone; /* seconds in calls of each kind */
};

static struct outcome run(struct crowd *c, double *now, const struct machine *m, double seconds)
{
    struct outcome o = {0};
    for (double end = *now + seconds; *now < end;) {
        bool alone = c->alone;
        *now += m->call;
        *(alone ? &o.alone : &o.team) += m->call;
        rapt__crowd_record(c, alone, *now, m->call, m->call * (alone ? m->alone : m->team));
    }
    return o;
}

static void team_where_processors_are_free(void **state)
{
    (void)state;
    struct crowd c = {0};
    double now = 100;
    const struct machine two = {1.9, 1, 1e-3}, serial = {1, 1, 1e-3}, slow = {1.9, 1, 3};
    assert_true(run(&c, &now, &two, 10).alone <= 0);
    assert_true(run(&c, &now, &serial, 10).alone <= 0);
    assert_true(run(&c, &now, &slow, 60).alone <= 0);
}

/* One thread runs for at least nine tenths of the time, with short calls and with long ones. */
static void one_thread_where_a_team_is_slower(void **state)
{
    (void)state;
    static const double calls[] = {1e-5, 1e-3, 0.3, 2};
    for (int i = 0; i < 4; i++) {
        struct crowd c = {0};
        double now = 100;
        const struct machine m = {0.5, 1, calls[i]};
        run(&c, &now, &m, 40 * calls[i]); /* one thread is tried first */
        struct outcome o = run(&c, &now, &m, 400 * calls[i] + 10);
        assert_true(o.alone > 0.8 * (o.alone + o.team));
        assert_true(o.team > 0);
    }
}

/* If both share processors with other programs, the better one is chosen. */
static void better_of_both(void **state)
{
    (void)state;
    struct crowd c = {0};
    double now = 100;
    const struct machine worse = {0.3, 0.4, 1e-3}, better = {0.5, 0.2, 1e-3};
    struct outcome o = run(&c, &now, &worse, 20);
    assert_true(o.alone > 0.8 * (o.alone + o.team));
    run(&c, &now, &better, 2);
    o = run(&c, &now, &better, 20);
    assert_true(o.team > 0.9 * (o.alone + o.team));
}

static void team_again_when_the_crowd_is_gone(void **state)
{
    (void)state;
    struct crowd c = {0};
    double now = 100;
    const struct machine crowded = {0.5, 1, 1e-3}, free = {1.9, 1, 1e-3};
    run(&c, &now, &crowded, 20);
    run(&c, &now, &free, 1);
    assert_true(run(&c, &now, &free, 20).alone <= 0);
}

/* A call that began before a decision does not count afterwards. */
static void calls_of_before(void **state)
{
    (void)state;
    struct crowd c = {0};
    rapt__crowd_record(&c, false, 100, 1, 0.1);
    assert_true(c.alone);
    rapt__crowd_record(&c, false, 101, 1, 0.1);
    assert_true(c.alone && c.wall <= 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(team_where_processors_are_free),
        cmocka_unit_test(one_thread_where_a_team_is_slower),
        cmocka_unit_test(better_of_both),
        cmocka_unit_test(team_again_when_the_crowd_is_gone),
        cmocka_unit_test(calls_of_before),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
