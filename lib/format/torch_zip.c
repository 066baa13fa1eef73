/* torch_zip.c - reads a file written by torch.save of PyTorch 1.6 or later, a zip file that
   contains a state dict.

       NAME/data.pkl         a pickle: keys, and each tensor's storage, offset, shape and strides
       NAME/data/KEY         the bytes of a storage
       NAME/byteorder        "little"; optional

   Source: torch/serialization.py of PyTorch 2.1. */
#include "torch.h"
#include "zip.h"

#include <stdio.h>
#include <string.h>

enum { PATH = 512 }; /* maximum size of a member's name in bytes, including its 0 */

static const char pickle_name[] = "data.pkl";

struct torch_zip {
    const struct zip *zip;
    const char *folder; /* [folder_size] "NAME/", without a terminating 0 */
    size_t folder_size;
    unsigned *parts; /* [zip->count] part of each inflated member; 0 if not inflated yet */
};

const struct zip_member *rapt__torch_pickle(const struct zip *zip)
{
    for (size_t i = 0; i < zip->count; i++) {
        const char *name = zip->members[i].name, *slash = strrchr(name, '/');
        if (slash && strcmp(slash + 1, pickle_name) == 0) return &zip->members[i];
    }
    return NULL;
}

/* ---- storages ---- */

/* Finds the part that contains the bytes of a member. A deflated member is inflated once. */
static rapt_status find_part(struct torch_reading *r, const struct zip_member *member,
                             unsigned *part, uint64_t *begin)
{
    const struct torch_zip *form = r->form;
    unsigned *known = &form->parts[member - form->zip->members];
    if (*known == 0) {
        rapt_status status = rapt__zip_part(r->file, member, part, begin, r->why);
        if (status == RAPT_OK) *known = *part;
        return status;
    }
    *part = *known;
    *begin = 0;
    return RAPT_OK;
}

static rapt_status find_storage(struct torch_reading *r, const struct pickle_value *storage,
                                const struct dtype *dtype, struct tensor_entry *entry,
                                uint64_t *begin)
{
    const struct torch_zip *form = r->form;
    char path[PATH];
    uint64_t size = (uint64_t)storage->number;
    int length = snprintf(path, sizeof path, "%.*sdata/%.*s", (int)form->folder_size, form->folder,
                          (int)rapt__min_size(storage->size, PATH), storage->text);
    const struct zip_member *member = length < PATH ? rapt__zip_find(form->zip, path) : NULL;
    if (!member) return rapt__torch_bad(r, entry->name, "has a storage that is not in the file");
    if (storage->number < 0 || size > UINT64_MAX / 8 || size * (dtype->bits / 8) != member->size)
        return rapt__torch_bad(r, entry->name,
                               "has a storage whose size differs from the size in the pickle");
    return find_part(r, member, &entry->part, begin);
}

/* ---- the file ---- */

/* Reads a nonempty member into *bytes, which has member->size bytes and is freed by the caller. */
static rapt_status read_member(const struct torch_reading *r, const struct zip_member *member,
                               unsigned char **bytes)
{
    const struct disk_source *source = &r->file->main.source;
    const rapt_allocator *allocator = &r->file->allocator;
    if (member->deflated) return rapt__zip_inflate(source, member, bytes, allocator, r->why);
    *bytes = rapt__alloc(allocator, (size_t)member->size);
    if (!*bytes) return rapt__tensors_no_memory(r->file, r->why);
    return rapt__disk_read(source, member->begin, *bytes, (size_t)member->size, r->why);
}

static rapt_status check_order(struct torch_reading *r)
{
    const struct torch_zip *form = r->form;
    char path[PATH];
    enum { ORDER = 6 };
    unsigned char *order = NULL;
    snprintf(path, sizeof path, "%.*sbyteorder", (int)form->folder_size, form->folder);
    const struct zip_member *member = rapt__zip_find(form->zip, path);
    if (!member) return RAPT_OK;
    rapt_status status = member->size == ORDER ? read_member(r, member, &order) : RAPT_OK;
    const bool little = status == RAPT_OK && order && memcmp(order, "little", ORDER) == 0;
    rapt__free(&r->file->allocator, order, ORDER);
    if (status != RAPT_OK || little) return status;
    return rapt__fail(r->why, RAPT_BAD_FILE, "%s: byteorder is not \"little\"",
                      r->file->main.source.label.text);
}

static rapt_status read_dict(struct torch_reading *r, const struct zip_member *member,
                             unsigned char **bytes)
{
    rapt_status status = check_order(r);
    if (status == RAPT_OK) status = read_member(r, member, bytes);
    if (status == RAPT_OK) status = rapt__pickle_run(&r->pickle, *bytes, (size_t)member->size);
    if (status == RAPT_OK && r->pickle.at != member->size)
        status = rapt__fail(r->why, RAPT_BAD_FILE, "%s: %s has bytes after its end at byte %zu",
                            r->pickle.label, pickle_name, r->pickle.at);
    return status == RAPT_OK ? rapt__torch_add(r, (size_t)member->size) : status;
}

rapt_status rapt__torch_read(struct tensor_file *file, const struct zip *zip,
                             const struct zip_member *member, rapt_message *why)
{
    const rapt_allocator *allocator = &file->allocator;
    struct torch_zip form = {.zip = zip, .folder = member->name};
    struct torch_reading r = rapt__torch_reading(file, find_storage, &form, why);
    form.folder_size = strlen(member->name) - strlen(pickle_name);
    if (member->size == 0 || member->size > PICKLE_MAX || form.folder_size > PATH / 2)
        return rapt__fail(why, RAPT_BAD_FILE,
                          "%s: %s, of %llu bytes, is empty or too large, or its name is too long",
                          r.pickle.label, pickle_name, (unsigned long long)member->size);
    unsigned char *bytes = NULL;
    form.parts = rapt__alloc(allocator, zip->count * sizeof *form.parts);
    if (form.parts) memset(form.parts, 0, zip->count * sizeof *form.parts);
    rapt_status status =
        form.parts ? read_dict(&r, member, &bytes) : rapt__tensors_no_memory(file, why);
    rapt__pickle_free(&r.pickle);
    rapt__free(allocator, form.parts, zip->count * sizeof *form.parts);
    rapt__free(allocator, bytes, (size_t)member->size);
    return status;
}
