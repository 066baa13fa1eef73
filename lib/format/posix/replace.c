/* replace.c - replaces a file atomically. A temporary file in the same folder is written, synced
   and renamed over the old file, then the folder is synced. At any time the path names either the
   old file or the complete new one. Short and interrupted writes are continued. */
#define _POSIX_C_SOURCE   200809L
#define _FILE_OFFSET_BITS 64

#include "format/disk.h"
#include "format/posix/folder.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
    LINKS = 40,       /* maximum number of symbolic links to follow */
    AT_ONCE = 1 << 30 /* maximum bytes written in one call */
};

/* Splits `path`, which is modified, into folder and name. Opens the folder, relative to the current
   target->folder if there is one, and stores the name in target->name. */
static rapt_status enter(struct disk_target *target, char *path, rapt_message *why)
{
    char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
    const char *folder = !slash ? "." : slash == path ? "/" : path;
    const struct shown *label = &target->label;
    if (!*name || strcmp(name, ".") == 0 || strcmp(name, "..") == 0)
        return rapt__disk_fail(why, label, "is not the name of a file", *path ? EISDIR : ENOENT);
    if (strlen(name) > NAME_MAX)
        return rapt__disk_fail(why, label, "cannot be written", ENAMETOOLONG);
    memcpy(target->name, name, strlen(name) + 1);
    if (slash) *slash = 0;
    int base = target->folder < 0 ? AT_FDCWD : target->folder, opened;
    do opened = openat(base, folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    while (opened < 0 && errno == EINTR);
    if (opened < 0)
        return rapt__disk_fail(why, label, "is in a folder that cannot be opened", errno);
    if (target->folder >= 0) close(target->folder);
    target->folder = opened;
    return RAPT_OK;
}

/* Follows symbolic links from a path to the folder and name of the file to replace. */
static rapt_status follow(struct disk_target *target, const char *given, rapt_message *why)
{
    char path[DISK_NAME];
    size_t length = strlen(given);
    if (length >= sizeof path)
        return rapt__disk_fail(why, &target->label, "cannot be written", ENAMETOOLONG);
    memcpy(path, given, length + 1);
    for (int i = 0; i <= LINKS; i++) {
        rapt_status status = enter(target, path, why);
        if (status != RAPT_OK) return status;
        ssize_t size;
        do size = readlinkat(target->folder, target->name, path, sizeof path - 1);
        while (size < 0 && errno == EINTR);
        if (size < 0 && (errno == EINVAL || errno == ENOENT)) return RAPT_OK; /* not a link */
        if (size < 0) return rapt__disk_fail(why, &target->label, "cannot be examined", errno);
        path[size] = 0;
    }
    return rapt__disk_fail(why, &target->label, "cannot be written", ELOOP);
}

/* Checks that the target is a regular file or does not exist. Sets target->mode to its permissions,
   which the new file inherits, or to -1 if it does not exist. */
static rapt_status examine(struct disk_target *target, rapt_message *why)
{
    struct stat about = {0};
    int result;
    target->mode = -1;
    do result = fstatat(target->folder, target->name, &about, AT_SYMLINK_NOFOLLOW);
    while (result != 0 && errno == EINTR);
    if (result != 0)
        return errno == ENOENT ? RAPT_OK
                               : rapt__disk_fail(why, &target->label, "cannot be examined", errno);
    if (!S_ISREG(about.st_mode))
        return rapt__disk_not_a_file(why, &target->label, rapt__file_kind(about.st_mode));
    target->mode = (int)(about.st_mode & 0777);
    return RAPT_OK;
}

static rapt_status create_temporary(struct disk_target *target, rapt_message *why)
{
    rapt__folder_enter(target->folder);
    target->file =
        rapt__folder_create(target->folder, target->mode < 0 ? 0666 : 0600, target->temporary);
    if (target->file >= 0) return RAPT_OK;
    return rapt__disk_fail(why, &target->label, "is in a folder where no file can be created",
                           errno);
}

rapt_status rapt__disk_begin(struct disk_target *target, const char *path, rapt_message *why)
{
    const int before = errno;
    *target = (struct disk_target){.file = -1, .folder = -1, .label = rapt__shown(path)};
    rapt_status status = follow(target, path, why);
    if (status == RAPT_OK) status = examine(target, why);
    if (status == RAPT_OK) status = create_temporary(target, why);
    if (status != RAPT_OK) rapt__disk_cancel(target);
    if (status == RAPT_OK) errno = before;
    return status;
}

rapt_status rapt__disk_write(struct disk_target *target, const void *data, size_t count,
                             rapt_message *why)
{
    const int before = errno;
    const char *bytes = data;
    if (rapt__file_exceeds_limit(target->written, count))
        return rapt__disk_fail(why, &target->label, "cannot be written", EFBIG);
    target->written += count;
    while (count > 0) {
        ssize_t put = write(target->file, bytes, rapt__min_size(count, AT_ONCE));
        if (put < 0 && errno == EINTR) continue;
        if (put <= 0)
            return rapt__disk_fail(why, &target->label, "cannot be written", put ? errno : EIO);
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

static int set_permissions(int file, int mode)
{
    int result;
    do result = fchmod(file, (mode_t)mode);
    while (result != 0 && errno == EINTR);
    return result;
}

/* Sets the permissions of the temporary file, syncs it and closes it. */
static rapt_status finish(struct disk_target *target, rapt_message *why)
{
    if (target->mode >= 0 && set_permissions(target->file, target->mode) != 0)
        return rapt__disk_fail(why, &target->label, "cannot be given its permissions", errno);
    if (sync_file(target->file) != 0)
        return rapt__disk_fail(why, &target->label, "cannot be synced to the disk", errno);
    int file = target->file;
    target->file = -1;
    if (close(file) != 0 && errno != EINTR)
        return rapt__disk_fail(why, &target->label, "cannot be closed", errno);
    return RAPT_OK;
}

/* Renames the temporary file to its final name. An interrupted call may already have done so; the
   next call then fails with ENOENT. */
static int rename_over(const struct disk_target *target)
{
    bool interrupted = false;
    for (;;) {
        int folder = target->folder;
        if (renameat(folder, target->temporary, folder, target->name) == 0) return 0;
        if (errno != EINTR) return interrupted && errno == ENOENT ? 0 : -1;
        interrupted = true;
    }
}

rapt_status rapt__disk_commit(struct disk_target *target, rapt_message *why)
{
    const int before = errno;
    rapt_status status = finish(target, why);
    if (status == RAPT_OK && rename_over(target) != 0)
        status = rapt__disk_fail(why, &target->label, "cannot be replaced", errno);
    if (status == RAPT_OK) {
        target->temporary[0] = 0;
        if (sync_file(target->folder) != 0 &&
            errno != EINVAL) /* EINVAL: folders cannot be synced */
            status = rapt__disk_fail(why, &target->label,
                                     "was written, but its folder cannot be synced", errno);
    }
    rapt__disk_cancel(target);
    if (status == RAPT_OK) errno = before;
    return status;
}

void rapt__disk_unname(struct disk_target *target)
{
    while (target->temporary[0] && unlinkat(target->folder, target->temporary, 0) != 0)
        if (errno != EINTR) break;
    target->temporary[0] = 0;
}

void rapt__disk_cancel(struct disk_target *target)
{
    if (target->file >= 0) close(target->file);
    rapt__disk_unname(target);
    if (target->folder >= 0) close(target->folder);
    target->file = target->folder = -1;
}
