/* team.c - teams of threads, and when a call uses one thread. */
#define _DEFAULT_SOURCE

#include "base/base.h"

#include <errno.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

/* ---- team: every index is taken once, shares cover everything, and what was written before a
   barrier is read after it; also within a caller's parallel region, from several threads, and when
   late members make the others sleep. ---- */

#ifdef _OPENMP
#include <omp.h>
static void openmp_would_use(int threads)
{
    omp_set_num_threads(threads);
}
static int openmp_uses(void)
{
    return omp_get_max_threads();
}
static int processors(void)
{
    return omp_get_num_procs();
}
static int may_have(int threads)
{
    return threads;
}
#else
static void openmp_would_use(int threads)
{
    (void)threads;
}
static int openmp_uses(void)
{
    return 1;
}
static int processors(void)
{
    return 1;
}
static int may_have(int threads)
{
    (void)threads;
    return 1;
}
#endif

enum { ITEMS = 500, ROUNDS = 60 };

struct sheet {
    int threads;
    int seen[ITEMS], shared[ITEMS], wrong;
    int ranks[16], members;
};

static void work(struct team *team, void *argument)
{
    struct sheet *s = argument;
    if (team->rank < 16) s->ranks[team->rank]++;
    for (int round = 0; round < ROUNDS; round++) {
        for (int i; (i = rapt__team_take(team)) < ITEMS;) s->seen[i]++;
        rapt__team_barrier(team);
        size_t begin, end;
        rapt__team_share(team, ITEMS, 16, &begin, &end);
        for (size_t i = begin; i < end; i++) s->shared[i] += s->seen[i] == round + 1;
        rapt__team_barrier(team);
    }
    if (team->rank == 0) s->members = team->size;
}

static void check(const struct sheet *s, int max)
{
    assert_true(s->members >= 1 && s->members <= max);
    for (int i = 0; i < s->members; i++) assert_int_equal(s->ranks[i], 1);
    for (int i = 0; i < ITEMS; i++) {
        assert_int_equal(s->seen[i], ROUNDS);
        assert_int_equal(s->shared[i], ROUNDS);
    }
}

static void every_size(void **state)
{
    (void)state;
    for (int threads = 1; threads <= 7; threads++) {
        struct sheet s = {0};
        rapt__team_run(threads, work, &s);
        check(&s, threads);
    }
}

static void inside_a_region(void **state)
{
    (void)state;
    struct sheet sheets[3];
    memset(sheets, 0, sizeof sheets);
#pragma omp parallel for num_threads(3)
    for (int i = 0; i < 3; i++) rapt__team_run(4, work, &sheets[i]);
    for (int i = 0; i < 3; i++) check(&sheets[i], 4);
}

struct late {
    int members, sum, seen; /* the last sum of rank 0, and how often it was right */
    int written[16];
};

/* In each round another member arrives a millisecond late, which exceeds any spin limit. */
static void late_work(struct team *team, void *argument)
{
    struct late *n = argument;
    for (int round = 1; round <= 3 * team->size; round++) {
        if (round % team->size == team->rank) usleep(1000);
        n->written[team->rank] = round;
        rapt__team_barrier(team);
        if (team->rank == 0) {
            n->sum = 0;
            for (int i = 0; i < team->size; i++) n->sum += n->written[i];
            n->seen += n->sum == round * team->size;
        }
        rapt__team_barrier(team);
    }
    if (team->rank == 0) n->members = team->size;
}

static void late_members(void **state)
{
    (void)state;
    for (int threads = 1; threads <= 7; threads++) {
        struct late n = {0};
        rapt__team_run(threads, late_work, &n);
        assert_in_range(n.members, 1, threads);
        assert_int_equal(n.seen, 3 * n.members);
    }
}

static void count(struct team *team, void *argument)
{
    if (team->rank == 0) *(int *)argument = team->size;
    rapt__team_barrier(team);
}

/* On a small machine 64 members start only if OpenMP is asked for them, too. Then they do start,
   since the load of the processors counts only for teams with one processor per member. */
