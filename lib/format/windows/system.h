/* system.h - paths and errors of Windows as the rest of the library has them, UTF-8 and errno; and
   temporary files. */
#ifndef RAPT_LIB_FORMAT_WINDOWS_SYSTEM_H
#define RAPT_LIB_FORMAT_WINDOWS_SYSTEM_H

#include "format/disk.h"
#include <stdbool.h>
#include <windows.h>

/* UTF-8 to UTF-16 and back; false: not UTF-8, or longer than DISK_NAME. */
bool rapt__path_wide(const char *text, wchar_t wide[DISK_NAME]);
bool rapt__path_narrow(const wchar_t *wide, char text[DISK_NAME]);
int rapt__last_error(void); /* GetLastError() as errno has it */
HANDLE rapt__handle(int file);

/* ---- folder.c: temporary files in the folder of a file. path: of the file, absolute ---- */
/* Removes what killed writers left in the folder. What is being written cannot be removed: writers
   share their files with nobody. Where this cannot be done, it is not: never a failure. */
void rapt__folder_enter(const char *path);

/* Creates an empty file in the folder, under a whole path of its own; -1: errno says why. */
int rapt__folder_create(const char *path, char temporary[DISK_NAME]);

#endif
