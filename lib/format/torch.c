/* torch.c - a pytorch_model.bin goes in: a zip file with a state dict; entries come out.

       NAME/data.pkl         a pickle: keys, and of each tensor its storage, offset, shape, strides
       NAME/data/KEY         the bytes of a storage
       NAME/byteorder        "little", where it is there

   Source: torch/serialization.py of PyTorch 2.1. */
#include "dtype.h"
#include "pickle.h"
#include "zip.h"

#include <stdio.h>
#include <string.h>

enum { PICKLE_MAX = 1 << 22, PATH = 512 }; /* bytes of a pickle; of a name of a member */

static const char pickle_name[] = "data.pkl";

struct torch_reading {
    struct tensor_file *file;
    const struct zip *zip;
    struct pickle pickle;
    const char *folder; /* [folder_size] with its slash */
    size_t folder_size;
    unsigned *parts; /* [zip->count] of deflated members that were read; 0: not yet */
    rapt_message *why;
};

const struct zip_member *rapt__torch_pickle(const struct zip *zip)
{
    for (size_t i = 0; i < zip->count; i++) {
        const char *name = zip->members[i].name, *slash = strrchr(name, '/');
        if (slash && strcmp(slash + 1, pickle_name) == 0) return &zip->members[i];
    }
    return NULL;
}

static rapt_status bad(const struct torch_reading *r, const char *name, const char *what)
{
    return rapt__tensors_bad(r->file, name, what, r->why);
}

/* ---- storages ---- */

/* The part of a member; a deflated one is read once. */
static rapt_status find_part(struct torch_reading *r, const struct zip_member *member,
                             unsigned *part, uint64_t *begin)
{
    unsigned *known = &r->parts[member - r->zip->members];
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
    char path[PATH];
    uint64_t size = (uint64_t)storage->number;
    int length = snprintf(path, sizeof path, "%.*sdata/%.*s", (int)r->folder_size, r->folder,
                          (int)rapt__min_size(storage->size, PATH), storage->text);
    const struct zip_member *member = length < PATH ? rapt__zip_find(r->zip, path) : NULL;
    if (!member) return bad(r, entry->name, "its storage is not in the file");
    if (storage->number < 0 || size > UINT64_MAX / 8 || size * (dtype->bits / 8) != member->size)
        return bad(r, entry->name, "its storage has another size than the pickle says");
    return find_part(r, member, &entry->part, begin);
}

/* ---- tensors ---- */

static rapt_status take_shape(const struct torch_reading *r, const struct pickle_value *sizes,
                              struct tensor_entry *entry)
{
    if (sizes->size > TENSOR_RANK) return bad(r, entry->name, "has more than 8 dimensions");
    entry->rank = (int)sizes->size;
    for (size_t i = 0; i < sizes->size; i++) {
        const struct pickle_value *size = &r->pickle.items.values[sizes->first + i];
        if (size->kind != PICKLE_NUMBER || size->number < 0 || (uint64_t)size->number > SIZE_MAX)
            return bad(r, entry->name, "a dimension is no size");
        entry->shape[i] = (size_t)size->number;
    }
    return RAPT_OK;
}

/* Row by row, or, of a matrix, column by column; the stride of a single row or column is anything.
 */
static rapt_status check_strides(const struct torch_reading *r, const struct pickle_value *strides,
                                 struct tensor_entry *entry)
{
    size_t row_major = 1;
    bool rows = true, columns = entry->rank == 2;
    if (strides->size != (size_t)entry->rank) return bad(r, entry->name, "has other strides");
    for (size_t i = strides->size; i-- > 0;) {
        const struct pickle_value *stride = &r->pickle.items.values[strides->first + i];
        if (stride->kind != PICKLE_NUMBER || stride->number < 0)
            return bad(r, entry->name, "a stride is no size");
        uint64_t value = (uint64_t)stride->number;
        if (entry->shape[i] != 1 && value != row_major) rows = false;
        if (entry->shape[i] != 1 && value != (i == 0 ? 1 : entry->shape[0])) columns = false;
        row_major *= entry->shape[i];
    }
    entry->transposed = columns && !rows;
    if (rows || columns || entry->count == 0) return RAPT_OK;
    return bad(r, entry->name, "its strides leave out elements or mix them");
}

