/* system.h - paths and errors of Windows as the rest of the library has them: UTF-8 and errno. */
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

#endif
