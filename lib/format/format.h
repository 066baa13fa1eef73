/* format.h - interface of the file layer: reads and writes safetensors files, reads Protocol
   Buffers and plain files. Nothing in a file is trusted; files are replaced atomically.

       file = n as u64 little-endian, n bytes of JSON, data
       JSON = {name: {"dtype": text, "shape": [..], "data_offsets": [begin, end]}, ..,
               "__metadata__": {text: text, ..}}

   This layer knows files, names and numbers; it does not know what a model is.
   Source: the format section of the safetensors README (Hugging Face, version 0.5). */
#ifndef RAPT_LIB_FORMAT_H
#define RAPT_LIB_FORMAT_H

#include "format/disk.h"
#include "format/json.h"
#include "format/protobuf.h"
#include <rapt/base.h>

enum { TENSOR_RANK = 8 }; /* the most dimensions a tensor may have */

struct tensor_entry {
    const char *name;  /* UTF-8, not empty; owned by the file */
    const char *dtype; /* "F32", "F16", "BF16", "F64", ... */
    int rank;
    size_t shape[TENSOR_RANK];
    size_t count;      /* product of the shape */
    size_t begin, end; /* bytes, relative to the data; end - begin is what count elements take */
};
struct tensor_metadata {
    const char *key, *value; /* UTF-8 */
};

/* ---- safetensors_read.c ---- */

/* An open file: its header in memory, its data read on demand. Once open nothing in it changes,
   so threads may share it. After opening: names and metadata keys are unique, shapes and offsets
   agree, and the data are covered from the first to the last byte of the file without holes or
   overlaps. It takes memory in proportion to the header (at most 100 MB), never more. */
struct tensor_file;

/* path: a regular file. RAPT_NO_FILE: it cannot be opened or read. RAPT_BAD_FILE: it breaks a
   rule of the format; *why says which. */
rapt_status rapt__tensors_open(struct tensor_file **file, const char *path,
                               const rapt_allocator *allocator, rapt_message *why);
/* bytes stay the caller's and must outlive the file. */
rapt_status rapt__tensors_open_memory(struct tensor_file **file, const void *bytes, size_t size,
                                      const rapt_allocator *allocator, rapt_message *why);
/* The reader must stay usable until the file is closed; its struct is copied. */
rapt_status rapt__tensors_open_reader(struct tensor_file **file, const rapt_reader *reader,
                                      const rapt_allocator *allocator, rapt_message *why);
void rapt__tensors_close(struct tensor_file *file); /* NULL is allowed */

int rapt__tensors_count(const struct tensor_file *file);
/* In the order of their names (as strcmp has it). NULL: no such index, no such name. */
const struct tensor_entry *rapt__tensors_entry(const struct tensor_file *file, int index);
const struct tensor_entry *rapt__tensors_find(const struct tensor_file *file, const char *name);

/* The strings of __metadata__, in the order of their keys, owned by the file. NULL: not there. */
int rapt__tensors_metadata_count(const struct tensor_file *file);
const struct tensor_metadata *rapt__tensors_metadata_at(const struct tensor_file *file, int index);
const char *rapt__tensors_metadata(const struct tensor_file *file, const char *key);

/* Reads elements [first, first + count) of an entry of this file as float. F32, F16, BF16 and
   F64 are converted, NaN and infinity included; any other dtype is RAPT_BAD_FILE and named.
   Allocates nothing. */
rapt_status rapt__tensors_read(const struct tensor_file *file, const struct tensor_entry *entry,
                               size_t first, size_t count, float *data, rapt_message *why);

/* ---- safetensors_write.c ---- */
struct tensor_source { /* one F32 tensor to write; fill is called once per chunk, in order */
    const char *name;
    int rank;
    size_t shape[TENSOR_RANK];
    void (*fill)(const struct tensor_source *source, size_t first, size_t count, float *data);
    const void *user;
    size_t index;
};

/* Writes path atomically: a temporary file beside it, fsync, rename, fsync of the folder. On
   any failure the temporary file is removed and the old file at path is untouched (the one
   exception: the last fsync of the folder, when the new file is in place already; *why says so).
   A symbolic link at path is followed, the permissions of an old file are kept, anything but a
   regular file is refused. RAPT_BAD_ARGUMENT: names or metadata that a reader would refuse. */
rapt_status rapt__tensors_write(const char *path, const struct tensor_source *sources, int count,
                                const struct tensor_metadata *metadata, int metadata_count,
                                const rapt_allocator *allocator, rapt_message *why);
/* The same bytes to a writer, from the first to the last. */
rapt_status rapt__tensors_write_to(const rapt_writer *writer, const struct tensor_source *sources,
                                   int count, const struct tensor_metadata *metadata,
                                   int metadata_count, const rapt_allocator *allocator,
                                   rapt_message *why);

#endif
