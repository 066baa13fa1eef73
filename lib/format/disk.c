/* disk.c - reads and atomic writes of files: every system call is checked, short and interrupted
   ones are continued.

   A file is replaced atomically: a temporary file in the same folder is written and synced, renamed
   over the old one, and the folder is synced. At any time the path names the old file or the
   complete new one. */
#define _POSIX_C_SOURCE   200809L
#define _FILE_OFFSET_BITS 64

#include "disk.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum {
    LINKS = 40,       /* symbolic links followed */
    ATTEMPTS = 100,   /* temporary names tried */
    PATH = 4096,      /* bytes of a path with its 0 */
    AT_ONCE = 1 << 30 /* bytes asked of one call */
};

struct shown rapt__shown(const char *text)
{
    struct shown shown;
    size_t length = strlen(text), capacity = sizeof shown.text - 1, used = 0;
    if (length > capacity) {
        text += length - (capacity - 3);
        while (rapt__utf8_continues(*text)) text++; /* not within a character */
        memcpy(shown.text, "...", used = 3);
    }
    for (; *text; text++) {
        unsigned char c = (unsigned char)*text;
        shown.text[used++] = c < 0x20 || c == 0x7F ? '?' : *text;
    }
    shown.text[used] = 0;
    return shown;
}

/* strerror_r returns int (POSIX) or char * (GNU). */
static const char *from_int(int result, const char *buffer)
{
    return result == 0 ? buffer : "unknown error";
}
static const char *from_text(const char *result, const char *buffer)
{
    (void)buffer;
    return result;
}

static rapt_status fail(rapt_message *why, const struct shown *label, const char *what, int number)
{
    char buffer[160] = "";
    const char *text = _Generic(strerror_r(number, buffer, sizeof buffer), int
                                : from_int, default
                                : from_text)(strerror_r(number, buffer, sizeof buffer), buffer);
    return rapt__fail(why, RAPT_NO_FILE, "%s: %s: %s", label->text, what, text);
}

static rapt_status not_a_file(rapt_message *why, const struct shown *label, mode_t mode)
{
    const char *kind = S_ISDIR(mode)    ? "a folder"
                       : S_ISFIFO(mode) ? "a pipe"
                       : S_ISSOCK(mode) ? "a socket"
                                        : "a device";
    return rapt__fail(why, RAPT_NO_FILE, "%s: is %s, not a regular file", label->text, kind);
}

/* ---- reading ---- */

rapt_status rapt__disk_open(struct disk_source *source, const char *path, rapt_message *why)
{
    const int before = errno;
    struct stat about;
    int file;
    *source = (struct disk_source){.file = -1, .label = rapt__shown(path)};
    do file = open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    while (file < 0 && errno == EINTR);
    if (file < 0) return fail(why, &source->label, "cannot be opened", errno);
    rapt_status status = RAPT_OK;
    if (fstat(file, &about) != 0)
        status = fail(why, &source->label, "cannot be examined", errno);
    else if (!S_ISREG(about.st_mode))
        status = not_a_file(why, &source->label, about.st_mode);
    if (status != RAPT_OK) {
        close(file);
        return status;
    }
    source->file = file;
    source->size = (uint64_t)about.st_size;
    errno = before;
    return RAPT_OK;
}

void rapt__disk_close(struct disk_source *source)
{
    if (source->file >= 0) close(source->file);
    source->file = -1;
}

static rapt_status read_file(const struct disk_source *source, uint64_t at, char *data,
                             size_t count, rapt_message *why)
{
    const int before = errno;
    while (count > 0) {
        ssize_t got = pread(source->file, data, rapt__min_size(count, AT_ONCE), (off_t)at);
        if (got < 0 && errno == EINTR) continue;
        if (got < 0) return fail(why, &source->label, "cannot be read", errno);
        if (got == 0)
            return rapt__fail(why, RAPT_BAD_FILE, "%s: became shorter while it was read",
                              source->label.text);
        data += got;
        at += (uint64_t)got;
        count -= (size_t)got;
    }
    errno = before;
    return RAPT_OK;
}

rapt_status rapt__disk_read(const struct disk_source *source, uint64_t at, void *data, size_t count,
                            rapt_message *why)
{
    if (at > source->size || count > source->size - at)
        return rapt__fail(why, RAPT_BAD_FILE, "%s: %zu bytes at byte %llu are not in the file",
                          source->label.text, count, (unsigned long long)at);
    if (source->file >= 0) return read_file(source, at, data, count, why);
    if (count > 0) memcpy(data, source->bytes + at, count);
    return RAPT_OK;
}

/* ---- writing ---- */

/* Splits path (it is changed), opens its folder relative to the folder at hand, and takes its
   last part as the name. */