static rapt_status add_tensor(struct torch_reading *r, const struct pickle_pair *pair)
{
    struct tensor_entry entry = {.rank = 0};
    if (pair->key.kind != PICKLE_TEXT)
        return rapt__fail(r->why, RAPT_BAD_FILE, "%s: a key of the state dict is no text",
                          r->file->main.source.label.text);
    entry.name = rapt__tensors_text(r->file, pair->key.text, pair->key.size, r->why);
    if (!entry.name) return RAPT_NO_MEMORY;
    if (strlen(entry.name) != pair->key.size || !rapt__is_utf8(entry.name))
        return bad(r, entry.name, "its name is not UTF-8, or has a 0");
    if (pair->value.kind != PICKLE_TENSOR) return bad(r, entry.name, "is no tensor");
    const struct pickle_value *is = r->pickle.items.values + pair->value.first;
    const struct dtype *dtype = rapt__dtype_find(rapt__pickle_dtype(is[0].first));
    const uint64_t offset = (uint64_t)is[1].number, elements = (uint64_t)is[0].number;
    uint64_t begin = 0;
    entry.dtype = dtype->name;
    rapt_status status = take_shape(r, &is[2], &entry);
    if (status != RAPT_OK) return status;
    if (!rapt__tensors_count_shape(&entry, dtype->bits))
        return bad(r, entry.name, "its size is beyond all memory");
    status = check_strides(r, &is[3], &entry);
    if (status == RAPT_OK) status = find_storage(r, &is[0], dtype, &entry, &begin);
    if (status != RAPT_OK) return status;
    if (is[1].number < 0 || offset > elements || entry.count > elements - offset)
        return bad(r, entry.name, "ends behind its storage");
    entry.begin = (size_t)(begin + offset * (dtype->bits / 8));
    entry.end = entry.begin + entry.count * (dtype->bits / 8);
    return rapt__tensors_add(r->file, &entry, r->why);
}

/* ---- the whole ---- */

static rapt_status read_member(const struct torch_reading *r, const struct zip_member *member,
                               unsigned char *bytes)
{
    const struct disk_source *source = &r->file->main.source;
    if (member->deflated)
        return rapt__zip_inflate(source, member, bytes, &r->file->allocator, r->why);
    return rapt__disk_read(source, member->begin, bytes, (size_t)member->size, r->why);
}

static rapt_status check_order(struct torch_reading *r)
{
    char path[PATH];
    unsigned char order[7] = "";
    snprintf(path, sizeof path, "%.*sbyteorder", (int)r->folder_size, r->folder);
    const struct zip_member *member = rapt__zip_find(r->zip, path);
    if (!member) return RAPT_OK;
    rapt_status status = member->size == 6 ? read_member(r, member, order) : RAPT_OK;
    if (status != RAPT_OK) return status;
    if (memcmp(order, "little", 7) == 0) return RAPT_OK;
    return rapt__fail(r->why, RAPT_BAD_FILE, "%s: its byteorder is not \"little\"",
                      r->file->main.source.label.text);
}

/* Whether keys have more bytes than the pickle, of which no two have the same: a key is there
   more than once. Each is copied. */
static bool keys_exceed(const struct torch_reading *r, size_t size)
{
    size_t left = size;
    for (size_t i = 0; i < r->pickle.pair_count; i++) {
        const struct pickle_pair *pair = &r->pickle.pairs[i];
        if (pair->dict != r->pickle.result.first || pair->key.kind != PICKLE_TEXT) continue;
        if (pair->key.size > left) return true;
        left -= pair->key.size;
    }
    return false;
}

/* The entries of the pickle of size bytes. */
static rapt_status read_dict(struct torch_reading *r, const unsigned char *bytes, size_t size)
{
    rapt_status status = rapt__pickle_run(&r->pickle, bytes, size);
    if (status == RAPT_OK && keys_exceed(r, size))
        status = rapt__fail(r->why, RAPT_BAD_FILE, "%s: a key of the state dict is there twice",
                            r->pickle.label);
    for (size_t i = 0; i < r->pickle.pair_count && status == RAPT_OK; i++)
        if (r->pickle.pairs[i].dict == r->pickle.result.first)
            status = add_tensor(r, &r->pickle.pairs[i]);
    return status;
}

rapt_status rapt__torch_read(struct tensor_file *file, const struct zip *zip,
                             const struct zip_member *member, rapt_message *why)
{
    const rapt_allocator *allocator = &file->allocator;
    struct torch_reading r = {.file = file, .zip = zip, .folder = member->name, .why = why};
    r.folder_size = strlen(member->name) - strlen(pickle_name);
    r.pickle = (struct pickle){
        .allocator = file->allocator, .label = file->main.source.label.text, .why = why};
    if (member->size == 0 || member->size > PICKLE_MAX || r.folder_size > PATH / 2)
        return rapt__fail(why, RAPT_BAD_FILE, "%s: its %s has %llu bytes", r.pickle.label,
                          pickle_name, (unsigned long long)member->size);
    unsigned char *bytes = rapt__alloc(allocator, (size_t)member->size);
    r.parts = rapt__alloc(allocator, zip->count * sizeof *r.parts);
    rapt_status status = bytes && r.parts ? check_order(&r) : rapt__tensors_no_memory(file, why);
    if (r.parts) memset(r.parts, 0, zip->count * sizeof *r.parts);
    if (status == RAPT_OK) status = read_member(&r, member, bytes);
    if (status == RAPT_OK) status = read_dict(&r, bytes, (size_t)member->size);
    rapt__pickle_free(&r.pickle);
    rapt__free(allocator, r.parts, zip->count * sizeof *r.parts);
    rapt__free(allocator, bytes, (size_t)member->size);
    return status == RAPT_OK ? rapt__tensors_sort(file, why) : status;
}
