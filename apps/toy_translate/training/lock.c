/* lock.c - allows only one run at a time to write OUT, by a lock that the system releases when the
   process ends.

   The files of a run are replaced while it goes on, so the lock is on the folder that OUT leads to
   through symbolic links, at an offset that is a hash of the name there. Hard links need no lock: a
   run that replaces one leaves the others as they were.

   A folder can only be opened for reading, which allows only a shared lock: a process takes one and
   gives up if another process has one too. The lock belongs to the open file description (OFD),
   since a lock of the process would be released as soon as the folder is closed anywhere. On
   systems without such locks, nothing is detected. */
#define _GNU_SOURCE /* F_OFD_SETLK */
#include "kit/hash.h"
#include "training.h"
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#ifdef F_OFD_SETLK
enum { SET = F_OFD_SETLK, GET = F_OFD_GETLK };
#else
enum { SET = -1, GET = -1 }; /* not a command of fcntl */
#endif
enum { LINKS = 40 }; /* maximum number of symbolic links to follow */

/* Returns the length of the folder in a path, with its last slash. */
static int folder_length(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash != NULL ? (int)(slash + 1 - path) : 0;
}

/* Returns the path that OUT leads to, which need not exist. The caller frees it. */
static char *follow_links(const char *out)
{
    char *path = xasprintf("%s", out), link[PATH_MAX];
    ssize_t size;
    for (int i = 0; i < LINKS && (size = readlink(path, link, sizeof link - 1)) >= 0; i++) {
        link[size] = 0;
        char *next = xasprintf("%.*s%s", *link == '/' ? 0 : folder_length(path), path, link);
        free(path);
        path = next;
    }
    return path;
}

int lock_open(int *lock, const char *out)
{
    char *path = follow_links(out);
    const char *name = path + folder_length(path);
    char *folder = xasprintf("%.*s.", folder_length(path), path);
    off_t byte = (off_t)(hash_bytes(HASH_EMPTY, name, strlen(name)) % INT32_MAX);
    struct flock own = {.l_type = F_RDLCK, .l_whence = SEEK_SET, .l_start = byte, .l_len = 1};
    struct flock other = own;
    other.l_type = F_WRLCK;
    *lock = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    free(folder);
    free(path);
    bool locked = *lock >= 0 && fcntl(*lock, SET, &own) == 0 && fcntl(*lock, GET, &other) == 0;
    if (!locked || other.l_type == F_UNLCK) return EXIT_OK;
    return failed("another run is writing %s; wait until it ends, or choose another --out", out);
}

void lock_close(int lock)
{
    if (lock >= 0) close(lock);
}
