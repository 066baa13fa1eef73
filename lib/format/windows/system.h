/* system.h - declarations shared by the files for Windows: conversions (Windows paths to and from
   UTF-8, Windows errors to errno values) and functions for temporary files. */
#ifndef RAPT_LIB_FORMAT_WINDOWS_SYSTEM_H
#define RAPT_LIB_FORMAT_WINDOWS_SYSTEM_H

#include "format/disk.h"
#include <stdbool.h>
#include <windows.h>

/* ---- read.c ---- */

/* Convert between UTF-8 and UTF-16. Return false if the text is invalid or the result, including
   the terminating 0, does not fit into DISK_NAME elements. */
bool rapt__path_wide(const char *text, wchar_t wide[DISK_NAME]);
bool rapt__path_narrow(const wchar_t *wide, char text[DISK_NAME]);
int rapt__last_error(void); /* returns GetLastError() as an errno value */
HANDLE rapt__handle(int file);

/* ---- folder.c: temporary files in the folder of a file; path is the file's full path ---- */
/* Removes temporary files left in the folder by killed writers. A file that is still being written
   cannot be removed, because writers do not share the right to delete it. Errors are ignored. */
void rapt__folder_enter(const char *path);

/* Creates an empty file with a unique name in the folder, and stores its full path in `temporary`.
   Returns its descriptor, or -1; errno holds the reason. */
int rapt__folder_create(const char *path, char temporary[DISK_NAME]);

#endif
