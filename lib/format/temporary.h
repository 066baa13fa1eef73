/* temporary.h - names of temporary files, which are in the same folder as the file that they will
   replace: .rapt-RC.tmp, where R is a random number of 64 bits and C is a hash of R and the
   folder's key, both in hexadecimal. C ensures that neither a file that another program named nor a
   copy in another folder is mistaken for one of ours. */
#ifndef RAPT_LIB_FORMAT_TEMPORARY_H
#define RAPT_LIB_FORMAT_TEMPORARY_H

#include <stdbool.h>
#include <stdint.h>

enum {
    TEMPORARY_NAME = 48,     /* maximum size of a name, including its 0 */
    TEMPORARY_ATTEMPTS = 100 /* number of random names tried before giving up */
};

/* Composes a name. `key` is a hash of the folder, the host and, on POSIX systems, the user. */
void rapt__temporary_name(char name[TEMPORARY_NAME], uint64_t random, uint64_t key);
/* Returns whether rapt__temporary_name composed this name with this key. */
bool rapt__temporary_is_ours(const char *name, uint64_t key);

#endif
