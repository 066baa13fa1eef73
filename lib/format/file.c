/* file.c - the public functions that replace a file or check whether one could be written. */
#include "disk.h"

#include <errno.h>
#include <rapt/file.h>

rapt_status rapt_file_write(const char *path, const void *data, size_t size, rapt_message *why)
{
    struct disk_target target;
    if (!path || (!data && size > 0))
        return rapt__fail(why, RAPT_BAD_ARGUMENT, "%s is NULL", path ? "data" : "path");
    rapt_status status = rapt__disk_begin(&target, path, why);
    if (status != RAPT_OK) return status;
    status = rapt__disk_write(&target, data, size, why);
    if (status == RAPT_OK)
        status = rapt__disk_commit(&target, why);
    else
        rapt__disk_cancel(&target);
    return status;
}

rapt_status rapt_file_check(const char *path, uint64_t max_size, uint64_t total_size,
                            rapt_message *why)
{
    struct disk_target target;
    const int before = errno;
    if (!path) return rapt__fail(why, RAPT_BAD_ARGUMENT, "path is NULL");
    rapt_status status = rapt__disk_begin(&target, path, why);
    if (status != RAPT_OK) return status;
    rapt__disk_unname(&target);
    int wrong = rapt__file_reserve(&target, max_size, total_size);
    rapt__disk_cancel(&target);
    errno = before;
    return wrong == 0 ? RAPT_OK : rapt__disk_fail(why, &target.label, "cannot be written", wrong);
}
