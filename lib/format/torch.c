/* torch.c - reads the files that torch.save has written since PyTorch 1.6, and turns the tensors of
   a state dict into entries after checking their names, types, shapes and strides. Such a file is a
   zip file that contains

       NAME/data.pkl         a pickle: keys, and each tensor's storage, offset, shape and strides
       NAME/data/KEY         the bytes of a storage
       NAME/byteorder        "little"; optional

   torch_legacy.c reads the files of older versions. Sources: torch/_utils.py and
   torch/serialization.py of PyTorch 2.1. */
#include "torch.h"
#include "zip.h"

#include <stdio.h>
#include <string.h>

rapt_status rapt__torch_bad(const struct torch_reading *r, const char *name, const char *what)
{
    return rapt__tensors_bad(r->file, name, what, r->why);
}

struct torch_reading rapt__torch_reading(struct tensor_file *file, torch_find_fn *find, void *form,
                                         rapt_message *why)
{
    const struct pickle pickle = {
        .allocator = file->allocator, .label = file->main.source.label.text, .why = why};
    return (struct torch_reading){
        .file = file, .pickle = pickle, .find = find, .form = form, .why = why};
}

/* ---- tensors ---- */

static rapt_status take_shape(const struct torch_reading *r, const struct pickle_value *sizes,
                              struct tensor_entry *entry)
{
    if (sizes->size > TENSOR_RANK)
        return rapt__torch_bad(r, entry->name, "has more than 8 dimensions");
    entry->rank = (int)sizes->size;
    for (size_t i = 0; i < sizes->size; i++) {
        const struct pickle_value *size = &r->pickle.items.values[sizes->first + i];
        if (size->kind != PICKLE_NUMBER || size->number < 0 || (uint64_t)size->number > SIZE_MAX)
            return rapt__torch_bad(r, entry->name, "has a dimension that is negative or too large");
        entry->shape[i] = (size_t)size->number;
    }
    return RAPT_OK;
}

/* Checks that elements are stored row by row or, in a matrix, column by column, and sets
   entry->transposed. The stride of a dimension of size 1 does not matter. */
static rapt_status check_strides(const struct torch_reading *r, const struct pickle_value *strides,
                                 struct tensor_entry *entry)
{
    size_t row_major = 1;
    bool rows = true, columns = entry->rank == 2;
    if (strides->size != (size_t)entry->rank)
        return rapt__torch_bad(r, entry->name, "does not have one stride per dimension");
    for (size_t i = strides->size; i-- > 0;) {
        const struct pickle_value *stride = &r->pickle.items.values[strides->first + i];
        if (stride->kind != PICKLE_NUMBER || stride->number < 0)
            return rapt__torch_bad(r, entry->name, "has a stride that is negative or not a number");
        uint64_t value = (uint64_t)stride->number;
        if (entry->shape[i] != 1 && value != row_major) rows = false;
        if (entry->shape[i] != 1 && value != (i == 0 ? 1 : entry->shape[0])) columns = false;
        row_major *= entry->shape[i];
    }
    entry->transposed = columns && !rows;
    if (rows || columns || entry->count == 0) return RAPT_OK;
    return rapt__torch_bad(r, entry->name,
                           "has strides that skip or permute elements; save a contiguous copy");
}

static rapt_status add_tensor(struct torch_reading *r, const struct pickle_pair *pair)
{
    struct tensor_entry entry = {.rank = 0};
    if (pair->key.kind != PICKLE_TEXT)
        return rapt__fail(r->why, RAPT_BAD_FILE, "%s: a key of the state dict is not a string",
                          r->file->main.source.label.text);
    entry.name = rapt__tensors_text(r->file, pair->key.text, pair->key.size, r->why);
    if (!entry.name) return RAPT_NO_MEMORY;
    if (strlen(entry.name) != pair->key.size || !rapt__is_utf8(entry.name))
        return rapt__torch_bad(r, entry.name,
                               "has a name that is not UTF-8 or contains a NUL byte");
    if (pair->value.kind != PICKLE_TENSOR) return rapt__torch_bad(r, entry.name, "is not a tensor");
    const struct pickle_value *is = r->pickle.items.values + pair->value.first;
    const struct dtype *dtype = rapt__dtype_find(rapt__pickle_dtype(is[0].first));
    const uint64_t offset = (uint64_t)is[1].number, elements = (uint64_t)is[0].number;
    uint64_t begin = 0;
    entry.dtype = dtype->name;
    rapt_status status = take_shape(r, &is[2], &entry);
    if (status != RAPT_OK) return status;
    if (!rapt__tensors_count_shape(&entry, dtype->bits))
        return rapt__torch_bad(r, entry.name, "has a size that overflows");
    status = check_strides(r, &is[3], &entry);
    if (status == RAPT_OK) status = r->find(r, &is[0], dtype, &entry, &begin);
    if (status != RAPT_OK) return status;
    if (is[1].number < 0 || offset > elements || entry.count > elements - offset)
        return rapt__torch_bad(r, entry.name, "extends past the end of its storage");
    entry.begin = (size_t)(begin + offset * (dtype->bits / 8));
    entry.end = entry.begin + entry.count * (dtype->bits / 8);
    return rapt__tensors_add(r->file, &entry, r->why);
}

