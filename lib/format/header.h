/* header.h - an open safetensors file: its header parsed into entries and metadata, and its source.
 */
#ifndef RAPT_LIB_FORMAT_HEADER_H
#define RAPT_LIB_FORMAT_HEADER_H

#include "disk.h"
#include "format.h"

enum { HEADER_LIMIT = 100000000, PREFIX = 8 }; /* bytes of JSON at most; bytes before it */

struct tensor_file {
    rapt_allocator allocator;
    struct disk_source source;
    char *header; /* [header_size] the JSON, later the strings decoded from it */
    size_t header_size;
    size_t count, capacity; /* of entries, which are sorted by name */
    struct tensor_entry *entries;
    size_t metadata_count, metadata_capacity; /* of metadata, sorted by key */
    struct tensor_metadata *metadata;
};

/* Reads file->header into entries and metadata. data_size: bytes behind the header. */
rapt_status rapt__header_parse(struct tensor_file *file, size_t data_size, rapt_message *why);

/* Opens a source; on success the file owns it. */
rapt_status rapt__tensors_open_source(struct tensor_file **file, const struct disk_source *source,
                                      const rapt_allocator *allocator, rapt_message *why);

#endif
