/* temporary.h - names of temporary files in the folder of the file that they are to replace:
   .rapt-RC.tmp, where R are 64 random bits and C is mixed from R and the key of the folder, so that
   no name made up elsewhere, and no copy in another folder, is taken for ours. */
#ifndef RAPT_LIB_FORMAT_TEMPORARY_H
#define RAPT_LIB_FORMAT_TEMPORARY_H

#include <stdbool.h>
#include <stdint.h>

enum {
    TEMPORARY_NAME = 48,     /* bytes of a name with its 0 */
    TEMPORARY_ATTEMPTS = 100 /* names tried until one is free */
};

/* key: of folder, host and user. */
void rapt__temporary_name(char name[TEMPORARY_NAME], uint64_t random, uint64_t key);
/* Did rapt__temporary_name make it with this key? */
bool rapt__temporary_is_ours(const char *name, uint64_t key);

#endif
