/* archive.c - opens packages of Argos Translate, which are zip files with one folder, without
   unpacking them. */
#include "import/parts.h"

#include <stdio.h>
#include <string.h>

static const char description[] = "metadata.json"; /* a file that every package contains */

bool rapt__import_is_archive(const char *path)
{
    static const char end[] = ".argosmodel";
    const size_t size = strlen(path), tail = sizeof end - 1;
    return size >= tail && strcmp(path + size - tail, end) == 0 && !rapt__import_is_folder(path);
}

void rapt__import_member(const struct import *i, const char *name, char member[IMPORT_PATH])
{
    size_t size = strlen(i->folder + i->archive_size);
    memcpy(member, i->folder + i->archive_size, size);
    while (strncmp(name, "../", 3) == 0 && size > 0) {
        name += 3;
        do size--;
        while (size > 0 && member[size - 1] != '/');
    }
    snprintf(member + size, IMPORT_PATH - size, "%s", name);
}

struct found_package {
    const struct archive *archive;
    int count;
    char folder[IMPORT_FILE]; /* folder of the last package found: "" or ending in '/' */
};

static bool visit_top(void *user, const char *name)
{
    struct found_package *found = user;
    char folder[IMPORT_FILE], file[IMPORT_FILE + sizeof description];
    const bool top = strcmp(name, description) == 0;
    const int size = snprintf(folder, sizeof folder, "%s%s", top ? "" : name, top ? "" : "/");
    snprintf(file, sizeof file, "%s%s", folder, description);
    if ((size_t)size >= sizeof folder || !rapt__archive_has(found->archive, file)) return true;
    found->count++;
    memcpy(found->folder, folder, sizeof folder);
    return true;
}

rapt_status rapt__import_archive(struct import *i, const char *path)
{
    rapt_status status = rapt__archive_open(&i->archive, path, &i->allocator, i->why);
    if (status) return status;
    struct found_package found = {.archive = i->archive};
    rapt__archive_list(i->archive, "", visit_top, &found);
    if (found.count != 1)
        return rapt__import_bad(i, "%.200s: it has %s; a package of Argos has one", path,
                                found.count ? "several folders with a metadata.json"
                                            : "no folder with a metadata.json");
    const int size = snprintf(i->folder, sizeof i->folder, "%s/%s", path, found.folder);
    if ((size_t)size >= sizeof i->folder)
        return rapt__import_bad(i, "%.200s: the path is too long", path);
    i->archive_size = strlen(path) + 1;
    return RAPT_OK;
}
