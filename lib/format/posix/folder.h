/* folder.h - declarations shared by the files for POSIX systems: temporary files in an open folder,
   the limit on file sizes, and descriptions of files. */
#ifndef RAPT_LIB_FORMAT_POSIX_FOLDER_H
#define RAPT_LIB_FORMAT_POSIX_FOLDER_H

#include "format/disk.h"
#include <sys/types.h>

/* Prepares an open folder for writing: removes temporary files left by killed writers, unless
   another process is writing there, and keeps other processes from removing ours until the folder
   is closed. Errors are ignored. */
void rapt__folder_enter(int folder);

/* Creates an empty file with a unique name in the folder. Returns its descriptor, or -1; errno
   holds the reason. */
int rapt__folder_create(int folder, mode_t permissions, char name[TEMPORARY_NAME]);

/* Returns true if a file of `size` bytes would exceed the process's limit (RLIMIT_FSIZE) after
   growing by `more` bytes, in which case writing raises SIGXFSZ. Defined in reserve.c. */
bool rapt__file_exceeds_limit(uint64_t size, uint64_t more);

/* Describes a file that is not regular, for messages: "a folder", "a pipe", ... Defined in
   read.c. */
const char *rapt__file_kind(mode_t mode);

#endif
