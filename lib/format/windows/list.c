/* list.c - lists the names in a folder. */
#include "format/windows/system.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

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
    FindClose(list);
    return true;
}
