/* tensors.c - opens a file of tensors with a reader, adds, sorts and finds entries and metadata,
   closes the file, and allocates its strings. */
#include "tensors.h"

#include "base/base.h"
#include <limits.h>
#include <stdlib.h>
#include <string.h>

rapt_status rapt__tensors_bad(const struct tensor_file *file, const char *name, const char *what,
                              rapt_message *why)
{
    return rapt__fail(why, RAPT_BAD_FILE, "%s: tensor \"%s\" %s", file->main.source.label.text,
                      rapt__shown(name).text, what);
}

rapt_status rapt__tensors_no_memory(const struct tensor_file *file, rapt_message *why)
{
    return rapt__fail(why, RAPT_NO_MEMORY, "%s: out of memory for the header",
                      file->main.source.label.text);
}

bool rapt__is_utf8(const char *text)
{
    uint32_t code;
    size_t size = strlen(text);
    for (size_t at = 0, length; at < size; at += length) {
        length = rapt__utf8_decode(text + at, size - at, &code);
        if (length == 0) return false;
    }
    return true;
}

/* ---- opening and closing ---- */

/* Frees everything except the main source. */
static void release(struct tensor_file *file)
{
    rapt_allocator allocator = file->allocator;
    for (size_t i = 0; i < file->part_count; i++) {
        rapt__disk_close(&file->parts[i].source);
        rapt__free(&allocator, file->parts[i].memory, file->parts[i].memory_size);
    }
    rapt__free(&allocator, file->parts, file->part_capacity * sizeof *file->parts);
    rapt__free(&allocator, file->metadata, file->metadata_capacity * sizeof *file->metadata);
    rapt__free(&allocator, file->entries, file->capacity * sizeof *file->entries);
    rapt__free(&allocator, file->header, file->header_size);
    rapt__pool_free(&file->pool, &allocator);
    rapt__free(&allocator, file, sizeof *file);
}

rapt_status rapt__tensors_open_source(struct tensor_file **file, const struct disk_source *source,
                                      tensor_reader *read, const rapt_allocator *allocator,
                                      rapt_message *why)
{
    struct tensor_file *made = rapt__alloc(allocator, sizeof *made);
    if (!made) return rapt__fail(why, RAPT_NO_MEMORY, "%s: out of memory", source->label.text);
    *made = (struct tensor_file){.allocator = rapt__allocator(allocator), .main.source = *source};
    rapt_status status = read(made, why);
    made->main.source.path = NULL;
    if (status == RAPT_OK)
        *file = made;
    else
        release(made);
    return status;
}

void rapt__tensors_close(struct tensor_file *file)
{
    if (!file) return;
    rapt__disk_close(&file->main.source);
    release(file);
}

/* ---- functions for readers, which fill in the file ---- */

rapt_status rapt__tensors_reserve(struct tensor_file *file, size_t count, rapt_message *why)
{
    if (count <= file->capacity) return RAPT_OK;
    size_t bytes = 0;
    struct tensor_entry *entries =
        rapt__times(count, sizeof *entries, &bytes) ? rapt__alloc(&file->allocator, bytes) : NULL;
    if (!entries) return rapt__tensors_no_memory(file, why);
    if (file->count > 0) memcpy(entries, file->entries, file->count * sizeof *entries);
    rapt__free(&file->allocator, file->entries, file->capacity * sizeof *entries);
    file->entries = entries;
    file->capacity = count;
    return RAPT_OK;
}

rapt_status rapt__tensors_add(struct tensor_file *file, const struct tensor_entry *entry,
                              rapt_message *why)
{
    if (file->count == INT_MAX)
        return rapt__fail(why, RAPT_BAD_FILE, "%s: more than %d tensors",
                          file->main.source.label.text, INT_MAX);
    if (file->count == file->capacity) {
        void *grown = rapt__grown(&file->allocator, file->entries, &file->capacity, sizeof *entry);
        if (!grown) return rapt__tensors_no_memory(file, why);
        file->entries = grown;
    }
    file->entries[file->count++] = *entry;
    return RAPT_OK;
}

