/* team.c - threads that walk down the stairs together. The one file that opens a parallel
   region. OpenMP gives the threads; the barrier is our own, for a team passes hundreds of them in
   a step, and where another program takes a processor away for a while, waiting must hand its
   own over instead of spinning. */
#include "base/base.h"

#include <sched.h>
#include <stdatomic.h>

#ifdef _OPENMP
#include <omp.h>
static int processors(void)
{
    return omp_get_num_procs();
}
static int wanted_threads(void)
{
    return omp_get_max_threads();
}
static int my_rank(void)
{
    return omp_get_thread_num();
}
static int my_team(void)
{
    return omp_get_num_threads();
}
static bool may_fork(void)
{
    return !omp_in_parallel();
}
#else
static int processors(void)
{
    return 1;
}
static int wanted_threads(void)
{
    return 1;
}
static int my_rank(void)
{
    return 0;
}
static int my_team(void)
{
    return 1;
}
static bool may_fork(void)
{
    return false;
}
#endif

#if defined(__x86_64__) || defined(__i386__)
static void rest_a_moment(void)
{
    __builtin_ia32_pause();
}
#else
static void rest_a_moment(void) {}
#endif

/* How many moments a member spins at a barrier before it hands its processor over, some 50
   microseconds: partners that are at work are there by then; none at all if there are
   more members than processors. */
enum { MOST_THREADS = 1024, PATIENCE = 4000 };

struct team_shared {
    _Alignas(64) atomic_int tickets[2]; /* of even and odd phases: one is drawn from while the
                                           other is set back */
    _Alignas(64) atomic_int arrived;    /* members at the barrier */
    _Alignas(64) atomic_uint passed;    /* barriers all members have reached */
    int patience;
};

int rapt__team_size(int threads)
{
    if (threads <= 0) threads = wanted_threads() < processors() ? wanted_threads() : processors();
    return threads < MOST_THREADS ? threads : MOST_THREADS;
}

static void enter(struct team_shared *shared, rapt__work *work, void *argument)
{
    struct team team = {.rank = my_rank(), .size = my_team(), .shared = shared};
    work(&team, argument);
}

void rapt__team_run(int threads, rapt__work *work, void *argument)
{
    struct team_shared shared;
    atomic_init(&shared.tickets[0], 0);
    atomic_init(&shared.tickets[1], 0);
    atomic_init(&shared.arrived, 0);
    atomic_init(&shared.passed, 0);
    int size = rapt__team_size(threads);
    shared.patience = size <= processors() ? PATIENCE : 0;
    if (size == 1 || !may_fork()) {
        struct team alone = {.rank = 0, .size = 1, .shared = &shared};
        work(&alone, argument);
        return;
    }
#pragma omp parallel num_threads(size)
    enter(&shared, work, argument);
}

static void wait_for(struct team_shared *shared, unsigned phase)
{
    for (int moment = 0; atomic_load_explicit(&shared->passed, memory_order_acquire) == phase;
         moment++)
        if (moment < shared->patience)
            rest_a_moment();
        else
            sched_yield();
}

void rapt__team_barrier(struct team *team)
{
    struct team_shared *shared = team->shared;
    int last = team->size - 1;
    if (team->rank == 0)
        atomic_store_explicit(&shared->tickets[(team->phase + 1) & 1], 0, memory_order_relaxed);
    if (last == 0) {
        team->phase++;
    } else if (atomic_fetch_add_explicit(&shared->arrived, 1, memory_order_acq_rel) == last) {
        atomic_store_explicit(&shared->arrived, 0, memory_order_relaxed);
        atomic_store_explicit(&shared->passed, ++team->phase, memory_order_release);
    } else {
        wait_for(shared, team->phase++);
    }
}

int rapt__team_take(struct team *team)
{
    return atomic_fetch_add_explicit(&team->shared->tickets[team->phase & 1], 1,
                                     memory_order_relaxed);
}

void rapt__team_share(const struct team *team, size_t n, size_t grain, size_t *begin, size_t *end)
{
    size_t grains = (n + grain - 1) / grain, size = (size_t)team->size, rank = (size_t)team->rank;
    size_t first = grains * rank / size * grain, last = grains * (rank + 1) / size * grain;
    *begin = first < n ? first : n;
    *end = last < n ? last : n;
}
