/* lock.c - allows only one run at a time to write OUT, by a lock that the system releases when the
   process ends.

   The files of a run are replaced while it goes on, so the lock is on their folder, at an offset
   that is a hash of the name. A folder can only be opened for reading, which allows only a shared
   lock: a process takes one and gives up if another process has one too. The lock belongs to the
   open file description (OFD), since a lock of the process would be released as soon as the folder
   is closed anywhere. On systems without such locks, nothing is detected. */
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
enum { SET = -1, GET = -1 }; /* not a command of fcntl */
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
