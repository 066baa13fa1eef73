/* shards.c - reads the index of a model that is split into several safetensors or torch.save (.bin)
   files, and merges the entries of those files.

       {"metadata": any value, "weight_map": {tensor: file, ..}}

   "metadata" may be missing. Files are named without a folder and are in the same folder as the
   index. Each must contain exactly the tensors that the index lists for it. Source: save_pretrained
   in Hugging Face Transformers 4. */
#include "parsers.h"
#include "tensors.h"

#include <string.h>

enum { PATH = 4096 }; /* maximum size of a path in bytes, including the terminating 0 */

struct shard_entry {
    const char *tensor, *file;
};

struct shards_reading {
    struct tensor_file *file;
    struct json json;
    struct shard_entry *entries; /* [count] sorted by file, then by tensor */
    size_t count, capacity;
    rapt_message *why;
};

static rapt_status bad_json(const struct shards_reading *r)
{
    return rapt__fail(r->why, RAPT_BAD_FILE, "%s: byte %zu: %s", r->file->main.source.label.text,
                      r->json.at,
                      r->json.error ? r->json.error
                                    : "this is neither a model nor an index of shards "
                                      "with a weight_map; open the weights file next "
                                      "to it, or the folder");
}

/* ---- the index ---- */

static rapt_status add_shard_entry(struct shards_reading *r, const char *tensor, const char *name)
{
    if (r->count == r->capacity) {
        void *grown =
            rapt__grown(&r->file->allocator, r->entries, &r->capacity, sizeof *r->entries);
        if (!grown) return rapt__tensors_no_memory(r->file, r->why);
        r->entries = grown;
    }
    r->entries[r->count++] = (struct shard_entry){tensor, name};
    return RAPT_OK;
}

/* Reads the weight map, {tensor: file, ..}. */
static rapt_status take_map(struct shards_reading *r)
{
    struct json *json = &r->json;
    if (!rapt__json_want(json, '{')) return bad_json(r);
    if (rapt__json_next(json, '}')) return RAPT_OK;
    do {
        const char *key = rapt__json_string(json);
        if (!key || !rapt__json_want(json, ':')) return bad_json(r);
        const char *value = rapt__json_string(json);
        if (!value) return bad_json(r);
        rapt_status status = add_shard_entry(r, key, value);
        if (status != RAPT_OK) return status;
    } while (rapt__json_next(json, ','));
    return rapt__json_want(json, '}') ? RAPT_OK : bad_json(r);
}

static rapt_status parse(struct shards_reading *r)
{
    struct json *json = &r->json;
    bool seen[2] = {false, false};
    if (!rapt__json_want(json, '{')) return bad_json(r);
    do {
        const char *key = rapt__json_string(json);
        if (!key || !rapt__json_want(json, ':')) return bad_json(r);
        const bool metadata = strcmp(key, "metadata") == 0;
        if ((!metadata && strcmp(key, "weight_map") != 0) || seen[metadata]) return bad_json(r);
        seen[metadata] = true;
        if (metadata && !rapt__json_skip(json)) return bad_json(r);
        rapt_status status = metadata ? RAPT_OK : take_map(r);
        if (status != RAPT_OK) return status;
    } while (rapt__json_next(json, ','));
    if (!rapt__json_want(json, '}') || !rapt__json_end(json) || !seen[false]) return bad_json(r);
    return RAPT_OK;
}

static int by_file(const void *context, const void *a, const void *b)
{
    (void)context;
    const struct shard_entry *x = a, *y = b;
    int order = strcmp(x->file, y->file);
    return order ? order : strcmp(x->tensor, y->tensor);
}

/* ---- the files ---- */

/* Composes the path of a file in the folder of the index. */
static rapt_status make_path(const struct shards_reading *r, const char *name, char path[PATH])
{
    const struct disk_source *source = &r->file->main.source;
    const char *slash = strrchr(source->path, '/');
    size_t folder = slash ? (size_t)(slash + 1 - source->path) : 0, length = strlen(name);
    if (!*name || *name == '.' || strpbrk(name, "/\\:"))
        return rapt__fail(r->why, RAPT_BAD_FILE,
                          "%s: \"%s\" is not the name of a file in the same folder",
                          r->file->main.source.label.text, rapt__shown(name).text);
    if (length >= PATH || folder >= PATH - length)
        return rapt__fail(r->why, RAPT_BAD_FILE, "%s: the path of \"%s\" is too long",
                          r->file->main.source.label.text, rapt__shown(name).text);
    memcpy(path, source->path, folder);
    memcpy(path + folder, name, length + 1);
    return RAPT_OK;
}

