/* temporary.h - fresh temporary folders, and paths that do not exist. */
#ifndef RAPT_TESTS_TEMPORARY_H
#define RAPT_TESTS_TEMPORARY_H

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { TEMPORARY = 256 }; /* bytes of a path */

/* Creates a folder in TMPDIR, or in /tmp. Returns NULL if it cannot. */
static inline char *temporary_folder(char folder[TEMPORARY])
{
    const char *base = getenv("TMPDIR");
    for (int i = 0;; i++) {
        int size = snprintf(folder, TEMPORARY, "%s/rapt-test-%ld-%d", base && *base ? base : "/tmp",
                            (long)getpid(), i);
        if (size >= TEMPORARY - 16) return NULL;
        if (mkdir(folder, 0700) == 0) return folder;
        if (errno != EEXIST) return NULL;
    }
}

/* Composes the path of a file in a folder that does not exist: a fresh one, removed again. */
static inline const char *temporary_missing(char path[TEMPORARY])
{
    if (!temporary_folder(path) || rmdir(path) != 0) abort();
    return strcat(path, "/missing");
}

#endif
