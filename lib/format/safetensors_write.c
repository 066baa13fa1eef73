/* safetensors_write.c - writes tensors and metadata as a safetensors file, either atomically to a
   path, or sequentially to a writer supplied by the caller.

   Spaces after the JSON make the offset of the data a multiple of 64, the size of a cache line. The
   reader's parser checks the header before the first byte is written, so every file that is written
   can be read.

   Writers of other formats also use the checks and the conversion to little-endian. */
#include "tensors.h"

#include <assert.h>

#include <stdio.h>
#include <string.h>

/* ---- tensors to write, in any format: checks, and conversion to little-endian ---- */

size_t rapt__source_elements(const struct tensor_source *source)
{
    size_t count = 1;
    for (int i = 0; i < source->rank; i++) count *= source->shape[i];
    return count;
}

size_t rapt__source_element_bytes(const struct tensor_source *source)
{
    return source->dtype ? rapt__dtype_find(source->dtype)->bits / 8 : sizeof(float);
}

rapt_status rapt__source_check(const struct tensor_source *source, size_t *total, rapt_message *why)
{
    size_t bytes = rapt__source_element_bytes(source);
    if (!source->name || !source->fill)
        return rapt__fail(why, RAPT_BAD_ARGUMENT, "the name or fill function of a tensor is NULL");
    const struct shown name = rapt__shown(source->name);
    if (source->rank < 0 || source->rank > TENSOR_RANK)
        return rapt__fail(why, RAPT_BAD_ARGUMENT, "tensor \"%s\" has rank %d, not 0 to 8",
                          name.text, source->rank);
    bool fits = true, empty = false;
    for (int i = 0; i < source->rank; i++) {
        size_t size = source->shape[i];
        if (size == 0)
            empty = true;
        else if (!rapt__times(bytes, size, &bytes))
            fits = false;
    }
    assert(empty || bytes % sizeof(float) == 0);
    if (!fits || !rapt__plus(*total, empty ? 0 : bytes, total))
        return rapt__fail(why, RAPT_BAD_ARGUMENT, "tensor \"%s\" has a size that overflows",
                          name.text);
    return RAPT_OK;
}

/* Compares every pair of names, which is fast enough because there are few tensors. */
rapt_status rapt__sources_check(const struct tensor_source *sources, int count, rapt_message *why)
{
    size_t total = 0;
    if (count < 0 || (count && !sources))
        return rapt__fail(why, RAPT_BAD_ARGUMENT, "a count is negative, or a list is NULL");
    for (int i = 0; i < count; i++) {
        rapt_status status = rapt__source_check(&sources[i], &total, why);
        if (status != RAPT_OK) return status;
        if (!sources[i].name[0] || !rapt__is_utf8(sources[i].name))
            return rapt__fail(why, RAPT_BAD_ARGUMENT, "the name of tensor %d is empty or not UTF-8",
                              i);
        for (int k = 0; k < i; k++)
            if (strcmp(sources[i].name, sources[k].name) == 0)
                return rapt__fail(why, RAPT_BAD_ARGUMENT, "tensor \"%s\" occurs twice",
                                  rapt__shown(sources[i].name).text);
    }
    return RAPT_OK;
}

/* Converts words that each consist of two 16-bit elements to little-endian. */
static void pairs_to_little(float *data, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        uint16_t pair[2];
        memcpy(pair, &data[i], sizeof pair);
        unsigned char bytes[4] = {(unsigned char)pair[0], (unsigned char)(pair[0] >> 8),
                                  (unsigned char)pair[1], (unsigned char)(pair[1] >> 8)};
        memcpy(&data[i], bytes, sizeof bytes);
    }
}

void rapt__elements_to_little(float *words, size_t count, size_t element)
{
    if (element == sizeof *words) rapt__to_little(words, count);
    if (element == 2) pairs_to_little(words, count);
}

void rapt__to_little(float *data, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        uint32_t bits;
        memcpy(&bits, &data[i], sizeof bits);
        unsigned char bytes[4] = {(unsigned char)bits, (unsigned char)(bits >> 8),
                                  (unsigned char)(bits >> 16), (unsigned char)(bits >> 24)};
        memcpy(&data[i], bytes, sizeof bytes);
    }
}

/* ---- safetensors ---- */

enum {
    CHUNK = 65536, /* maximum number of 4-byte words that `fill` writes per call */
    ALIGNMENT = 64 /* alignment of the data in bytes */
};

/* Text that is composed twice: first with `bytes` set to NULL, to determine its size, then into
   memory. */
struct text {
    char *bytes;
    size_t used;
    bool overflow;
};

static void put_text(struct text *text, const char *bytes, size_t count)
{
    if (text->bytes && count > 0) memcpy(text->bytes + text->used, bytes, count);
    if (!rapt__plus(text->used, count, &text->used)) text->overflow = true;
}

static void put_plain(struct text *text, const char *string)
{
    put_text(text, string, strlen(string));
}