/* Checks that entries first .. end - 1 of the index are exactly the tensors of a shard. */
static rapt_status check_names(const struct shards_reading *r, const struct tensor_file *shard,
                               size_t first, size_t end)
{
    const char *label = shard->main.source.label.text;
    for (size_t i = first; i < end; i++) {
        const char *name = r->entries[i].tensor;
        if (i > first && strcmp(r->entries[i - 1].tensor, name) == 0)
            return rapt__tensors_bad(r->file, name, "occurs twice", r->why);
        if (!rapt__tensors_find(shard, name))
            return rapt__fail(r->why, RAPT_BAD_FILE,
                              "%s: tensor \"%s\" is missing, but listed in the index", label,
                              rapt__shown(name).text);
    }
    for (size_t i = first; i < end && shard->count != end - first; i++) /* both are sorted */
        if (strcmp(shard->entries[i - first].name, r->entries[i].tensor) != 0)
            return rapt__fail(r->why, RAPT_BAD_FILE, "%s: tensor \"%s\" is not in the index", label,
                              rapt__shown(shard->entries[i - first].name).text);
    if (shard->count == end - first) return RAPT_OK;
    return rapt__fail(r->why, RAPT_BAD_FILE, "%s: tensor \"%s\" is not in the index", label,
                      rapt__shown(shard->entries[end - first].name).text);
}

/* Moves a part of a shard to the merged file and sets *number to its number there. */
static rapt_status take_part(struct shards_reading *r, struct tensor_part *own, unsigned *number)
{
    rapt_status status = rapt__tensors_add_part(r->file, own, number, r->why);
    if (status == RAPT_OK) *own = (struct tensor_part){.source = {.file = -1}};
    return status;
}

/* Moves the parts and entries of a shard to the merged file. */
static rapt_status take_shard(struct shards_reading *r, struct tensor_file *shard, size_t first,
                              size_t end)
{
    unsigned main = 0, more;
    rapt_status status = check_names(r, shard, first, end);
    if (status == RAPT_OK) status = take_part(r, &shard->main, &main);
    for (size_t i = 0; i < shard->part_count && status == RAPT_OK; i++)
        status = take_part(r, &shard->parts[i], &more); /* `more` is main + 1 + i */
    for (size_t i = first; i < end && status == RAPT_OK; i++) {
        struct tensor_entry entry = *rapt__tensors_find(shard, r->entries[i].tensor);
        entry.name = r->entries[i].tensor;
        entry.part += main;
        status = rapt__tensors_add(r->file, &entry, r->why);
    }
    return status;
}

/* Returns the reader for a shard, according to its suffix. This is never the reader for an index,
   so an index cannot refer to another index. */
static tensor_reader *reader_of(const char *name)
{
    size_t size = strlen(name);
    return size > 4 && strcmp(name + size - 4, ".bin") == 0 ? rapt__torch_file_read
                                                            : rapt__safetensors_read;
}

static rapt_status open_shard(struct shards_reading *r, size_t first, size_t end)
{
    char path[PATH];
    struct tensor_file *shard = NULL;
    rapt_status status = make_path(r, r->entries[first].file, path);
    if (status == RAPT_OK)
        status = rapt__tensors_open_path(&shard, path, reader_of(r->entries[first].file),
                                         &r->file->allocator, r->why);
    if (status != RAPT_OK) return status;
    status = take_shard(r, shard, first, end);
    rapt__tensors_close(shard);
    return status;
}

static rapt_status open_all(struct shards_reading *r)
{
    rapt__sort(r->entries, r->count, sizeof *r->entries, by_file, NULL);
    rapt_status status = rapt__tensors_reserve(r->file, r->count, r->why);
    for (size_t first = 0, end; first < r->count && status == RAPT_OK; first = end) {
        for (end = first + 1; end < r->count; end++)
            if (strcmp(r->entries[end].file, r->entries[first].file) != 0) break;
        status = open_shard(r, first, end);
    }
    return status == RAPT_OK ? rapt__tensors_sort(r->file, r->why) : status;
}

rapt_status rapt__shards_read(struct tensor_file *file, rapt_message *why)
{
    struct shards_reading r = {.file = file, .why = why};
    const struct disk_source *source = &file->main.source;
    file->container = CONTAINER_SHARDS;
    if (!source->path || source->size > HEADER_LIMIT)
        return rapt__fail(why, RAPT_BAD_FILE, "%s is an index of shards, %s", source->label.text,
                          source->path ? "but larger than 100 MB"
                                       : "which must be opened by its path");
    file->header = rapt__alloc(&file->allocator, (size_t)source->size);
    if (!file->header) return rapt__tensors_no_memory(file, why);
    file->header_size = (size_t)source->size;
    rapt_status status = rapt__disk_read(source, 0, file->header, file->header_size, why);
    r.json = (struct json){.text = (unsigned char *)file->header, .size = file->header_size};
    if (status == RAPT_OK) status = parse(&r);
    if (status == RAPT_OK) status = open_all(&r);
    rapt__free(&file->allocator, r.entries, r.capacity * sizeof *r.entries);
    return status;
}
