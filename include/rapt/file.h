/* file.h - replaces a file atomically, as the library does with models and checkpoints; checks
   whether a file could be written; and declares the callbacks with which a program reads or writes
   files for the library or learns which files an import used. */
#ifndef RAPT_FILE_H
#define RAPT_FILE_H

#include "base.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Every file that the library writes is replaced atomically. At any moment, even after a crash or a
   loss of power, path names either the old file or the complete new one. Once the call has returned
   RAPT_OK, path names the new one. Symbolic links are followed, and the permissions of an existing
   file are kept. A call that fails leaves the old file unchanged and removes its temporary file.
   There is one exception: if the message says that the file "was written" but that its folder or
   name cannot be synced, the new file is in place and may be lost in a crash.

   The new file is first written next to the old one as .rapt-*.tmp. Before it writes to a folder,
   the library removes temporary files left there by processes that were killed. It removes only
   files that it created itself in this folder, on this host and for this user, and only while no
   process is writing to the folder (tested with flock). Any thread or process may write to any path
   at any time; if two write to the same path, the last one wins.

   If a file would exceed the process's limit on file sizes (RLIMIT_FSIZE), the call fails before
   the write that would raise SIGXFSZ.

   On Windows, paths are UTF-8, a new file gets the default permissions of its folder, and a file
   that a process has open cannot be replaced (RAPT_NO_FILE).

   RAPT_NO_FILE means that the folder does not exist, that path names something other than a regular
   file, that the file would be too large, or that a system call failed. *why names the file, the
   step that failed and the reason. */

/* Writes data[size] to the file at path, creating or replacing it. Returns RAPT_NO_FILE as
   described above. */
RAPT_API rapt_status rapt_file_write(const char *path, const void *data, size_t size,
                                     rapt_message *why);

/* Checks whether a file could be written at path, without changing an existing one. Follows links,
   creates and removes a file in the folder, and compares max_size with the process's limit on file
   sizes and total_size with the free space. max_size is the size in bytes of the largest file that
   the program will write, and total_size is the combined size of all the files that will exist at
   the same time; a total_size below max_size is treated as max_size. If the free space cannot be
   determined, it is not checked. Returns RAPT_NO_FILE if the file cannot be written. */
RAPT_API rapt_status rapt_file_check(const char *path, uint64_t max_size, uint64_t total_size,
                                     rapt_message *why);

/* A file that the program reads for the library, for example from an archive, a database or
   embedded resources. The library calls read on the thread that called the library. If read returns
   a nonzero value, the library's call fails with RAPT_NO_FILE. read must not exit via longjmp() or
   an exception; see base.h. This struct will not grow. */
typedef struct rapt_reader {
    /* Copies bytes [at, at + count) to data. The range always lies within the file. Ranges may be
       requested in any order and more than once. */
    int (*read)(void *user, uint64_t at, void *data, size_t count);
    void *user;     /* passed to read */
    uint64_t bytes; /* size of the file */
} rapt_reader;
/* A file that the program writes for the library. The rules for the read function of rapt_reader
   also apply to write. This struct will not grow. */
typedef struct rapt_writer {
    int (*write)(void *user, const void *data, size_t count); /* appends data[count] */
    void *user;                                               /* passed to write */
} rapt_writer;

/* How rapt_model_import_with used a file. */
typedef enum rapt_file_use {
    RAPT_FILE_USE_NONE,       /* not used */
    RAPT_FILE_USE_MODEL,      /* contains tensors */
    RAPT_FILE_USE_VOCABULARY, /* contains words or pieces */
    RAPT_FILE_USE_SETTINGS,   /* contains settings for the model or for decoding */
    RAPT_FILE_USE_SHORTLIST   /* not read, but can be passed to rapt_translator_load_shortlist */
} rapt_file_use;
/* Receives the name of a file in the model's folder or its parent, and how the file was used.
   reason explains why the file was chosen or not read, and may be "". name and reason are valid
   only during the call. */
typedef void rapt_file_fn(void *user, const char *name, rapt_file_use use, const char *reason);

#ifdef __cplusplus
}
#endif
#endif