static void put_number(struct text *text, size_t number)
{
    char digits[32];
    int count = snprintf(digits, sizeof digits, "%zu", number);
    put_text(text, digits, (size_t)count);
}

/* Appends a JSON string. Non-ASCII characters are written unescaped, in UTF-8. */
static void put_string(struct text *text, const char *string)
{
    put_text(text, "\"", 1);
    for (; *string; string++) {
        unsigned char c = (unsigned char)*string;
        char escape[8];
        if (c == '"' || c == '\\') put_text(text, "\\", 1);
        if (c >= 0x20)
            put_text(text, string, 1);
        else
            put_text(text, escape, (size_t)snprintf(escape, sizeof escape, "\\u%04x", (unsigned)c));
    }
    put_text(text, "\"", 1);
}

static void put_metadata(struct text *text, const struct tensor_metadata *metadata, int count)
{
    put_plain(text, "\"__metadata__\":{");
    for (int i = 0; i < count; i++) {
        if (i > 0) put_text(text, ",", 1);
        put_string(text, metadata[i].key);
        put_text(text, ":", 1);
        put_string(text, metadata[i].value);
    }
    put_text(text, "}", 1);
}

/* The arguments of one call, and the size of the data. */
struct tensor_writing {
    const struct tensor_source *sources;
    int count;
    const struct tensor_metadata *metadata;
    int metadata_count;
    size_t data_size; /* size of all tensors */
    const rapt_allocator *allocator;
    rapt_message *why;
};

static size_t source_bytes(const struct tensor_source *source)
{
    return rapt__source_elements(source) * rapt__source_element_bytes(source);
}

static void put_entry(struct text *text, const struct tensor_source *source, size_t begin)
{
    put_string(text, source->name);
    put_plain(text, ":{\"dtype\":");
    put_string(text, source->dtype ? source->dtype : "F32");
    put_plain(text, ",\"shape\":[");
    for (int i = 0; i < source->rank; i++) {
        if (i > 0) put_text(text, ",", 1);
        put_number(text, source->shape[i]);
    }
    put_plain(text, "],\"data_offsets\":[");
    put_number(text, begin);
    put_text(text, ",", 1);
    put_number(text, begin + source_bytes(source));
    put_plain(text, "]}");
}

static void put_header(struct text *text, const struct tensor_writing *w)
{
    size_t begin = 0;
    put_text(text, "{", 1);
    if (w->metadata_count > 0) put_metadata(text, w->metadata, w->metadata_count);
    for (int i = 0; i < w->count; i++) {
        if (i > 0 || w->metadata_count > 0) put_text(text, ",", 1);
        put_entry(text, &w->sources[i], begin);
        begin += source_bytes(&w->sources[i]);
    }
    put_text(text, "}", 1);
    while ((PREFIX + text->used) % ALIGNMENT != 0) put_text(text, " ", 1);
}

/* ---- checks of the arguments ---- */

static rapt_status check_source(struct tensor_writing *w, const struct tensor_source *source)
{
    if (source->name && strcmp(source->name, "__metadata__") == 0)
        return rapt__fail(w->why, RAPT_BAD_ARGUMENT, "a tensor cannot be named %s", source->name);
    return rapt__source_check(source, &w->data_size, w->why);
}

static rapt_status check_writing(struct tensor_writing *w)
{
    if (w->count < 0 || w->metadata_count < 0 || (w->count && !w->sources) ||
        (w->metadata_count && !w->metadata))
        return rapt__fail(w->why, RAPT_BAD_ARGUMENT, "a count is negative, or a list is NULL");
    for (int i = 0; i < w->count; i++) {
        rapt_status status = check_source(w, &w->sources[i]);
        if (status != RAPT_OK) return status;
    }
    for (int i = 0; i < w->metadata_count; i++)
        if (!w->metadata[i].key || !w->metadata[i].value)
            return rapt__fail(w->why, RAPT_BAD_ARGUMENT,
                              "the key or value of a metadata item is NULL");
    return RAPT_OK;
}

/* Checks that the reader accepts the file's prefix and header. */
static rapt_status check_header(const struct tensor_writing *w, const struct text *file,
                                const char *path)
{
    struct tensor_file *opened;
    struct disk_source source = {.file = -1, .label = rapt__shown(path)};
    source.bytes = (const unsigned char *)file->bytes;
    source.size = (uint64_t)file->used + w->data_size;
    rapt_status status =
        rapt__tensors_open_source(&opened, &source, rapt__safetensors_read, w->allocator, w->why);
    if (status == RAPT_OK) rapt__tensors_close(opened);
    return status == RAPT_BAD_FILE ? RAPT_BAD_ARGUMENT : status;
}

/* ---- the file ---- */

