/* folder.c - creates temporary files in a folder, removes abandoned ones, and lists folders, on
   Windows. */
#include "format/disk.h"
#include "format/windows/system.h"

#include <errno.h>
#include <fcntl.h>
#include <io.h>
#include <stdio.h>
#include <string.h>
#include <wchar.h>

/* ---- temporary files ---- */

/* Copies the folder of a path, including the \ at its end. */
static bool folder_of(const char *path, wchar_t folder[DISK_NAME])
{
    wchar_t *end = rapt__path_wide(path, folder) ? wcsrchr(folder, L'\\') : NULL;
    if (end) end[1] = 0;
    return end != NULL;
}

/* Joins folder and name into a path. Returns false if it is too long. */
static bool join_path(const wchar_t *folder, const wchar_t *name, wchar_t path[DISK_NAME])
{
    size_t length = wcslen(folder), more = wcslen(name);
    if (length + more >= DISK_NAME) return false;
    wmemcpy(path, folder, length);
    wmemcpy(path + length, name, more + 1);
    return true;
}

/* Returns the key from which the names of temporary files in this folder are derived, a hash of
   the disk, the folder and the host. Returns 0 if the folder cannot be examined. */
static uint64_t folder_key(const wchar_t *folder)
{
    BY_HANDLE_FILE_INFORMATION about = {0};
    wchar_t host[MAX_COMPUTERNAME_LENGTH + 1] = {0};
    DWORD length = MAX_COMPUTERNAME_LENGTH + 1;
    HANDLE handle = CreateFileW(folder, 0, FILE_SHARE_READ | FILE_SHARE_WRITE | FILE_SHARE_DELETE,
                                NULL, OPEN_EXISTING, FILE_FLAG_BACKUP_SEMANTICS, NULL);
    if (handle == INVALID_HANDLE_VALUE) return 0;
    bool known = GetFileInformationByHandle(handle, &about) && GetComputerNameW(host, &length);
    CloseHandle(handle);
    uint64_t number = (uint64_t)about.nFileIndexHigh << 32 | about.nFileIndexLow;
    uint64_t key = rapt__hash((const char *)host, length * sizeof *host);
    return known ? rapt__mix(rapt__mix(key, about.dwVolumeSerialNumber), number) : 0;
}

void rapt__folder_enter(const char *path)
{
    wchar_t folder[DISK_NAME], found[DISK_NAME];
    WIN32_FIND_DATAW entry;
    if (!folder_of(path, folder) || !join_path(folder, L".rapt-*.tmp", found)) return;
    uint64_t key = folder_key(folder);
    HANDLE list = key != 0 ? FindFirstFileW(found, &entry) : INVALID_HANDLE_VALUE;
    if (list == INVALID_HANDLE_VALUE) return;
    const DWORD special = FILE_ATTRIBUTE_DIRECTORY | FILE_ATTRIBUTE_REPARSE_POINT;
    do {
        char name[DISK_NAME];
        if (rapt__path_narrow(entry.cFileName, name) && rapt__temporary_is_ours(name, key) &&
            !(entry.dwFileAttributes & special) && join_path(folder, entry.cFileName, found))
            DeleteFileW(found);
    } while (FindNextFileW(list, &entry));
    FindClose(list);
}

/* Creates a file that other processes may read but not remove. They must be able to read it,
   because it is renamed to its final name while it is open. DELETE access allows us to rename it or
   to mark it for removal. */
static int create_temporary(const wchar_t *path)
{
    HANDLE handle = CreateFileW(path, GENERIC_WRITE | DELETE, FILE_SHARE_READ, NULL, CREATE_NEW,
                                FILE_ATTRIBUTE_NORMAL, NULL);
    if (handle == INVALID_HANDLE_VALUE) {
        errno = rapt__last_error();
        return -1;
    }
    int file = _open_osfhandle((intptr_t)handle, _O_WRONLY | _O_BINARY | _O_NOINHERIT);
    if (file < 0) { /* too many files are open: remove the new one */
        FILE_DISPOSITION_INFO gone = {.DeleteFile = TRUE};
        SetFileInformationByHandle(handle, FileDispositionInfo, &gone, sizeof gone);
        CloseHandle(handle);
    }
    return file;
}

int rapt__folder_create(const char *path, char temporary[DISK_NAME])
{
    wchar_t folder[DISK_NAME], wide[DISK_NAME], name[TEMPORARY_NAME];
    char made[TEMPORARY_NAME];
    LARGE_INTEGER now = {0};
    int file = -1;
    temporary[0] = 0;
    errno = ENAMETOOLONG;
    if (!folder_of(path, folder)) return -1;
    QueryPerformanceCounter(&now);
    uint64_t key = folder_key(folder), random = rapt__mix(GetCurrentProcessId(), GetTickCount64());
    for (int i = 0; i < TEMPORARY_ATTEMPTS && file < 0; i++) {
        random = rapt__mix(random, (uint64_t)now.QuadPart);
        rapt__temporary_name(made, random, key);
        for (size_t c = 0; c < sizeof made; c++) name[c] = (wchar_t)made[c];
        if (!join_path(folder, name, wide) || !rapt__path_narrow(wide, temporary)) break;
        file = create_temporary(wide);
        if (file < 0 && errno != EEXIST) break;
    }
    if (file < 0) temporary[0] = 0; /* no file is left, so no file of this name may be removed */
    return file;
}

/* ---- listing ---- */

bool rapt__disk_list(const char *folder, disk_visit_fn *visit, void *user)
{
    const int before = errno;
    char pattern[DISK_NAME], name[DISK_NAME];
    wchar_t wide[DISK_NAME];
    WIN32_FIND_DATAW entry;
    size_t size = strlen(folder);
    bool joined = size == 0 || strchr("/\\:", folder[size - 1]), more = true;
    int length = snprintf(pattern, sizeof pattern, "%s%s*", folder, joined ? "" : "\\");
    errno = ENAMETOOLONG;
    if (length >= (int)sizeof pattern || !rapt__path_wide(pattern, wide)) return false;
    errno = before;
    HANDLE list = FindFirstFileW(wide, &entry);
    if (list == INVALID_HANDLE_VALUE) {
        errno = rapt__last_error();
        return false;
    }
    do
        if (rapt__path_narrow(entry.cFileName, name) && strcmp(name, ".") != 0 &&
            strcmp(name, "..") != 0)
            more = visit(user, name);
    while (more && FindNextFileW(list, &entry));
    const bool complete = !more || GetLastError() == ERROR_NO_MORE_FILES;
    errno = complete ? before : rapt__last_error();
    FindClose(list);
    return complete;
}
