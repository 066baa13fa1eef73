/* zip.h - reads the directory of a zip file and the bytes of its members; declares the readers for
   npz and PyTorch files, which are zip files. */
#ifndef RAPT_LIB_FORMAT_ZIP_H
#define RAPT_LIB_FORMAT_ZIP_H

#include "disk.h"
#include "tensors.h"

struct zip_member {
    const char *name; /* UTF-8, in the pool */
    uint64_t head;    /* offset of the local header */
    uint64_t begin;   /* offset of the stored bytes */
    uint64_t stored;  /* number of stored bytes */
    uint64_t size;    /* number of bytes after inflation */
    uint32_t sum;     /* CRC-32 of the inflated bytes */
    bool deflated;
};

struct zip {
    struct zip_member *members; /* [count] sorted by name */
    size_t count;
};

/* Reads the directory. Returns the errors of rapt__disk_read, and RAPT_BAD_FILE if the directory is
   damaged or belongs to a multi-part file; if a member is encrypted, is neither stored nor
   deflated, declares a size that deflate cannot reach, or overlaps another member; or if a name
   occurs twice, is not UTF-8 or contains a NUL byte. After a failure *zip is empty. */
rapt_status rapt__zip_read(struct zip *zip, const struct disk_source *source,
                           struct string_pool *pool, const rapt_allocator *allocator,
                           rapt_message *why);
void rapt__zip_free(struct zip *zip, const rapt_allocator *allocator);
const struct zip_member *rapt__zip_find(const struct zip *zip, const char *name);

/* Makes the bytes of a member available as a part of the file. If they are stored uncompressed,
   sets *part to 0 (main) and *begin to their offset in it. If they are deflated, inflates them into
   memory, which becomes part *part, and sets *begin to 0. Returns the errors of
   rapt__zip_inflate. */
rapt_status rapt__zip_part(struct tensor_file *file, const struct zip_member *member,
                           unsigned *part, uint64_t *begin, rapt_message *why);

/* ---- npz.c, torch.c: readers of formats based on zip ---- */
rapt_status rapt__npz_read(struct tensor_file *file, const struct zip *zip, rapt_message *why);
/* Returns the member that contains the pickle of a state dict, or NULL if there is none. */
const struct zip_member *rapt__torch_pickle(const struct zip *zip);
rapt_status rapt__torch_read(struct tensor_file *file, const struct zip *zip,
                             const struct zip_member *pickle, rapt_message *why);

/* ---- deflate.c ---- */

/* Inflates a deflated member into *data, which has max(member->size, 1) bytes and is freed by the
   caller. Returns the errors of rapt__disk_read, and RAPT_BAD_FILE if the member is damaged, if its
   size or checksum differs from that in the directory, or if the library was built without
   zlib. */
rapt_status rapt__zip_inflate(const struct disk_source *source, const struct zip_member *member,
                              unsigned char **data, const rapt_allocator *allocator,
                              rapt_message *why);

#endif
