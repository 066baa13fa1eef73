/* status.c - the version, descriptions of status codes, formatted error messages, and checks of
   callers' arguments: ranges of options, texts and public structs. */
#include "base/base.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define TEXT_OF(number)  #number
#define VERSION(a, b, c) TEXT_OF(a) "." TEXT_OF(b) "." TEXT_OF(c)

const char *rapt_version(void)
{
    return VERSION(RAPT_VERSION_MAJOR, RAPT_VERSION_MINOR, RAPT_VERSION_PATCH);
}

const char *rapt_status_text(rapt_status status)
{
    switch (status) {
    case RAPT_OK:
        return "no error";
    case RAPT_BAD_ARGUMENT:
        return "an argument is out of range, contradicts another or is NULL";
    case RAPT_NO_MEMORY:
        return "out of memory";
    case RAPT_NO_FILE:
        return "a file cannot be opened, read or written";
    case RAPT_BAD_FILE:
        return "a file is damaged or not of the expected kind";
    case RAPT_NOT_FINITE:
        return "a loss, gradient or parameter is not finite";
    }
    return "unknown status";
}

rapt_status rapt__fail(rapt_message *why, rapt_status status, const char *format, ...)
{
    if (why) {
        va_list arguments;
        va_start(arguments, format);
        vsnprintf(why->text, sizeof why->text, format, arguments);
        va_end(arguments);
        rapt__make_printable(why->text);
    }
    return status;
}

rapt_status rapt__text_check(const char *texts, size_t i, const void *bytes, size_t size,
                             rapt_message *why)
{
    if (bytes || !size) return RAPT_OK;
    return rapt__fail(why, RAPT_BAD_ARGUMENT, "%s[%zu].bytes is NULL, but its size is %zu", texts,
                      i, size);
}

rapt_status rapt__int_check(const char *name, int value, int min, int max, rapt_message *why)
{
    if (value >= min && value <= max) return RAPT_OK;
    return rapt__fail(why, RAPT_BAD_ARGUMENT, "%s is %d; it must be %d to %d", name, value, min,
                      max);
}

rapt_status rapt__float_check(const char *name, float value, double min, double max,
                              rapt_message *why)
{
    char text[FLOAT_TEXT], low[FLOAT_TEXT], high[FLOAT_TEXT];
    if ((double)value >= min && (double)value <= max) return RAPT_OK;
    return rapt__fail(why, RAPT_BAD_ARGUMENT, "%s is %s; it must be %s to %s", name,
                      rapt__number_write((double)value, text), rapt__number_write(min, low),
                      rapt__number_write(max, high));
}

rapt_status rapt__share_check(const char *name, float share, rapt_message *why)
{
    char text[FLOAT_TEXT];
    if (share >= 0 && share < 1) return RAPT_OK;
    return rapt__fail(why, RAPT_BAD_ARGUMENT, "%s is %s; it must be at least 0 and below 1", name,
                      rapt__number_write((double)share, text));
}

/* ---- struct: converts public structs between the caller's version and the library's. The first
   field of such a struct is its size. A program compiled against an older header passes a shorter
   struct; the missing fields are read as 0, the default. A program compiled against a newer header
   passes a longer one, which is accepted if all fields that this library does not know are 0.
   ---- */

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
            "%s: size is %zu, but this library knows only %zu bytes; the rest must be 0", name,
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
