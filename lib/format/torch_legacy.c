/* torch_legacy.c - reads files written by torch.save before PyTorch 1.6. Most OPUS-MT models from
   2020 are in this format, which consists of five pickles followed by the storages.

       pickle     the number 0x1950A86A20F9469CFC6C
       pickle     the version, 1001
       pickle     {'protocol_version': 1001, 'little_endian': True, 'type_sizes': {..}}
       pickle     the state dict
       pickle     [key of the first storage, ..]
       for each key of the list: the number of elements as i64, the elements

   Every storage in the list must be used in the state dict, which determines its type, and nothing
   may follow the last storage. Source: _legacy_save and _legacy_load of torch/serialization.py,
   PyTorch 1.13. */
#include "torch.h"

#include "disk.h"

#include <string.h>

static const unsigned char magic[] = {0x6C, 0xFC, 0x9C, 0x46, 0xF9, 0x20, 0x6A, 0xA8, 0x50, 0x19};
enum { VERSION = 1001 };

struct torch_storage {
    struct pickle_value is; /* the value that stands for the storage in the state dict */
    bool listed;
    uint64_t begin;
};
struct torch_legacy {
    struct torch_storage *all; /* [count] sorted by key, without duplicates */
    size_t count;
};

static rapt_status bad_torch_file(const struct torch_reading *r, const char *what)
{
    return rapt__fail(r->why, RAPT_BAD_FILE, "%s: %s", r->pickle.label, what);
}

/* ---- the storages that the state dict uses ---- */

static int compare_keys(const struct pickle_value *x, const struct pickle_value *y)
{
    int order = memcmp(x->text, y->text, rapt__min_size(x->size, y->size));
    return order ? order : (x->size > y->size) - (x->size < y->size);
}

static int by_key(const void *context, const void *a, const void *b)
{
    (void)context;
    return compare_keys(&((const struct torch_storage *)a)->is,
                        &((const struct torch_storage *)b)->is);
}

static struct torch_storage *find_key(const struct torch_legacy *form,
                                      const struct pickle_value *key)
{
    size_t low = 0, high = form->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        int order = compare_keys(key, &form->all[middle].is);
        if (order == 0) return &form->all[middle];
        if (order < 0)
            high = middle;
        else
            low = middle + 1;
    }
    return NULL;
}

/* Fills in form->all, which has room for all references. Tensors that share a storage must agree on
   its type and size. */
static rapt_status collect_storages(const struct torch_reading *r, struct torch_legacy *form)
{
    const struct pickle_values *storages = &r->pickle.storages;
    struct torch_storage *all = form->all;
    for (size_t i = 0; i < storages->count; i++)
        all[i] = (struct torch_storage){.is = storages->values[i]};
    rapt__sort(all, storages->count, sizeof *all, by_key, NULL);
    for (size_t i = 0; i < storages->count; i++) {
        const struct pickle_value *last = form->count ? &all[form->count - 1].is : NULL;
        if (!last || compare_keys(last, &all[i].is) != 0)
            all[form->count++] = all[i];
        else if (last->first != all[i].is.first || last->number != all[i].is.number)
            return bad_torch_file(r, "two tensors disagree about the storage that they share");
    }
    return RAPT_OK;
}

static rapt_status find_storage(struct torch_reading *r, const struct pickle_value *storage,
                                const struct dtype *dtype, struct tensor_entry *entry,
                                uint64_t *begin)
{
    /* not NULL: the storages of all tensors were collected */
    const struct torch_storage *found = find_key(r->form, storage);
    (void)dtype;
    if (!found->listed)
        return rapt__torch_bad(r, entry->name, "has a storage that is not in the file");
    *begin = found->begin;
    return RAPT_OK;
}

/* ---- the bytes of the storages ---- */

/* Reads the storage with this key at the cursor: checks its number of elements, records where its
   bytes begin, and skips them. */
static rapt_status locate(struct torch_reading *r, const struct pickle_value *key, struct cursor *c)
{
    struct torch_storage *s = key->kind == PICKLE_TEXT ? find_key(r->form, key) : NULL;
    if (!s) return bad_torch_file(r, "the list of storages contains one that no tensor uses");
    if (s->listed) return bad_torch_file(r, "the list of storages contains a duplicate");
    const uint64_t size = rapt__dtype_find(rapt__pickle_dtype(s->is.first))->bits / 8;
    const uint64_t count = rapt__cursor_number(c, 8, "the size of a storage");
    if (c->status != RAPT_OK) return c->status;
    if (s->is.number < 0 || count != (uint64_t)s->is.number || count > UINT64_MAX / size)
        return bad_torch_file(r, "the size of a storage differs from that in the pickle");
    s->listed = true;
    s->begin = c->at;
    rapt__cursor_skip(c, count * size, "a storage");
    return c->status;
}

