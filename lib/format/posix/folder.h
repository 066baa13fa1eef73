/* folder.h - temporary files in an open folder of a POSIX system. */
#ifndef RAPT_LIB_FORMAT_POSIX_FOLDER_H
#define RAPT_LIB_FORMAT_POSIX_FOLDER_H

#include "format/temporary.h"
#include <sys/types.h>

/* folder: an open folder, to be written to until it is closed. Removes what killed writers left in
   it, unless somebody else writes there now, and keeps others from removing our own. Where this
   cannot be done, it is not: never a failure. */
void rapt__folder_enter(int folder);

/* Creates an empty file in the folder under a name of its own; -1: errno says why. */
int rapt__folder_create(int folder, mode_t permissions, char name[TEMPORARY_NAME]);

/* What a file that is not regular is: "a folder", ... */
const char *rapt__file_kind(mode_t mode);

#endif
