/* scaling_crowded.c - two threads next to a busy program: the speed of 2 threads relative to 1. A
   separate process keeps one of two processors busy; everything that is measured is confined to
   these two. Samples of 1 and 2 threads alternate, so that other activity on the machine affects
   both alike, and medians are compared. */
#define _GNU_SOURCE
#include "scaling.h"

#include "kit/program.h"

#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#ifdef __linux__
#include <sched.h>
#include <sys/prctl.h>
#endif

enum { ROUNDS = 15, QUICK_ROUNDS = 3 };
static const double SAMPLE = 0.2; /* seconds: many time slices of the scheduler */

#ifdef __linux__
static void keep_to(const cpu_set_t *processors)
{
    if (sched_setaffinity(0, sizeof *processors, processors))
        bench_fail("cannot choose the processors of a process");
}

/* Finds the first two processors that this process may use. *second contains only the second of
   them. */
static void two_processors(cpu_set_t *two, cpu_set_t *second)
{
    cpu_set_t all;
    CPU_ZERO(two);
    if (sched_getaffinity(0, sizeof all, &all))
        bench_fail("cannot find out which processors may be used");
    for (size_t i = 0; i < CPU_SETSIZE && CPU_COUNT(two) < 2; i++) {
        if (!CPU_ISSET(i, &all)) continue;
        CPU_SET(i, two);
        CPU_ZERO(second);
        CPU_SET(i, second);
    }
}

/* Starts a process that is busy until it is stopped, or until this one ends. */
static pid_t start_busy(const cpu_set_t *processor)
{
    pid_t parent = getpid(), busy = fork();
    if (busy < 0) bench_fail("cannot start a process");
    if (busy > 0) return busy;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    keep_to(processor);
    if (getppid() != parent) _exit(0);
    for (volatile unsigned i = 0;;) i = i + 1;
}

/* Confines this process to two processors and the new one to the second of them. */
static pid_t begin_crowd(void)
{
    cpu_set_t two, second;
    two_processors(&two, &second);
    keep_to(&two);
    return start_busy(&second);
}
#else
static pid_t begin_crowd(void)
{
    bench_fail("--crowded is supported only on Linux");
}
#endif

static double sample(const struct crowded_job *job, bool once)
{
    double start = bench_now(), taken;
    int calls = 0;
    do {
        job->work(job->state, 1);
        calls++;
        taken = bench_now() - start;
    } while (!once && taken < SAMPLE);
    return taken / calls;
}

static void print_line(struct bench *b, const struct crowded_job *job, const struct timing t[2])
{
    double ratio = t[0].median / t[1].median;
    b->lines++;
    if (b->json) {
        json_t *line = json_pack("{s:s, s:{s:i}, s:i, s:f, s:f, s:f, s:i, s:o}", "name", job->name,
                                 "shape", "size", job->size, "threads", 2, "seconds", t[1].median,
                                 "seconds_of_one", t[0].median, "ratio", ratio, "runs", t[0].runs,
                                 "environment", bench_environment());
        if (json_dumpf(line, stdout, JSON_COMPACT | JSON_REAL_PRECISION(6)))
            bench_fail("a result could not be written");
        putchar('\n');
        json_decref(line);
    } else {
        printf("%-26s\t%5d\t%10s\t%10s\t%6.2f\n", job->name, job->size,
               bench_duration(t[0].median).text, bench_duration(t[1].median).text, ratio);
    }
    if (fflush(stdout) || ferror(stdout)) bench_fail("standard output cannot be written");
}

static void measure_crowded(struct bench *b, int index)
{
    struct crowded_job jobs[2];
    double seconds[2][ROUNDS];
    int rounds = b->check ? 1 : b->quick ? QUICK_ROUNDS : ROUNDS;
    for (int t = 0; t < 2; t++) {
        jobs[t] = crowded_job(index, t + 1, b->check);
        jobs[t].work(jobs[t].state, 1); /* warms up */
    }
    for (int i = 0; i < rounds; i++)
        for (int t = 0; t < 2; t++) seconds[t][i] = sample(&jobs[t], b->check);
    print_line(
        b, &jobs[0],
        (struct timing[2]){bench_summary(seconds[0], rounds), bench_summary(seconds[1], rounds)});
    for (int t = 0; t < 2; t++) jobs[t].end(jobs[t].state);
}

int scaling_crowded(struct bench *b)
{
    pid_t busy = begin_crowd();
    b->header = "name                      \t size\t  1 thread\t 2 threads\t ratio";
    for (int i = 0; i < CROWDED_JOBS; i++)
        if (bench_wants(b, crowded_jobs[i].name, crowded_jobs[i].label)) measure_crowded(b, i);
    kill(busy, SIGKILL);
    waitpid(busy, NULL, 0);
    return bench_end(b);
}
