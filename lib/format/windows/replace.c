/* replace.c - replaces a file atomically. A temporary file in the same folder is written, flushed
   and renamed over the old file. It stays open until then, so that no other writer mistakes it for
   an abandoned file. At any time the path names either the old file or the complete new one. The
   new file has the folder's default permissions. */
#include "format/windows/system.h"

#include <errno.h>
#include <fcntl.h>
#include <io.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <wchar.h>

enum { AT_ONCE = 1 << 30 }; /* maximum bytes written in one call */

/* If the file exists, checks that it is a regular file and resolves the links in its path,
   `wide`. */
static rapt_status examine(const struct disk_target *target, wchar_t wide[DISK_NAME],
                           rapt_message *why)
{
    const DWORD others = FILE_SHARE_READ | FILE_SHARE_WRITE | FILE_SHARE_DELETE;
    DWORD about = GetFileAttributesW(wide);
    if (about == INVALID_FILE_ATTRIBUTES) return RAPT_OK;
    if (about & FILE_ATTRIBUTE_DIRECTORY)
        return rapt__disk_not_a_file(why, &target->label, "a folder");
    HANDLE handle = CreateFileW(wide, FILE_READ_ATTRIBUTES, others, NULL, OPEN_EXISTING, 0, NULL);
    if (handle == INVALID_HANDLE_VALUE)
        return rapt__disk_fail(why, &target->label, "cannot be examined", rapt__last_error());
    bool regular = GetFileType(handle) == FILE_TYPE_DISK;
    wchar_t real[DISK_NAME];
    DWORD length = GetFinalPathNameByHandleW(handle, real, DISK_NAME, FILE_NAME_NORMALIZED);
    CloseHandle(handle);
    if (!regular) return rapt__disk_not_a_file(why, &target->label, "a device");
    if (length > 0 && length < DISK_NAME) wmemcpy(wide, real, (size_t)length + 1);
    return RAPT_OK;
}

/* Stores the full path of the file to replace, without links, in target->name. */
static rapt_status follow(struct disk_target *target, const char *path, rapt_message *why)
{
    wchar_t given[DISK_NAME], wide[DISK_NAME];
    size_t length = strlen(path);
    if (length == 0)
        return rapt__disk_fail(why, &target->label, "is not the name of a file", ENOENT);
    if (strchr("/\\:", path[length - 1]))
        return rapt__disk_fail(why, &target->label, "is not the name of a file", EISDIR);
    if (!rapt__path_wide(path, given))
        return rapt__disk_fail(why, &target->label, "cannot be written",
                               length >= DISK_NAME ? ENAMETOOLONG : EINVAL);
    DWORD whole = GetFullPathNameW(given, DISK_NAME, wide, NULL);
    if (whole == 0 || whole >= DISK_NAME)
        return rapt__disk_fail(why, &target->label, "cannot be written", ENAMETOOLONG);
    rapt_status status = examine(target, wide, why);
    if (status == RAPT_OK && !rapt__path_narrow(wide, target->name))
        status = rapt__disk_fail(why, &target->label, "cannot be written", ENAMETOOLONG);
    return status;
}

rapt_status rapt__disk_begin(struct disk_target *target, const char *path, rapt_message *why)
{
    const int before = errno;
    *target = (struct disk_target){.file = -1, .folder = -1, .mode = -1};
    target->label = rapt__shown(path);
    rapt_status status = follow(target, path, why);
    if (status == RAPT_OK) {
        rapt__folder_enter(target->name);
        target->file = rapt__folder_create(target->name, target->temporary);
        if (target->file < 0)
            status = rapt__disk_fail(why, &target->label,
                                     "is in a folder where no file can be created", errno);
    }
    if (status == RAPT_OK) errno = before;
    return status;
}

rapt_status rapt__disk_write(struct disk_target *target, const void *data, size_t count,
                             rapt_message *why)
{
    const char *bytes = data;
    while (count > 0) {
        DWORD put = 0;
        if (!WriteFile(rapt__handle(target->file), bytes, (DWORD)rapt__min_size(count, AT_ONCE),
                       &put, NULL) ||
            put == 0)
            return rapt__disk_fail(why, &target->label, "cannot be written", rapt__last_error());
        bytes += put;
        count -= put;
    }
    return RAPT_OK;
}

/* Renames the temporary file over the target. target->name was made from a wide path, so converting
   it back cannot fail. */
static bool move_over(const struct disk_target *target)
{
    union {
        FILE_RENAME_INFO info;
        char bytes[sizeof(FILE_RENAME_INFO) + DISK_NAME * sizeof(wchar_t)];
    } to = {.info = {.ReplaceIfExists = TRUE}};
    wchar_t name[DISK_NAME];
    if (!rapt__path_wide(target->name, name)) return false;
    size_t size = wcslen(name) * sizeof *name;
    to.info.FileNameLength = (DWORD)size;
    memcpy(to.bytes + offsetof(FILE_RENAME_INFO, FileName), name, size);
    return SetFileInformationByHandle(rapt__handle(target->file), FileRenameInfo, &to, sizeof to);
}

rapt_status rapt__disk_commit(struct disk_target *target, rapt_message *why)
{
    const int before = errno;
    rapt_status status = RAPT_OK;
    if (!FlushFileBuffers(rapt__handle(target->file)))
        status = rapt__disk_fail(why, &target->label, "cannot be synced to the disk",
                                 rapt__last_error());
    if (status == RAPT_OK && !move_over(target))
        status = rapt__disk_fail(why, &target->label, "cannot be replaced", rapt__last_error());
    if (status == RAPT_OK) {
        target->temporary[0] = 0;
        if (!FlushFileBuffers(rapt__handle(target->file)))
            status = rapt__disk_fail(why, &target->label,
                                     "was written, but its name cannot be synced to the disk",
                                     rapt__last_error());
    }
    rapt__disk_cancel(target);
    if (status == RAPT_OK) errno = before;
    return status;
}

/* Marks the file for deletion on close. */
void rapt__disk_unname(struct disk_target *target)
{
    FILE_DISPOSITION_INFO gone = {.DeleteFile = TRUE};
    if (target->file >= 0 && SetFileInformationByHandle(rapt__handle(target->file),
                                                        FileDispositionInfo, &gone, sizeof gone))
        target->temporary[0] = 0;
}

void rapt__disk_cancel(struct disk_target *target)
{
    wchar_t wide[DISK_NAME];
    if (target->file >= 0) _close(target->file);
    target->file = -1;
    if (target->temporary[0] && rapt__path_wide(target->temporary, wide)) DeleteFileW(wide);
    target->temporary[0] = 0;
}

int rapt__file_reserve(const struct disk_target *target, uint64_t max_size, uint64_t total_size)
{
    wchar_t folder[DISK_NAME];
    ULARGE_INTEGER available;
    wchar_t *end = rapt__path_wide(target->name, folder) ? wcsrchr(folder, L'\\') : NULL;
    if (!end) return 0;
    end[1] = 0;
    if (total_size < max_size) total_size = max_size;
    if (!GetDiskFreeSpaceExW(folder, &available, NULL, NULL)) return 0;
    return total_size > available.QuadPart ? ENOSPC : 0;
}