rapt_status rapt__tensors_add_part(struct tensor_file *file, const struct tensor_part *part,
                                   unsigned *number, rapt_message *why)
{
    if (file->part_count == file->part_capacity) {
        void *grown =
            rapt__grown(&file->allocator, file->parts, &file->part_capacity, sizeof *part);
        if (!grown) return rapt__tensors_no_memory(file, why);
        file->parts = grown;
    }
    file->parts[file->part_count++] = *part;
    *number = (unsigned)file->part_count;
    return RAPT_OK;
}

const struct tensor_part *rapt__tensors_part(const struct tensor_file *file,
                                             const struct tensor_entry *entry)
{
    return entry->part == 0 ? &file->main : &file->parts[entry->part - 1];
}

rapt_status rapt__tensors_add_text(struct tensor_file *file, const struct tensor_entry *entry,
                                   rapt_message *why)
{
    const struct tensor_part *part = rapt__tensors_part(file, entry);
    size_t size = entry->end - entry->begin;
    char *text = rapt__pool_take(&file->pool, size + 1, &file->allocator);
    if (!text) return rapt__tensors_no_memory(file, why);
    rapt_status status =
        rapt__disk_read(&part->source, part->data_at + entry->begin, text, size, why);
    if (status != RAPT_OK) return status;
    text[size] = 0;
    if (!rapt__is_utf8(text)) return rapt__tensors_bad(file, entry->name, "is not UTF-8", why);
    return rapt__tensors_add_metadata(file, entry->name, text, why);
}

rapt_status rapt__tensors_add_metadata(struct tensor_file *file, const char *key, const char *value,
                                       rapt_message *why)
{
    if (file->metadata_count == INT_MAX)
        return rapt__fail(why, RAPT_BAD_FILE, "%s: more than %d items of metadata",
                          file->main.source.label.text, INT_MAX);
    if (file->metadata_count == file->metadata_capacity) {
        void *grown = rapt__grown(&file->allocator, file->metadata, &file->metadata_capacity,
                                  sizeof *file->metadata);
        if (!grown) return rapt__tensors_no_memory(file, why);
        file->metadata = grown;
    }
    file->metadata[file->metadata_count++] = (struct tensor_metadata){key, value};
    return RAPT_OK;
}

char *rapt__tensors_text(struct tensor_file *file, const char *text, size_t size, rapt_message *why)
{
    size_t bytes;
    char *copy =
        rapt__plus(size, 1, &bytes) ? rapt__pool_take(&file->pool, bytes, &file->allocator) : NULL;
    if (!copy) {
        rapt__tensors_no_memory(file, why);
        return NULL;
    }
    if (size > 0) memcpy(copy, text, size);
    copy[size] = 0;
    return copy;
}

bool rapt__tensors_count_shape(struct tensor_entry *entry, unsigned bits)
{
    size_t count = 1;
    bool empty = false;
    for (int i = 0; i < entry->rank; i++) {
        size_t size = entry->shape[i];
        if (!rapt__times(count, size ? size : 1, &count)) return false;
        if (size == 0) empty = true;
    }
    if (!rapt__times(count, bits, &(size_t){0})) return false;
    entry->count = empty ? 0 : count;
    return true;
}

static int by_name(const void *context, const void *a, const void *b)
{
    (void)context;
    return strcmp(((const struct tensor_entry *)a)->name, ((const struct tensor_entry *)b)->name);
}

static int by_key(const void *context, const void *a, const void *b)
{
    (void)context;
    return strcmp(((const struct tensor_metadata *)a)->key,
                  ((const struct tensor_metadata *)b)->key);
}

