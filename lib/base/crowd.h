/* crowd.h - decides whether a team is faster than one thread. A team is slower if other programs
   occupy the processors of its members, because the members wait for one another at every barrier.
   Used by team.c.

   The gain of a thread is the processor time that it gets per second. The gain of a team is the sum
   over its members, minus the time that barriers take. If a team gains less than one second per
   second, one thread may be faster, even if it has to share its processor as well. Calls then try
   one thread, and the gains are compared. If one thread gains more, calls use it for a while before
   a team is tried again. Results do not depend on this, since they have the same bits for any
   number of threads. */
#ifndef RAPT_BASE_CROWD_H
#define RAPT_BASE_CROWD_H

#include <stdbool.h>

struct crowd {
    bool alone;         /* true while calls use one thread */
    double wall, work;  /* seconds that calls have taken since the last decision, and seconds of
                           work done in them */
    double enough;      /* value of `wall` at which the next decision is made */
    double alone_rate;  /* seconds of work per second with one thread */
    double alone_known; /* time at which alone_rate was measured, or 0 if it has not been */
};

/* Records a call that ended at `now` and ran on one thread (`alone`) or on a team. Afterwards
   c->alone says how to run the next call. A zero-initialized crowd has no history, and a team is
   tried first. */
void rapt__crowd_record(struct crowd *c, bool alone, double now, double wall, double work);

/* The functions below share one crowd for the whole process. It describes the load of the machine
   as observed by the most recent calls. Any thread may call them at any time. rapt__crowded always
   returns false if the system has no clock for the processor time of a thread. */
bool rapt__crowded(void); /* returns true if calls should use one thread */
/* Reports that a call that began at `start` has ended after `work` seconds of work. If several
   calls end at the same time, some of the reports may be lost. */
void rapt__crowd_report(bool alone, double start, double work);
double rapt__clock_seconds(void);  /* monotonic clock */
double rapt__thread_seconds(void); /* processor time of this thread */

#endif
