/* calls.h - replacements of the C library's file calls. When armed, they let chosen calls fail, be
   interrupted or be short, kill the process, or report each successful call to a function.

   Linked into a test program, they take precedence over the C library's. As a shared object they
   are preloaded into a program and armed by the variable RAPT_FAULTS, "mode at error limit". At
   exit the number of calls is written to the file that RAPT_FAULTS_CALLS names. Calls on standard
   input, output and error are not affected. */
#ifndef RAPT_TESTS_FAULTS_CALLS_H
#define RAPT_TESTS_FAULTS_CALLS_H

#include <stdbool.h>
#include <stddef.h>

enum fault_mode {
    FAULT_NONE,
    FAULT_ONCE,      /* call `at` fails */
    FAULT_FROM,      /* call `at` and all after it fail */
    FAULT_TWICE,     /* calls `at` and `second` fail */
    FAULT_INTERRUPT, /* every call fails with EINTR at its first two attempts */
    FAULT_SHORT,     /* reads and writes take at most `limit` bytes */
    FAULT_KILL, /* short, and the process is killed before call `at`, or halfway if it is a write */
};

struct fault_plan {
    enum fault_mode mode;
    long at, second;
    int error;
    size_t limit; /* 0: unlimited */
    /* Called after each successful call. For a write, data[size] is what was written. May be
       NULL. */
    void (*tell)(const char *call, int file, const char *name, const char *new_name,
                 const void *data, size_t size);
};

void fault_arm(const struct fault_plan *plan);
long fault_disarm(void);        /* returns the number of calls since it was armed */
const char *fault_struck(void); /* the call that failed last, or NULL */
long fault_inherited(void);     /* files opened since it was armed without O_CLOEXEC */

#endif
