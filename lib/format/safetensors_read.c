/* safetensors_read.c - opens safetensors files: reads the header, parses its JSON into entries and
   metadata in one pass, and checks every field.

       file = n as u64 little-endian, n bytes of JSON, data;   2 <= n <= 10^8, n <= size - 8
       entry = {"dtype": text, "shape": [d0, d1, ..], "data_offsets": [begin, end]}

   Each entry must have all three of these keys, each only once. Its dtype must be known. It must
   have at most TENSOR_RANK dimensions, whose product must not overflow, and end - begin must be the
   product times the size of an element. Names must be unique, and the entries, sorted by `begin`,
   must cover the data exactly. Source: the format section of the safetensors README (Hugging Face,
   version 0.5). */
#include "parsers.h"
#include "tensors.h"
#include <string.h>

/* Sets *size to the size of the header in bytes, and *data to the size of the data after it. */
static rapt_status measure_header(const struct disk_source *source, size_t *size, size_t *data,
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
    if (n > HEADER_LIMIT && (prefix[0] == '{' || prefix[0] == '['))
        return rapt__fail(
            why, RAPT_BAD_FILE,
            "%s: this is a JSON file, not a safetensors file; open the weights file next to it, "
            "or the folder",
            label);
    if (n > HEADER_LIMIT)
        return rapt__fail(why, RAPT_BAD_FILE,
                          "%s: not a safetensors file: a header of %llu bytes is too long", label,
                          (unsigned long long)n);
    if (n > source->size - PREFIX)
        return rapt__fail(why, RAPT_BAD_FILE,
                          "%s: the file ends within its header, after %llu of %llu bytes", label,
                          (unsigned long long)(source->size - PREFIX), (unsigned long long)n);
    if (source->size > SIZE_MAX / 2)
        return rapt__fail(why, RAPT_BAD_FILE, "%s is too large for this machine", label);
    *size = (size_t)n;
    *data = (size_t)(source->size - PREFIX - n);
    return RAPT_OK;
}

rapt_status rapt__safetensors_read(struct tensor_file *file, rapt_message *why)
{
    size_t size = 0, data = 0;
    rapt_status status = measure_header(&file->main.source, &size, &data, why);
    if (status != RAPT_OK) return status;
    file->header = rapt__alloc(&file->allocator, size);
    if (!file->header)
        return rapt__fail(why, RAPT_NO_MEMORY, "%s: out of memory for the header",
                          file->main.source.label.text);
    file->header_size = size;
    file->main.data_at = PREFIX + size;
    status = rapt__disk_read(&file->main.source, PREFIX, file->header, size, why);
    return status == RAPT_OK ? rapt__header_parse(file, data, why) : status;
}

rapt_status rapt__tensors_open(struct tensor_file **file, const char *path,
                               const rapt_allocator *allocator, rapt_message *why)
{
    return rapt__tensors_open_path(file, path, rapt__safetensors_read, allocator, why);
}

rapt_status rapt__tensors_open_memory(struct tensor_file **file, const void *bytes, size_t size,
                                      const rapt_allocator *allocator, rapt_message *why)
{
    struct disk_source source = {.file = -1, .bytes = bytes, .size = size};
    source.label = rapt__shown("model in memory");
    if (!bytes) return rapt__fail(why, RAPT_BAD_ARGUMENT, "bytes is NULL");
    rapt__budget_add(allocator, size);
    return rapt__tensors_open_source(file, &source, rapt__safetensors_read, allocator, why);
}

rapt_status rapt__tensors_open_reader(struct tensor_file **file, const rapt_reader *reader,
                                      const rapt_allocator *allocator, rapt_message *why)
{
    struct disk_source source = {.file = -1, .reader = *reader, .size = reader->bytes};
    source.label = rapt__shown("model from a rapt_reader");
    if (!reader->read) return rapt__fail(why, RAPT_BAD_ARGUMENT, "reader.read is NULL");
    rapt__budget_add(allocator, reader->bytes);
    return rapt__tensors_open_source(file, &source, rapt__safetensors_read, allocator, why);
}

/* ---- the header: JSON ---- */

struct header_reading {
    struct tensor_file *file;
    struct json json;
    size_t data_size;
    bool metadata_seen;
    rapt_message *why;
};

static rapt_status bad_json(const struct header_reading *r)
{
    return rapt__fail(r->why, RAPT_BAD_FILE, "%s: header byte %zu: %s",
                      r->file->main.source.label.text, r->json.at, r->json.error);
}

