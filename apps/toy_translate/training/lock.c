/* lock.c - one run at a time writes OUT: a lock that the system releases when a process ends.

   The files of a run are replaced, so what is locked is their folder, at a byte that stands for the
   name. A folder opens for reading alone, which allows a shared lock: who has one and meets that of
   another run gives up. It belongs to the open file (OFD), since those of a process end as soon as
   it closes the folder anywhere. Where a system has no such locks, nothing is noticed. */
#define _GNU_SOURCE /* F_OFD_SETLK */
#include "kit/hash.h"
#include "training.h"
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#ifdef F_OFD_SETLK
enum { SET = F_OFD_SETLK, GET = F_OFD_GETLK };
#else
enum { SET = -1, GET = -1 }; /* no command of fcntl */
#endif

int lock_open(int *lock, const char *out)
{
    const char *slash = strrchr(out, '/'), *name = slash != NULL ? slash + 1 : out;
    char *folder = xasprintf("%.*s.", (int)(name - out), out);
    off_t byte = (off_t)(hash_bytes(HASH_EMPTY, name, strlen(name)) % INT32_MAX);
    struct flock own = {.l_type = F_RDLCK, .l_whence = SEEK_SET, .l_start = byte, .l_len = 1};
    struct flock other = own;
    other.l_type = F_WRLCK;
    *lock = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    free(folder);
    bool locked = *lock >= 0 && fcntl(*lock, SET, &own) == 0 && fcntl(*lock, GET, &other) == 0;
    if (!locked || other.l_type == F_UNLCK) return EXIT_OK;
    return failed("another run is writing %s; wait until it ends, or choose another --out", out);
}

void lock_close(int lock)
{
    if (lock >= 0) close(lock);
}
