/* safetensors_read.c - opens a safetensors file; finds its tensors and metadata, reads elements as
   float.

       file = n as u64 little-endian, n bytes of JSON, data;   2 <= n <= 10^8, n <= size - 8

   Read, not mapped: a file that shrinks while it is used is then an error, not a signal. */
#include "header.h"

#include "dtype.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

enum { CHUNK = 16384 }; /* bytes converted at a time; a multiple of every element */

/* Where the header ends: *size bytes of JSON, *data bytes behind it. */
static rapt_status measure(const struct disk_source *source, size_t *size, size_t *data,
                           rapt_message *why)
{
    const char *label = source->label.text;
    unsigned char prefix[PREFIX];
    uint64_t n = 0;
    if (source->size < PREFIX)
        return rapt__fail(why, RAPT_BAD_FILE, "%s: %llu bytes are too few for a safetensors file",
                          label, (unsigned long long)source->size);
    rapt_status status = rapt__disk_read(source, 0, prefix, PREFIX, why);
    if (status != RAPT_OK) return status;
    for (int i = 0; i < PREFIX; i++) n |= (uint64_t)prefix[i] << 8 * i;
    if (n < 2)
        return rapt__fail(why, RAPT_BAD_FILE, "%s: a header of %llu bytes is too short", label,
                          (unsigned long long)n);
    if (n > HEADER_LIMIT)
        return rapt__fail(why, RAPT_BAD_FILE,
                          "%s: not a safetensors file: a header of %llu bytes is too long", label,
                          (unsigned long long)n);
    if (n > source->size - PREFIX)
        return rapt__fail(
            why, RAPT_BAD_FILE, "%s: the file ends within its header: %llu bytes of %llu are there",
            label, (unsigned long long)(source->size - PREFIX), (unsigned long long)n);
    if (source->size > SIZE_MAX / 2)
        return rapt__fail(why, RAPT_BAD_FILE, "%s: is too large for this machine", label);
    *size = (size_t)n;
    *data = (size_t)(source->size - PREFIX - n);
    return RAPT_OK;
}

static rapt_status read_header(struct tensor_file *file, size_t size, size_t data,
                               rapt_message *why)
{
    file->header = rapt__alloc(&file->allocator, size);
    if (!file->header)
        return rapt__fail(why, RAPT_NO_MEMORY, "%s: out of memory for its header",
                          file->source.label.text);
    file->header_size = size;
    rapt_status status = rapt__disk_read(&file->source, PREFIX, file->header, size, why);
    return status == RAPT_OK ? rapt__header_parse(file, data, why) : status;
}

/* Frees all but the source. */
static void release(struct tensor_file *file)
{
    rapt_allocator allocator = file->allocator;
    rapt__free(&allocator, file->metadata, file->metadata_capacity * sizeof *file->metadata);
    rapt__free(&allocator, file->entries, file->capacity * sizeof *file->entries);
    rapt__free(&allocator, file->header, file->header_size);
    rapt__free(&allocator, file, sizeof *file);
}

rapt_status rapt__tensors_open_source(struct tensor_file **file, const struct disk_source *source,
                                      const rapt_allocator *allocator, rapt_message *why)
{
    size_t size = 0, data = 0;
    rapt_status status = measure(source, &size, &data, why);
    if (status != RAPT_OK) return status;
    struct tensor_file *made = rapt__alloc(allocator, sizeof *made);
    if (!made) return rapt__fail(why, RAPT_NO_MEMORY, "%s: out of memory", source->label.text);
    *made = (struct tensor_file){.allocator = rapt__allocator(allocator), .source = *source};
    status = read_header(made, size, data, why);
    if (status == RAPT_OK)
        *file = made;
    else
        release(made);
    return status;
}

rapt_status rapt__tensors_open(struct tensor_file **file, const char *path,
                               const rapt_allocator *allocator, rapt_message *why)
{
    struct disk_source source;
    if (!path) return rapt__fail(why, RAPT_BAD_ARGUMENT, "no path was given");
    rapt_status status = rapt__disk_open(&source, path, why);
    if (status != RAPT_OK) return status;
    status = rapt__tensors_open_source(file, &source, allocator, why);
    if (status != RAPT_OK) rapt__disk_close(&source);
    return status;
}

rapt_status rapt__tensors_open_memory(struct tensor_file **file, const void *bytes, size_t size,
                                      const rapt_allocator *allocator, rapt_message *why)
{
    struct disk_source source = {.file = -1, .bytes = bytes, .size = size};
    source.label = rapt__shown("model in memory");
    if (!bytes) return rapt__fail(why, RAPT_BAD_ARGUMENT, "no bytes were given");
    return rapt__tensors_open_source(file, &source, allocator, why);
}

rapt_status rapt__tensors_open_reader(struct tensor_file **file, const rapt_reader *reader,
                                      const rapt_allocator *allocator, rapt_message *why)
{
    struct disk_source source = {.file = -1, .reader = *reader, .size = reader->bytes};
    source.label = rapt__shown("model of a reader");
    if (!reader->read) return rapt__fail(why, RAPT_BAD_ARGUMENT, "reader: its read is NULL");
    return rapt__tensors_open_source(file, &source, allocator, why);
}

void rapt__tensors_close(struct tensor_file *file)
{
    if (!file) return;
    rapt__disk_close(&file->source);
    release(file);
}

/* ---- what is in it; a header of HEADER_LIMIT bytes holds far fewer items than INT_MAX ---- */

int rapt__tensors_count(const struct tensor_file *file)
{
    return (int)file->count;
}

const struct tensor_entry *rapt__tensors_entry(const struct tensor_file *file, int index)
{
    return index >= 0 && (size_t)index < file->count ? &file->entries[index] : NULL;
}

static int against_entry(const void *name, const void *entry)
{
    return strcmp(name, ((const struct tensor_entry *)entry)->name);
}

const struct tensor_entry *rapt__tensors_find(const struct tensor_file *file, const char *name)
{
    if (file->count == 0) return NULL;
    return bsearch(name, file->entries, file->count, sizeof *file->entries, against_entry);
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

rapt_status rapt__tensors_read(const struct tensor_file *file, const struct tensor_entry *entry,
                               size_t first, size_t count, float *data, rapt_message *why)
{
    const struct dtype *dtype = rapt__dtype_find(entry->dtype);
    unsigned char chunk[CHUNK];
    if (first > entry->count || count > entry->count - first)
        return rapt__fail(
            why, RAPT_BAD_ARGUMENT, "%s: tensor \"%s\": has %zu elements, not %zu more from %zu on",
            file->source.label.text, rapt__shown(entry->name).text, entry->count, count, first);
    if (!dtype || !dtype->to_float)
        return rapt__fail(why, RAPT_BAD_FILE, "%s: tensor \"%s\": %s is not converted to float",
                          file->source.label.text, rapt__shown(entry->name).text, entry->dtype);
    size_t size = dtype->bits / 8, max = CHUNK / size;
    uint64_t at = (uint64_t)PREFIX + file->header_size + entry->begin + first * size;
    while (count > 0) {
        size_t now = rapt__min_size(count, max);
        rapt_status status = rapt__disk_read(&file->source, at, chunk, now * size, why);
        if (status != RAPT_OK) return status;
        dtype->to_float(chunk, now, data);
        data += now;
        at += now * size;
        count -= now;
    }
    return RAPT_OK;
}
