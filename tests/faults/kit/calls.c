/* calls.c - replacements of the C library's file calls. According to a plan, chosen calls fail, are
   interrupted, are short, or kill the process. */
#define _GNU_SOURCE

#include "calls.h"

#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <unistd.h>

static struct fault_plan plan;
static long calls, inherited;
static int attempts; /* interruptions so far of the current call */
static const char *struck;

void fault_arm(const struct fault_plan *given)
{
    plan = *given;
    calls = inherited = attempts = 0;
    struck = NULL;
}

long fault_disarm(void)
{
    plan = (struct fault_plan){.mode = FAULT_NONE};
    return calls;
}

const char *fault_struck(void)
{
    return struck;
}

long fault_inherited(void)
{
    return inherited;
}

/* Arms the plan when preloaded into a program, and writes the number of calls to a file at exit. */
__attribute__((constructor)) static void arm_by_environment(void)
{
    const char *text = getenv("RAPT_FAULTS");
    int mode = 0;
    if (text && sscanf(text, "%d %ld %d %zu", &mode, &plan.at, &plan.error, &plan.limit) == 4)
        plan.mode = (enum fault_mode)mode;
}

__attribute__((destructor)) static void tell_calls(void)
{
    const char *name = getenv("RAPT_FAULTS_CALLS");
    fault_disarm();
    FILE *file = name ? fopen(name, "w") : NULL;
    if (!file) return;
    fprintf(file, "%ld\n", calls);
    fclose(file);
}

static void die(void)
{
    kill(getpid(), SIGKILL);
}

/* Counts a call. Returns true, with errno set, if it has to fail. */
static bool fails(const char *call)
{
    if (plan.mode == FAULT_INTERRUPT) {
        attempts = (attempts + 1) % 3;
        if (attempts == 0) calls++;
        errno = EINTR;
        return attempts != 0;
    }
    long now = calls++;
    if (plan.mode == FAULT_KILL && now == plan.at && strcmp(call, "write") != 0) die();
    bool hit = (plan.mode == FAULT_ONCE && now == plan.at) ||
               (plan.mode == FAULT_FROM && now >= plan.at) ||
               (plan.mode == FAULT_TWICE && (now == plan.at || now == plan.second));
    if (hit) {
        struck = call;
        errno = plan.error;
    }
    return hit;
}

static bool ours(int file)
{
    return plan.mode != FAULT_NONE && (file > STDERR_FILENO || file == AT_FDCWD);
}

static size_t shortened(size_t count)
{
    return plan.limit > 0 && count > plan.limit ? plan.limit : count;
}

static void tell(const char *call, int file, const char *name, const char *new_name,
                 const void *data, size_t size)
{
    if (plan.tell) plan.tell(call, file, name, new_name, data, size);
}

/* ---- opening ---- */

static int open_at(int base, const char *name, int flags, unsigned permissions)
{
    if (plan.mode != FAULT_NONE && fails("open")) return -1;
    int file = (int)syscall(SYS_openat, base, name, flags, permissions);
    if (file >= 0 && plan.mode != FAULT_NONE) inherited += (flags & O_CLOEXEC) == 0;
    if (file >= 0) tell(flags & O_CREAT ? "create" : "open", file, name, NULL, NULL, 0);
    return file;
}

int open(const char *name, int flags, ...)
{
    va_list arguments;
    va_start(arguments, flags);
    unsigned permissions = flags & O_CREAT ? va_arg(arguments, unsigned) : 0;
    va_end(arguments);
    return open_at(AT_FDCWD, name, flags, permissions);
}

int openat(int base, const char *name, int flags, ...)
{
    va_list arguments;
    va_start(arguments, flags);
    unsigned permissions = flags & O_CREAT ? va_arg(arguments, unsigned) : 0;
    va_end(arguments);
    return open_at(base, name, flags, permissions);
}

int open64(const char *name, int flags, ...) __attribute__((alias("open")));
int openat64(int base, const char *name, int flags, ...) __attribute__((alias("openat")));

/* Only mappings of files count, not anonymous memory. */
void *mmap(void *at, size_t size, int protection, int flags, int file, off_t offset)
{
    if (ours(file) && plan.mode != FAULT_INTERRUPT && fails("mmap")) return MAP_FAILED;
    return (void *)syscall(SYS_mmap, at, size, protection, flags, file, offset);
}

void *mmap64(void *at, size_t size, int protection, int flags, int file, off_t offset)
    __attribute__((alias("mmap")));

int close(int file) /* closes the file even if it fails */
{
    bool bad = ours(file) && plan.mode != FAULT_INTERRUPT && fails("close");
    int error = errno, result = (int)syscall(SYS_close, file);
    if (!bad) return result;
    errno = error;
    return -1;
}

