/* disk.h - files: read at an offset; replaced atomically (temporary file, fsync, rename). Calls
   that succeed leave errno alone. */
#ifndef RAPT_LIB_FORMAT_DISK_H
#define RAPT_LIB_FORMAT_DISK_H

#include "base/base.h"
#include <rapt/file.h>

/* A name or path as a message may show it: printable, only the end of a long one. */
struct shown {
    char text[120];
};
struct shown rapt__shown(const char *text);

/* RAPT_NO_FILE and "label: what: the text of errno"; "label: is a folder, not a regular file". */
rapt_status rapt__disk_fail(rapt_message *why, const struct shown *label, const char *what,
                            int number);
rapt_status rapt__disk_not_a_file(rapt_message *why, const struct shown *label, const char *kind);

/* ---- sources: posix/read.c or windows/read.c, disk.c ---- */

/* A regular file, bytes in memory, or a reader of the caller's. */
struct disk_source {
    int file;                   /* -1: none */
    const unsigned char *bytes; /* [size] in memory; NULL: none */
    rapt_reader reader;         /* where there is neither */
    uint64_t size;              /* when it was opened */
    struct shown label;
    const char *path;      /* as it was opened by, and the caller's; NULL: by none */
    unsigned char *memory; /* [memory_size] bytes that it owns; NULL: none */
    size_t memory_size;
    rapt_allocator allocator; /* of memory */
};
rapt_status rapt__disk_open(struct disk_source *source, const char *path, rapt_message *why);
/* The same, and a file that gzip has compressed becomes its inflated bytes in memory.
   RAPT_BAD_FILE: they are damaged, or more than four times the file's size and 4 MB. Defined in
   inflate.c. */
rapt_status rapt__disk_open_inflated(struct disk_source *source, const char *path,
                                     const rapt_allocator *allocator, rapt_message *why);
void rapt__disk_close(struct disk_source *source);
/* A mapped file: its bytes, not to be written; valid until it is unmapped. */
struct disk_view {
    const unsigned char *bytes; /* [size]; NULL: none */
    size_t size;
};
/* Of an open file, which stays open. RAPT_NO_FILE: it cannot be mapped, or has no bytes. */
rapt_status rapt__disk_view(const struct disk_source *source, struct disk_view *view,
                            rapt_message *why);
void rapt__disk_unmap(struct disk_view *view); /* none is allowed */
/* RAPT_BAD_FILE: bytes [at, at + count) are not there (any more). */
rapt_status rapt__disk_read(const struct disk_source *source, uint64_t at, void *data, size_t count,
                            rapt_message *why);

/* ---- targets: posix/replace.c or windows/replace.c ---- */

enum { DISK_NAME = 4096 }; /* bytes of a path with its 0 */

/* A file that is being written: begin, write.., commit; or cancel at any time, which leaves the
   folder as it was. After a failed begin or commit nothing is left to cancel. Begin removes what
   killed writers left in the folder. */
struct disk_target {
    int file, folder; /* open; -1: not. Windows opens no folder: there the names are whole paths */
    int mode;         /* permissions of the old file; -1: there is none */
    char name[DISK_NAME], temporary[DISK_NAME];
    struct shown label;
};
rapt_status rapt__disk_begin(struct disk_target *target, const char *path, rapt_message *why);
rapt_status rapt__disk_write(struct disk_target *target, const void *data, size_t count,
                             rapt_message *why);
rapt_status rapt__disk_commit(struct disk_target *target, rapt_message *why);
void rapt__disk_cancel(struct disk_target *target);
/* Removes the temporary file's name: the file goes when it is closed. It cannot be committed. */
void rapt__disk_unname(struct disk_target *target);

/* ---- folders: posix/list.c or windows/list.c ---- */

/* One name in a folder, UTF-8 on Windows; false: no more are wanted. */
typedef bool disk_visit_fn(void *user, const char *name);
/* Visits what is in a folder, in any order, but for . and .. ; "": the current folder. False: it
   cannot be listed; errno says why. */
bool rapt__disk_list(const char *folder, disk_visit_fn *visit, void *user);

/* ---- what posix/ and windows/ do for disk.c and file.c ---- */
void rapt__disk_free(struct disk_source *source);           /* frees memory */
void rapt__error_text(int number, char *text, size_t size); /* of errno */
/* Reads bytes that are in the file, source->file being open. */
rapt_status rapt__file_read(const struct disk_source *source, uint64_t at, void *data, size_t count,
                            rapt_message *why);
/* 0, or the error that writing a file of max_size bytes, and total_size bytes in all, would end
   with. */
int rapt__file_reserve(const struct disk_target *target, uint64_t max_size, uint64_t total_size);

#endif