static rapt_status bad_entry(const struct header_reading *r, const char *name, const char *what)
{
    return rapt__tensors_bad(r->file, name, what, r->why);
}

/* ---- one entry ---- */

/* Reads [d0, d1, ..]. */
static rapt_status read_shape(struct header_reading *r, struct tensor_entry *entry)
{
    struct json *json = &r->json;
    entry->rank = 0;
    entry->count = 1;
    bool empty = false;
    if (!rapt__json_want(json, '[')) return bad_json(r);
    if (rapt__json_next(json, ']')) return RAPT_OK;
    do {
        uint64_t size;
        if (!rapt__json_number(json, &size)) return bad_json(r);
        if (entry->rank == TENSOR_RANK)
            return bad_entry(r, entry->name, "has more than 8 dimensions");
        if (size > SIZE_MAX || !rapt__times(entry->count, size ? (size_t)size : 1, &entry->count))
            return bad_entry(r, entry->name, "has dimensions whose product overflows");
        entry->shape[entry->rank++] = (size_t)size;
        if (size == 0) empty = true;
    } while (rapt__json_next(json, ','));
    if (!rapt__json_want(json, ']')) return bad_json(r);
    if (empty) entry->count = 0;
    return RAPT_OK;
}

/* Reads [begin, end]. */
static rapt_status read_offsets(struct header_reading *r, struct tensor_entry *entry)
{
    struct json *json = &r->json;
    uint64_t begin, end;
    if (!rapt__json_want(json, '[') || !rapt__json_number(json, &begin) ||
        !rapt__json_want(json, ',') || !rapt__json_number(json, &end) ||
        !rapt__json_want(json, ']'))
        return bad_json(r);
    if (begin > end) return bad_entry(r, entry->name, "ends before it begins");
    if (end > r->data_size) return bad_entry(r, entry->name, "extends past the end of the file");
    entry->begin = (size_t)begin;
    entry->end = (size_t)end;
    return RAPT_OK;
}

/* Reads a dtype, such as "F32". check_entry later replaces it with the identical string from the
   table of dtypes. */
static rapt_status read_dtype(struct header_reading *r, struct tensor_entry *entry)
{
    entry->dtype = rapt__json_string(&r->json);
    return entry->dtype ? RAPT_OK : bad_json(r);
}

typedef rapt_status read_value(struct header_reading *r, struct tensor_entry *entry);
static const struct {
    const char *key;
    read_value *read;
} keys[] = {{"dtype", read_dtype}, {"shape", read_shape}, {"data_offsets", read_offsets}};
enum { KEYS = sizeof keys / sizeof *keys };

/* Reads {key: value, ..} in any order and ignores unknown keys. */
static rapt_status read_keys(struct header_reading *r, struct tensor_entry *entry)
{
    struct json *json = &r->json;
    bool seen[KEYS] = {false};
    if (!rapt__json_want(json, '{')) return bad_json(r);
    if (rapt__json_next(json, '}')) return bad_entry(r, entry->name, "has an empty entry");
    do {
        const char *key = rapt__json_string(json);
        if (!key || !rapt__json_want(json, ':')) return bad_json(r);
        int i = 0;
        while (i < KEYS && strcmp(keys[i].key, key) != 0) i++;
        if (i == KEYS && !rapt__json_skip(json)) return bad_json(r);
        if (i == KEYS) continue;
        if (seen[i]) return bad_entry(r, entry->name, "has a duplicate key");
        seen[i] = true;
        rapt_status status = keys[i].read(r, entry);
        if (status != RAPT_OK) return status;
    } while (rapt__json_next(json, ','));
    if (!rapt__json_want(json, '}')) return bad_json(r);
    if (!seen[0]) return bad_entry(r, entry->name, "has no dtype");
    if (!seen[1]) return bad_entry(r, entry->name, "has no shape");
    if (!seen[2]) return bad_entry(r, entry->name, "has no data_offsets");
    return RAPT_OK;
}

/* Checks that shape, dtype and offsets agree. */
static rapt_status check_entry(const struct header_reading *r, struct tensor_entry *entry)
{
    const struct dtype *dtype = rapt__dtype_find(entry->dtype);
    size_t bits;
    if (!dtype)
        return rapt__fail(r->why, RAPT_BAD_FILE, "%s: tensor \"%s\" has the unknown dtype \"%s\"",
                          r->file->main.source.label.text, rapt__shown(entry->name).text,
                          rapt__shown(entry->dtype).text);
    entry->dtype = dtype->name;
    if (!rapt__times(entry->count, dtype->bits, &bits))
        return bad_entry(r, entry->name, "has a size that overflows");
    if (bits % 8 != 0)
        return bad_entry(r, entry->name, "has a size that is not a whole number of bytes");
    if (bits / 8 != entry->end - entry->begin)
        return bad_entry(r, entry->name, "has offsets that do not match its shape and dtype");
    return RAPT_OK;
}

