/* zip.h - the members of a zip file: a source goes in, names, places and bytes come out. */
#ifndef RAPT_LIB_FORMAT_ZIP_H
#define RAPT_LIB_FORMAT_ZIP_H

#include "disk.h"
#include "pool.h"
#include "tensors.h"

struct zip_member {
    const char *name; /* UTF-8, in the pool */
    uint64_t head;    /* of its local header */
    uint64_t begin;   /* of its bytes as they are stored */
    uint64_t stored;  /* how many these are */
    uint64_t size;    /* how many they become */
    uint32_t sum;     /* CRC-32 of these */
    bool deflated;
};

struct zip {
    struct zip_member *members; /* [count] sorted by name */
    size_t count;
};

/* Reads the directory. RAPT_BAD_FILE: a member is encrypted, of another method than stored and
   deflate, grows more than deflate can, or overlaps another one; a name is there twice. */
rapt_status rapt__zip_read(struct zip *zip, const struct disk_source *source,
                           struct string_pool *pool, const rapt_allocator *allocator,
                           rapt_message *why);
void rapt__zip_free(struct zip *zip, const rapt_allocator *allocator);
const struct zip_member *rapt__zip_find(const struct zip *zip, const char *name);

/* Makes the bytes of a member a part of the file, whose number is returned: main where they are
   stored, and then *begin is where they begin in it, else memory of their own, and *begin is 0. */
rapt_status rapt__zip_part(struct tensor_file *file, const struct zip_member *member,
                           unsigned *part, uint64_t *begin, rapt_message *why);

/* ---- npz.c, torch_zip.c: readers of files that are zip files ---- */
rapt_status rapt__npz_read(struct tensor_file *file, const struct zip *zip, rapt_message *why);
const struct zip_member *rapt__torch_pickle(const struct zip *zip); /* NULL: there is none */
rapt_status rapt__torch_read(struct tensor_file *file, const struct zip *zip,
                             const struct zip_member *pickle, rapt_message *why);

/* ---- inflate.c ---- */

/* The bytes of a deflated member in data [member->size]. RAPT_BAD_FILE: damaged, or not so many, or
   another checksum; the library was built without zlib. */
rapt_status rapt__zip_inflate(const struct disk_source *source, const struct zip_member *member,
                              unsigned char *data, const rapt_allocator *allocator,
                              rapt_message *why);

#endif
