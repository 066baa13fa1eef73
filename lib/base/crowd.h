/* crowd.h - whether a team is faster than one thread: not where other programs take the processors
   of its members, who then wait for one another at every barrier. For team.c.

   A thread gains, per second, as many seconds of work as it has of a processor; a team gains the
   sum of what its members have, less what barriers take. If a team gains less than one second of
   work per second, one thread may be faster, though it may have to share its processor as well. So
   one thread is tried, and compared, and if it gains more, then calls use one thread for a while
   before a team is tried again. Results do not depend on this: the number of threads changes no
   bit. */
#ifndef RAPT_BASE_CROWD_H
#define RAPT_BASE_CROWD_H

#include <stdbool.h>

struct crowd {
    bool alone;         /* calls use one thread */
    double wall, work;  /* seconds of calls since the last decision, and of work in them */
    double enough;      /* wall at which the next decision falls */
    double alone_rate;  /* seconds of work per second of one thread, */
    double alone_known; /*   as it was at this time */
};

/* Records a call that ended at `now`, by one thread or by a team (`alone`); the next one's is
   c->alone. A crowd of zeros is one that knows nothing and wants a team. */
void rapt__crowd_record(struct crowd *c, bool alone, double now, double wall, double work);

/* The crowd of this process: what its last calls say about the processors of the machine. Any
   thread may call these, several at once as well; where the system does not tell the time of
   threads, rapt__crowded is false. */
bool rapt__crowded(void); /* calls use one thread */
/* A call that began at `start` has ended; one of several at once may be forgotten. */
void rapt__crowd_report(bool alone, double start, double work);
double rapt__clock_seconds(void);  /* of a clock that never goes back */
double rapt__thread_seconds(void); /* that this thread had a processor */

#endif
