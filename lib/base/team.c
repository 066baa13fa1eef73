/* team.c - a thread team: runs one function on every thread, with barriers, tickets and equal
   shares (base.h explains the model). This is the only file that opens a parallel region.

   OpenMP provides the threads. The barrier is our own, because a training step passes hundreds of
   barriers. A thread at the barrier spins first and then sleeps on a condition variable. This
   matters if another program, or another team of this one, occupies the processor of a thread that
   the others wait for. The scheduler gives the processor of a sleeping thread to the awaited thread
   at once. A spinning thread would keep the awaited thread in the run queue for milliseconds, and a
   thread that calls sched_yield would keep it there for a whole time slice. */
#define _GNU_SOURCE /* pthread_getattr_np */
#include "base/base.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <time.h>

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
static void pause_instruction(void)
{
    __builtin_ia32_pause();
}
#else
static void pause_instruction(void) {}
#endif

/* The floating-point modes of a thread: rounding, flush to zero, traps. OpenMP's threads inherit
   these modes when they are created, but the calling thread may have changed its modes since
   then. */
#if defined(__x86_64__)
typedef unsigned fp_modes;
static fp_modes get_modes(void)
{
    return __builtin_ia32_stmxcsr();
}
static void set_modes(fp_modes modes)
{
    __builtin_ia32_ldmxcsr(modes);
}
#elif defined(__aarch64__)
typedef uint64_t fp_modes;
static fp_modes get_modes(void)
{
    fp_modes modes;
    __asm__ volatile("mrs %0, fpcr" : "=r"(modes));
    return modes;
}
static void set_modes(fp_modes modes)
{
    __asm__ volatile("msr fpcr, %0" : : "r"(modes));
}
#else
typedef int fp_modes;
static fp_modes get_modes(void)
{
    return 0;
}
static void set_modes(fp_modes modes)
{
    (void)modes;
}
#endif

/* Returns the number of bytes of stack left to this thread, or SIZE_MAX if the system does not
   report it. */
#if defined(__linux__)
static size_t stack_left(void)
{
    pthread_attr_t attributes;
    void *lowest;
    size_t size, guard;
    if (pthread_getattr_np(pthread_self(), &attributes)) return SIZE_MAX;
    bool known = pthread_attr_getstack(&attributes, &lowest, &size) == 0 &&
                 pthread_attr_getguardsize(&attributes, &guard) == 0;
    pthread_attr_destroy(&attributes);
    if (!known) return SIZE_MAX;
    uintptr_t here = (uintptr_t)__builtin_frame_address(0), end = (uintptr_t)lowest + guard;
    return here > end ? here - end : 0;
}
#else
static size_t stack_left(void)
{
    return SIZE_MAX;
}
#endif

/* The spin limit is the number of pause instructions that a thread executes at a barrier before it
   sleeps. A pause takes 10 to 40 nanoseconds; going to sleep and waking up takes from a few to tens
   of microseconds. The limit adapts: it is doubled when all threads arrive while this one spins,
   unless it has reached SPIN_LIMIT_MAX, and divided by four when this thread has to sleep, unless
   it would fall below SPIN_LIMIT_MIN. It is 0 if there are more threads than processors. */
enum { MAX_THREADS = 1024, SPIN_LIMIT_MIN = 25, SPIN_LIMIT_FIRST = 400, SPIN_LIMIT_MAX = 4000 };
static const double PAUSE = 10e-9; /* minimum duration of a pause in seconds */

struct team_shared {
    _Alignas(64) atomic_int tickets[2]; /* tickets of even and odd phases: one is in use, the other
                                           is reset for the next phase */
    _Alignas(64) atomic_int arrived;    /* number of threads at the barrier */
    _Alignas(64) atomic_uint passed;    /* number of barriers that all threads have reached */
    atomic_int sleepers;                /* number of threads that are waiting, or about to wait, for
                                           the condition */
    int spin_limit;                     /* initial limit of every thread */
    fp_modes modes;                     /* modes of the calling thread, which the others adopt */
    atomic_llong work;                  /* processor time of the threads in nanoseconds, excluding
                                           `waiting` */
    pthread_mutex_t mutex;
    pthread_cond_t condition; /* broadcast after `passed` has changed */
};

int rapt__team_size(int threads)
{
    return rapt__min(threads > 0 ? threads : rapt__min(wanted_threads(), processors()),
                     MAX_THREADS);
}