/* ---- reading and writing ---- */

ssize_t read(int file, void *data, size_t count)
{
    if (!ours(file)) return syscall(SYS_read, file, data, count);
    if (fails("read")) return -1;
    ssize_t done = syscall(SYS_read, file, data, shortened(count));
    tell("read", file, NULL, NULL, NULL, 0);
    return done;
}

ssize_t pread(int file, void *data, size_t count, off_t at)
{
    if (!ours(file)) return syscall(SYS_pread64, file, data, count, at);
    if (fails("read")) return -1;
    ssize_t done = syscall(SYS_pread64, file, data, shortened(count), at);
    tell("read", file, NULL, NULL, NULL, 0);
    return done;
}

ssize_t pread64(int file, void *data, size_t count, off64_t at) __attribute__((alias("pread")));

ssize_t write(int file, const void *data, size_t count)
{
    if (!ours(file)) return syscall(SYS_write, file, data, count);
    if (fails("write")) return -1;
    bool last = plan.mode == FAULT_KILL && calls - 1 == plan.at;
    ssize_t done = syscall(SYS_write, file, data, last ? count / 2 : shortened(count));
    if (last) die();
    if (done > 0) tell("write", file, NULL, NULL, data, (size_t)done);
    return done;
}

/* ---- syncing, renaming and removing ---- */

int fsync(int file)
{
    if (ours(file) && fails("fsync")) return -1;
    int result = (int)syscall(SYS_fsync, file);
    if (result == 0) tell("fsync", file, NULL, NULL, NULL, 0);
    return result;
}

int renameat(int from, const char *old, int to, const char *new)
{
    if (plan.mode != FAULT_NONE && fails("rename")) return -1;
    int result = (int)syscall(SYS_renameat2, from, old, to, new, 0);
    if (result == 0) tell("rename", from, old, new, NULL, 0);
    return result;
}

int unlinkat(int folder, const char *name, int flags)
{
    if (plan.mode != FAULT_NONE && fails("unlink")) return -1;
    int result = (int)syscall(SYS_unlinkat, folder, name, flags);
    if (result == 0) tell("unlink", folder, name, NULL, NULL, 0);
    return result;
}

int unlink(const char *name)
{
    return unlinkat(AT_FDCWD, name, 0);
}

/* ---- queries ---- */

int fchmod(int file, mode_t permissions)
{
    return ours(file) && fails("fchmod") ? -1 : (int)syscall(SYS_fchmod, file, permissions);
}

int fstat(int file, struct stat *about)
{
    return ours(file) && fails("fstat") ? -1 : (int)syscall(SYS_fstat, file, about);
}

int fstat64(int file, struct stat64 *about)
{
    return ours(file) && fails("fstat") ? -1 : (int)syscall(SYS_fstat, file, about);
}

static int stat_at(int base, const char *name, void *about, int flags)
{
    if (plan.mode != FAULT_NONE && fails("stat")) return -1;
    return (int)syscall(SYS_newfstatat, base, name, about, flags);
}

int fstatat(int base, const char *name, struct stat *about, int flags)
{
    return stat_at(base, name, about, flags);
}

int fstatat64(int base, const char *name, struct stat64 *about, int flags)
{
    return stat_at(base, name, about, flags);
}

/* Calls the C library's function, since reading a folder takes more than a system call. Entries are
   not interrupted, and are not crash points. */
static void *next_entry(DIR *list, const char *name)
{
    void *(*next)(DIR *);
    const bool counts =
        plan.mode != FAULT_NONE && plan.mode != FAULT_INTERRUPT && plan.mode != FAULT_KILL;
    if (counts && fails("readdir")) return NULL;
    void *found = dlsym(RTLD_NEXT, name);
    memcpy(&next, &found, sizeof next);
    return next(list);
}

struct dirent *readdir(DIR *list)
{
    return next_entry(list, "readdir");
}

struct dirent64 *readdir64(DIR *list)
{
    return next_entry(list, "readdir64");
}

ssize_t readlinkat(int base, const char *name, char *path, size_t size)
{
    if (plan.mode != FAULT_NONE && fails("readlink")) return -1;
    return syscall(SYS_readlinkat, base, name, path, size);
}

int flock(int file, int operation)
{
    return ours(file) && fails("flock") ? -1 : (int)syscall(SYS_flock, file, operation);
}

int posix_fallocate(int file, off_t at, off_t size)
{
    if (ours(file) && fails("fallocate")) return errno;
    return syscall(SYS_fallocate, file, 0, at, size) == 0 ? 0 : errno;
}

int posix_fallocate64(int file, off64_t at, off64_t size) __attribute__((alias("posix_fallocate")));
