/* safetensors_read.c - opens safetensors files: reads and parses the header.

       file = n as u64 little-endian, n bytes of JSON, data;   2 <= n <= 10^8, n <= size - 8 */
#include "tensors.h"

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
            "%s: this is a JSON file, not a safetensors file; open the file of weights "
            "next to it, or the folder",
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