static rapt_status locate_all(struct torch_reading *r, const struct pickle_value *list)
{
    struct cursor c = {.source = &r->file->main.source, .at = r->pickle.at, .why = r->why};
    rapt_status status = RAPT_OK;
    if (list->kind != PICKLE_LIST) return bad_torch_file(r, "there is no list of storages");
    for (size_t i = 0; i < r->pickle.pair_count && status == RAPT_OK; i++)
        if (r->pickle.pairs[i].of == list->first) status = locate(r, &r->pickle.pairs[i].value, &c);
    if (status != RAPT_OK || rapt__cursor_left(&c) == 0) return status;
    return bad_torch_file(r, "there are bytes after the last storage");
}

/* ---- the pickles ---- */

/* Executes the three pickles before the state dict and checks that the format is supported. */
static rapt_status check_head(struct torch_reading *r, const unsigned char *bytes, size_t size)
{
    struct pickle *p = &r->pickle;
    rapt_status status = rapt__pickle_run(p, bytes, size);
    if (status != RAPT_OK) return status;
    if (p->result.kind != PICKLE_LONG || p->result.size != sizeof magic ||
        memcmp(p->result.text, magic, sizeof magic) != 0)
        return bad_torch_file(r, "the pickle was not written by torch.save");
    status = rapt__pickle_run(p, bytes, size);
    if (status != RAPT_OK) return status;
    if (p->result.kind != PICKLE_NUMBER || p->result.number != VERSION)
        return bad_torch_file(r, "the version is not 1001, the only version that PyTorch has used");
    status = rapt__pickle_run(p, bytes, size);
    if (status != RAPT_OK) return status;
    const struct pickle_value *order = rapt__pickle_get(p, &p->result, "little_endian");
    if (order && order->kind == PICKLE_NUMBER && order->number == 1) return RAPT_OK;
    return bad_torch_file(r, "little_endian is not True");
}

/* Reads the state dict, locates the storages and adds the tensors. form->all is allocated here,
   because only the state dict shows how many storages there are. */
static rapt_status read_dict(struct torch_reading *r, const unsigned char *bytes, size_t size)
{
    const rapt_allocator *allocator = &r->file->allocator;
    struct torch_legacy *form = r->form;
    struct pickle *p = &r->pickle;
    rapt_status status = rapt__pickle_run(p, bytes, size);
    if (status != RAPT_OK) return status;
    const struct pickle_value dict = p->result;
    const size_t capacity = p->storages.count * sizeof *form->all, end = p->at;
    form->all = rapt__alloc(allocator, capacity);
    status = form->all || capacity == 0 ? collect_storages(r, form)
                                        : rapt__tensors_no_memory(r->file, r->why);
    if (status == RAPT_OK) status = rapt__pickle_run(p, bytes, size);
    if (status == RAPT_OK) status = locate_all(r, &p->result);
    p->result = dict;
    if (status == RAPT_OK) status = rapt__torch_add(r, end);
    rapt__free(allocator, form->all, capacity);
    return status;
}

rapt_status rapt__torch_legacy_read(struct tensor_file *file, rapt_message *why)
{
    const struct disk_source *source = &file->main.source;
    struct torch_legacy form = {NULL, 0};
    struct torch_reading r = rapt__torch_reading(file, find_storage, &form, why);
    const size_t size = source->size < PICKLE_MAX ? (size_t)source->size : PICKLE_MAX;
    unsigned char *bytes = rapt__alloc(&file->allocator, size);
    file->container = CONTAINER_PYTORCH;
    rapt_status status =
        bytes ? rapt__disk_read(source, 0, bytes, size, why) : rapt__tensors_no_memory(file, why);
    if (status == RAPT_OK) status = check_head(&r, bytes, size);
    if (status == RAPT_OK) status = read_dict(&r, bytes, size);
    rapt__pickle_free(&r.pickle);
    rapt__free(&file->allocator, bytes, size);
    return status;
}
