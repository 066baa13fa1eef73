/* tensors.h - an open file of tensors: where its bytes are, what its reader found in it. A reader
   fills a struct tensor_file; tensors.c, elements.c and open.c do the rest for all of them. */
#ifndef RAPT_LIB_FORMAT_TENSORS_H
#define RAPT_LIB_FORMAT_TENSORS_H

#include "disk.h"
#include "format.h"
#include "pool.h"

enum { HEADER_LIMIT = 100000000, PREFIX = 8 }; /* bytes of JSON at most; bytes before it */

/* Where the bytes of entries are. */
struct tensor_part {
    struct disk_source source;
    uint64_t data_at; /* entries count their bytes from here */
    void *memory;     /* [memory_size] what a source in memory owns; NULL: nothing */
    size_t memory_size;
};

struct tensor_file {
    rapt_allocator allocator;
    enum tensor_container container;
    struct tensor_part main;
    struct tensor_part *parts; /* [part_count] entry->part 1, 2, ..; 0 is main */
    size_t part_count, part_capacity;
    char *header; /* [header_size] the JSON, later the strings decoded from it */
    size_t header_size;
    struct string_pool pool; /* all other strings */
    size_t count, capacity;  /* of entries, which are sorted by name */
    struct tensor_entry *entries;
    size_t metadata_count, metadata_capacity; /* of metadata, sorted by key */
    struct tensor_metadata *metadata;
};

/* Fills a file whose main source is open and all else empty; after a failure the file is closed. */
typedef rapt_status tensor_reader(struct tensor_file *file, rapt_message *why);
tensor_reader rapt__safetensors_read, rapt__ct2_read, rapt__marian_read, rapt__shards_read,
    rapt__torch_legacy_read;

/* ---- tensors.c ---- */

/* Opens a source by a reader; on success the file owns it. */
rapt_status rapt__tensors_open_source(struct tensor_file **file, const struct disk_source *source,
                                      tensor_reader *read, const rapt_allocator *allocator,
                                      rapt_message *why);
/* Capacity for so many entries in all, exactly: a reader that knows their number. */
rapt_status rapt__tensors_reserve(struct tensor_file *file, size_t count, rapt_message *why);
/* Appends what the file owns from then on; entry and strings are copied as they are. */
rapt_status rapt__tensors_add(struct tensor_file *file, const struct tensor_entry *entry,
                              rapt_message *why);
/* Its number is what entries have in `part`. */
rapt_status rapt__tensors_add_part(struct tensor_file *file, const struct tensor_part *part,
                                   unsigned *number, rapt_message *why);
/* The bytes of an entry as text up to its first 0, under its name as metadata. */
rapt_status rapt__tensors_add_text(struct tensor_file *file, const struct tensor_entry *entry,
                                   rapt_message *why);
rapt_status rapt__tensors_add_metadata(struct tensor_file *file, const char *key, const char *value,
                                       rapt_message *why);
/* The part an entry's bytes are in. */
const struct tensor_part *rapt__tensors_part(const struct tensor_file *file,
                                             const struct tensor_entry *entry);
/* A copy of text[size] and a 0 in the pool; NULL: no memory, and *why says so. */
char *rapt__tensors_text(struct tensor_file *file, const char *text, size_t size,
                         rapt_message *why);
/* Sorts entries and metadata; RAPT_BAD_FILE: a name is empty, or there twice. */
rapt_status rapt__tensors_sort(struct tensor_file *file, rapt_message *why);
/* The entry named name[size], of a sorted file. */
struct tensor_entry *rapt__tensors_named(const struct tensor_file *file, const char *name,
                                         size_t size);
/* The count of a shape; false: it does not fit, or count x bits of an element does not. */
bool rapt__tensors_count_shape(struct tensor_entry *entry, unsigned bits);

/* RAPT_BAD_FILE: "file: tensor "name": what". */
rapt_status rapt__tensors_bad(const struct tensor_file *file, const char *name, const char *what,
                              rapt_message *why);
/* Whether text is UTF-8, up to its 0. */
bool rapt__is_utf8(const char *text);
rapt_status rapt__tensors_no_memory(const struct tensor_file *file, rapt_message *why);

/* ---- sources.c ---- */
size_t rapt__source_elements(const struct tensor_source *source); /* of one that was checked */
/* Name, rank and size; adds its bytes to *total. RAPT_BAD_ARGUMENT */
rapt_status rapt__source_check(const struct tensor_source *source, size_t *total,
                               rapt_message *why);
/* All of them, and that their names are UTF-8 and differ. */
rapt_status rapt__sources_check(const struct tensor_source *sources, int count, rapt_message *why);
void rapt__to_little(float *data, size_t count); /* the bytes of a file, in place */

/* ---- ct2.c ---- */
int rapt__ct2_type(const char *dtype); /* its code in model.bin from version 4 on; -1: none */

/* ---- open.c ---- */
tensor_reader rapt__torch_file_read; /* of torch.save, and nothing else */

/* Of a path; read: NULL: the reader that its first bytes tell. */
rapt_status rapt__tensors_open_path(struct tensor_file **file, const char *path,
                                    tensor_reader *read, const rapt_allocator *allocator,
                                    rapt_message *why);

/* ---- header.c ---- */

/* Reads file->header into entries and metadata. data_size: bytes behind the header. */
rapt_status rapt__header_parse(struct tensor_file *file, size_t data_size, rapt_message *why);

#endif
