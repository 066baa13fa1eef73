/* disk.h - reads files, compressed or not, either at an offset or sequentially with a cursor;
   replaces files atomically (temporary file, fsync, rename); writes gzip files; lists folders.
   Functions that take an allocator may also return RAPT_NO_MEMORY. Calls that succeed do not change
   errno. */
#ifndef RAPT_LIB_FORMAT_DISK_H
#define RAPT_LIB_FORMAT_DISK_H

#include "base/base.h"
#include <rapt/file.h>
#include <stdbool.h>
#include <stdint.h>

/* A name or path as shown in messages. Control characters and invalid bytes are replaced with '?'.
   If it is longer than 119 bytes, only its end is shown, preceded by "...". */
struct shown {
    char text[120];
};
struct shown rapt__shown(const char *text);

/* Fail with RAPT_NO_FILE. The message of rapt__disk_fail is "label what: reason", where `what`
   begins with a verb and the reason describes the errno value `number`. The message of
   rapt__disk_not_a_file is "label is kind, not a regular file", where `kind` is "a folder", for
   example. */
rapt_status rapt__disk_fail(rapt_message *why, const struct shown *label, const char *what,
                            int number);
rapt_status rapt__disk_not_a_file(rapt_message *why, const struct shown *label, const char *kind);

/* ---- sources: posix/read.c or windows/read.c, disk.c ---- */

/* A regular file, bytes in memory, or a reader supplied by the caller. */
struct disk_source {
    int file;                   /* open file, or -1 if the source is not a file */
    const unsigned char *bytes; /* [size] bytes in memory; NULL if the source is not in memory */
    rapt_reader reader;         /* used if there is neither a file nor bytes */
    uint64_t size;              /* in bytes, when the source was opened */
    struct shown label;
    const char *path;      /* path passed to rapt__disk_open, owned by the caller; NULL if none */
    unsigned char *memory; /* [memory_size] bytes owned by the source; NULL if none */
    size_t memory_size;
    rapt_allocator allocator; /* allocator of `memory` */
};
/* Opens a regular file. Returns RAPT_NO_FILE if that fails. */
rapt_status rapt__disk_open(struct disk_source *source, const char *path, rapt_message *why);
/* Opens a file like rapt__disk_open and adds its size to the allocator's budget. A file that is
   compressed with gzip (one member) or zstd is inflated into memory. Returns RAPT_BAD_FILE if it is
   damaged, inflates to more than four times its size plus 4 MB, has too large a window (see zstd.c)
   or is compressed twice, or if the library was built without the decompressor. Defined in
   deflate.c. */
rapt_status rapt__disk_open_inflated(struct disk_source *source, const char *path,
                                     const rapt_allocator *allocator, rapt_message *why);
void rapt__disk_close(struct disk_source *source);
/* Compresses the file `from` with gzip and writes the result to `to`, atomically. The result does
   not depend on the time, but may depend on the version of zlib. Returns RAPT_NO_FILE if a file
   cannot be read or written, RAPT_BAD_FILE if `from` becomes shorter or zlib fails, and
   RAPT_BAD_ARGUMENT if the library was built without zlib, in which case rapt__gzip_writes returns
   false. Defined in deflate.c. */
rapt_status rapt__gzip_write(const char *from, const char *to, const rapt_allocator *allocator,
                             rapt_message *why);
bool rapt__gzip_writes(void);
/* A read-only mapping of a file, valid until it is unmapped. */
struct disk_view {
    const unsigned char *bytes; /* [size]; NULL if nothing is mapped */
    size_t size;
};
/* Maps the file of an open source; the source remains open. Returns RAPT_NO_FILE if the source is
   not a file, is empty or cannot be mapped. */
rapt_status rapt__disk_view(const struct disk_source *source, struct disk_view *view,
                            rapt_message *why);
void rapt__disk_unmap(struct disk_view *view); /* an empty view is allowed */
/* Copies bytes [at, at + count) to `data`. Returns RAPT_BAD_FILE if the source does not have these
   bytes or no longer has them, and RAPT_NO_FILE if they cannot be read. */
rapt_status rapt__disk_read(const struct disk_source *source, uint64_t at, void *data, size_t count,
                            rapt_message *why);

/* ---- compressed files: deflate.c and zstd.c ---- */

/* Allocate and free memory for a library that does not pass the size when it frees memory. The size
   is stored in front of the memory. rapt__sized_alloc returns NULL if out of memory. */
void *rapt__sized_alloc(const rapt_allocator *allocator, size_t bytes);
void rapt__sized_free(const rapt_allocator *allocator, void *memory); /* NULL is allowed */

/* Returns the maximum number of bytes to which a source may inflate: four times its size plus
   4 MB. */
uint64_t rapt__inflated_max(const struct disk_source *source);
/* Returns RAPT_BAD_FILE if `size` exceeds this maximum or does not fit in a size_t. */
rapt_status rapt__inflated_check(const struct disk_source *source, uint64_t size,
                                 rapt_message *why);

/* Returns whether a file that begins with these bytes is compressed with zstd. Such a file begins
   with a frame or, if pzstd wrote it, with a skippable frame. */