/* ---- the state dict ---- */

/* Returns whether the keys of a dict are longer in total than the whole pickle, which has `size`
   bytes. If so, a key occurs twice, because distinct keys occupy distinct bytes of the pickle.
   Checking this before the keys are copied bounds the memory for the copies. */
static bool keys_exceed(const struct torch_reading *r, const struct pickle_value *dict, size_t size)
{
    size_t left = size;
    for (size_t i = 0; i < r->pickle.pair_count; i++) {
        const struct pickle_pair *pair = &r->pickle.pairs[i];
        if (pair->of != dict->first || pair->key.kind != PICKLE_TEXT) continue;
        if (pair->key.size > left) return true;
        left -= pair->key.size;
    }
    return false;
}

/* Finds the state dict: the result itself or, if the result is a training checkpoint, one of its
   items. The other items of a checkpoint are ignored. */
static rapt_status find_dict(const struct torch_reading *r, struct pickle_value *dict)
{
    static const char *const names[] = {"model", "state_dict", "model_state_dict"};
    const struct pickle *p = &r->pickle;
    const char *found = NULL;
    *dict = p->result;
    if (dict->kind != PICKLE_DICT)
        return rapt__fail(r->why, RAPT_BAD_FILE, "%s: the pickled object is not a dictionary",
                          p->label);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        const struct pickle_value *inner = rapt__pickle_get(p, &p->result, names[i]);
        if (!inner || inner->kind != PICKLE_DICT) continue;
        if (found)
            return rapt__fail(r->why, RAPT_BAD_FILE,
                              "%s has two state dicts, \"%s\" and \"%s\"; save only one of them",
                              p->label, found, names[i]);
        found = names[i];
        *dict = *inner;
    }
    return RAPT_OK;
}

rapt_status rapt__torch_add(struct torch_reading *r, size_t size)
{
    struct pickle_value dict = {0};
    rapt_status status = find_dict(r, &dict);
    if (status == RAPT_OK && keys_exceed(r, &dict, size))
        status = rapt__fail(r->why, RAPT_BAD_FILE, "%s: a key of the state dict occurs twice",
                            r->pickle.label);
    for (size_t i = 0; i < r->pickle.pair_count && status == RAPT_OK; i++)
        if (r->pickle.pairs[i].of == dict.first) status = add_tensor(r, &r->pickle.pairs[i]);
    return status == RAPT_OK ? rapt__tensors_sort(r->file, r->why) : status;
}

/* ---- zip files ---- */

enum { PATH = 512 }; /* maximum size of a member's name in bytes, including the terminating 0 */

static const char pickle_name[] = "data.pkl";

struct torch_zip {
    const struct zip *zip;
    const char *folder; /* [folder_size] "NAME/", without a terminating 0 */
    size_t folder_size;
    unsigned *parts; /* [zip->count] number of the part that holds a member; 0 if not inflated */
};

const struct zip_member *rapt__torch_pickle(const struct zip *zip)
{
    for (size_t i = 0; i < zip->count; i++) {
        const char *name = zip->members[i].name, *slash = strrchr(name, '/');
        if (slash && strcmp(slash + 1, pickle_name) == 0) return &zip->members[i];
    }
    return NULL;
}

/* ---- storages in a zip file ---- */

/* Finds the part that contains the bytes of a member. A deflated member is inflated only once. */
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

/* ---- the zip file ---- */

/* Reads a nonempty member into *bytes, which has member->size bytes or, after a failure, may be
   NULL. The caller must free it in both cases. */
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
        status = rapt__fail(r->why, RAPT_BAD_FILE,
                            "%s: %s has bytes after the pickle, which ends at byte %zu",
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
                          "%s: %s (%llu bytes) is empty or too large, or its name is too long",
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
