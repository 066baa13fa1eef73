/* list.c - lists the names in a folder. */
#define _POSIX_C_SOURCE   200809L
#define _FILE_OFFSET_BITS 64

#include "format/disk.h"

#include <dirent.h>
#include <errno.h>
#include <string.h>

bool rapt__disk_list(const char *folder, disk_visit_fn *visit, void *user)
{
    const int before = errno;
    DIR *list = opendir(folder[0] ? folder : ".");
    bool more = true;
    if (!list) return false;
    /* NOLINTNEXTLINE(concurrency-mt-unsafe): no other thread has this list. */
    for (const struct dirent *entry; more && (entry = readdir(list));)
        if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0)
            more = visit(user, entry->d_name);
    closedir(list);
    errno = before;
    return true;
}