static void start_team(struct team_shared *shared)
{
    atomic_init(&shared->tickets[0], 0);
    atomic_init(&shared->tickets[1], 0);
    atomic_init(&shared->arrived, 0);
    atomic_init(&shared->passed, 0);
    atomic_init(&shared->sleepers, 0);
    atomic_init(&shared->work, 0);
}

/* Returns the number of threads to request from OpenMP. More threads than processors would only
   wait for one another, so they are requested only if both the caller and OMP_NUM_THREADS ask for
   them, as tests do. */
static int ask_for(int threads, int capacity)
{
    int size = rapt__team_size(threads), wanted = wanted_threads();
    return rapt__min(size, rapt__max(wanted, capacity));
}

/* STACK_NEEDED is the number of bytes of stack that a thread must have left. Each thread of a team
   uses at most 71 KB, of which bf16_gemm in kernel/bf16_gemm.c takes 69 KB. OMP_STACKSIZE applies
   to the whole process, so the stack of OpenMP's threads is checked once, on one thread. */
enum { STACK_NEEDED = 74 << 10 };
enum { STACK_UNKNOWN, STACK_ENOUGH, STACK_SMALL };
static atomic_int workers_stack;

static void measure_stack(void)
{
    if (my_rank() == 0) return;
    size_t left = stack_left();
    atomic_store(&workers_stack, left < STACK_NEEDED ? STACK_SMALL : STACK_ENOUGH);
}

static bool workers_have_stack(void)
{
    if (atomic_load_explicit(&workers_stack, memory_order_relaxed) == STACK_UNKNOWN) {
#pragma omp parallel num_threads(2)
        measure_stack();
    }
    return atomic_load_explicit(&workers_stack, memory_order_relaxed) != STACK_SMALL;
}

/* Spins up to the thread's limit. Returns true if all threads arrive in that time. */
static bool spin(struct team *team, unsigned phase)
{
    for (int i = 0; i < team->spin_limit; i++) {
        if (atomic_load_explicit(&team->shared->passed, memory_order_acquire) != phase) {
            team->waiting += i * PAUSE;
            if (team->spin_limit < SPIN_LIMIT_MAX) team->spin_limit *= 2;
            return true;
        }
        pause_instruction();
    }
    team->waiting += team->spin_limit * PAUSE;
    if (team->spin_limit >= 4 * SPIN_LIMIT_MIN) team->spin_limit /= 4;
    return false;
}

/* No wake-up is lost. The sleeper increments `sleepers`, then reads `passed`; the last thread to
   arrive writes `passed`, then reads `sleepers`. All four are sequentially consistent, so at least
   one of the two reads what the other wrote. (The write is an exchange because emulators of arm64
   on x86 let a load overtake a plain store.) The sleeper holds the mutex from its read until it
   waits for the condition. The last thread locks the mutex once before it broadcasts, so the
   broadcast cannot fall in between. */
static void sleep_through(struct team *team, unsigned phase)
{
    struct team_shared *shared = team->shared;
    double start = rapt__thread_seconds();
    pthread_mutex_lock(&shared->mutex);
    atomic_fetch_add(&shared->sleepers, 1);
    while (atomic_load(&shared->passed) == phase)
        pthread_cond_wait(&shared->condition, &shared->mutex);
    atomic_fetch_sub(&shared->sleepers, 1);
    pthread_mutex_unlock(&shared->mutex);
    team->waiting += rapt__thread_seconds() - start;
}

static void release_team(struct team *team, unsigned phase)
{
    struct team_shared *shared = team->shared;
    atomic_exchange(&shared->passed, phase);
    if (atomic_load(&shared->sleepers) == 0) return;
    double start = rapt__thread_seconds();
    pthread_mutex_lock(&shared->mutex);
    pthread_mutex_unlock(&shared->mutex);
    pthread_cond_broadcast(&shared->condition);
    team->waiting += rapt__thread_seconds() - start;
}

void rapt__team_barrier(struct team *team)
{
    struct team_shared *shared = team->shared;
    unsigned phase = team->phase++;
    if (team->rank == 0)
        atomic_store_explicit(&shared->tickets[team->phase & 1], 0, memory_order_relaxed);
    if (team->size == 1) return;
    if (atomic_fetch_add_explicit(&shared->arrived, 1, memory_order_acq_rel) == team->size - 1) {
        atomic_store_explicit(&shared->arrived, 0, memory_order_relaxed);
        release_team(team, team->phase);
    } else if (!spin(team, phase)) {
        sleep_through(team, phase);
    }
}

