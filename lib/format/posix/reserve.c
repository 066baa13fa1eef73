/* reserve.c - compares the size of a file with the process's limit on file sizes. Before writing
   begins, it also compares the size with the free space on the disk, and allocates the space that
   the file needs. */
#define _POSIX_C_SOURCE   200809L
#define _FILE_OFFSET_BITS 64

#include "format/disk.h"
#include "format/posix/folder.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/resource.h>
#include <sys/statvfs.h>
#include <unistd.h>

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

/* Returns the maximum size of a file that the process may write. */
static uint64_t largest_size(void)
{
    struct rlimit limit;
    bool limited = getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY;
    return limited && limit.rlim_cur < INT64_MAX ? (uint64_t)limit.rlim_cur : INT64_MAX;
}

bool rapt__file_exceeds_limit(uint64_t size, uint64_t more)
{
    uint64_t allowed = largest_size();
    return size > allowed || more > allowed - size;
}

/* Checks the limit on file sizes and the number of free blocks, then allocates the space, because
   only an allocation takes quotas and reserved blocks into account. Returns 0 or an errno value. */
int rapt__file_reserve(const struct disk_target *target, uint64_t max_size, uint64_t total_size)
{
    struct statvfs disk;
    const uint64_t allowed = largest_size();
    if (max_size > allowed) return EFBIG;
    if (total_size < max_size) total_size = max_size;
    if (fstatvfs(target->file, &disk) == 0 && disk.f_blocks > 0 && disk.f_frsize > 0 &&
        total_size / disk.f_frsize > disk.f_bfree)
        return ENOSPC;
    if (total_size > allowed) total_size = allowed;
    return total_size > 0 ? allocate(target->file, (off_t)total_size) : 0;
}