rapt_status rapt__tensors_sort(struct tensor_file *file, rapt_message *why)
{
    rapt__sort(file->entries, file->count, sizeof *file->entries, by_name, NULL);
    if (file->count > 0 && !file->entries[0].name[0])
        return rapt__tensors_bad(file, "", "has no name", why);
    for (size_t i = 1; i < file->count; i++)
        if (strcmp(file->entries[i - 1].name, file->entries[i].name) == 0)
            return rapt__tensors_bad(file, file->entries[i].name, "occurs twice", why);
    rapt__sort(file->metadata, file->metadata_count, sizeof *file->metadata, by_key, NULL);
    for (size_t i = 1; i < file->metadata_count; i++)
        if (strcmp(file->metadata[i - 1].key, file->metadata[i].key) == 0)
            return rapt__fail(why, RAPT_BAD_FILE, "%s: metadata \"%s\" occurs twice",
                              file->main.source.label.text,
                              rapt__shown(file->metadata[i].key).text);
    return RAPT_OK;
}

/* ---- contents ---- */

enum tensor_container rapt__tensors_container(const struct tensor_file *file)
{
    return file->container;
}

int rapt__tensors_count(const struct tensor_file *file)
{
    return (int)file->count;
}

const struct tensor_entry *rapt__tensors_entry(const struct tensor_file *file, int index)
{
    return index >= 0 && (size_t)index < file->count ? &file->entries[index] : NULL;
}

struct tensor_entry *rapt__tensors_named(const struct tensor_file *file, const char *name,
                                         size_t size)
{
    size_t low = 0, high = file->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        struct tensor_entry *entry = &file->entries[middle];
        int order = strncmp(name, entry->name, size);
        if (order == 0 && entry->name[size]) order = -1;
        if (order == 0) return entry;
        if (order < 0)
            high = middle;
        else
            low = middle + 1;
    }
    return NULL;
}

const struct tensor_entry *rapt__tensors_find(const struct tensor_file *file, const char *name)
{
    return rapt__tensors_named(file, name, strlen(name));
}

int rapt__tensors_metadata_count(const struct tensor_file *file)
{
    return (int)file->metadata_count;
}

const struct tensor_metadata *rapt__tensors_metadata_at(const struct tensor_file *file, int index)
{
    return index >= 0 && (size_t)index < file->metadata_count ? &file->metadata[index] : NULL;
}

static int against_key(const void *key, const void *entry)
{
    return strcmp(key, ((const struct tensor_metadata *)entry)->key);
}

const char *rapt__tensors_metadata(const struct tensor_file *file, const char *key)
{
    if (file->metadata_count == 0) return NULL;
    const struct tensor_metadata *entry =
        bsearch(key, file->metadata, file->metadata_count, sizeof *file->metadata, against_key);
    return entry ? entry->value : NULL;
}

/* ---- the pool of strings ---- */

enum { FIRST = 256 }; /* size of the first block */

struct string_block {
    struct string_block *before;
    size_t size, used; /* size of the block, including this header */
};

void *rapt__pool_take(struct string_pool *pool, size_t size, const rapt_allocator *allocator)
{
    struct string_block *last = pool->last;
    if (!last || size > last->size - last->used) {
        size_t needed;
        if (!rapt__plus(size, sizeof *last, &needed)) return NULL;
        needed = rapt__max_size(needed, rapt__max_size(pool->total, FIRST));
        struct string_block *block = rapt__alloc(allocator, needed);
        if (!block) return NULL;
        *block = (struct string_block){last, needed, sizeof *block};
        pool->total += needed;
        pool->last = last = block;
    }
    char *taken = (char *)last + last->used;
    last->used += size;
    return taken;
}

void rapt__pool_free(struct string_pool *pool, const rapt_allocator *allocator)
{
    while (pool->last) {
        struct string_block *before = pool->last->before;
        rapt__free(allocator, pool->last, pool->last->size);
        pool->last = before;
    }
    pool->total = 0;
}
