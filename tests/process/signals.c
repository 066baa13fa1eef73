/* signals.c - a timer interrupts every operation, and its system calls (no SA_RESTART), a thousand
   times a second. The bits must be the same as without. Argument: signals per operation. */
#define _DEFAULT_SOURCE
#include "process/operations.h"

#include <signal.h>
#include <sys/time.h>

enum { MAX_REPEATS = 100000 };
static volatile sig_atomic_t arrived;
static volatile float handled;

/* Uses floating point, as a signal handler of the host may. */
static void interrupt(int number)
{
    (void)number;
    arrived++;
    handled = handled * 0.5f + (float)arrived;
}

static void set_timer(int microseconds)
{
    const struct itimerval timer = {{0, microseconds}, {0, microseconds}};
    assert_int_equal(setitimer(ITIMER_REAL, &timer, NULL), 0);
}

/* Repeats an operation until `signals` signals have arrived, or *repeats times if `signals` is 0.
   Returns the hash of its results. */
static uint64_t repeat(struct scene *s, const struct operation *o, int signals, int *repeats)
{
    uint64_t h = 0;
    int i = 0, max = signals ? MAX_REPEATS : *repeats;
    arrived = 0;
    while (i < max && (!signals || arrived < signals)) {
        uint64_t once = scene_run(s, o);
        if (!once) fail_msg("%s fails after %d signals", o->name, (int)arrived);
        h = h * 31 + once;
        i++;
    }
    *repeats = i;
    return h;
}

static int wanted = 20;

static void interrupted(int variant, int threads, long *total)
{
    struct scene *s = scene_new(variant, threads, 0, NULL),
                 *calm = scene_new(variant, threads, 1, NULL);
    for (int i = 0; i < OPERATIONS; i++) {
        int repeats;
        set_timer(1000);
        uint64_t h = repeat(s, &operations[i], wanted, &repeats);
        *total += arrived;
        set_timer(0);
        if (repeat(calm, &operations[i], 0, &repeats) != h)
            fail_msg("%s: other bits under signals", operations[i].name);
    }
    scene_free(s, NULL);
    scene_free(calm, NULL);
}

static void test_signals(void **state)
{
    (void)state;
    long total = 0;
    struct sigaction action = {.sa_handler = interrupt}, before, now;
    sigemptyset(&action.sa_mask);
    assert_int_equal(sigaction(SIGALRM, &action, &before), 0);
    interrupted(1, 1, &total);
    interrupted(0, 3, &total);
    assert_int_equal(sigaction(SIGALRM, &before, &now), 0);
    assert_true(now.sa_handler == interrupt); /* the library did not replace the handler */
    assert_true(total >= wanted);
    printf("cases: process/signals: %ld signals during %d operations\n", total, 2 * OPERATIONS);
}

int main(int count, char **words)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_signals)};
    if (count > 1) wanted = atoi(words[1]);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
