/* system.c - converts between UTF-8 and UTF-16, and from Windows errors to errno values. */
#include "format/windows/system.h"

#include <errno.h>
#include <io.h>
#include <string.h>

bool rapt__path_wide(const char *text, wchar_t wide[DISK_NAME])
{
    return MultiByteToWideChar(CP_UTF8, MB_ERR_INVALID_CHARS, text, -1, wide, DISK_NAME) > 0;
}

bool rapt__path_narrow(const wchar_t *wide, char text[DISK_NAME])
{
    return WideCharToMultiByte(CP_UTF8, WC_ERR_INVALID_CHARS, wide, -1, text, DISK_NAME, NULL,
                               NULL) > 0;
}

int rapt__last_error(void)
{
    switch (GetLastError()) {
    case ERROR_FILE_NOT_FOUND:
    case ERROR_PATH_NOT_FOUND:
    case ERROR_BAD_NETPATH:
    case ERROR_INVALID_DRIVE:
        return ENOENT;
    case ERROR_INVALID_NAME:
        return EINVAL;
    case ERROR_FILENAME_EXCED_RANGE:
        return ENAMETOOLONG;
    case ERROR_ACCESS_DENIED:
    case ERROR_WRITE_PROTECT:
        return EACCES;
    case ERROR_SHARING_VIOLATION:
    case ERROR_LOCK_VIOLATION:
        return EBUSY;
    case ERROR_FILE_EXISTS:
    case ERROR_ALREADY_EXISTS:
        return EEXIST;
    case ERROR_DISK_FULL:
    case ERROR_HANDLE_DISK_FULL:
        return ENOSPC;
    case ERROR_TOO_MANY_OPEN_FILES:
        return EMFILE;
    case ERROR_NOT_ENOUGH_MEMORY:
    case ERROR_OUTOFMEMORY:
        return ENOMEM;
    default:
        return EIO;
    }
}

void rapt__error_text(int number, char *text, size_t size)
{
    if (strerror_s(text, size, number) != 0) text[0] = 0;
}

HANDLE rapt__handle(int file)
{
    return (HANDLE)_get_osfhandle(file);
}