static rapt_status read_entry(struct header_reading *r, const char *name)
{
    struct tensor_file *file = r->file;
    struct tensor_entry entry = {.name = name};
    rapt_status status = read_keys(r, &entry);
    if (status == RAPT_OK) status = check_entry(r, &entry);
    return status == RAPT_OK ? rapt__tensors_add(file, &entry, r->why) : status;
}

/* ---- metadata ---- */

/* Reads {text: text, ..} or null. */
static rapt_status read_metadata(struct header_reading *r)
{
    struct tensor_file *file = r->file;
    struct json *json = &r->json;
    if (r->metadata_seen)
        return rapt__fail(r->why, RAPT_BAD_FILE, "%s: __metadata__ occurs twice",
                          file->main.source.label.text);
    r->metadata_seen = true;
    if (rapt__json_peek(json) == 'n') {
        const char *word = rapt__json_word(json);
        return word ? RAPT_OK : bad_json(r);
    }
    if (!rapt__json_want(json, '{')) return bad_json(r);
    if (rapt__json_next(json, '}')) return RAPT_OK;
    do {
        struct tensor_metadata entry = {rapt__json_string(json), NULL};
        if (!entry.key || !rapt__json_want(json, ':')) return bad_json(r);
        entry.value = rapt__json_string(json);
        if (!entry.value) return bad_json(r);
        rapt_status status = rapt__tensors_add_metadata(file, entry.key, entry.value, r->why);
        if (status != RAPT_OK) return status;
    } while (rapt__json_next(json, ','));
    return rapt__json_want(json, '}') ? RAPT_OK : bad_json(r);
}

/* ---- the header ---- */

static rapt_status read_all(struct header_reading *r)
{
    struct json *json = &r->json;
    if (r->file->header[0] != '{')
        return rapt__fail(r->why, RAPT_BAD_FILE, "%s: the header does not begin with '{'",
                          r->file->main.source.label.text);
    if (!rapt__json_want(json, '{')) return bad_json(r);
    if (!rapt__json_next(json, '}')) {
        do {
            const char *name = rapt__json_string(json);
            if (!name || !rapt__json_want(json, ':')) return bad_json(r);
            rapt_status status =
                strcmp(name, "__metadata__") == 0 ? read_metadata(r) : read_entry(r, name);
            if (status != RAPT_OK) return status;
        } while (rapt__json_next(json, ','));
        if (!rapt__json_want(json, '}')) return bad_json(r);
    }
    return rapt__json_end(json) ? RAPT_OK : bad_json(r);
}

static int by_position(const void *context, const void *a, const void *b)
{
    (void)context;
    const struct tensor_entry *x = a, *y = b;
    if (x->begin != y->begin) return x->begin < y->begin ? -1 : 1;
    return (x->end > y->end) - (x->end < y->end);
}

/* Checks that every byte of the data belongs to exactly one entry. */
static rapt_status check_positions(const struct header_reading *r)
{
    struct tensor_file *file = r->file;
    size_t end = 0;
    rapt__sort(file->entries, file->count, sizeof *file->entries, by_position, NULL);
    for (size_t i = 0; i < file->count; i++) {
        const struct tensor_entry *entry = &file->entries[i];
        if (entry->begin < end) return bad_entry(r, entry->name, "overlaps another tensor");
        if (entry->begin > end) return bad_entry(r, entry->name, "is preceded by a gap");
        end = entry->end;
    }
    if (end == r->data_size) return RAPT_OK;
    return rapt__fail(r->why, RAPT_BAD_FILE, "%s: there are %zu bytes after the last tensor",
                      file->main.source.label.text, r->data_size - end);
}

rapt_status rapt__header_parse(struct tensor_file *file, size_t data_size, rapt_message *why)
{
    struct header_reading r = {
        .file = file,
        .json = {.text = (unsigned char *)file->header, .size = file->header_size},
        .data_size = data_size,
        .why = why,
    };
    rapt_status status = read_all(&r);
    if (status == RAPT_OK) status = check_positions(&r);
    return status == RAPT_OK ? rapt__tensors_sort(file, why) : status;
}
