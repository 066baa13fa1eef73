/* crowd.h - decides whether a team is faster than one thread. It is slower where other programs
   take the processors of its members, who then wait for one another at every barrier. Used by
   team.c.

   The gain of a thread is its processor time per second. The gain of a team is the sum over its
   members, less the time that barriers take. If a team gains less than one second per second, one
   thread may be faster, even if it has to share its processor as well. So one thread is tried and
   compared. If it gains more, calls use one thread for a while before a team is tried again.
   Results do not depend on this, since the number of threads changes no bit. */
#ifndef RAPT_BASE_CROWD_H
#define RAPT_BASE_CROWD_H

#include <stdbool.h>

struct crowd {
    bool alone;         /* whether calls use one thread */
    double wall, work;  /* seconds of calls since the last decision; of work in them */
    double enough;      /* `wall` at which the next decision falls */
    double alone_rate;  /* seconds of work per second on one thread, measured at */
    double alone_known; /* this time */
};

/* Records a call that ended at `now` and ran on one thread (`alone`) or on a team. c->alone says
   how to run the next. Zero-initialize: no history, and a team is tried first. */
void rapt__crowd_record(struct crowd *c, bool alone, double now, double wall, double work);

/* The functions below keep one crowd for the process: what its last calls reveal about the load of
   the machine. Any thread may call them, also several at once. rapt__crowded is always false if the
   system has no clock of the processor time of a thread. */
bool rapt__crowded(void); /* whether calls use one thread */
/* Reports that a call that began at `start` has ended. Of several that end at once, some may be
   lost. */
void rapt__crowd_report(bool alone, double start, double work);
double rapt__clock_seconds(void);  /* monotonic clock */
double rapt__thread_seconds(void); /* processor time of this thread */

#endif