static rapt_status enter(struct disk_target *target, char *path, rapt_message *why)
{
    char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
    const char *folder = !slash ? "." : slash == path ? "/" : path;
    if (!*name || strcmp(name, ".") == 0 || strcmp(name, "..") == 0)
        return fail(why, &target->label, "is not the name of a file", *path ? EISDIR : ENOENT);
    if (strlen(name) >= sizeof target->name)
        return fail(why, &target->label, "cannot be written", ENAMETOOLONG);
    memcpy(target->name, name, strlen(name) + 1);
    if (slash) *slash = 0;
    int base = target->folder < 0 ? AT_FDCWD : target->folder, opened;
    do opened = openat(base, folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    while (opened < 0 && errno == EINTR);
    if (opened < 0) return fail(why, &target->label, "its folder cannot be opened", errno);
    if (target->folder >= 0) close(target->folder);
    target->folder = opened;
    return RAPT_OK;
}

/* From a path to the folder and name it stands for, through symbolic links. */
static rapt_status follow(struct disk_target *target, const char *given, rapt_message *why)
{
    char path[PATH];
    size_t length = strlen(given);
    if (length >= sizeof path) return fail(why, &target->label, "cannot be written", ENAMETOOLONG);
    memcpy(path, given, length + 1);
    for (int i = 0; i <= LINKS; i++) {
        rapt_status status = enter(target, path, why);
        if (status != RAPT_OK) return status;
        ssize_t size = readlinkat(target->folder, target->name, path, sizeof path - 1);
        if (size < 0 && (errno == EINVAL || errno == ENOENT)) return RAPT_OK; /* not a link */
        if (size < 0) return fail(why, &target->label, "cannot be examined", errno);
        path[size] = 0;
    }
    return fail(why, &target->label, "cannot be written", ELOOP);
}

/* What is at the target: nothing, or a regular file whose permissions are kept. */
static rapt_status examine(struct disk_target *target, rapt_message *why)
{
    struct stat about;
    target->mode = -1;
    if (fstatat(target->folder, target->name, &about, AT_SYMLINK_NOFOLLOW) != 0)
        return errno == ENOENT ? RAPT_OK : fail(why, &target->label, "cannot be examined", errno);
    if (!S_ISREG(about.st_mode)) return not_a_file(why, &target->label, about.st_mode);
    target->mode = (int)(about.st_mode & 0777);
    return RAPT_OK;
}

/* Creates the temporary file in the target's folder, under an unused name. */
static rapt_status create(struct disk_target *target, rapt_message *why)
{
    struct timespec now = {0};
    clock_gettime(CLOCK_REALTIME, &now);
    uint64_t key = rapt__mix((uint64_t)getpid(), (uint64_t)now.tv_sec);
    for (int i = 0; i < ATTEMPTS; i++) {
        key = rapt__mix(key, (uint64_t)now.tv_nsec);
        snprintf(target->temporary, sizeof target->temporary, ".rapt-%016llx.tmp",
                 (unsigned long long)key);
        target->file = openat(target->folder, target->temporary,
                              O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC,
                              target->mode < 0 ? 0666 : 0600);
        if (target->file >= 0) return RAPT_OK;
        if (errno != EEXIST && errno != EINTR) break;
    }
    target->temporary[0] = 0; /* not ours: never to be removed */
    return fail(why, &target->label, "no file can be created in its folder", errno);
}

rapt_status rapt__disk_begin(struct disk_target *target, const char *path, rapt_message *why)
{
    const int before = errno;
    *target = (struct disk_target){.file = -1, .folder = -1, .label = rapt__shown(path)};
    rapt_status status = follow(target, path, why);
    if (status == RAPT_OK) status = examine(target, why);
    if (status == RAPT_OK) status = create(target, why);
    if (status != RAPT_OK) rapt__disk_cancel(target);
    if (status == RAPT_OK) errno = before;
    return status;
}

rapt_status rapt__disk_write(struct disk_target *target, const void *data, size_t count,
                             rapt_message *why)
{
    const int before = errno;
    const char *bytes = data;
    while (count > 0) {
        ssize_t put = write(target->file, bytes, rapt__min_size(count, AT_ONCE));
        if (put < 0 && errno == EINTR) continue;
        if (put <= 0) return fail(why, &target->label, "cannot be written", put ? errno : EIO);
        bytes += put;
        count -= (size_t)put;
    }
    errno = before;
    return RAPT_OK;
}

static int sync_file(int file)
{
    int result;
    do result = fsync(file);
    while (result != 0 && errno == EINTR);
    return result;
}

/* Sets the permissions of the temporary file, syncs and closes it. */
static rapt_status finish(struct disk_target *target, rapt_message *why)
{
    if (target->mode >= 0 && fchmod(target->file, (mode_t)target->mode) != 0)
        return fail(why, &target->label, "cannot be given its permissions", errno);
    if (sync_file(target->file) != 0)
        return fail(why, &target->label, "cannot be synced to the disk", errno);
    int file = target->file;
    target->file = -1;
    if (close(file) != 0 && errno != EINTR)
        return fail(why, &target->label, "cannot be closed", errno);
    return RAPT_OK;
}

rapt_status rapt__disk_commit(struct disk_target *target, rapt_message *why)
{
    const int before = errno;
    rapt_status status = finish(target, why);
    if (status == RAPT_OK &&
        renameat(target->folder, target->temporary, target->folder, target->name) != 0)
        status = fail(why, &target->label, "cannot be replaced", errno);
    if (status == RAPT_OK) {
        target->temporary[0] = 0;
        if (sync_file(target->folder) != 0 &&
            errno != EINVAL) /* EINVAL: folders cannot be synced */
            status =
                fail(why, &target->label, "is written, but its folder cannot be synced", errno);
    }
    rapt__disk_cancel(target);
    if (status == RAPT_OK) errno = before;
    return status;
}

void rapt__disk_cancel(struct disk_target *target)
{
    if (target->file >= 0) close(target->file);
    if (target->temporary[0]) unlinkat(target->folder, target->temporary, 0);
    if (target->folder >= 0) close(target->folder);
    target->file = target->folder = -1;
    target->temporary[0] = 0;
}
