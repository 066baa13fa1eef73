/* file.h - files that a program writes: replaced atomically, as models and checkpoints are, and
   checked before the work whose result they are to hold; and files that a caller reads and writes
   for the library. */
#ifndef RAPT_FILE_H
#define RAPT_FILE_H

#include "base.h"

#ifdef __cplusplus
extern "C" {
#endif

/* What is true of every file that the library writes. At any moment, also after a crash or a loss
   of power, path names the old file or the complete new one; once the call has returned RAPT_OK,
   the new one. Symbolic links are followed; permissions of an old file are kept. A call that fails
   leaves the old file as it was, and nothing beside it (one exception: "is written, but its folder
   cannot be synced", when the last call of all has failed).

   The new file grows beside the old one as .rapt-*.tmp. Each write into a folder first removes the
   files of this kind that killed processes left there: those whose names this library made up in
   this folder, on this host, for this user, and only while no process is writing there (flock of
   the folder). Any thread or process may write to any path at any time; of two writers of one path
   the last wins.

   Windows: paths are UTF-8; the new file gets the permissions that its folder gives; a file that
   somebody has open cannot be replaced, which is RAPT_NO_FILE.

   RAPT_NO_FILE, here and below: the path leads into no folder, or to something that is no regular
   file, or a system call failed; *why says which and why. */

/* Replaces or creates the file at path with data[size]. RAPT_NO_FILE: see above. */
RAPT_API rapt_status rapt_file_write(const char *path, const void *data, size_t size,
                                     rapt_message *why);

/* Can a file be written at path? Does all that can be done without touching it: follows links,
   creates a file in its folder and removes it, and checks whether the limits of the process and the
   disk allow a file of max_size bytes and total_size bytes in all (of several files there at once;
   at least max_size). What is not known of a disk is no reason to fail. RAPT_NO_FILE: it cannot. */
RAPT_API rapt_status rapt_file_check(const char *path, uint64_t max_size, uint64_t total_size,
                                     rapt_message *why);

/* A file that is not on a disk: in an archive, a database, a resource of the program. Its functions
   are called on the thread that called the library; anything but 0 says that they failed, and the
   call returns RAPT_NO_FILE. Will not grow. */
typedef struct rapt_reader {
    /* Copies bytes [at, at + count) into data. Never beyond the last one; in any order, maybe
     * twice.
     */
    int (*read)(void *user, uint64_t at, void *data, size_t count);
    void *user;     /* passed to read */
    uint64_t bytes; /* of the whole file */
} rapt_reader;
/* The same to be written. Will not grow. */
typedef struct rapt_writer {
    int (*write)(void *user, const void *data, size_t count); /* appends */
    void *user;                                               /* passed to write */
} rapt_writer;

/* What a file in the folder of a model is for. */
typedef enum rapt_file_use {
    RAPT_FILE_USE_NONE,       /* it was not read */
    RAPT_FILE_USE_MODEL,      /* its tensors were read */
    RAPT_FILE_USE_VOCABULARY, /* words or pieces */
    RAPT_FILE_USE_SETTINGS,   /* of the model, or for decoding */
    RAPT_FILE_USE_SHORTLIST   /* for rapt_translator_load_shortlist; it was not read */
} rapt_file_use;
/* One file, by its name in the folder; reason: why it was chosen or not read, or "". Both are valid
   during the call. */
typedef void rapt_file_fn(void *user, const char *name, rapt_file_use use, const char *reason);

#ifdef __cplusplus
}
#endif
#endif
