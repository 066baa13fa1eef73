/* crowd.h - decides for team.c whether a team is faster than one thread. It is slower if other
   programs occupy the processors of some members, because all members wait for these at every
   barrier.

   The rate of a call is the processor time that its threads get per second, minus the time spent in
   barriers. If a team's rate is below 1, one thread may be faster, even if it, too, has to share
   its processor. Calls then try one thread, and the rates are compared. If that of one thread is
   higher, calls use one thread for a while before they try a team again. Results do not depend on
   this, because they have the same bits for any number of threads. */
#ifndef RAPT_BASE_CROWD_H
#define RAPT_BASE_CROWD_H

#include <stdbool.h>

struct crowd {
    bool alone;         /* true while calls use one thread */
    double wall, work;  /* seconds that calls have taken since the last decision, and seconds of
                           processor time, without barriers, that their threads have used */
    double enough;      /* value of `wall` at which the next decision is made */
    double alone_rate;  /* seconds of work per second with one thread */
    double alone_known; /* time at which alone_rate was measured, or 0 if it has not been */
};

/* Records a call that ended at `now`, ran on one thread (`alone`) or a team, and took `wall`
   seconds with `work` seconds of processor time. c->alone then says how to run the next call.
   Zero-initialize a crowd; a team is tried first. */
void rapt__crowd_record(struct crowd *c, bool alone, double now, double wall, double work);

/* The functions below share one crowd, which describes the load of the machine as seen by the
   latest calls of the whole process. Any thread may call them at any time. rapt__crowded always
   returns false if the system has no clock for the processor time of a thread. */
bool rapt__crowded(void); /* returns true if calls should use one thread */
/* Reports that a call that began at `start` has ended and used `work` seconds of processor time. If
   several calls end at the same time, some of the reports may be lost. */
void rapt__crowd_report(bool alone, double start, double work);
double rapt__clock_seconds(void);  /* monotonic clock */
double rapt__thread_seconds(void); /* processor time of this thread */

#endif