static void enter_team(struct team_shared *shared, rapt__work *work, void *argument)
{
    struct team team = {
        .rank = my_rank(), .size = my_team(), .spin_limit = shared->spin_limit, .shared = shared};
    double start = rapt__thread_seconds();
    fp_modes own = get_modes();
    if (team.rank > 0) set_modes(shared->modes);
    work(&team, argument);
    double seconds = rapt__thread_seconds() - start - team.waiting;
    atomic_fetch_add_explicit(&shared->work, (long long)(1e9 * seconds), memory_order_relaxed);
    if (team.rank > 0) set_modes(own);
}

/* Runs `work` on the calling thread. `judged` is true if the call uses one thread only because the
   machine is crowded; the rate of the call is then reported. */
static void run_alone(rapt__work *work, void *argument, bool judged)
{
    struct team_shared shared;
    struct team alone = {.rank = 0, .size = 1, .shared = &shared};
    double start = judged ? rapt__clock_seconds() : 0, before = judged ? rapt__thread_seconds() : 0;
    start_team(&shared);
    work(&alone, argument);
    if (judged) rapt__crowd_report(true, start, rapt__thread_seconds() - before);
}

static void run_team(int size, bool fits, rapt__work *work, void *argument)
{
    struct team_shared shared;
    double start = rapt__clock_seconds();
    (void)size; /* unused without OpenMP */
    start_team(&shared);
    shared.spin_limit = fits ? SPIN_LIMIT_FIRST : 0;
    shared.modes = get_modes();
    pthread_mutex_init(&shared.mutex, NULL);
    pthread_cond_init(&shared.condition, NULL);
#pragma omp parallel num_threads(size)
    enter_team(&shared, work, argument);
    if (fits) rapt__crowd_report(false, start, 1e-9 * (double)atomic_load(&shared.work));
    pthread_cond_destroy(&shared.condition);
    pthread_mutex_destroy(&shared.mutex);
}

/* Restores errno, which barriers and OpenMP may change. */
void rapt__team_run(int threads, rapt__work *work, void *argument)
{
    const int before = errno;
    bool split = threads != 1 && may_fork();
    int capacity = split ? processors() : 1, size = split ? ask_for(threads, capacity) : 1;
    if (size > 1 && !workers_have_stack()) size = 1;
    bool fits = size <= capacity;
    bool crowded = fits && rapt__crowded();
    if (size == 1 || crowded)
        run_alone(work, argument, size > 1);
    else
        run_team(size, fits, work, argument);
    errno = before;
}

void rapt__team_backoff(int attempt)
{
    if (attempt < SPIN_LIMIT_FIRST)
        pause_instruction();
    else
        nanosleep(&(struct timespec){.tv_nsec = 20000}, NULL);
}

int rapt__team_take(struct team *team)
{
    return atomic_fetch_add_explicit(&team->shared->tickets[team->phase & 1], 1,
                                     memory_order_relaxed);
}

/* Sets [*begin, *end) to part number `part` of `parts` parts. */
static void team_part(size_t part, size_t parts, size_t n, size_t grain, size_t *begin, size_t *end)
{
    size_t grains = rapt__ceil_div_size(n, grain);
    *begin = rapt__min_size(grains * part / parts * grain, n);
    *end = rapt__min_size(grains * (part + 1) / parts * grain, n);
}

void rapt__team_share(const struct team *team, size_t n, size_t grain, size_t *begin, size_t *end)
{
    team_part((size_t)team->rank, (size_t)team->size, n, grain, begin, end);
}

enum { PARTS = 4 }; /* parts per thread if there are enough grains */

bool rapt__team_part(struct team *team, size_t n, size_t grain, size_t *begin, size_t *end)
{
    size_t max = team->size == 1 ? 1 : PARTS * (size_t)team->size;
    size_t parts = rapt__min_size(rapt__ceil_div_size(n, grain), max);
    size_t part = (size_t)rapt__team_take(team);
    if (part >= parts) return false;
    team_part(part, parts, n, grain, begin, end);
    return true;
}
