/* folder.h - temporary files in the folder of a file, on Windows. path: of the file, whole. */
#ifndef RAPT_LIB_FORMAT_WINDOWS_FOLDER_H
#define RAPT_LIB_FORMAT_WINDOWS_FOLDER_H

#include "format/disk.h"

/* Removes what killed writers left in the folder. What is being written cannot be removed: writers
   share their files with nobody. Where this cannot be done, it is not: never a failure. */
void rapt__folder_enter(const char *path);

/* Creates an empty file in the folder, under a whole path of its own; -1: errno says why. */
int rapt__folder_create(const char *path, char temporary[DISK_NAME]);

#endif