bool rapt__is_zstd(const unsigned char first[4]);
/* Decompresses a source into *data, which has max(*size, 1) bytes and is freed by the caller.
   Returns the errors of rapt__disk_read, and RAPT_BAD_FILE in the same cases as
   rapt__disk_open_inflated. */
rapt_status rapt__zstd_inflate(const struct disk_source *source, unsigned char **data,
                               uint64_t *size, const rapt_allocator *allocator, rapt_message *why);

/* ---- targets: posix/replace.c or windows/replace.c ---- */

enum { DISK_NAME = 4096 }; /* maximum size of a path, including the terminating 0 */

/* A file that is being written. Call begin, then write any number of times, and then commit, or
   cancel to keep the old file. After a failed begin or commit there is nothing to cancel. Begin
   also tries to remove temporary files left in the folder by writers that were killed. Begin, write
   and commit return RAPT_NO_FILE if they fail. */
struct disk_target {
    int file, folder; /* descriptors, or -1 if closed. On Windows `folder` is unused, and names are
                         full paths */
    int mode;         /* permissions of the old file, or -1 if there is none; unused on Windows */
    uint64_t written; /* number of bytes passed to write; unused on Windows */
    char name[DISK_NAME], temporary[DISK_NAME];
    struct shown label;
};
rapt_status rapt__disk_begin(struct disk_target *target, const char *path, rapt_message *why);
rapt_status rapt__disk_write(struct disk_target *target, const void *data, size_t count,
                             rapt_message *why);
rapt_status rapt__disk_commit(struct disk_target *target, rapt_message *why);
void rapt__disk_cancel(struct disk_target *target);
/* Removes the name of the temporary file, so that the file disappears when it is closed. The target
   can no longer be committed. */
void rapt__disk_unname(struct disk_target *target);

/* ---- folders: posix/folder.c or windows/folder.c ---- */

/* Receives one name in a folder (in UTF-8 on Windows). Returns false to stop the listing. */
typedef bool disk_visit_fn(void *user, const char *name);
/* Visits the names in a folder, except . and .., in unspecified order. On Windows, names that are
   not valid UTF-16 are skipped. "" is the current folder. Returns false if the folder cannot be
   listed; errno holds the reason. */
bool rapt__disk_list(const char *folder, disk_visit_fn *visit, void *user);

/* ---- helpers for disk.c and the folders posix/ and windows/ ---- */
void rapt__disk_free(struct disk_source *source);           /* frees source->memory */
void rapt__error_text(int number, char *text, size_t size); /* describes an errno value */
/* Reads bytes [at, at + count) of an open file. The range must lie within source->size. Returns
   RAPT_NO_FILE if the bytes cannot be read, and RAPT_BAD_FILE if the file has become shorter since
   it was opened. */
rapt_status rapt__file_read(const struct disk_source *source, uint64_t at, void *data, size_t count,
                            rapt_message *why);
/* Checks whether a file of max_size bytes, and files totaling total_size bytes, could be written to
   the target's folder. Returns 0 or the errno value with which writing would fail. On systems with
   posix_fallocate the space stays allocated to the target's temporary file until that file is
   closed. */
int rapt__file_reserve(const struct disk_target *target, uint64_t max_size, uint64_t total_size);

/* ---- cursors ---- */

/* Reads little-endian numbers and bytes from a source, one after another. After the first error,
   which stays in `status`, nothing is read and all numbers are 0. */
struct cursor {
    const struct disk_source *source;
    uint64_t at; /* offset of the next byte, at most source->size */
    rapt_status status;
    rapt_message *why;
};

/* Returns true if the cursor has not failed and at least `count` bytes are left. If too few are
   left, fails with a message that contains `what`, a description of the bytes. */
bool rapt__cursor_has(struct cursor *cursor, uint64_t count, const char *what);
uint64_t rapt__cursor_left(const struct cursor *cursor);
/* Reads an unsigned integer of 1 to 8 bytes. */
uint64_t rapt__cursor_number(struct cursor *cursor, int bytes, const char *what);
void rapt__cursor_bytes(struct cursor *cursor, void *data, size_t count, const char *what);
void rapt__cursor_skip(struct cursor *cursor, uint64_t count, const char *what);
/* Sets `status` to RAPT_BAD_FILE with the message "file: byte N: what", unless the cursor has
   already failed. Returns `status`. */
rapt_status rapt__cursor_fail(struct cursor *cursor, const char *what);

/* ---- names of temporary files, for the folders posix/ and windows/ ---- */

/* A temporary file is in the same folder as the file that it will replace. Its name is
   .rapt-RC.tmp, where R is a random 64-bit number and C is a hash of R and the folder's key, both
   in hexadecimal. C ensures that a file named by another program, or a copy in another folder, is
   not mistaken for one of ours. */
enum {
    TEMPORARY_NAME = 48,     /* maximum size of a name, including the terminating 0 */
    TEMPORARY_ATTEMPTS = 100 /* number of random names tried before giving up */
};

/* Composes a name. `key` is a hash of the folder, the host and, on POSIX systems, the user. */
void rapt__temporary_name(char name[TEMPORARY_NAME], uint64_t random, uint64_t key);
/* Returns whether rapt__temporary_name composed this name with this key. */
bool rapt__temporary_is_ours(const char *name, uint64_t key);

#endif
