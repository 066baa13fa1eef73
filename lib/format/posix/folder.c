/* folder.c - creates temporary files in a folder, removes abandoned ones, and lists folders, on
   POSIX systems. */
#define _DEFAULT_SOURCE
#define _POSIX_C_SOURCE   200809L
#define _FILE_OFFSET_BITS 64

#include "format/posix/folder.h"
#include "format/disk.h"

#include "base/base.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

/* ---- temporary files ---- */

/* A writer holds a shared lock (flock) on the folder while the folder is open, and the kernel
   releases the lock when the process dies. A process that gets the exclusive lock therefore assumes
   that nobody is writing there, and that all temporary files in the folder were left by killed
   writers. A writer that does not get its lock within WAITS attempts proceeds without it, at the
   risk that another process removes its temporary file. */

/* Maximum number of waits, of 2 ms each, for another process that is removing abandoned files. */
enum { WAITS = 50 };

/* Returns the key from which the names of temporary files in this folder are derived, or 0 if the
   folder cannot be examined. */
static uint64_t folder_key(int folder)
{
    struct stat about = {0};
    struct utsname host;
    if (fstat(folder, &about) != 0 || uname(&host) != 0) return 0;
    uint64_t key = rapt__hash(host.nodename, strlen(host.nodename));
    return rapt__mix(rapt__mix(key, (uint64_t)geteuid()), (uint64_t)about.st_ino);
}

static void remove_if_ours(int folder, const char *name, uint64_t key)
{
    struct stat about = {0};
    if (!rapt__temporary_is_ours(name, key) ||
        fstatat(folder, name, &about, AT_SYMLINK_NOFOLLOW) != 0)
        return;
    if (S_ISREG(about.st_mode) && about.st_uid == geteuid() && about.st_nlink == 1)
        unlinkat(folder, name, 0);
}

static void remove_abandoned(int folder)
{
    uint64_t key = folder_key(folder);
    int again = openat(folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *list = again >= 0 && key != 0 ? fdopendir(again) : NULL;
    if (!list && again >= 0) close(again);
    if (!list) return;
    /* NOLINTNEXTLINE(concurrency-mt-unsafe): no other thread has this list. */
    for (struct dirent *entry; (entry = readdir(list));) remove_if_ours(folder, entry->d_name, key);
    closedir(list);
}

/* Calls flock() without blocking, and retries if it is interrupted. */
static bool lock(int folder, int operation)
{
    int result;
    do result = flock(folder, operation | LOCK_NB);
    while (result != 0 && errno == EINTR);
    return result == 0;
}

void rapt__folder_enter(int folder)
{
    const struct timespec moment = {.tv_nsec = 2000000};
    if (lock(folder, LOCK_EX)) remove_abandoned(folder);
    for (int i = 0; i < WAITS && !lock(folder, LOCK_SH) && errno == EWOULDBLOCK; i++)
        nanosleep(&moment, NULL);
}

int rapt__folder_create(int folder, mode_t permissions, char name[TEMPORARY_NAME])
{
    struct timespec now = {0};
    clock_gettime(CLOCK_REALTIME, &now);
    uint64_t key = folder_key(folder), random = rapt__mix((uint64_t)getpid(), (uint64_t)now.tv_sec);
    int file = -1;
    for (int i = 0; i < TEMPORARY_ATTEMPTS && file < 0; i++) {
        random = rapt__mix(random, (uint64_t)now.tv_nsec);
        rapt__temporary_name(name, random, key);
        file =
            openat(folder, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, permissions);
        if (file < 0 && errno != EEXIST && errno != EINTR) break;
    }
    if (file < 0) name[0] = 0; /* no file was created, so no file of this name may be removed */
    return file;
}

/* ---- listing ---- */

bool rapt__disk_list(const char *folder, disk_visit_fn *visit, void *user)
{
    const int before = errno;
    DIR *list = opendir(folder[0] ? folder : ".");
    int reason = 0; /* why no entry was read; 0 at the end of the folder */
    if (!list) return false;
    for (bool more = true; more;) {
        errno = 0;
        /* NOLINTNEXTLINE(concurrency-mt-unsafe): no other thread has this list. */
        const struct dirent *entry = readdir(list);
        if (!entry) reason = errno;
        more = entry && (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0 ||
                         visit(user, entry->d_name));
    }
    closedir(list);
    errno = reason ? reason : before;
    return reason == 0;
}