/* Composes the prefix and header. The caller frees text->bytes, which has text->used bytes. */
static rapt_status compose(const struct tensor_writing *w, struct text *text, const char *path)
{
    struct text header = {0};
    put_header(&header, w);
    if (header.overflow || !rapt__plus(header.used, PREFIX, &text->used))
        return rapt__fail(w->why, RAPT_BAD_ARGUMENT, "%s: the size of the header overflows",
                          rapt__shown(path).text);
    text->bytes = rapt__alloc(w->allocator, text->used);
    if (!text->bytes)
        return rapt__fail(w->why, RAPT_NO_MEMORY, "%s: out of memory for the header",
                          rapt__shown(path).text);
    for (int i = 0; i < PREFIX; i++)
        text->bytes[i] = (char)(unsigned char)((uint64_t)header.used >> 8 * i & 0xFF);
    header = (struct text){.bytes = text->bytes + PREFIX};
    put_header(&header, w);
    return check_header(w, text, path);
}

/* Destination of the bytes: a file that is being replaced, or a writer. */
struct tensor_sink {
    struct disk_target *target; /* NULL if the writer is used */
    const rapt_writer *writer;
};

static rapt_status send(const struct tensor_sink *to, const void *data, size_t count,
                        rapt_message *why)
{
    if (to->target) return rapt__disk_write(to->target, data, count, why);
    if (to->writer->write(to->writer->user, data, count) == 0) return RAPT_OK;
    return rapt__fail(why, RAPT_NO_FILE, "model for a rapt_writer: %zu bytes cannot be written",
                      count);
}

/* Sends all elements of a source. chunk[CHUNK] is workspace. */
static rapt_status send_source(const struct tensor_sink *to, const struct tensor_source *source,
                               float *chunk, rapt_message *why)
{
    size_t count = source_bytes(source) / sizeof *chunk,
           element = rapt__source_element_bytes(source);
    for (size_t first = 0; first < count; first += CHUNK) {
        size_t now = rapt__min_size(count - first, CHUNK);
        source->fill(source, first, now, chunk);
        rapt__elements_to_little(chunk, now, element);
        rapt_status status = send(to, chunk, 4 * now, why);
        if (status != RAPT_OK) return status;
    }
    return RAPT_OK;
}

static rapt_status send_all(const struct tensor_writing *w, const struct text *text,
                            const struct tensor_sink *to, float *chunk)
{
    rapt_status status = send(to, text->bytes, text->used, w->why);
    for (int i = 0; i < w->count && status == RAPT_OK; i++)
        status = send_source(to, &w->sources[i], chunk, w->why);
    return status;
}

static rapt_status replace(const struct tensor_writing *w, const struct text *text,
                           const char *path, float *chunk)
{
    struct disk_target target;
    rapt_status status = rapt__disk_begin(&target, path, w->why);
    if (status != RAPT_OK) return status;
    status = send_all(w, text, &(const struct tensor_sink){.target = &target}, chunk);
    if (status == RAPT_OK) return rapt__disk_commit(&target, w->why);
    rapt__disk_cancel(&target);
    return status;
}

/* Writes everything to the writer or, if that is NULL, to `path`. In both cases `path` names the
   file in messages. */
static rapt_status write_all(struct tensor_writing *w, const char *path, const rapt_writer *writer)
{
    struct text text = {0};
    rapt_status status = check_writing(w);
    if (status != RAPT_OK) return status;
    status = compose(w, &text, path);
    if (status == RAPT_OK) {
        float *chunk = rapt__alloc(w->allocator, CHUNK * sizeof *chunk);
        if (!chunk)
            status =
                rapt__fail(w->why, RAPT_NO_MEMORY, "%s: out of memory", rapt__shown(path).text);
        else if (writer)
            status = send_all(w, &text, &(const struct tensor_sink){.writer = writer}, chunk);
        else
            status = replace(w, &text, path, chunk);
        rapt__free(w->allocator, chunk, CHUNK * sizeof *chunk);
    }
    rapt__free(w->allocator, text.bytes, text.used);
    return status;
}

rapt_status rapt__tensors_write(const char *path, const struct tensor_source *sources, int count,
                                const struct tensor_metadata *metadata, int metadata_count,
                                const rapt_allocator *allocator, rapt_message *why)
{
    struct tensor_writing w = {.sources = sources,
                               .count = count,
                               .metadata = metadata,
                               .metadata_count = metadata_count,
                               .allocator = allocator,
                               .why = why};
    if (!path) return rapt__fail(why, RAPT_BAD_ARGUMENT, "path is NULL");
    return write_all(&w, path, NULL);
}

rapt_status rapt__tensors_write_to(const rapt_writer *writer, const struct tensor_source *sources,
                                   int count, const struct tensor_metadata *metadata,
                                   int metadata_count, const rapt_allocator *allocator,
                                   rapt_message *why)
{
    struct tensor_writing w = {.sources = sources,
                               .count = count,
                               .metadata = metadata,
                               .metadata_count = metadata_count,
                               .allocator = allocator,
                               .why = why};
    if (!writer->write) return rapt__fail(why, RAPT_BAD_ARGUMENT, "writer.write is NULL");
    return write_all(&w, "model for a rapt_writer", writer);
}
