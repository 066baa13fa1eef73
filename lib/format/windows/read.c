/* read.c - opens regular files, maps them and reads them at an offset; converts between UTF-8 and
   UTF-16, and from Windows errors to errno values. The share mode lets other processes write,
   rename and delete a file while it is open. */
#include "format/windows/system.h"

#include <errno.h>
#include <fcntl.h>
#include <io.h>
#include <string.h>

enum { AT_ONCE = 1 << 30 }; /* maximum bytes requested in one call */

/* ---- conversions ---- */

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

/* ---- reading ---- */

static rapt_status examine(struct disk_source *source, HANDLE handle, rapt_message *why)
{
    LARGE_INTEGER size;
    BY_HANDLE_FILE_INFORMATION about;
    if (GetFileType(handle) != FILE_TYPE_DISK)
        return rapt__disk_not_a_file(why, &source->label, "a device");
    if (!GetFileInformationByHandle(handle, &about) || !GetFileSizeEx(handle, &size))
        return rapt__disk_fail(why, &source->label, "cannot be examined", rapt__last_error());
    if (about.dwFileAttributes & FILE_ATTRIBUTE_DIRECTORY)
        return rapt__disk_not_a_file(why, &source->label, "a folder");
    source->size = (uint64_t)size.QuadPart;
    return RAPT_OK;
}

rapt_status rapt__disk_open(struct disk_source *source, const char *path, rapt_message *why)
{
    const int before = errno;
    const DWORD others = FILE_SHARE_READ | FILE_SHARE_WRITE | FILE_SHARE_DELETE;
    wchar_t wide[DISK_NAME];
    *source = (struct disk_source){.file = -1, .label = rapt__shown(path), .path = path};
    if (!rapt__path_wide(path, wide))
        return rapt__disk_fail(why, &source->label, "cannot be opened", EINVAL);
    HANDLE handle = CreateFileW(wide, GENERIC_READ, others, NULL, OPEN_EXISTING,
                                FILE_FLAG_BACKUP_SEMANTICS /* needed to open folders */, NULL);
    if (handle == INVALID_HANDLE_VALUE)
        return rapt__disk_fail(why, &source->label, "cannot be opened", rapt__last_error());
    rapt_status status = examine(source, handle, why);
    if (status == RAPT_OK) {
        source->file = _open_osfhandle((intptr_t)handle, _O_RDONLY | _O_BINARY | _O_NOINHERIT);
        if (source->file < 0)
            status = rapt__disk_fail(why, &source->label, "cannot be opened", errno);
    }
    if (source->file < 0) CloseHandle(handle);
    if (status == RAPT_OK) errno = before;
    return status;
}

rapt_status rapt__disk_view(const struct disk_source *source, struct disk_view *view,
                            rapt_message *why)
{
    if (source->file < 0) return rapt__disk_fail(why, &source->label, "cannot be mapped", EBADF);
    HANDLE mapping =
        CreateFileMappingW(rapt__handle(source->file), NULL, PAGE_READONLY, 0, 0, NULL);
    const void *bytes = mapping ? MapViewOfFile(mapping, FILE_MAP_READ, 0, 0, 0) : NULL;
    const int number = bytes ? 0 : rapt__last_error();
    if (mapping) CloseHandle(mapping); /* the view keeps the mapping alive */
    if (!bytes) return rapt__disk_fail(why, &source->label, "cannot be mapped", number);
    *view = (struct disk_view){bytes, (size_t)source->size};
    return RAPT_OK;
}

void rapt__disk_unmap(struct disk_view *view)
{
    if (view->bytes) UnmapViewOfFile(view->bytes);
    *view = (struct disk_view){NULL, 0};
}

void rapt__disk_close(struct disk_source *source)
{
    if (source->file >= 0) _close(source->file);
    source->file = -1;
    rapt__disk_free(source);
}

rapt_status rapt__file_read(const struct disk_source *source, uint64_t at, void *data, size_t count,
                            rapt_message *why)
{
    HANDLE handle = rapt__handle(source->file);
    char *bytes = data;
    while (count > 0) {
        OVERLAPPED offset = {.Offset = (DWORD)at, .OffsetHigh = (DWORD)(at >> 32)};
        DWORD got = 0;
        bool read =
            ReadFile(handle, bytes, (DWORD)rapt__min_size(count, AT_ONCE), &got, &offset) != 0;
        if (!read && GetLastError() != ERROR_HANDLE_EOF)
            return rapt__disk_fail(why, &source->label, "cannot be read", rapt__last_error());
        if (got == 0)
            return rapt__fail(why, RAPT_BAD_FILE, "%s became shorter while it was being read",
                              source->label.text);
        bytes += got;
        at += got;
        count -= got;
    }
    return RAPT_OK;
}
