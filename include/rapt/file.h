/* file.h - files that are replaced atomically, as the library replaces models and checkpoints; a
   check that a file can be written before the work whose result it will hold; and files that a
   program reads or writes on the library's behalf. */
#ifndef RAPT_FILE_H
#define RAPT_FILE_H

#include "base.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Every file that the library writes is replaced atomically. At any moment, even after a crash or a
   loss of power, path names either the old file or the complete new one; once the call has returned
   RAPT_OK, it names the new one. Symbolic links are followed, and the permissions of an old file
   are kept. A call that fails leaves the old file as it was and no other file next to it. There is
   one exception: the message "is written, but its folder cannot be synced" means that only the very
   last system call failed.

   The new file grows next to the old one as .rapt-*.tmp. Each write into a folder first removes
   such files that killed processes left there: only those that this library created in this folder,
   on this host and for this user, and only while no process is writing there (flock of the folder).
   Any thread or process may write to any path at any time; if two write the same path, the last one
   wins.

   On Windows, paths are UTF-8, the new file gets the permissions that its folder gives, and a file
   that a process has open cannot be replaced (RAPT_NO_FILE).

   RAPT_NO_FILE, here and below, means that the folder does not exist, that path names something
   other than a regular file, or that a system call failed; *why says which, and why. */

/* Replaces or creates the file at path with data[size]. RAPT_NO_FILE: see above. */
RAPT_API rapt_status rapt_file_write(const char *path, const void *data, size_t size,
                                     rapt_message *why);

/* Checks whether a file can be written at path, without touching it: follows links, creates and
   removes a file in its folder, and compares max_size, the size of the largest file in bytes, and
   total_size, that of all files that will exist at the same time (at least max_size), with the
   limits of the process and the free space. An unknown amount of free space is not an error.
   RAPT_NO_FILE: the file cannot be written. */
RAPT_API rapt_status rapt_file_check(const char *path, uint64_t max_size, uint64_t total_size,
                                     rapt_message *why);

/* A file that the program reads for the library: from an archive, a database or its own resources.
   The function runs on the thread that called the library. If it returns anything but 0, the call
   fails with RAPT_NO_FILE. Will not grow. */
typedef struct rapt_reader {
    /* Copies bytes [at, at + count) to data. The range always lies within the file; ranges come in
       any order and may repeat. */
    int (*read)(void *user, uint64_t at, void *data, size_t count);
    void *user;     /* passed to read */
    uint64_t bytes; /* size of the file */
} rapt_reader;
/* A file that the program writes for the library, with the same rules. Will not grow. */
typedef struct rapt_writer {
    int (*write)(void *user, const void *data, size_t count); /* appends data[count] */
    void *user;                                               /* passed to write */
} rapt_writer;

/* How rapt_model_import_files used a file. */
typedef enum rapt_file_use {
    RAPT_FILE_USE_NONE,       /* not at all */
    RAPT_FILE_USE_MODEL,      /* for its tensors */
    RAPT_FILE_USE_VOCABULARY, /* for its words or pieces */
    RAPT_FILE_USE_SETTINGS,   /* for settings of the model or of decoding */
    RAPT_FILE_USE_SHORTLIST   /* not read: it is for rapt_translator_load_shortlist */
} rapt_file_use;
/* Receives the name of a file in the folder and how it was used. reason says why it was chosen or
   not read, or is "". Both strings are valid during the call. */
typedef void rapt_file_fn(void *user, const char *name, rapt_file_use use, const char *reason);

#ifdef __cplusplus
}
#endif
#endif
