/* struct.c - converts structs that begin with their size between the caller's version and the
   library's own. A program compiled against an older header passes a shorter struct; the missing
   fields are read as 0, the default. A program compiled against a newer header passes a longer one,
   which is accepted if all fields that this library does not know are 0. */
#include "base/base.h"

#include <string.h>

/* A larger size means that the caller left the field uninitialized, not that the caller is newer
   than this library. */
#define STRUCT_SIZE_MAX 65536

static bool is_zero(const unsigned char *bytes, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (bytes[i]) return false;
    return true;
}

rapt_status rapt__struct_read(void *own, size_t own_size, const void *given, const char *name,
                              rapt_message *why)
{
    rapt_status status = rapt__struct_check(given, name, why);
    if (status) return status;
    size_t size;
    memcpy(&size, given, sizeof size);
    size_t known = rapt__min_size(size, own_size);
    if (!is_zero((const unsigned char *)given + known, size - known))
        return rapt__fail(
            why, RAPT_BAD_ARGUMENT,
            "%s: size is %zu, but this library knows only %zu bytes: the rest must be 0", name,
            size, own_size);
    memset(own, 0, own_size);
    memcpy(own, given, known);
    memcpy(own, &own_size, sizeof own_size);
    return RAPT_OK;
}

rapt_status rapt__struct_check(const void *given, const char *name, rapt_message *why)
{
    if (!given) return rapt__fail(why, RAPT_BAD_ARGUMENT, "%s is NULL", name);
    size_t size;
    memcpy(&size, given, sizeof size);
    if (size < sizeof size || size > STRUCT_SIZE_MAX)
        return rapt__fail(why, RAPT_BAD_ARGUMENT, "%s: set size to sizeof(%s)", name, name);
    return RAPT_OK;
}

/* Copies all fields of `own` except the size to `given`, and zeroes the rest of `given`. */
static void fill_struct(void *given, size_t size, const void *own, size_t own_size)
{
    size_t known = rapt__min_size(size, own_size);
    memcpy((char *)given + sizeof size, (const char *)own + sizeof size, known - sizeof size);
    memset((char *)given + known, 0, size - known);
}

rapt_status rapt__struct_default(void *given, size_t size, const void *own, size_t own_size)
{
    if (!given || size < sizeof size || size > STRUCT_SIZE_MAX) return RAPT_BAD_ARGUMENT;
    memcpy(given, &size, sizeof size);
    fill_struct(given, size, own, own_size);
    return RAPT_OK;
}

rapt_status rapt__struct_write(void *given, const void *own, size_t own_size, const char *name,
                               rapt_message *why)
{
    rapt_status status = rapt__struct_check(given, name, why);
    if (status) return status;
    size_t size;
    memcpy(&size, given, sizeof size);
    fill_struct(given, size, own, own_size);
    return RAPT_OK;
}
