/* file.c - public calls on files: replaces one by bytes at hand; tells whether one could be
 * written.
 */
#define _POSIX_C_SOURCE   200809L
#define _FILE_OFFSET_BITS 64

#include "disk.h"

#include <errno.h>
#include <fcntl.h>
#include <rapt/file.h>
#include <sys/resource.h>
#include <sys/statvfs.h>
#include <unistd.h>

rapt_status rapt_file_write(const char *path, const void *data, size_t size, rapt_message *why)
{
    struct disk_target target;
    if (!path || (!data && size > 0))
        return rapt__fail(why, RAPT_BAD_ARGUMENT, "no %s", path ? "data" : "path");
    rapt_status status = rapt__disk_begin(&target, path, why);
    if (status != RAPT_OK) return status;
    status = rapt__disk_write(&target, data, size, why);
    if (status == RAPT_OK)
        status = rapt__disk_commit(&target, why);
    else
        rapt__disk_cancel(&target);
    return status;
}

#if defined(_POSIX_ADVISORY_INFO) && _POSIX_ADVISORY_INFO > 0
static int allocate(int file, off_t size)
{
    int wrong;
    do wrong = posix_fallocate(file, 0, size);
    while (wrong == EINTR);
    return wrong == EINVAL || wrong == EOPNOTSUPP || wrong == ENODEV ? 0 : wrong;
}
#else
static int allocate(int file, off_t size)
{
    (void)file, (void)size;
    return 0;
}
#endif

/* 0, or the error that writing a file of max_size bytes, and total_size bytes in all, would end
   with: asks for the limit and the free blocks, then, for quotas and what is reserved for others,
   for the space itself. */
static int reserve(int file, uint64_t max_size, uint64_t total_size)
{
    struct rlimit limit;
    struct statvfs disk;
    uint64_t allowed = INT64_MAX;
    if (getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY)
        allowed = limit.rlim_cur;
    if (max_size > allowed) return EFBIG;
    if (total_size < max_size) total_size = max_size;
    if (fstatvfs(file, &disk) == 0 && disk.f_blocks > 0 && disk.f_frsize > 0 &&
        total_size / disk.f_frsize > disk.f_bfree)
        return ENOSPC;
    if (total_size > allowed) total_size = allowed;
    return total_size > 0 ? allocate(file, (off_t)total_size) : 0;
}

rapt_status rapt_file_check(const char *path, uint64_t max_size, uint64_t total_size,
                            rapt_message *why)
{
    struct disk_target target;
    const int before = errno;
    if (!path) return rapt__fail(why, RAPT_BAD_ARGUMENT, "no path");
    rapt_status status = rapt__disk_begin(&target, path, why);
    if (status != RAPT_OK) return status;
    rapt__disk_unname(&target);
    int wrong = reserve(target.file, max_size, total_size);
    rapt__disk_cancel(&target);
    errno = before;
    return wrong == 0 ? RAPT_OK : rapt__disk_fail(why, &target.label, "has no space there", wrong);
}
