/* crowd.c - chooses between a team and one thread by comparing their rates (see base.h). */
#define _POSIX_C_SOURCE 200809L /* clock_gettime */
#include "base/base.h"

#include <pthread.h>
#include <stdatomic.h>
#include <time.h>

/* A team is tried for at least one call and at least TRIAL seconds, which span many time slices of
   the scheduler. If the team's rate is below 1 and the rate of one thread is unknown, one thread is
   then tried for as long as the team was. If the rate of one thread is known and higher, one thread
   is used for ALONE times as long. A measured rate is trusted for BELIEVED seconds longer than
   that. */
static const double TRIAL = 0.05, ALONE = 8, BELIEVED = 2;

static bool alone_is_known(const struct crowd *c, double now)
{
    return c->alone_known > 0 && now - c->alone_known < BELIEVED + ALONE * c->wall;
}

static void judge_team(struct crowd *c, double now)
{
    double rate = c->work / c->wall;
    bool known = alone_is_known(c, now);
    c->enough = TRIAL;
    if (rate >= 1 || (known && rate >= c->alone_rate)) return;
    c->alone = true;
    c->enough = known ? ALONE * c->wall : c->wall;
}

static void judge_alone(struct crowd *c, double now)
{
    double rate = c->work / c->wall;
    c->alone_rate = alone_is_known(c, now) ? (c->alone_rate + rate) / 2 : rate;
    c->alone_known = now;
    c->alone = false;
    c->enough = TRIAL;
}

void rapt__crowd_record(struct crowd *c, bool alone, double now, double wall, double work)
{
    if (alone != c->alone) return; /* the call began before the last decision */
    if (!(c->enough > 0)) c->enough = TRIAL;
    c->wall += wall;
    c->work += work;
    if (c->wall < c->enough) return;
    if (alone)
        judge_alone(c, now);
    else
        judge_team(c, now);
    c->wall = c->work = 0;
}

/* ---- the crowd of this process ---- */

#if defined(__linux__)
enum { CLOCKS = true };
static double seconds_of(clockid_t clock)
{
    struct timespec t;
    clock_gettime(clock, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}
double rapt__clock_seconds(void)
{
    return seconds_of(CLOCK_MONOTONIC);
}
double rapt__thread_seconds(void)
{
    return seconds_of(CLOCK_THREAD_CPUTIME_ID);
}
#else
enum { CLOCKS = false };
double rapt__clock_seconds(void)
{
    return 0;
}
double rapt__thread_seconds(void)
{
    return 0;
}
#endif

static struct {
    pthread_mutex_t mutex;
    struct crowd crowd;
    atomic_bool alone; /* copy of crowd.alone, read without the mutex */
} machine = {.mutex = PTHREAD_MUTEX_INITIALIZER};

bool rapt__crowded(void)
{
    return atomic_load_explicit(&machine.alone, memory_order_relaxed);
}

void rapt__crowd_report(bool alone, double start, double work)
{
    double now = rapt__clock_seconds();
    if (!CLOCKS || pthread_mutex_trylock(&machine.mutex)) return;
    rapt__crowd_record(&machine.crowd, alone, now, now - start, work);
    atomic_store_explicit(&machine.alone, machine.crowd.alone, memory_order_relaxed);
    pthread_mutex_unlock(&machine.mutex);
}
