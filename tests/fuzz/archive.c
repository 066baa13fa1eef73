/* archive.c - any bytes as a zip file of folders. It must be refused with a reason or give names
   that are relative paths without "..", whose files are read or refused with a reason, in memory
   bounded by the file's size. */
#define _GNU_SOURCE
#include "files.h"
#include "format/format.h"

struct visited {
    const struct archive *archive;
    const rapt_allocator *allocator;
    char folder[200]; /* "" or ending in '/' */
    size_t size;      /* of the zip file */
    bool lacks_memory;
};

static void read_file_of(struct visited *v, const char *path)
{
    struct disk_source source;
    rapt_message why = {""};
    rapt_status status = rapt__archive_read(v->archive, path, &source, v->allocator, &why);
    v->lacks_memory = v->lacks_memory || status == RAPT_NO_MEMORY;
    require(status == RAPT_OK || why.text[0], "a reason");
    require(status == RAPT_OK || status == RAPT_NO_MEMORY || status == RAPT_BAD_FILE, "status");
    if (status != RAPT_OK) return;
    require(source.size <= 4 * v->size + (4 << 20), "limited inflation");
    uint8_t last;
    if (source.size)
        require(rapt__disk_read(&source, source.size - 1, &last, 1, NULL) == RAPT_OK, "a byte");
    rapt__disk_close(&source);
}

static bool visit(void *user, const char *name)
{
    struct visited *v = user;
    char path[400];
    require(strcmp(name, "..") != 0 && !strchr(name, '/'), "a name within its folder");
    if (snprintf(path, sizeof path, "%s%s", v->folder, name) >= (int)sizeof v->folder - 1)
        return true;
    if (rapt__archive_has(v->archive, path)) read_file_of(v, path);
    struct visited below = *v;
    if (!name[0]) return true; /* of two slashes in a row */
    snprintf(below.folder, sizeof below.folder, "%.198s/", path);
    rapt__archive_list(v->archive, below.folder, visit, &below);
    v->lacks_memory = below.lacks_memory;
    return true;
}

int fuzz_archive(const uint8_t *bytes, size_t size)
{
    static struct file file;
    struct budget budget;
    struct counted counted = counted_by(input_hash(bytes, size), 20);
    const rapt_allocator under = counted_allocator(&counted),
                         allocator = rapt__budget_begin(&budget, &under);
    struct archive *archive = NULL;
    rapt_message why = {""};
    if (size > 1 << 15) return 0;
    memcpy(file.bytes, bytes, size);
    file.size = size;
    rapt_status status = rapt__archive_open(&archive, file_path(&file), &allocator, &why);
    require((status == RAPT_OK) == (archive != NULL), "an archive, or a status");
    require(status == RAPT_OK || why.text[0], "a reason");
    struct visited all = {archive, &allocator, "", size, status == RAPT_NO_MEMORY};
    if (archive) rapt__archive_list(archive, "", visit, &all);
    require(!all.lacks_memory || budget.exceeded || may_lack_memory(&counted), "there was memory");
    require(counted.max <= memory_limit(size), "memory bounded by the file");
    rapt__archive_close(archive);
    require(counted.now == 0, "all memory is given back");
    return 0;
}
