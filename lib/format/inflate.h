/* inflate.h - declarations shared by inflate.c and zstd.c, which decompress files, and deflate.c,
   which compresses them. */
#ifndef RAPT_LIB_FORMAT_INFLATE_H
#define RAPT_LIB_FORMAT_INFLATE_H

#include "disk.h"

/* Allocate and free memory for a library that does not pass the size when it frees memory. The size
   is stored in front of the memory. rapt__sized_alloc returns NULL if there is no memory left. */
void *rapt__sized_alloc(const rapt_allocator *allocator, size_t bytes);
void rapt__sized_free(const rapt_allocator *allocator, void *memory); /* NULL is allowed */

/* Allocate and free memory for zlib. `user` is a rapt_allocator. Defined only if the library is
   built with zlib. */
void *rapt__zlib_allocate(void *user, unsigned items, unsigned size);
void rapt__zlib_release(void *user, void *memory);

/* Returns the maximum number of bytes to which a file may inflate: four times its size plus 4
   MB. */
uint64_t rapt__inflated_max(const struct disk_source *source);
/* Returns RAPT_BAD_FILE if `size` exceeds this maximum or does not fit into size_t. */
rapt_status rapt__inflated_check(const struct disk_source *source, uint64_t size,
                                 rapt_message *why);

/* ---- zstd.c ---- */
/* Returns whether a file that begins with these bytes is compressed with zstd. Such a file
   begins with a frame or, if pzstd wrote it, with a skippable frame. */
bool rapt__is_zstd(const unsigned char first[4]);
/* Decompresses a source into *data, which has max(*size, 1) bytes and is freed by the caller.
   Returns RAPT_BAD_FILE if the source is damaged or inflates to too many bytes, or if the library
   was built without zstd. */
rapt_status rapt__zstd_inflate(const struct disk_source *source, unsigned char **data,
                               uint64_t *size, const rapt_allocator *allocator, rapt_message *why);

#endif
