/* calls.h - stand-ins for the C library's file calls. Armed, they let chosen calls fail, be
   interrupted or be short, kill the process, or tell a function of each call that succeeded.

   Linked into a test program they come before the C library's; as a shared object they are
   preloaded into a program and armed by the variable RAPT_FAULTS: "mode at error limit"; at its end
   the number of calls goes to the file that RAPT_FAULTS_CALLS names. Calls on standard input,
   output and error are left alone. */
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
    FAULT_KILL, /* short, and before call `at` the process is killed: half of a write is done */
};

struct fault_plan {
    enum fault_mode mode;
    long at, second;
    int error;
    size_t limit; /* 0: none */
    /* What has been done; data, of a write: [size]. May be NULL. */
    void (*tell)(const char *call, int file, const char *name, const char *new_name,
                 const void *data, size_t size);
};

void fault_arm(const struct fault_plan *plan);
long fault_disarm(void);        /* calls since then */
const char *fault_struck(void); /* the call that failed last; NULL: none has */
long fault_inherited(void);     /* files opened since then without O_CLOEXEC */

#endif
