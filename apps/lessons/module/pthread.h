/* pthread.h - replaces the header of POSIX, which wasi-libc has only for threads. A page has one
   thread, so that every lock is free and nothing ever waits. */
#ifndef MODULE_PTHREAD_H
#define MODULE_PTHREAD_H

typedef int pthread_mutex_t, pthread_cond_t;
#define PTHREAD_MUTEX_INITIALIZER                0
#define pthread_mutex_init(mutex, attributes)    ((void)(mutex))
#define pthread_mutex_destroy(mutex)             ((void)(mutex))
#define pthread_mutex_lock(mutex)                ((void)(mutex))
#define pthread_mutex_trylock(mutex)             ((void)(mutex), 0)
#define pthread_mutex_unlock(mutex)              ((void)(mutex))
#define pthread_cond_init(condition, attributes) ((void)(condition))
#define pthread_cond_destroy(condition)          ((void)(condition))
#define pthread_cond_wait(condition, mutex)      ((void)(condition), (void)(mutex))
#define pthread_cond_broadcast(condition)        ((void)(condition))

#endif