static void not_more_than_processors(void **state)
{
    (void)state;
    int before = openmp_uses(), capacity = processors(), members = 0;
    openmp_would_use(1);
    rapt__team_run(64, count, &members);
    assert_in_range(members, 1, capacity < 64 ? capacity : 64);
    rapt__team_run(0, count, &members);
    assert_int_equal(members, 1);
    openmp_would_use(capacity + 3);
    rapt__team_run(0, count, &members);
    assert_in_range(members, 1, capacity);
    rapt__team_run(capacity + 2, count, &members);
    assert_int_equal(members, may_have(capacity + 2));
    openmp_would_use(before);
}

static void *from_thread(void *argument)
{
    rapt__team_run(4, work, argument);
    return NULL;
}

static void from_other_threads(void **state)
{
    (void)state;
    struct sheet sheets[3];
    pthread_t threads[3];
    memset(sheets, 0, sizeof sheets);
    for (int i = 0; i < 3; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, from_thread, &sheets[i]), 0);
    for (int i = 0; i < 3; i++) pthread_join(threads[i], NULL);
    for (int i = 0; i < 3; i++) check(&sheets[i], 4);
}

static void shares_cover(void **state)
{
    (void)state;
    for (size_t n = 0; n < 70; n++)
        for (size_t grain = 1; grain < 20; grain += 3)
            for (int size = 1; size < 9; size++) {
                size_t at = 0;
                for (int rank = 0; rank < size; rank++) {
                    struct team team = {.rank = rank, .size = size};
                    size_t begin, end;
                    rapt__team_share(&team, n, grain, &begin, &end);
                    assert_int_equal(begin, at);
                    assert_true(end >= begin && (end == n || end % grain == 0));
                    at = end;
                }
                assert_int_equal(at, n);
            }
}

struct parts {
    size_t n, grain;
    int taken[70];
};

/* Takes every item of each of three successive loops once, in multiples of grain. */
static void take_parts(struct team *team, void *argument)
{
    struct parts *p = argument;
    for (int round = 0; round < 3; round++) {
        size_t begin, end;
        while (rapt__team_part(team, p->n, p->grain, &begin, &end)) {
            bool whole =
                begin < end && begin % p->grain == 0 && (end == p->n || end % p->grain == 0);
            for (size_t i = begin; i < end && i < p->n; i++) p->taken[i] += whole ? 1 : 100;
        }
        rapt__team_barrier(team);
    }
}

static void parts_cover(void **state)
{
    (void)state;
    for (int threads = 1; threads <= 4; threads++)
        for (size_t n = 0; n < 70; n += 3)
            for (size_t grain = 1; grain < 20; grain += 6) {
                struct parts p = {.n = n, .grain = grain};
                rapt__team_run(threads, take_parts, &p);
                for (size_t i = 0; i < 70; i++) assert_int_equal(p.taken[i], i < n ? 3 : 0);
            }
}

static void sizes(void **state)
{
    (void)state;
    assert_int_equal(rapt__team_size(3), 3);
    assert_true(rapt__team_size(0) >= 1);
    assert_true(rapt__team_size(1 << 30) <= 1024);
    assert_int_equal(rapt__team_size(-1), rapt__team_size(0));
}

static void set_errno(struct team *team, void *unused)
{
    (void)unused;
    errno = EAGAIN; /* as a wait for a futex does on arm64 */
    rapt__team_barrier(team);
}

static void keeps_errno(void **unused)
{
    (void)unused;
    for (int threads = 1; threads <= 2; threads++) {
        errno = ERANGE;
        rapt__team_run(threads, set_errno, NULL);
        assert_int_equal(errno, ERANGE);
    }
}

/* ---- crowd: when calls use one thread, and for how long. The times are invented; nothing is
   timed. A machine is described by the seconds of work that a team and one thread gain per second.
   ---- */

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
    openmp_would_use(8); /* teams larger than a small machine */
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_size),
        cmocka_unit_test(inside_a_region),
        cmocka_unit_test(from_other_threads),
        cmocka_unit_test(late_members),
        cmocka_unit_test(keeps_errno),
        cmocka_unit_test(not_more_than_processors),
        cmocka_unit_test(shares_cover),
        cmocka_unit_test(parts_cover),
        cmocka_unit_test(sizes),
        cmocka_unit_test(team_where_processors_are_free),
        cmocka_unit_test(one_thread_where_a_team_is_slower),
        cmocka_unit_test(better_of_both),
        cmocka_unit_test(team_again_when_the_crowd_is_gone),
        cmocka_unit_test(calls_of_before),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
