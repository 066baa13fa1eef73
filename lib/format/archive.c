/* archive.c - lists and reads the members of a zip file as if they were files in folders. */
#include "format.h"
#include "zip.h"

#include <stdio.h>
#include <string.h>

struct archive {
    rapt_allocator allocator;
    struct disk_source source;
    struct zip zip;
    struct string_pool names;
};

/* Returns whether a name is a relative path without a ".." component, a colon or a backslash. */
static bool stays_inside(const char *name)
{
    if (name[0] == '/' || strchr(name, '\\') || strchr(name, ':')) return false;
    for (const char *part = name; part; part = strchr(part, '/')) {
        part += *part == '/';
        if (strncmp(part, "..", 2) == 0 && (!part[2] || part[2] == '/')) return false;
    }
    return true;
}

static rapt_status check_names(const struct archive *a, rapt_message *why)
{
    for (size_t n = 0; n < a->zip.count; n++)
        if (!stays_inside(a->zip.members[n].name))
            return rapt__fail(why, RAPT_BAD_FILE,
                              "%s: the name of member \"%s\" must be a relative path without "
                              "\"..\", colons or backslashes",
                              a->source.label.text, rapt__shown(a->zip.members[n].name).text);
    return RAPT_OK;
}

rapt_status rapt__archive_open(struct archive **archive, const char *path,
                               const rapt_allocator *allocator, rapt_message *why)
{
    struct archive *a = rapt__alloc(allocator, sizeof *a);
    if (!a) return rapt__fail(why, RAPT_NO_MEMORY, "%s: out of memory", rapt__shown(path).text);
    *a = (struct archive){.allocator = rapt__allocator(allocator)};
    rapt_status status = rapt__disk_open(&a->source, path, why);
    if (status) {
        rapt__free(allocator, a, sizeof *a);
        return status;
    }
    rapt__budget_add(allocator, a->source.size);
    status = rapt__zip_read(&a->zip, &a->source, &a->names, allocator, why);
    if (!status) status = check_names(a, why);
    if (status)
        rapt__archive_close(a);
    else
        *archive = a;
    return status;
}

void rapt__archive_close(struct archive *archive)
{
    if (!archive) return;
    const rapt_allocator allocator = archive->allocator;
    rapt__zip_free(&archive->zip, &allocator);
    rapt__pool_free(&archive->names, &allocator);
    rapt__disk_close(&archive->source);
    rapt__free(&allocator, archive, sizeof *archive);
}

bool rapt__archive_has(const struct archive *archive, const char *name)
{
    const size_t size = strlen(name);
    return size && name[size - 1] != '/' && rapt__zip_find(&archive->zip, name);
}

void rapt__archive_list(const struct archive *archive, const char *folder, disk_visit_fn *visit,
                        void *user)
{
    char path[2 * DISK_NAME];
    const size_t above = strlen(folder);
    const char *last = NULL; /* the last name visited; members of the same folder are adjacent */
    size_t last_size = 0;
    if (above > DISK_NAME) return;
    memcpy(path, folder, above);
    for (size_t n = 0; n < archive->zip.count; n++) {
        const char *name = archive->zip.members[n].name;
        if (strncmp(name, folder, above) != 0 || !name[above]) continue;
        name += above;
        const size_t size = strcspn(name, "/");
        if (size >= DISK_NAME || (last && size == last_size && memcmp(name, last, size) == 0))
            continue;
        memcpy(path + above, name, size);
        path[above + size] = 0;
        last = name, last_size = size;
        /* A file with the same name as a folder has been visited, perhaps before other names. */
        if (name[size] && rapt__zip_find(&archive->zip, path)) continue;
        if (!visit(user, path + above)) return;
    }
}

/* Reads a member into *bytes, which has max(member->size, 1) bytes and is freed by the caller. */
static rapt_status read_member(const struct archive *a, const struct zip_member *member,
                               unsigned char **bytes, const rapt_allocator *allocator,
                               rapt_message *why)
{
    const size_t size = rapt__max_size((size_t)member->size, 1);
    if (member->deflated) return rapt__zip_inflate(&a->source, member, bytes, allocator, why);
    *bytes = rapt__alloc(allocator, size);
    if (!*bytes)
        return rapt__fail(why, RAPT_NO_MEMORY, "%s: out of memory while reading",
                          a->source.label.text);
    rapt_status status =
        rapt__disk_read(&a->source, member->begin, *bytes, (size_t)member->size, why);
    if (status) rapt__free(allocator, *bytes, size);
    return status;
}

rapt_status rapt__archive_read(const struct archive *archive, const char *name,
                               struct disk_source *source, const rapt_allocator *allocator,
                               rapt_message *why)
{
    const struct zip_member *member = rapt__zip_find(&archive->zip, name);
    unsigned char *bytes = NULL;
    char path[2 * DISK_NAME];
    if (!member)
        return rapt__fail(why, RAPT_NO_FILE, "%s has no member \"%s\"", archive->source.label.text,
                          rapt__shown(name).text);
    rapt_status status = rapt__inflated_check(&archive->source, member->size, why);
    if (!status) status = read_member(archive, member, &bytes, allocator, why);
    if (status) return status;
    *source = (struct disk_source){.file = -1,
                                   .bytes = bytes,
                                   .size = member->size,
                                   .memory = bytes,
                                   .memory_size = rapt__max_size((size_t)member->size, 1),
                                   .allocator = rapt__allocator(allocator)};
    snprintf(path, sizeof path, "%s/%s", archive->source.label.text, name);
    source->label = rapt__shown(path);
    return RAPT_OK;
}
